package telegramtest

import (
	"testing"
	"testing/synctest"
	"time"

	faketelegram "herald/internal/demo/fake/telegram"
)

// joinCalls are calls about ann's request to join the group, by the names that steps use.
var joinCalls = map[string]struct{ method, params string }{
	"approve":       {"approveChatJoinRequest", `{"chat_id":-1001,"user_id":501}`},
	"query approve": {"answerChatJoinRequestQuery", `{"chat_join_request_query_id":"1","result":"approve"}`},
	"query queue":   {"answerChatJoinRequestQuery", `{"chat_join_request_query_id":"1","result":"queue"}`},
	"write":         {"sendMessage", `{"chat_id":501,"text":"Hello"}`},
	// The message of "write" is number 1.
	"edit": {"editMessageText", `{"chat_id":501,"message_id":1,"text":"Welcome"}`},
	"type": {"sendChatAction", `{"chat_id":501,"action":"typing"}`},
}

// Telegram's errors for joinCalls.
const (
	noRight     = "Bad Request: not enough rights to manage chat invite link"
	noRequest   = "Bad Request: HIDE_REQUESTER_MISSING"
	isMember    = "Bad Request: USER_ALREADY_PARTICIPANT"
	isBarred    = "Bad Request: USER_CHANNELS_TOO_MUCH"
	queryIsOver = "Bad Request: query is too old and response timeout expired or query ID is invalid"
	noContact   = "Forbidden: bot can't initiate conversation with a user"
)

// newJoinServer returns a server with a bot that gets the updates of join requests, and may approve requests to join
// the group.
func newJoinServer(t *testing.T) *Server {
	s := NewInMemory(t)
	s.request(t, "getUpdates", `{"allowed_updates":["message","chat_join_request"]}`)
	s.GrantInvite(group, faketelegram.Granted)
	return s
}

// requestJoin makes ann's request to join the group. guarded is set if the bot is the group's guardian: Telegram then
// queries the bot about the request.
func (s *Server) requestJoin(guarded bool) {
	s.RequestJoin(faketelegram.Group(group), faketelegram.Person(ann), guarded)
}

// joinStep is an event after ann has made a request.
type joinStep func(*testing.T, *Server)

// succeeds makes one of joinCalls, and checks that it succeeds.
func succeeds(call string) joinStep { return refused(call, "") }

// refused makes one of joinCalls, and checks that Telegram refuses it with this error.
func refused(call, refusal string) joinStep {
	return func(t *testing.T, s *Server) {
		t.Helper()
		c := joinCalls[call]
		if got := s.request(t, c.method, c.params); got != refusal {
			t.Errorf("%s: refused with %q, want %q", call, got, refusal)
		}
	}
}

// after lets time pass.
func after(d time.Duration) joinStep { return func(*testing.T, *Server) { time.Sleep(d) } }

// closed sets the final state of the request, without the bot.
func closed(state faketelegram.JoinState) joinStep {
	return func(t *testing.T, s *Server) {
		t.Helper()
		if !s.CloseJoin(group, ann, state) {
			t.Errorf("no open request to be %s", state)
		}
	}
}

// What a moderator or ann does.
var (
	approved  = closed(faketelegram.JoinApproved) // by a moderator
	declined  = closed(faketelegram.JoinDeclined) // by a moderator
	withdrawn = closed(faketelegram.JoinWithdrawn)
)

func annLeaves(_ *testing.T, s *Server) { s.Promote(group, ann, "left") }
func annRequestsAgain(_ *testing.T, s *Server) {
	const guarded = false
	s.requestJoin(guarded)
}
func annStartsBot(_ *testing.T, s *Server)  { s.Start(ann) }
func botLosesRight(_ *testing.T, s *Server) { s.GrantInvite(group, faketelegram.Denied) }
func botIsDemoted(_ *testing.T, s *Server)  { s.Promote(group, faketelegram.BotID, "member") }

// Telegram refuses to let ann join any group, and allows it again.
func annIsBarred(_ *testing.T, s *Server)  { s.Bar(ann, "USER_CHANNELS_TOO_MUCH") }
func annIsAllowed(_ *testing.T, s *Server) { s.Bar(ann, "") }

// checkJoins makes ann's request for each case, and then takes the steps of the case.
func checkJoins(t *testing.T, guarded bool, cases map[string][]joinStep) {
	t.Helper()
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newJoinServer(t)
				s.requestJoin(guarded)
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
		"twice":                 {succeeds("approve"), refused("approve", isMember)},
		"late":                  {after(time.Hour), succeeds("approve")},
		"by a moderator":        {approved, refused("approve", isMember)},
		"declined":              {declined, refused("approve", noRequest)},
		"withdrawn":             {withdrawn, refused("approve", noRequest)},
		"again, after declined": {declined, annRequestsAgain, succeeds("approve")},
		"again, after leaving": {
			succeeds("approve"),
			annLeaves,
			refused("approve", noRequest),
			annRequestsAgain,
			succeeds("approve"),
			refused("approve", isMember),
		},
	})
}

func TestApprovingAJoinRequestNeedsARight(t *testing.T) {
	const guarded = false
	checkJoins(t, guarded, map[string][]joinStep{
		"without the right":    {botLosesRight, refused("approve", noRight)},
		"not an administrator": {botIsDemoted, refused("approve", noRight)},
		"query unknown":        {refused("query approve", queryIsOver)},
		"barred": {
			annIsBarred,
			refused("approve", isBarred),
			succeeds("write"),
			annIsAllowed,
			succeeds("approve"),
		},
	})
}

// A bot may write to a user for 5 minutes after the request, while it is open.
func TestABotMayWriteToTheUserOfAJoinRequest(t *testing.T) {
	const guarded = false
	checkJoins(t, guarded, map[string][]joinStep{
		"at once":      {succeeds("write"), succeeds("type")},
		"in 5 minutes": {after(5 * time.Minute), succeeds("write")},
		"after 5 minutes": {
			after(5*time.Minute + 1),
			refused("write", noContact),
			refused("type", noContact),
		},
		"after approval": {succeeds("write"), succeeds("approve"), refused("write", noContact), succeeds("edit")},
		"when declined":  {declined, refused("write", noContact)},
		"when withdrawn": {withdrawn, refused("write", noContact)},
		"bot started":    {annStartsBot, succeeds("approve"), after(time.Hour), succeeds("write")},
	})
}

// Telegram accepts an answer to a query for 10 seconds.
func TestAJoinQueryCanBeAnsweredOnceWithinItsTime(t *testing.T) {
	const guarded = true
	checkJoins(t, guarded, map[string][]joinStep{
		"in 10 s":    {after(10 * time.Second), succeeds("query approve"), refused("approve", isMember)},
		"after 10 s": {after(10*time.Second + 1), refused("query queue", queryIsOver), succeeds("approve")},
		"twice":      {succeeds("query queue"), refused("query approve", queryIsOver)},
		"queued":     {succeeds("query queue"), succeeds("write"), succeeds("approve")},
		"withdrawn":  {withdrawn, refused("query approve", queryIsOver)},
		"no right":   {botLosesRight, refused("query approve", noRight), succeeds("query queue")},
		"barred":     {annIsBarred, refused("query approve", isBarred), succeeds("query queue"), succeeds("write")},
	})
}

func TestApprovingNeedsAJoinRequest(t *testing.T) {
	s := newJoinServer(t)
	refused("approve", noRequest)(t, s)
	refused("write", noContact)(t, s)
}

func TestDecliningOrRemovingUsersIsAViolation(t *testing.T) {
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
		s.GrantInvite(group, faketelegram.Granted)
		const guarded = true
		s.requestJoin(guarded)
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
