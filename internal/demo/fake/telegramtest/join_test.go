package telegramtest

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	faketelegram "herald/internal/demo/fake/telegram"
)

// joinCalls are what a bot may do about ann's request to join the group.
var joinCalls = map[string]struct{ method, params string }{
	"approve":       {"approveChatJoinRequest", `{"chat_id":-1001,"user_id":501}`},
	"query approve": {"answerChatJoinRequestQuery", `{"chat_join_request_query_id":"1","result":"approve"}`},
	"query queue":   {"answerChatJoinRequestQuery", `{"chat_join_request_query_id":"1","result":"queue"}`},
	"write":         {"sendMessage", `{"chat_id":501,"text":"Hello"}`},
	"edit":          {"editMessageText", `{"chat_id":501,"message_id":1,"text":"Welcome"}`}, // what "write" wrote
	"type":          {"sendChatAction", `{"chat_id":501,"action":"typing"}`},
}

// Refusals of those calls.
const (
	noRight     = "Bad Request: not enough rights to manage chat invite link"
	noRequest   = "Bad Request: HIDE_REQUESTER_MISSING"
	isIn        = "Bad Request: USER_ALREADY_PARTICIPANT"
	barred      = "Bad Request: USER_CHANNELS_TOO_MUCH"
	queryIsOver = "Bad Request: query is too old and response timeout expired or query ID is invalid"
	noContact   = "Forbidden: bot can't initiate conversation with a user"
)

// newDoor returns a server whose bot polls for join requests and may answer those of the
// group.
func newDoor(t *testing.T) *Server {
	s := NewInMemory(t)
	s.request(t, "getUpdates", `{"allowed_updates":["message","chat_join_request"]}`)
	s.GrantInvite(group, true)
	return s
}

// knock has ann ask to join the group.
func (s *Server) knock(guarded bool) {
	s.RequestJoin(faketelegram.Group(group), faketelegram.Person(ann), guarded)
}

// joinStep is one thing that happens to ann's request.
type joinStep struct {
	call    string                 // one of joinCalls
	refusal string                 // of the call
	after   time.Duration          // passes
	closed  faketelegram.JoinState // in the app
	do      func(*Server)
}

func (step joinStep) take(t *testing.T, s *Server) {
	t.Helper()
	time.Sleep(step.after)
	if step.closed != "" && !s.CloseJoin(group, ann, step.closed) {
		t.Errorf("no open request to be %s", step.closed)
	}
	if step.do != nil {
		step.do(s)
	}
	c := joinCalls[step.call]
	if step.call != "" {
		if got := s.request(t, c.method, c.params); got != step.refusal {
			t.Errorf("%s: refused with %q, want %q", step.call, got, step.refusal)
		}
	}
}

// Steps that call nothing.
var (
	loseRight = joinStep{do: func(s *Server) { s.GrantInvite(group, false) }}
	demote    = joinStep{do: func(s *Server) { s.Promote(group, faketelegram.BotID, "member") }}
	leave     = joinStep{do: func(s *Server) { s.Promote(group, ann, "left") }}
	askAgain  = joinStep{do: func(s *Server) { s.knock(false) }}
	start     = joinStep{do: func(s *Server) { s.Start(ann) }}
	bar       = joinStep{do: func(s *Server) { s.Bar(ann, "USER_CHANNELS_TOO_MUCH") }}
	allow     = joinStep{do: func(s *Server) { s.Bar(ann, "") }}
	approve   = joinStep{closed: faketelegram.JoinApproved}
	decline   = joinStep{closed: faketelegram.JoinDeclined}
	withdraw  = joinStep{closed: faketelegram.JoinWithdrawn}
)

// joinCases are what happens once ann has asked; the bot is the guardian where the name
// says so.
var joinCases = map[string][]joinStep{
	"approved twice":             {{call: "approve"}, {call: "approve", refusal: isIn}},
	"approved late":              {{after: time.Hour, call: "approve"}},
	"without the right":          {loseRight, {call: "approve", refusal: noRight}},
	"not an administrator":       {demote, {call: "approve", refusal: noRight}},
	"approved by a moderator":    {approve, {call: "approve", refusal: isIn}},
	"declined by a moderator":    {decline, {call: "approve", refusal: noRequest}},
	"withdrawn":                  {withdraw, {call: "approve", refusal: noRequest}},
	"left after approval":        {{call: "approve"}, leave, {call: "approve", refusal: noRequest}, askAgain, {call: "approve"}, {call: "approve", refusal: isIn}},
	"asked again after a no":     {decline, askAgain, {call: "approve"}},
	"query unknown":              {{call: "query approve", refusal: queryIsOver}},
	"written to at once":         {{call: "write"}, {call: "type"}},
	"written to in 5 minutes":    {{after: 5 * time.Minute, call: "write"}},
	"written to after 5 minutes": {{after: 5*time.Minute + 1, call: "write", refusal: noContact}, {call: "type", refusal: noContact}},
	"written to after approval":  {{call: "write"}, {call: "approve"}, {call: "write", refusal: noContact}, {call: "edit"}},
	"written to after a no":      {decline, {call: "write", refusal: noContact}},
	"written to when withdrawn":  {withdraw, {call: "write", refusal: noContact}},
	"started the bot":            {start, {call: "approve"}, {after: time.Hour, call: "write"}},
	"guarded: in 10 s":           {{after: 10 * time.Second, call: "query approve"}, {call: "approve", refusal: isIn}},
	"guarded: after 10 s":        {{after: 10*time.Second + 1, call: "query queue", refusal: queryIsOver}, {call: "approve"}},
	"guarded: answered twice":    {{call: "query queue"}, {call: "query approve", refusal: queryIsOver}},
	"guarded: queued":            {{call: "query queue"}, {call: "write"}, {call: "approve"}},
	"guarded: withdrawn":         {withdraw, {call: "query approve", refusal: queryIsOver}},
	"guarded: without the right": {loseRight, {call: "query approve", refusal: noRight}, {call: "query queue"}},
	"barred":                     {bar, {call: "approve", refusal: barred}, {call: "write"}, allow, {call: "approve"}},
	"guarded: barred":            {bar, {call: "query approve", refusal: barred}, {call: "query queue"}, {call: "write"}},
}

func TestJoinRequestsAreAnsweredInTimeAndByRight(t *testing.T) {
	for name, steps := range joinCases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newDoor(t)
				s.knock(strings.HasPrefix(name, "guarded"))
				for _, step := range steps {
					step.take(t, s)
				}
			})
		})
	}
	s := newDoor(t) // where nobody has asked
	joinStep{call: "approve", refusal: noRequest}.take(t, s)
	joinStep{call: "write", refusal: noContact}.take(t, s)
}

func TestTurningPeopleAwayIsAViolation(t *testing.T) {
	for _, call := range []struct{ method, params string }{
		{"declineChatJoinRequest", `{"chat_id":-1001,"user_id":501}`},
		{"answerChatJoinRequestQuery", `{"chat_join_request_query_id":"1","result":"decline"}`},
		{"banChatMember", `{"chat_id":-1001,"user_id":501}`},
		{"restrictChatMember", `{"chat_id":-1001,"user_id":501,"permissions":{"can_send_messages":false}}`},
		{"unbanChatMember", `{"chat_id":-1001,"user_id":501,"only_if_banned":true}`},
		{"banChatSenderChat", `{"chat_id":-1001,"sender_chat_id":-1002}`},
	} {
		s := &Server{Server: faketelegram.New()}
		s.Intercept(s.serve)
		s.request(t, "getUpdates", `{"allowed_updates":["chat_join_request"]}`)
		s.GrantInvite(group, true)
		s.knock(true)
		s.Fail(call.method, Status(500)) // that it fails is no excuse
		refusal := s.request(t, call.method, call.params)
		if refusal == "" || len(s.Violations()) != 1 || s.JoinRequests()[0].State != faketelegram.JoinOpen {
			t.Errorf("%s: refused with %q, violations %q, request %v", call.method, refusal, s.Violations(), s.JoinRequests())
		}
	}
}
