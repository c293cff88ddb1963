package telegram

import (
	"cmp"
	"regexp"
	"slices"
)

// Command is an entry of a menu of the bot.
type Command struct {
	Command     string `json:"command"`
	Description string `json:"description"`
	Ephemeral   bool   `json:"is_ephemeral,omitempty"`
}

// MenuKey identifies a menu by who sees it.
type MenuKey struct{ Scope, Language string }

var (
	commandName  = regexp.MustCompile(`^[a-z0-9_]*$`)
	languageCode = regexp.MustCompile(`^([a-z]{2})?$`)
)

// MenuOf returns the menu that setMyCommands last set.
func (s *Server) MenuOf(key MenuKey) []Command {
	return locked(s, func() []Command { return slices.Clone(s.menus[key]) })
}

// MenuFor returns the menu that a user's app lists in a chat: of the narrowest scope, and
// in their language before none.
// https://core.telegram.org/bots/api#determining-list-of-commands
func (s *Server) MenuFor(chat Chat, user int64, language string) []Command {
	scopes := []string{"default"}
	status := locked(s, func() string { return s.status[[2]int64{chat.ID, user}] })
	if status == "administrator" || status == "creator" {
		scopes = []string{"all_chat_administrators", "default"}
	}
	for _, scope := range scopes {
		for _, l := range []string{language, ""} {
			if menu := s.MenuOf(MenuKey{Scope: scope, Language: l}); len(menu) > 0 {
				return menu
			}
		}
	}
	return nil
}

// Description returns the bot's description in a language.
func (s *Server) Description(language string) string {
	return locked(s, func() string { return s.descriptions[[2]string{"description", language}] })
}

// ShortDescription returns the description that is shown with a link.
func (s *Server) ShortDescription(language string) string {
	return locked(s, func() string { return s.descriptions[[2]string{"short_description", language}] })
}

// menuScopes are the scopes that the bot uses.
var menuScopes = []string{"default", "all_chat_administrators"}

func menuKey(p params) (key MenuKey, no *refusal) {
	scope := arg[struct {
		Type string `json:"type"`
	}](p, "scope")
	key = MenuKey{Scope: cmp.Or(scope.Type, "default"), Language: arg[string](p, "language_code")}
	switch {
	case !slices.Contains(menuScopes, key.Scope):
		return key, bad("can't parse BotCommandScope: unsupported type specified")
	case !languageCode.MatchString(key.Language):
		return key, bad("invalid language code specified")
	}
	return key, nil
}

func (s *Server) setMyCommands(p params) (result any, no *refusal) {
	key, no := menuKey(p)
	menu := arg[[]Command](p, "commands")
	if no != nil {
		return nil, no
	}
	for _, c := range menu {
		if !commandName.MatchString(c.Command) {
			return nil, bad("BOT_COMMAND_INVALID")
		}
	}
	s.menus[key] = menu
	s.watch(Event{Menus: true})
	return true, nil
}

// describe carries out setMyDescription and setMyShortDescription, under the lock.
func (s *Server) describe(kind string, p params) (any, *refusal) {
	text, language := arg[string](p, kind), arg[string](p, "language_code")
	if !languageCode.MatchString(language) {
		return nil, bad("invalid language code specified")
	}
	s.descriptions[[2]string{kind, language}] = text
	return true, nil
}

func (s *Server) descriptionOf(kind string, p params) map[string]string {
	return map[string]string{kind: s.descriptions[[2]string{kind, arg[string](p, "language_code")}]}
}
