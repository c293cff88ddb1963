package botapi

import (
	"context"

	"github.com/go-telegram/bot"
)

// Approve lets a user into a chat (approveChatJoinRequest). The bot needs the right to invite
// users. Telegram refuses if the user has no open request, or is a member.
func (c *Client) Approve(ctx context.Context, chat, user int64) error {
	_, err := c.bot().ApproveChatJoinRequest(ctx, &bot.ApproveChatJoinRequestParams{ChatID: chat, UserID: user})
	return libraryError("approveChatJoinRequest", err)
}

// JoinResult is an answer to a join request query.
type JoinResult string

// The results. Bots may also decline a request; this package has no call that does.
const (
	JoinApproved JoinResult = "approve"
	// JoinQueued leaves the decision to the chat's administrators.
	JoinQueued JoinResult = "queue"
)

// AnswerJoinQuery answers the query that came with a join request, once, and within 10
// seconds of the request's date (answerChatJoinRequestQuery).
func (c *Client) AnswerJoinQuery(ctx context.Context, id string, result JoinResult) error {
	return c.do(ctx, "answerChatJoinRequestQuery", map[string]any{"chat_join_request_query_id": id, "result": result})
}

// NoJoinRequest reports whether the user has no open request to join.
func (e *Error) NoJoinRequest() bool { return e.detail == noJoinRequest }

// Expired reports whether a query came too late, or is answered.
func (e *Error) Expired() bool { return e.detail == queryTooOld }

// NotAllowed reports whether the bot lacks a right in the chat.
func (e *Error) NotAllowed() bool {
	right := rights[e.Method]
	return e.Kind == Forbidden || e.detail == noRight || right != "" && e.detail == right
}

// ChatInfo is a chat as its administrators see it. The library's type lacks GuardBot and
// CanEditTag.
type ChatInfo struct {
	Title    string `json:"title"`
	Username string `json:"username"` // of a public chat
	// JoinByRequest is set if administrators approve everybody who joins without an invite
	// link.
	JoinByRequest bool `json:"join_by_request"`
	// GuardBot is the bot that Telegram asks about join requests first, or nil.
	GuardBot *struct {
		ID int64 `json:"id"`
	} `json:"guard_bot"`
	// Permissions are those of members. Without CanEditTag it is as CanPinMessages.
	Permissions struct {
		CanEditTag     *bool `json:"can_edit_tag"`
		CanPinMessages bool  `json:"can_pin_messages"`
	} `json:"permissions"`
}

// GetChat returns a chat.
func (c *Client) GetChat(ctx context.Context, chat int64) (ChatInfo, error) {
	return exchange[ChatInfo](ctx, c, jsonCall("getChat", map[string]any{"chat_id": chat}))
}
