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
// with the Language "". Chat is 0 unless the Scope is one of chatScopes.
type MenuKey struct {
	Scope, Language string
	Chat            int64
}

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
	keys := []MenuKey{{Scope: "chat", Chat: chat.ID}, {Scope: "default"}}
	status := locked(s, func() string { return s.status[inChat{chat.ID, user}] })
	if status == "administrator" || status == "creator" {
		keys = []MenuKey{
			{Scope: "chat_administrators", Chat: chat.ID},
			{Scope: "chat", Chat: chat.ID},
			{Scope: "all_chat_administrators"},
			{Scope: "default"},
		}
	}
	for _, key := range keys {
		for _, menuLanguage := range []string{language, ""} {
			key.Language = menuLanguage
			menu := s.MenuOf(key)
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

// The scopes that the bot uses: globalScopes are about all chats, and chatScopes about one chat.
var (
	globalScopes = []string{"default", "all_chat_administrators"}
	chatScopes   = []string{"chat", "chat_administrators"}
)

// readMenuKey reads the parameters scope and language_code. It refuses a scope about a chat that the bot is not in. The
// caller must hold the lock.
func (s *Server) readMenuKey(p params) (key MenuKey, refused *refusal) {
	scope := arg[struct {
		Type string `json:"type"`
		Chat int64  `json:"chat_id"`
	}](p, "scope")
	key = MenuKey{
		Scope:    cmp.Or(scope.Type, "default"),
		Language: arg[string](p, "language_code"),
		Chat:     scope.Chat,
	}
	isAboutChat := slices.Contains(chatScopes, key.Scope)
	switch {
	case !isAboutChat && !slices.Contains(globalScopes, key.Scope):
		return key, bad("can't parse BotCommandScope: unsupported type specified")
	case !languageCode.MatchString(key.Language):
		return key, bad("invalid language code specified")
	case isAboutChat:
		return key, s.reachable(key.Chat)
	}
	return key, nil
}

func (s *Server) setMyCommands(p params) (result any, refused *refusal) {
	key, refused := s.readMenuKey(p)
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
	key, refused := s.readMenuKey(p)
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
