package telegram

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Bounds on join requests, https://core.telegram.org/bots/api#chatjoinrequest.
const (
	joinQueryLimit   = 10 * time.Second // in which a guardian bot may answer
	joinContactLimit = 5 * time.Minute  // in which the bot may write to the person
)

// kindJoin is the kind of update that tells of a join request.
const kindJoin = "chat_join_request"

// JoinState is what became of a join request.
type JoinState string

// A request is open until one of the others happens to it. Only moderators decline.
const (
	JoinOpen      JoinState = "open"
	JoinApproved  JoinState = "approved"
	JoinDeclined  JoinState = "declined"
	JoinWithdrawn JoinState = "withdrawn"
)

// JoinRequest is somebody's request to join a chat.
type JoinRequest struct {
	Chat Chat
	From User
	At   time.Time
	// UpdateID is 0 if the bot was not told.
	UpdateID int64
	// QueryID is "" unless the bot was asked as the chat's guardian.
	QueryID string
	State   JoinState
	// Answers are the bot's calls that had an effect, in order. An approved request
	// without an "approve" among them was approved by a moderator.
	Answers []JoinAnswer
}

// JoinAnswer is the bot's answer to a join request: "approve" or "queue".
type JoinAnswer struct {
	Result string
	At     time.Time
}

// joinRequests holds the requests of all chats. The zero value is empty.
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

// last returns the newest request of a user to join a chat, or nil.
func (j *joinRequests) last(chat, user int64) *JoinRequest {
	for _, r := range slices.Backward(j.byUser[user]) {
		if r.Chat.ID == chat {
			return r
		}
	}
	return nil
}

// contactable reports whether a request lets the bot write to a user who has not started it.
func (j *joinRequests) contactable(user int64) bool {
	return slices.ContainsFunc(j.byUser[user], func(r *JoinRequest) bool {
		return r.State == JoinOpen && r.UpdateID != 0 && time.Since(r.At) <= joinContactLimit
	})
}

// forget deletes the requests that are old.
func (j *joinRequests) forget(old func(time.Time) bool) {
	all := j.all
	*j = joinRequests{}
	for _, r := range all {
		if !old(r.At) {
			j.add(r)
		}
	}
}

// JoinRequests returns the requests to join so far, in order.
func (s *Server) JoinRequests() []JoinRequest {
	return locked(s, func() (all []JoinRequest) {
		for _, r := range s.joins.all {
			all = append(all, *r)
		}
		return all
	})
}

// RequestJoin has a user ask to join a chat, and returns the ID of the queued update. If
// guarded, the bot is asked as the chat's guardian. It returns 0, and the request is open
// nevertheless, if the bot lacks the right to invite there, or its last getUpdates or
// setWebhook with a list of kinds did not name this kind. It returns 0 and makes no
// request if the user has one that is open, or is known to be a member.
//
// Telegram's reference has this kind among those that come without a list. The stand-in
// wants it named, so that the bot works either way.
func (s *Server) RequestJoin(chat Chat, user User, guarded bool) (updateID int64) {
	s.Change(func() {
		if last := s.joins.last(chat.ID, user.ID); last != nil && last.State == JoinOpen || s.isMember(chat.ID, user.ID) {
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

// pushJoin queues the update of a join request, under the lock.
func (s *Server) pushJoin(r *JoinRequest, guarded bool) {
	member := map[string]any{"chat": r.Chat, "from": r.From, "user_chat_id": r.From.ID, "date": r.At.Add(s.ahead).Unix()}
	if guarded {
		s.nextQuery++
		r.QueryID = fmt.Sprint(s.nextQuery)
		member["query_id"] = r.QueryID
	}
	r.UpdateID = s.push(kindJoin, member)
}

// joinsAllowed reports whether the bot named join requests among the kinds of update that
// it wants, under the lock.
func (s *Server) joinsAllowed() bool {
	if s.webhook.URL != "" {
		return slices.Contains(s.webhook.AllowedUpdates, kindJoin)
	}
	return slices.Contains(s.allowed, kindJoin)
}

// CloseJoin approves or declines an open join request as a moderator, or withdraws it as
// the user who made it. It returns false if there is none.
func (s *Server) CloseJoin(chat, user int64, state JoinState) (closed bool) {
	s.Change(func() {
		if r := s.joins.last(chat, user); r != nil && r.State == JoinOpen {
			closed = true
			s.closeJoin(r, state)
			s.showJoin(r)
		}
	})
	return closed
}

// closeJoin sets what became of an open request, under the lock.
func (s *Server) closeJoin(r *JoinRequest, state JoinState) {
	r.State = state
	if state == JoinApproved {
		delete(s.status, [2]int64{r.Chat.ID, r.From.ID}) // of somebody who had left
	}
}

// showJoin reports a join request to the watcher, under the lock.
func (s *Server) showJoin(r *JoinRequest) {
	now := *r
	s.watch(Event{Join: &now, Chat: r.Chat.ID})
}

func (s *Server) approveChatJoinRequest(p params) (result any, no *refusal) {
	return s.approveJoin(arg[int64](p, "chat_id"), arg[int64](p, "user_id"))
}

// approveJoin carries out the bot's approval, under the lock.
func (s *Server) approveJoin(chat, user int64) (result any, no *refusal) {
	if no := s.hasMoved(chat); no != nil {
		return nil, no
	}
	r := s.joins.last(chat, user)
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

// Bar has each approval of a user's request refused with a reason, such as USER_CHANNELS_TOO_MUCH;
// "" allows approvals again.
func (s *Server) Bar(user int64, reason string) {
	s.Change(func() { s.barred[user] = reason })
}

func (s *Server) answerChatJoinRequestQuery(p params) (result any, no *refusal) {
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

// answerJoin records an answer of the bot's, under the lock.
func (s *Server) answerJoin(r *JoinRequest, result string) {
	r.Answers = append(r.Answers, JoinAnswer{Result: result, At: time.Now()})
	s.showJoin(r)
}

// GrantInvite makes the bot an administrator of a chat who may, or may not, add members.
// Promote sets its status there otherwise.
func (s *Server) GrantInvite(chat int64, may bool) {
	s.Change(func() {
		s.status[[2]int64{chat, BotID}] = "administrator"
		s.inviting[chat] = may
	})
}

// mayInvite reports whether the bot has the right can_invite_users, under the lock.
func (s *Server) mayInvite(chat int64) bool {
	return s.status[[2]int64{chat, BotID}] == "administrator" && s.inviting[chat]
}

// standing returns a user's status in a chat, under the lock. It is "" if neither Promote
// nor a join request has set one.
func (s *Server) standing(chat, user int64) string {
	status, r := s.status[[2]int64{chat, user}], s.joins.last(chat, user)
	switch {
	case status != "" || r == nil:
		return status
	case r.State == JoinApproved:
		return "member"
	}
	return "left"
}

// isMember reports whether a user is known to be in a chat, under the lock.
func (s *Server) isMember(chat, user int64) bool {
	return !slices.Contains([]string{"", "left", "kicked"}, s.standing(chat, user))
}

func (s *Server) getChatMember(p params) (result any, no *refusal) {
	chat, user := arg[int64](p, "chat_id"), arg[int64](p, "user_id")
	if no := s.reachable(chat); no != nil {
		return nil, no
	}
	member := map[string]any{"status": cmp.Or(s.standing(chat, user), "member"), "user": s.person(user)}
	if user == BotID && member["status"] == "administrator" {
		member["can_invite_users"] = s.inviting[chat]
		if may, told := s.tagging[chat]; told {
			member["can_manage_tags"] = may
		}
	}
	if member["status"] == "restricted" {
		member["is_member"] = true
	}
	name := "tag"
	if member["status"] == "administrator" || member["status"] == "creator" {
		name = "custom_title"
	}
	if tag := s.tags[[2]int64{chat, user}]; tag != "" {
		member[name] = tag
	}
	return member, nil
}

// ChatInfo is what getChat returns of a chat.
type ChatInfo struct {
	Chat
	JoinByRequest bool `json:"join_by_request,omitempty"`
	// GuardBot answers the chat's join requests. Only administrators are told.
	GuardBot *User `json:"guard_bot,omitempty"`
	// Permissions are those of members; nil: nothing is said of them.
	Permissions *ChatPermissions `json:"permissions,omitempty"`
	// Unknown makes every call about the chat fail: there is no such chat.
	Unknown bool `json:"-"`
}

// SetChat sets what getChat returns of c.ID. Until then that is ChatOf.
func (s *Server) SetChat(c ChatInfo) { s.Change(func() { s.chats[c.ID] = c }) }

func (s *Server) getChat(p params) (result any, no *refusal) {
	id := arg[int64](p, "chat_id")
	if no := s.reachable(id); no != nil {
		return nil, no
	}
	c, set := s.chats[id]
	if !set {
		c.Chat = ChatOf(id)
	}
	if s.status[[2]int64{id, BotID}] != "administrator" {
		c.GuardBot = nil
	}
	return c, nil
}
