package telegram

import (
	"fmt"
	"slices"
	"time"
)

// Limits on join requests, from https://core.telegram.org/bots/api#chatjoinrequest.
const (
	joinQueryLimit   = 10 * time.Second // how long a guardian bot may answer a request
	joinContactLimit = 5 * time.Minute  // how long the bot may write to the user
)

// kindJoin is the kind of an update with a join request.
const kindJoin = "chat_join_request"

// JoinState is the state of a join request.
type JoinState string

// The states. A request is open until it changes to one of the other states, which are final. Only moderators decline.
const (
	JoinOpen      JoinState = "open"
	JoinApproved  JoinState = "approved"
	JoinDeclined  JoinState = "declined"
	JoinWithdrawn JoinState = "withdrawn"
)

// JoinRequest is a user's request to join a chat.
type JoinRequest struct {
	Chat Chat
	From User
	At   time.Time
	// UpdateID is the ID of the update with the request, or 0 if there was no update.
	UpdateID int64
	// QueryID is the query that the bot answers as the chat's guardian, or "" if it is not the guardian.
	QueryID string
	State   JoinState
	// Answers are the bot's successful calls, in order. If the request was approved and none of them is
	// "approve", a moderator approved it.
	Answers []JoinAnswer
}

// JoinAnswer is the bot's answer to a join request: "approve" or "queue".
type JoinAnswer struct {
	Result string
	At     time.Time
}

// joinRequests has the requests of all chats. The zero value is empty.
type joinRequests struct {
	all     []*JoinRequest
	byUser  map[int64][]*JoinRequest
	byQuery map[string]*JoinRequest
}

func (j *joinRequests) add(r *JoinRequest) {
	if j.byUser == nil {
		j.byUser = map[int64][]*JoinRequest{}
		j.byQuery = map[string]*JoinRequest{}
	}
	j.all = append(j.all, r)
	j.byUser[r.From.ID] = append(j.byUser[r.From.ID], r)
	if r.QueryID != "" {
		j.byQuery[r.QueryID] = r
	}
}

// latest returns a user's latest request to join a chat, or nil.
func (j *joinRequests) latest(chat, user int64) *JoinRequest {
	for _, r := range slices.Backward(j.byUser[user]) {
		if r.Chat.ID == chat {
			return r
		}
	}
	return nil
}

// contactable reports whether the bot may write to a user because of an open request, even if the user has not started
// the bot.
func (j *joinRequests) contactable(user int64) bool {
	return slices.ContainsFunc(j.byUser[user], func(r *JoinRequest) bool {
		return r.State == JoinOpen && r.UpdateID != 0 && time.Since(r.At) <= joinContactLimit
	})
}

// forget deletes the old requests. isOld reports whether a request from this time is old.
func (j *joinRequests) forget(isOld func(time.Time) bool) {
	all := j.all
	*j = joinRequests{}
	for _, r := range all {
		if !isOld(r.At) {
			j.add(r)
		}
	}
}

// JoinRequests returns the join requests so far, in order.
func (s *Server) JoinRequests() []JoinRequest {
	return locked(s, func() (all []JoinRequest) {
		for _, r := range s.joins.all {
			all = append(all, *r)
		}
		return all
	})
}

// RequestJoin makes a user's request to join a chat, and returns the ID of the queued update. If guarded is set, the
// bot is the chat's guardian, and the update has a query.
//
// It does nothing and returns 0 if the user has an open request or is a member. It makes the request but returns 0 if
// the bot does not get the update, because the bot may not invite users to the chat or has not asked for this kind of
// updates in getUpdates or setWebhook.
//
// According to Telegram's reference, a bot that does not name any kinds gets join requests, too. From the fake, it does
// not, so that a bot which works here works in either case.
func (s *Server) RequestJoin(chat Chat, user User, guarded bool) (updateID int64) {
	s.Change(func() {
		latest := s.joins.latest(chat.ID, user.ID)
		isOpen := latest != nil && latest.State == JoinOpen
		if isOpen || s.isMember(chat.ID, user.ID) {
			return
		}
		r := &JoinRequest{Chat: chat, From: user, At: time.Now(), State: JoinOpen}
		if s.mayInvite(chat.ID) && s.joinsAllowed() {
			s.pushJoin(r, guarded)
		}
		s.joins.add(r)
		s.showJoin(r)
		updateID = r.UpdateID
	})
	return updateID
}

// pushJoin queues the update of a join request. The caller must hold the lock.
func (s *Server) pushJoin(r *JoinRequest, guarded bool) {
	content := map[string]any{
		"chat":         r.Chat,
		"from":         r.From,
		"user_chat_id": r.From.ID,
		"date":         r.At.Add(s.ahead).Unix(),
	}
	if guarded {
		s.nextQuery++
		r.QueryID = fmt.Sprint(s.nextQuery)
		content["query_id"] = r.QueryID
	}
	r.UpdateID = s.push(kindJoin, content)
}

// joinsAllowed reports whether the bot has asked for the updates of join requests. The caller must hold the lock.
func (s *Server) joinsAllowed() bool {
	if s.webhook.URL != "" {
		return slices.Contains(s.webhook.AllowedUpdates, kindJoin)
	}
	return slices.Contains(s.allowed, kindJoin)
}

// CloseJoin changes the state of a user's open join request: it approves or declines the request as a moderator, or
// withdraws it as the user. It returns false if there is no open request.
func (s *Server) CloseJoin(chat, user int64, state JoinState) (closed bool) {
	s.Change(func() {
		r := s.joins.latest(chat, user)
		if r == nil || r.State != JoinOpen {
			return
		}
		closed = true
		s.closeJoin(r, state)
		s.showJoin(r)
	})
	return closed
}

// closeJoin sets the final state of an open request. The caller must hold the lock.
func (s *Server) closeJoin(r *JoinRequest, state JoinState) {
	r.State = state
	if state == JoinApproved {
		delete(s.status, inChat{r.Chat.ID, r.From.ID}) // The status may be "left". statusOf now returns "member".
	}
}

// showJoin reports a join request to the watcher. The caller must hold the lock.
func (s *Server) showJoin(r *JoinRequest) {
	state := *r
	s.watch(Event{Join: &state, Chat: r.Chat.ID})
}

func (s *Server) approveChatJoinRequest(p params) (result any, refused *refusal) {
	return s.approveJoin(arg[int64](p, "chat_id"), arg[int64](p, "user_id"))
}

// approveJoin approves a user's open join request for the bot. The caller must hold the lock.
func (s *Server) approveJoin(chat, user int64) (result any, refused *refusal) {
	if refused := s.hasMoved(chat); refused != nil {
		return nil, refused
	}
	r := s.joins.latest(chat, user)
	switch {
	case !s.mayInvite(chat):
		return nil, bad("not enough rights to manage chat invite link")
	case s.isMember(chat, user):
		return nil, bad("USER_ALREADY_PARTICIPANT")
	case r == nil || r.State != JoinOpen:
		return nil, bad("HIDE_REQUESTER_MISSING")
	case s.barred[user] != "":
		return nil, bad(s.barred[user])
	}
	s.closeJoin(r, JoinApproved)
	s.answerJoin(r, "approve")
	return true, nil
}

// Bar makes the server refuse to approve requests of a user. The reason is an error of Telegram, such as
// "USER_CHANNELS_TOO_MUCH"; "" allows approvals again.
func (s *Server) Bar(user int64, reason string) {
	s.Change(func() { s.barred[user] = reason })
}

func (s *Server) answerChatJoinRequestQuery(p params) (result any, refused *refusal) {
	r := s.joins.byQuery[arg[string](p, "chat_join_request_query_id")]
	if r == nil || r.State != JoinOpen || len(r.Answers) > 0 || time.Since(r.At) > joinQueryLimit {
		return nil, bad("query is too old and response timeout expired or query ID is invalid")
	}
	if arg[string](p, "result") == "approve" {
		return s.approveJoin(r.Chat.ID, r.From.ID)
	}
	s.answerJoin(r, "queue")
	return true, nil
}

// answerJoin records an answer of the bot. The caller must hold the lock.
func (s *Server) answerJoin(r *JoinRequest, result string) {
	r.Answers = append(r.Answers, JoinAnswer{Result: result, At: time.Now()})
	s.showJoin(r)
}

// GrantInvite makes the bot an administrator of a chat, and grants or denies it the right to add members. Promote gives
// the bot another status.
func (s *Server) GrantInvite(chat int64, right Right) {
	s.Change(func() {
		s.status[inChat{chat, BotID}] = "administrator"
		s.inviting[chat] = right
	})
}

// mayInvite reports whether the bot has the right can_invite_users. The caller must hold the lock.
func (s *Server) mayInvite(chat int64) bool {
	return s.status[inChat{chat, BotID}] == "administrator" && s.inviting[chat] == Granted
}
