package telegram

import (
	"cmp"
	"regexp"
	"slices"
)

// Command is an entry of a menu.
type Command struct {
	Command     string `json:"command"`
	Description string `json:"description"`
	Ephemeral   bool   `json:"is_ephemeral,omitempty"`
}

// MenuKey identifies a menu by the users that see it. If there is no menu in a user's language, they see the menu
// with the Language "".
type MenuKey struct{ Scope, Language string }

var (
	commandName  = regexp.MustCompile(`^[a-z0-9_]*$`)
	languageCode = regexp.MustCompile(`^([a-z]{2})?$`)
)

// MenuOf returns the menu that the bot has set for a key.
func (s *Server) MenuOf(key MenuKey) []Command {
	return locked(s, func() []Command { return slices.Clone(s.menus[key]) })
}

// MenuFor returns the menu that a user's app shows in a chat. It prefers the narrowest scope, and within a scope the
// menu in the user's language.
// https://core.telegram.org/bots/api#determining-list-of-commands
func (s *Server) MenuFor(chat Chat, user int64, language string) []Command {
	scopes := []string{"default"}
	status := locked(s, func() string { return s.status[inChat{chat.ID, user}] })
	if status == "administrator" || status == "creator" {
		scopes = []string{"all_chat_administrators", "default"}
	}
	for _, scope := range scopes {
		for _, menuLanguage := range []string{language, ""} {
			menu := s.MenuOf(MenuKey{Scope: scope, Language: menuLanguage})
			if len(menu) > 0 {
				return menu
			}
		}
	}
	return nil
}

// Description returns the bot's description in a language.
func (s *Server) Description(language string) string {
	return locked(s, func() string { return s.descriptions[[2]string{description, language}] })
}

// ShortDescription returns the bot's short description in a language. Telegram shows it with a link to the bot.
func (s *Server) ShortDescription(language string) string {
	return locked(s, func() string { return s.descriptions[[2]string{shortDescription, language}] })
}

// menuScopes are the scopes that the bot uses.
var menuScopes = []string{"default", "all_chat_administrators"}

// readMenuKey reads the parameters scope and language_code.
func readMenuKey(p params) (key MenuKey, refused *refusal) {
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

func (s *Server) setMyCommands(p params) (result any, refused *refusal) {
	key, refused := readMenuKey(p)
	if refused != nil {
		return nil, refused
	}
	menu := arg[[]Command](p, "commands")
	for _, c := range menu {
		if !commandName.MatchString(c.Command) {
			return nil, bad("BOT_COMMAND_INVALID")
		}
	}
	s.menus[key] = menu
	s.watch(Event{Menus: true})
	return true, nil
}

func (s *Server) getMyCommands(p params) (result any, refused *refusal) {
	key, refused := readMenuKey(p)
	return append([]Command{}, s.menus[key]...), refused
}

// The kinds of descriptions, by the names of their parameters.
const (
	description      = "description"
	shortDescription = "short_description"
)

func (s *Server) setMyDescription(p params) (result any, refused *refusal) {
	return s.setDescription(description, p)
}

func (s *Server) setMyShortDescription(p params) (result any, refused *refusal) {
	return s.setDescription(shortDescription, p)
}

func (s *Server) setDescription(kind string, p params) (result any, refused *refusal) {
	language := arg[string](p, "language_code")
	if !languageCode.MatchString(language) {
		return nil, bad("invalid language code specified")
	}
	s.descriptions[[2]string{kind, language}] = arg[string](p, kind)
	return true, nil
}

func (s *Server) getMyDescription(p params) (result any, refused *refusal) {
	return s.getDescription(description, p)
}

func (s *Server) getMyShortDescription(p params) (result any, refused *refusal) {
	return s.getDescription(shortDescription, p)
}

func (s *Server) getDescription(kind string, p params) (result any, refused *refusal) {
	text := s.descriptions[[2]string{kind, arg[string](p, "language_code")}]
	return map[string]string{kind: text}, nil
}
