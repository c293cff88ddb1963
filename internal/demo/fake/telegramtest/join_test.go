package telegramtest

import (
	"testing"
	"testing/synctest"
	"time"

	faketelegram "herald/internal/demo/fake/telegram"
)

// joinCalls are the calls that a bot may make about ann's request to join the group.
var joinCalls = map[string]struct{ method, params string }{
	"approve":       {"approveChatJoinRequest", `{"chat_id":-1001,"user_id":501}`},
	"query approve": {"answerChatJoinRequestQuery", `{"chat_join_request_query_id":"1","result":"approve"}`},
	"query queue":   {"answerChatJoinRequestQuery", `{"chat_join_request_query_id":"1","result":"queue"}`},
	"write":         {"sendMessage", `{"chat_id":501,"text":"Hello"}`},
	"edit":          {"editMessageText", `{"chat_id":501,"message_id":1,"text":"Welcome"}`}, // the message of "write"
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

// newDoor returns a server with a bot that polls for join requests, and has the right to answer the group's.
func newDoor(t *testing.T) *Server {
	s := NewInMemory(t)
	s.request(t, "getUpdates", `{"allowed_updates":["message","chat_join_request"]}`)
	s.GrantInvite(group, true)
	return s
}

// knock makes ann ask to join the group.
func (s *Server) knock(guarded bool) {
	s.RequestJoin(faketelegram.Group(group), faketelegram.Person(ann), guarded)
}

// joinStep is one thing that happens to ann's request.
type joinStep func(*testing.T, *Server)

// makes makes a call, which succeeds.
func makes(call string) joinStep { return refused(call, "") }

// refused makes a call, which Telegram refuses.
func refused(call, refusal string) joinStep {
	return func(t *testing.T, s *Server) {
		t.Helper()
		c := joinCalls[call]
		if got := s.request(t, c.method, c.params); got != refusal {
			t.Errorf("%s: refused with %q, want %q", call, got, refusal)
		}
	}
}

func passes(d time.Duration) joinStep { return func(*testing.T, *Server) { time.Sleep(d) } }

// closes is a moderator who settles the request in the app, or ann who withdraws it.
func closes(state faketelegram.JoinState) joinStep {
	return func(t *testing.T, s *Server) {
		t.Helper()
		if !s.CloseJoin(group, ann, state) {
			t.Errorf("no open request to be %s", state)
		}
	}
}

// Steps without a call.
var (
	approve  = closes(faketelegram.JoinApproved)
	decline  = closes(faketelegram.JoinDeclined)
	withdraw = closes(faketelegram.JoinWithdrawn)
)

func loseRight(_ *testing.T, s *Server) { s.GrantInvite(group, false) }
func demote(_ *testing.T, s *Server)    { s.Promote(group, faketelegram.BotID, "member") }
func leave(_ *testing.T, s *Server)     { s.Promote(group, ann, "left") }
func askAgain(_ *testing.T, s *Server)  { s.knock(false) }
func start(_ *testing.T, s *Server)     { s.Start(ann) }
func bar(_ *testing.T, s *Server)       { s.Bar(ann, "USER_CHANNELS_TOO_MUCH") }
func allow(_ *testing.T, s *Server)     { s.Bar(ann, "") }

// checkJoins takes the steps of each case after ann has asked to join. If guarded is set, Telegram queries the bot
// about the request.
func checkJoins(t *testing.T, guarded bool, cases map[string][]joinStep) {
	t.Helper()
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newDoor(t)
				s.knock(guarded)
				for _, step := range steps {
					step(t, s)
				}
			})
		})
	}
}

func TestAJoinRequestIsApprovedOnce(t *testing.T) {
	const guarded = false
	checkJoins(t, guarded, map[string][]joinStep{
		"twice":                  {makes("approve"), refused("approve", isIn)},
		"late":                   {passes(time.Hour), makes("approve")},
		"by a moderator":         {approve, refused("approve", isIn)},
		"declined":               {decline, refused("approve", noRequest)},
		"withdrawn":              {withdraw, refused("approve", noRequest)},
		"asked again after a no": {decline, askAgain, makes("approve")},
		"asked again after leaving": {
			makes("approve"),
			leave,
			refused("approve", noRequest),
			askAgain,
			makes("approve"),
			refused("approve", isIn),
		},
	})
}

func TestAJoinRequestIsApprovedByRight(t *testing.T) {
	const guarded = false
	checkJoins(t, guarded, map[string][]joinStep{
		"without the right":    {loseRight, refused("approve", noRight)},
		"not an administrator": {demote, refused("approve", noRight)},
		"query unknown":        {refused("query approve", queryIsOver)},
		"barred":               {bar, refused("approve", barred), makes("write"), allow, makes("approve")},
	})
}

// Telegram lets a bot write for 5 minutes to somebody whose request is open.
func TestABotMayWriteToWhoAsksToJoin(t *testing.T) {
	const guarded = false
	checkJoins(t, guarded, map[string][]joinStep{
		"at once":      {makes("write"), makes("type")},
		"in 5 minutes": {passes(5 * time.Minute), makes("write")},
		"after 5 minutes": {
			passes(5*time.Minute + 1),
			refused("write", noContact),
			refused("type", noContact),
		},
		"after approval": {makes("write"), makes("approve"), refused("write", noContact), makes("edit")},
		"after a no":     {decline, refused("write", noContact)},
		"when withdrawn": {withdraw, refused("write", noContact)},
		"with a chat":    {start, makes("approve"), passes(time.Hour), makes("write")},
	})
}

// A query has to be answered within 10 seconds.
func TestAJoinQueryIsAnsweredInTimeAndOnce(t *testing.T) {
	const guarded = true
	checkJoins(t, guarded, map[string][]joinStep{
		"in 10 s":    {passes(10 * time.Second), makes("query approve"), refused("approve", isIn)},
		"after 10 s": {passes(10*time.Second + 1), refused("query queue", queryIsOver), makes("approve")},
		"twice":      {makes("query queue"), refused("query approve", queryIsOver)},
		"queued":     {makes("query queue"), makes("write"), makes("approve")},
		"withdrawn":  {withdraw, refused("query approve", queryIsOver)},
		"no right":   {loseRight, refused("query approve", noRight), makes("query queue")},
		"barred":     {bar, refused("query approve", barred), makes("query queue"), makes("write")},
	})
}

func TestNobodyWhoHasNotAskedIsApproved(t *testing.T) {
	s := newDoor(t)
	refused("approve", noRequest)(t, s)
	refused("write", noContact)(t, s)
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
		s.Fail(call.method, Status(500)) // A violation counts although the call fails.
		refusal := s.request(t, call.method, call.params)
		if refusal == "" || len(s.Violations()) != 1 {
			t.Errorf("%s: refused with %q, violations %q", call.method, refusal, s.Violations())
		}
		if request := s.JoinRequests()[0]; request.State != faketelegram.JoinOpen {
			t.Errorf("%s: the request is %+v", call.method, request)
		}
	}
}
