package botapi

import "context"

// MenuCommand is one line of a menu.
type MenuCommand struct {
	Command     string `json:"command"`     // 1 to 32 of a-z0-9_
	Description string `json:"description"` // 1 to 256 characters
	// Ephemeral has the command arrive in groups as an ephemeral message
	// (ephemeral.go). A server before Bot API 10.2 ignores it.
	Ephemeral bool `json:"is_ephemeral,omitempty"`
}

// Scope is who sees a menu of commands, https://core.telegram.org/bots/api#botcommandscope.
type Scope struct {
	Type string `json:"type"`
}

// The scopes that the bot has menus for.
var (
	Everybody      = Scope{Type: "default"}
	Administrators = Scope{Type: "all_chat_administrators"}
)

// Menu identifies a menu by who sees it.
type Menu struct {
	Scope    Scope  `json:"scope"`
	Language string `json:"language_code,omitempty"` // two letters; "" is any other
}

// SetMyCommands sets one of the bot's menus.
func (c *Client) SetMyCommands(ctx context.Context, m Menu, commands []MenuCommand) error {
	return c.do(ctx, "setMyCommands", &struct {
		Menu
		Commands []MenuCommand `json:"commands"`
	}{m, append([]MenuCommand{}, commands...)}) // none are [], not null
}

// GetMyCommands returns one of the bot's menus. A server that ignores Ephemeral returns
// commands without it.
func (c *Client) GetMyCommands(ctx context.Context, m Menu) ([]MenuCommand, error) {
	return exchange[[]MenuCommand](ctx, c, jsonCall("getMyCommands", m))
}

// ProfileText is a text that Telegram shows about the bot.
type ProfileText struct{ method, field string }

// Description is shown in the empty private chat with the bot and has at most 512
// characters. ShortDescription is shown on the bot's profile and has at most 120.
var (
	Description      = ProfileText{method: "MyDescription", field: "description"}
	ShortDescription = ProfileText{method: "MyShortDescription", field: "short_description"}
)

// SetProfileText sets a text for readers of a language; "" is any other language.
func (c *Client) SetProfileText(ctx context.Context, t ProfileText, lang, text string) error {
	return c.do(ctx, "set"+t.method, map[string]string{"language_code": lang, t.field: text})
}

// GetProfileText returns the text that SetProfileText set, or "".
func (c *Client) GetProfileText(ctx context.Context, t ProfileText, lang string) (string, error) {
	texts, err := exchange[map[string]string](ctx, c, jsonCall("get"+t.method, map[string]string{"language_code": lang}))
	return texts[t.field], err
}
