package botapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// GetUpdates acknowledges all updates before offset and returns up to limit of the
// others. It waits for the first one for up to wait, in whole seconds. The updates are
// undecoded, so that one of an unknown form spoils no other.
//
// The library's poll acknowledges an update before its handler runs, so a stop would lose it.
func (c *Client) GetUpdates(ctx context.Context, offset int64, limit int, wait time.Duration, kinds []string) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout+wait)
	defer cancel()
	return call[[]json.RawMessage](ctx, c, c.poll, "getUpdates", map[string]any{
		"offset": offset, "limit": limit, "timeout": int(wait.Seconds()), "allowed_updates": kinds,
	})
}

// ChatInfo is a chat as its administrators see it. The library's type lacks GuardBot, and
// takes a missing CanEditTag for false.
type ChatInfo struct {
	Title    string `json:"title"`
	Username string `json:"username"` // of a public chat
	// JoinByRequest is set if administrators approve everybody who joins without an invite
	// link.
	JoinByRequest bool `json:"join_by_request"`
	// GuardBot is the bot that Telegram asks about join requests first, or nil.
	GuardBot *models.User `json:"guard_bot"`
	// Permissions are the rights of ordinary members.
	Permissions struct {
		CanEditTag     *bool `json:"can_edit_tag"` // nil is the same as CanPinMessages
		CanPinMessages bool  `json:"can_pin_messages"`
	} `json:"permissions"`
}

// GetChat returns a chat.
func (c *Client) GetChat(ctx context.Context, chat int64) (ChatInfo, error) {
	return call[ChatInfo](ctx, c, c.http, "getChat", map[string]any{"chat_id": chat})
}

// EditsOwnTag reports whether members of the chat may set their own tags.
func (i *ChatInfo) EditsOwnTag() bool {
	if i.Permissions.CanEditTag == nil {
		return i.Permissions.CanPinMessages
	}
	return *i.Permissions.CanEditTag
}

// JoinResult is an answer to a join request query.
type JoinResult string

// The results. Bots may also decline a request; this package has no call that does.
const (
	JoinApproved JoinResult = "approve"
	// JoinQueued leaves the decision to the chat's administrators.
	JoinQueued JoinResult = "queue"
)

// AnswerChatJoinRequestQuery answers the query that came with a join request, once, and
// within 10 seconds of the request's date.
func (c *Client) AnswerChatJoinRequestQuery(ctx context.Context, id string, result JoinResult) error {
	return change(ctx, c, "answerChatJoinRequestQuery", map[string]any{"chat_join_request_query_id": id, "result": result})
}

// InlineButton is shown above the results of an inline query, and opens the private chat
// with the bot. The library's type sends "web_app":null too, which is no WebAppInfo.
type InlineButton struct {
	Text string `json:"text"`
	// Start is the parameter of the /start that a press sends; 1 to 64 of A-Za-z0-9_-.
	Start string `json:"start_parameter"`
}

// AnswerInlineQuery answers an inline query. The button may be nil. It is sent instead of
// the one in the params.
//
// The library would leave out a CacheTime of 0, and Telegram caches an answer without one
// for 300 seconds.
func (c *Client) AnswerInlineQuery(ctx context.Context, params *bot.AnswerInlineQueryParams, button *InlineButton) error {
	results := make([]json.RawMessage, len(params.Results))
	for i, r := range params.Results {
		results[i], _ = r.MarshalCustom() // It fails for no type that the bot sends.
	}
	return change(ctx, c, "answerInlineQuery", &struct {
		*bot.AnswerInlineQueryParams
		Results   []json.RawMessage `json:"results"`
		CacheTime int               `json:"cache_time"`
		Button    *InlineButton     `json:"button,omitempty"`
	}{params, results, params.CacheTime, button})
}
