package botapi

import "context"

// MenuCommand is one line of a menu.
type MenuCommand struct {
	Command     string `json:"command"`     // 1 to 32 of a-z0-9_
	Description string `json:"description"` // 1 to 256 characters
	// Ephemeral has the command arrive in groups as an ephemeral message
	// (ephemeral.go). A server before Bot API 10.2 refuses or ignores it.
	Ephemeral bool `json:"is_ephemeral,omitempty"`
}

// Scope is who sees a menu, https://core.telegram.org/bots/api#botcommandscope.
type Scope struct {
	Type string `json:"type"`
}

// The scopes that the bot has menus for.
var (
	Everybody      = Scope{Type: "default"}
	Administrators = Scope{Type: "all_chat_administrators"}
)

// Menu says whose a list of commands is.
type Menu struct {
	Scope    Scope  `json:"scope"`
	Language string `json:"language_code,omitempty"` // two letters; "" is any other
}

// SetMyCommands sets one of the bot's menus.
func (c *Client) SetMyCommands(ctx context.Context, m Menu, commands []MenuCommand) error {
	return do(ctx, c, "setMyCommands", &struct {
		Menu
		Commands []MenuCommand `json:"commands"`
	}{m, append([]MenuCommand{}, commands...)}) // none are [], not null
}

// GetMyCommands returns one of the bot's menus. A command that was set as
// Ephemeral and is not one here met a server that ignores it.
func (c *Client) GetMyCommands(ctx context.Context, m Menu) ([]MenuCommand, error) {
	return call[[]MenuCommand](ctx, c, "getMyCommands", m)
}

// profile is what the bot says about itself to readers of a language, "" being
// any other.
type profile struct {
	Language         string `json:"language_code,omitempty"`
	Description      string `json:"description,omitempty"`
	ShortDescription string `json:"short_description,omitempty"`
}

// SetMyDescription sets what stands in the empty private chat with the bot for
// readers of a language, "" being any other; at most 512 characters.
func (c *Client) SetMyDescription(ctx context.Context, lang, text string) error {
	return do(ctx, c, "setMyDescription", profile{Language: lang, Description: text})
}

// GetMyDescription returns what SetMyDescription set.
func (c *Client) GetMyDescription(ctx context.Context, lang string) (string, error) {
	p, err := call[profile](ctx, c, "getMyDescription", profile{Language: lang})
	return p.Description, err
}

// SetMyShortDescription sets what stands on the bot's profile; at most 120
// characters.
func (c *Client) SetMyShortDescription(ctx context.Context, lang, text string) error {
	return do(ctx, c, "setMyShortDescription", profile{Language: lang, ShortDescription: text})
}

// GetMyShortDescription returns what SetMyShortDescription set.
func (c *Client) GetMyShortDescription(ctx context.Context, lang string) (string, error) {
	p, err := call[profile](ctx, c, "getMyShortDescription", profile{Language: lang})
	return p.ShortDescription, err
}
