package telegramtest

import (
	"fmt"
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
	"query perhaps": {"answerChatJoinRequestQuery", `{"chat_join_request_query_id":"1","result":"perhaps"}`},
	"write":         {"sendMessage", `{"chat_id":501,"text":"Hello"}`},
	"edit":          {"editMessageText", `{"chat_id":501,"message_id":1,"text":"Welcome"}`}, // what "write" wrote
	"type":          {"sendChatAction", `{"chat_id":501,"action":"typing"}`},
}

// Refusals of those calls.
const (
	noRight     = "Bad Request: not enough rights to manage chat invite link"
	noRequest   = "Bad Request: HIDE_REQUESTER_MISSING"
	isIn        = "Bad Request: USER_ALREADY_PARTICIPANT"
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
func (s *Server) knock(guarded bool) (updateID int64) {
	return s.RequestJoin(faketelegram.Group(group), faketelegram.Person(ann), guarded)
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
	if c := joinCalls[step.call]; step.call != "" {
		if got := s.request(t, c.method, c.params); got != step.refusal {
			t.Errorf("%s: refused with %q, want %q", step.call, got, step.refusal)
		}
	}
}

// Steps that call nothing.
var (
	loseRight       = joinStep{do: func(s *Server) { s.GrantInvite(group, false) }}
	demote          = joinStep{do: func(s *Server) { s.Promote(group, faketelegram.BotID, "member") }}
	leave           = joinStep{do: func(s *Server) { s.Promote(group, ann, "left") }}
	askAgain        = joinStep{do: func(s *Server) { s.knock(false) }}
	moderatorWrites = joinStep{do: func(s *Server) { s.ModeratorWrites(ann) }}
	start           = joinStep{do: func(s *Server) { s.Start(ann) }}
	approve         = joinStep{closed: faketelegram.JoinApproved}
	decline         = joinStep{closed: faketelegram.JoinDeclined}
	withdraw        = joinStep{closed: faketelegram.JoinWithdrawn}
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
	"written to by a moderator":  {moderatorWrites, {call: "write", refusal: noContact}},
	"asked again after that":     {moderatorWrites, withdraw, askAgain, {call: "write"}},
	"started the bot":            {start, {call: "approve"}, {after: time.Hour, call: "write"}},
	"guarded: in 10 s":           {{after: 10 * time.Second, call: "query approve"}, {call: "approve", refusal: isIn}},
	"guarded: after 10 s":        {{after: 10*time.Second + 1, call: "query queue", refusal: queryIsOver}, {call: "approve"}},
	"guarded: answered twice":    {{call: "query queue"}, {call: "query approve", refusal: queryIsOver}},
	"guarded: queued":            {{call: "query queue"}, {call: "write"}, {call: "approve"}},
	"guarded: withdrawn":         {withdraw, {call: "query approve", refusal: queryIsOver}},
	"guarded: neither":           {{call: "query perhaps", refusal: "Bad Request: invalid join request query result specified"}, {call: "query queue"}},
	"guarded: without the right": {loseRight, {call: "query approve", refusal: noRight}, {call: "query queue"}},
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

func TestJoinUpdatesNeedTheirNameAndTheRight(t *testing.T) {
	const named = `{"url":"https://bot.invalid","allowed_updates":["chat_join_request"]}`
	for _, tt := range []struct {
		method, params string
		may, told      bool
	}{
		{"getUpdates", `{"allowed_updates":["chat_join_request"]}`, true, true},
		{"getUpdates", `{"allowed_updates":["chat_join_request"]}`, false, false},
		{"getUpdates", `{"allowed_updates":["message"]}`, true, false},
		{"getUpdates", `{"allowed_updates":[]}`, true, false},
		{"getUpdates", `{}`, true, false},
		{"setWebhook", named, true, true},
		{"setWebhook", named, false, false},
		{"setWebhook", `{"url":"https://bot.invalid","allowed_updates":["message"]}`, true, false},
		{"setWebhook", `{"url":"https://bot.invalid"}`, true, false},
	} {
		s := NewInMemory(t)
		s.GrantInvite(group, tt.may)
		s.request(t, tt.method, tt.params)
		told := s.knock(true) != 0
		if told != tt.told || len(s.Pending()) != len(s.Dequeue()) || len(s.JoinRequests()) != 1 {
			t.Errorf("%s %s, right %v: told %v, want %v", tt.method, tt.params, tt.may, told, tt.told)
		}
		if _, no := s.respond(t, "sendMessage", joinCalls["write"].params); (no == "") != tt.told {
			t.Errorf("%s %s, right %v: %q", tt.method, tt.params, tt.may, no)
		}
	}
}

func TestJoinUpdateSaysWhoAsksAndWhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDoor(t)
		s.SetAhead(time.Minute)
		for _, guarded := range []bool{false, true} {
			updateID := s.knock(guarded)
			query := ""
			if guarded {
				query = `"query_id":"1",`
			}
			got, _ := s.respond(t, "getUpdates", fmt.Sprintf(`{"offset":%d}`, updateID))
			want := fmt.Sprintf(`[{"chat_join_request":{"chat":{"id":-1001,"type":"supergroup"},"date":%d,`+
				`"from":{"id":501,"is_bot":false,"first_name":"Somebody"},%s"user_chat_id":501},"update_id":%d}]`, time.Now().Add(time.Minute).Unix(), query, updateID)
			if got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
			if s.knock(guarded) != 0 {
				t.Error("a second request while one is open")
			}
			s.CloseJoin(group, ann, faketelegram.JoinWithdrawn)
		}
		s.Promote(group, ann, "member")
		if s.knock(false) != 0 || len(s.JoinRequests()) != 2 {
			t.Errorf("a member asks to join: %v", s.JoinRequests())
		}
	})
}

func TestRequestersAreMembersOnceApproved(t *testing.T) {
	s := newDoor(t)
	status := func(user int64, want string) {
		t.Helper()
		got, _ := s.respond(t, "getChatMember", fmt.Sprintf(`{"chat_id":-1001,"user_id":%d}`, user))
		if !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	status(ann, `"status":"member"`)
	s.knock(false)
	status(ann, `"status":"left"`)
	s.CloseJoin(group, ann, faketelegram.JoinDeclined)
	status(ann, `"status":"left"`)
	s.knock(false)
	joinStep{call: "approve"}.take(t, s)
	status(ann, `"status":"member"`)
	status(faketelegram.BotID, `"can_invite_users":true,"status":"administrator"`)
	s.GrantInvite(group, false)
	status(faketelegram.BotID, `"can_invite_users":false,"status":"administrator"`)
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

func TestGetChatTellsAdministratorsOfTheGuard(t *testing.T) {
	s := newDoor(t)
	guard := faketelegram.User{ID: 77, IsBot: true, FirstName: "Guard"}
	info := faketelegram.ChatInfo{Chat: faketelegram.Group(group), JoinByRequest: true, GuardBot: &guard}
	info.Title = "Holders"
	get := func(want string) {
		t.Helper()
		if got, no := s.respond(t, "getChat", `{"chat_id":-1001}`); got+no != want {
			t.Errorf("%s%s, want %s", got, no, want)
		}
	}
	get(`{"id":-1001,"type":"supergroup"}`)
	s.SetChat(info)
	get(`{"id":-1001,"type":"supergroup","title":"Holders","join_by_request":true,"guard_bot":{"id":77,"is_bot":true,"first_name":"Guard"}}`)
	s.Promote(group, faketelegram.BotID, "member")
	get(`{"id":-1001,"type":"supergroup","title":"Holders","join_by_request":true}`)
	info.Unknown = true
	s.SetChat(info)
	get("Bad Request: chat not found")
}

// Each change of a request is shown once, and those that the bot made are in its Answers.
func TestJoinRequestsShowWhatBecameOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDoor(t)
		var events []string
		s.Watch(func(e faketelegram.Event) {
			if e.Join != nil {
				events = append(events, fmt.Sprint(e.Chat, " ", e.Join.From.ID, " ", e.Join.State, len(e.Join.Answers)))
			}
		})
		begin := time.Now()
		s.knock(true)
		joinStep{after: time.Second, call: "query queue"}.take(t, s)
		joinStep{after: time.Hour, call: "approve"}.take(t, s)
		s.Promote(group, ann, "left")
		s.knock(false)
		s.CloseJoin(group, ann, faketelegram.JoinDeclined)
		want := "[-1001 501 open0 -1001 501 open1 -1001 501 approved2 -1001 501 open0 -1001 501 declined0]"
		if got := fmt.Sprint(events); got != want {
			t.Errorf("events %s, want %s", got, want)
		}
		answers := s.JoinRequests()[0].Answers
		if len(answers) != 2 || answers[0].Result != "queue" || !answers[0].At.Equal(begin.Add(time.Second)) ||
			answers[1].Result != "approve" || !answers[1].At.Equal(begin.Add(time.Hour+time.Second)) {
			t.Errorf("answers %v", answers)
		}
	})
}

func TestForgetDropsOldJoinRequestsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDoor(t)
		s.RequestJoin(faketelegram.Group(group-1), faketelegram.Person(ann), true)
		time.Sleep(time.Second)
		s.RequestJoin(faketelegram.Group(group), faketelegram.Person(ann+1), false)
		s.knock(true)
		s.Forget(time.Second)
		if left := s.JoinRequests(); len(left) != 2 || left[0].From.ID != ann+1 || left[1].From.ID != ann {
			t.Errorf("left: %v", left)
		}
		joinStep{call: "write"}.take(t, s)
		joinStep{call: "query approve"}.take(t, s)
		s.Forget(0)
		joinStep{call: "approve", refusal: noRequest}.take(t, s)
		joinStep{call: "write", refusal: noContact}.take(t, s)
	})
}
