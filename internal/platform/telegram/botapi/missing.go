package botapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// GetUpdates acknowledges all updates before offset and returns up to limit of the others, of the allowed kinds. If
// there are none, it waits for one, for up to wait, rounded down to seconds. It does not decode the updates, so that a
// malformed one does not lose the others.
//
// The library's own poll acknowledges an update before its handler ends, so a stop would lose the update.
func (c *Client) GetUpdates(
	ctx context.Context, offset int64, limit int, wait time.Duration, allowed []string,
) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout+wait)
	defer cancel()
	return ownCall[[]json.RawMessage](ctx, c, c.poll, "getUpdates", map[string]any{
		"offset":          offset,
		"limit":           limit,
		"timeout":         int(wait.Seconds()),
		"allowed_updates": allowed,
	})
}

// ChatInfo is a chat as an administrator sees it. The library's type has no GuardBot, and takes a missing CanEditTag
// for false.
type ChatInfo struct {
	ID       int64  `json:"id"`
	Title    string `json:"title"`
	Username string `json:"username"` // of a public chat
	// JoinByRequest is set if administrators approve everybody who joins without an invite link.
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
	const method = "getChat"
	info, err := ownCall[ChatInfo](ctx, c, c.http, method, map[string]any{"chat_id": chat})
	if err == nil && info.ID == 0 {
		err = &Error{Method: method, Kind: Unreadable}
	}
	return info, err
}

// MembersEditTags reports whether members of the chat may set their own tags.
func (i *ChatInfo) MembersEditTags() bool {
	if i.Permissions.CanEditTag == nil {
		return i.Permissions.CanPinMessages
	}
	return *i.Permissions.CanEditTag
}

// JoinResult is an answer to a join request query.
type JoinResult string

// The results. This bot does not use the third, "decline".
const (
	JoinApproved JoinResult = "approve"
	// JoinQueued leaves the decision to the chat's administrators.
	JoinQueued JoinResult = "queue"
)

// AnswerChatJoinRequestQuery answers the query that came with a join request. Telegram takes one
// answer, within 10 seconds of the request's date.
func (c *Client) AnswerChatJoinRequestQuery(ctx context.Context, id string, result JoinResult) error {
	params := map[string]any{"chat_join_request_query_id": id, "result": result}
	return ownChange(ctx, c, "answerChatJoinRequestQuery", params)
}

// InlineButton is shown above the results of an inline query, and opens the private chat
// with the bot. The library's type also sends "web_app":null, and the Bot API describes no null.
type InlineButton struct {
	Text string `json:"text"`
	// Start is the parameter of the /start that a press sends; 1 to 64 of A-Za-z0-9_-.
	Start string `json:"start_parameter"`
}

// AnswerInlineQuery answers an inline query. It sends button, which may be nil, instead of
// params.Button.
//
// The library would leave out a CacheTime of 0, and Telegram caches an answer without a
// cache_time for 300 seconds.
func (c *Client) AnswerInlineQuery(
	ctx context.Context, params *bot.AnswerInlineQueryParams, button *InlineButton,
) error {
	const method = "answerInlineQuery"
	results := make([]json.RawMessage, len(params.Results))
	for i, r := range params.Results {
		var err error
		if results[i], err = r.MarshalCustom(); err != nil {
			return impossible(method)
		}
	}
	// Each field below params replaces the field of params with the same JSON name.
	return ownChange(ctx, c, method, &struct {
		*bot.AnswerInlineQueryParams
		Results   []json.RawMessage `json:"results"`
		CacheTime int               `json:"cache_time"`
		Button    *InlineButton     `json:"button,omitempty"`
	}{params, results, params.CacheTime, button})
}
