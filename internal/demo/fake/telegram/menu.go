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

// MenuKey identifies a menu by who sees it. Chat is 0 unless the scope is about one chat.
type MenuKey struct {
	Scope, Language string
	Chat            int64
}

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
	scopes := []MenuKey{{Scope: "chat", Chat: chat.ID}, {Scope: "default"}}
	status := locked(s, func() string { return s.status[[2]int64{chat.ID, user}] })
	if status == "administrator" || status == "creator" {
		scopes = []MenuKey{
			{Scope: "chat_administrators", Chat: chat.ID},
			{Scope: "chat", Chat: chat.ID},
			{Scope: "all_chat_administrators"},
			{Scope: "default"},
		}
	}
	for _, key := range scopes {
		for _, l := range []string{language, ""} {
			key.Language = l
			if menu := s.MenuOf(key); len(menu) > 0 {
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

// menuScopes are the scopes that the bot uses, in all chats and in one.
var menuScopes, chatScopes = []string{"default", "all_chat_administrators"}, []string{"chat", "chat_administrators"}

// menuKey returns what a call says about a menu, under the lock. It refuses one of a chat that the bot is not in.
func (s *Server) menuKey(p params) (key MenuKey, no *refusal) {
	scope := arg[struct {
		Type string `json:"type"`
		Chat int64  `json:"chat_id"`
	}](p, "scope")
	key = MenuKey{Scope: cmp.Or(scope.Type, "default"), Language: arg[string](p, "language_code"), Chat: scope.Chat}
	switch {
	case !slices.Contains(slices.Concat(menuScopes, chatScopes), key.Scope):
		return key, bad("can't parse BotCommandScope: unsupported type specified")
	case !languageCode.MatchString(key.Language):
		return key, bad("invalid language code specified")
	case slices.Contains(chatScopes, key.Scope):
		return key, s.reachable(key.Chat)
	}
	return key, nil
}

func (s *Server) setMyCommands(p params) (result any, no *refusal) {
	key, no := s.menuKey(p)
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
