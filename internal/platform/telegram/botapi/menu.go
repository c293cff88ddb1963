package botapi

import (
	"context"
	"encoding/json"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// MenuCommand is one line of a menu. The library's type lacks Ephemeral.
type MenuCommand struct {
	Command     string `json:"command"`     // 1 to 32 of a-z0-9_
	Description string `json:"description"` // 1 to 256 characters
	// Ephemeral has the command arrive in groups as an ephemeral message
	// (ephemeral.go). A server before Bot API 10.2 ignores it.
	Ephemeral bool `json:"is_ephemeral,omitempty"`
}

// Menu identifies a menu by who sees it: the people of its Scope whose apps have its language,
// or any other language if that is empty.
type Menu = bot.GetMyCommandsParams

// SetMyCommands sets one of the bot's menus. The Scope must be set.
func (c *Client) SetMyCommands(ctx context.Context, m *Menu, commands []MenuCommand) error {
	scope, _ := m.Scope.MarshalCustom() // which never fails
	return c.do(ctx, "setMyCommands", &struct {
		Scope    json.RawMessage `json:"scope"`
		Language string          `json:"language_code,omitempty"`
		Commands []MenuCommand   `json:"commands"`
	}{scope, m.LanguageCode, append([]MenuCommand{}, commands...)}) // none are [], not null
}

// GetMyCommands returns one of the bot's menus, without Ephemeral.
func (c *Client) GetMyCommands(ctx context.Context, m *Menu) ([]models.BotCommand, error) {
	commands, err := c.bot().GetMyCommands(ctx, m)
	return commands, libraryError("getMyCommands", err)
}

// SetMyDescription sets the text in the empty private chat with the bot, of at most 512
// characters, for readers of a language; "" is any other language.
func (c *Client) SetMyDescription(ctx context.Context, lang, text string) error {
	_, err := c.bot().SetMyDescription(ctx, &bot.SetMyDescriptionParams{Description: text, LanguageCode: lang})
	return libraryError("setMyDescription", err)
}

// GetMyDescription returns the text that SetMyDescription set, or "".
func (c *Client) GetMyDescription(ctx context.Context, lang string) (string, error) {
	is, err := c.bot().GetMyDescription(ctx, &bot.GetMyDescriptionParams{LanguageCode: lang})
	return is.Description, libraryError("getMyDescription", err)
}

// SetMyShortDescription sets the text on the bot's profile, of at most 120 characters, for
// readers of a language; "" is any other language.
func (c *Client) SetMyShortDescription(ctx context.Context, lang, text string) error {
	_, err := c.bot().SetMyShortDescription(ctx, &bot.SetMyShortDescriptionParams{ShortDescription: text, LanguageCode: lang})
	return libraryError("setMyShortDescription", err)
}

// GetMyShortDescription returns the text that SetMyShortDescription set, or "".
func (c *Client) GetMyShortDescription(ctx context.Context, lang string) (string, error) {
	is, err := c.bot().GetMyShortDescription(ctx, &bot.GetMyShortDescriptionParams{LanguageCode: lang})
	return is.ShortDescription, libraryError("getMyShortDescription", err)
}
