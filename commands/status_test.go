package commands_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/members"
	"herald/internal/query"
	"herald/internal/service/market"
)

// ask runs /status.
func ask(t *testing.T, from commands.Sources) *chat.Reply {
	t.Helper()
	command, _ := commands.All(from, commands.Options{Symbol: "TKN"}).Find("status")
	reply, err := command.Forms[0].Run(t.Context(), &chat.Request{})
	if err != nil {
		t.Errorf("what it says is all there is to say, and yet %v", err)
	}
	return reply
}

// failed is a service that has failed for another command since it was pinged.
type failed struct{ commands.Service }

func (f failed) Health() query.Health {
	h := f.Service.Health()
	h.FailingSince, h.Reason = h.LastCall, core.Unreachable
	return h
}

func TestStatusGoesByTheLastCall(t *testing.T) {
	for i := range commandstest.Services {
		from := commandstest.Healthy().Sources()
		from.Services[i] = failed{from.Services[i]}
		reply := ask(t, from)
		if reply.Tone != chat.Warning || reply.Sections[0].Fields[i].Value.(chat.Parts)[1].(chat.Text).Key != "status.silent" {
			t.Errorf("%d: %+v", i, reply)
		}
	}
}

// started is a service that this process has not called yet, because a replica's answer was fresh.
type started struct{ commands.Service }

func (s started) Health() query.Health {
	h := s.Service.Health()
	h.LastCall = time.Time{}
	return h
}

func (s started) Ping(ctx context.Context) (query.Snapshot[any], error) {
	answer, err := s.Service.Ping(ctx)
	answer.At = commandstest.Noon
	return answer, err
}

func TestStatusKnowsTheTimeOfAReplicasAnswer(t *testing.T) {
	from := commandstest.Healthy().Sources()
	for i, s := range from.Services {
		from.Services[i] = started{s}
		if reply := ask(t, from); !reply.Checked.Equal(commandstest.Noon) || !reply.Source.AsOf.Time.Equal(commandstest.Noon) {
			t.Errorf("%d: checked %v, as of %v", i, reply.Checked, reply.Source.AsOf)
		}
	}
	from.Services = nil
	ask(t, from)
}

// Moderators of a group that has another ID read which entry of the settings to change.
func TestDetailsNameTheEntryOfAGroupThatMoved(t *testing.T) {
	w := commandstest.Healthy()
	w.Moves.Add(chat.Move{From: "telegram:-5", To: "telegram:-1007", Settings: "JOIN_CHATS"})
	command, _ := commands.All(w.Sources(), commands.Options{}).Find("details")
	for community, moved := range map[string]bool{"-1007": true, "-1008": false, "-5": false} {
		req := &chat.Request{From: chat.User{Platform: "telegram", ID: "1"}, Community: community}
		reply, err := command.Forms[0].Run(t.Context(), req)
		want := chat.SayWith("details.moved", chat.Values{
			"settings": chat.Plain("JOIN_CHATS"), "from": chat.Code("telegram:-5"), "to": chat.Code("telegram:-1007"),
		})
		says := fmt.Sprint(reply.Text) == fmt.Sprint(want)
		if warns := reply.Tone == chat.Warning; says != moved || warns != moved || err != nil {
			t.Errorf("%s: %+v, %v", community, reply, err)
		}
	}
}

func TestStatusNamesWhatIsDownAndForHowLong(t *testing.T) {
	share := &core.Error{Service: market.Service, Reason: core.NoCredit, RetryAfter: 44 * time.Minute}
	for name, test := range map[string]struct {
		change      func(*commandstest.Answers)
		title, line string
		notes       int
	}{
		"for hours":       {func(w *commandstest.Answers) { w.PriceErr, w.FailingFor = failure, 2*time.Hour }, "Prices are down", "Prices · no answer for 2 h", 0},
		"just now":        {func(w *commandstest.Answers) { w.PriceErr, w.FailingFor = failure, time.Second }, "Prices are down", "Prices · no answer for 1 min", 0},
		"version 1 ended": {func(w *commandstest.Answers) { w.Price.Value.Endpoint = "/v3/cryptocurrency/quotes/latest" }, "Everything works", "Prices · OK", 1},
		"at a rate limit": {func(w *commandstest.Answers) {
			w.PriceErr = market.Service.Fail(core.Limited, errors.New("429"))
		}, "Prices are delayed", "Prices · the provider limits my requests", 0},
		"doubtful": {func(w *commandstest.Answers) {
			w.Doubt("891", commandstest.Noon)
		}, "The price is doubtful", "Prices · doubtful", 1},
		"our share, an hour": {func(w *commandstest.Answers) {
			w.Price.Why, w.Price.Value.LastUpdated = share, time.Now().Add(-time.Hour)
		}, "The price is old", "Prices · last updated 1 h ago", 1},
		"our share, a while": {func(w *commandstest.Answers) { w.Price.Why = share }, "Everything works", "Prices · OK", 0},
		"used up for days": {func(w *commandstest.Answers) {
			w.Price.Stale, w.Price.Why = true, &core.Error{Service: market.Service, Reason: core.UsedUp, RetryAfter: 50 * time.Hour}
			w.Price.Value.LastUpdated = time.Now().Add(-50 * time.Hour)
		}, "The price is old", "Prices · last updated 2 days ago", 1},
		"an old quote without a time": {func(w *commandstest.Answers) {
			w.Price.Stale, w.Price.At, w.Price.Value.LastUpdated = true, time.Now().Add(-time.Hour), time.Time{}
		}, "The price is old", "Prices · last updated 1 h ago", 1},
		"two of four": {func(w *commandstest.Answers) { w.PriceErr, w.AccountsErr = failure, down }, "Prices are down · Registration is down", "Registration · no answer for 20 min", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(commandstest.Noon.Add(2 * time.Minute)))
			w := commandstest.Healthy()
			test.change(w)
			reply := ask(t, w.Sources())
			if said := spaced(texts(reply)); !strings.Contains(said, "] "+test.title+"\n") || !strings.Contains(said, test.line+"\n") || len(reply.Notes) != test.notes {
				t.Errorf("%s: %s", name, said)
			}
		})
	}
}

// What is told of a chat, its moderators alone read, and of no other chat.
func TestDetailsAreForTheModeratorsOfThatChat(t *testing.T) {
	w := savingMembers()
	w.Saved.Status = members.Status{Have: 7654, Held: 12}
	for i := range 10 {
		w.Saved.Status.FirstHeld = append(w.Saved.Status.FirstHeld, chat.User{Platform: "telegram", ID: fmt.Sprint("held", i)})
	}
	w.Options.JoinChats = map[string]chat.Requirement{"telegram:" + commandstest.Community: {}}
	w.Joins.LeaveOut(commandstest.Community, chat.LeftOut{User: chat.User{Platform: "telegram", ID: commandstest.Bob}}, true)
	w.Joins.LeaveOut("-1009", chat.LeftOut{User: chat.User{Platform: "telegram", ID: commandstest.Stranger}}, true)
	r := w.Router(t)
	for name, test := range map[string]struct {
		role       chat.Role
		chat, says string
	}{
		"a moderator":           {chat.Moderator, commandstest.Community, "7,654"},
		"a member":              {chat.Member, commandstest.Community, "moderators"},
		"whose role is unknown": {chat.UnknownRole, "-1009", "MODERATOR_CHATS"},
		"of an unlisted chat":   {chat.Moderator, "-1009", "telegram:-1009"},
	} {
		ask := &chat.Request{Command: "status", From: chat.User{Platform: "telegram", ID: "7"}, Role: test.role, Community: test.chat}
		if said := texts(r.Handle(t.Context(), ask)); strings.Contains(said, "7,654") || strings.Contains(said, "Door") || !strings.Contains(said, "details") {
			t.Errorf("%s: /status says %s", name, said)
		}
		ask.Command = "details"
		reply := r.Handle(t.Context(), ask)
		said := texts(reply)
		shown := test.says == "7,654"
		if test.role != chat.UnknownRole && !strings.Contains(said, test.says) || strings.Contains(said, "7,654") != shown || strings.Contains(fmt.Sprint(reply), commandstest.Bob) != shown || strings.Contains(fmt.Sprint(reply), "{telegram 404}") {
			t.Errorf("%s: %s", name, said)
		}
		if strings.Count(fmt.Sprint(reply), "{telegram held") != map[bool]int{true: 10}[shown] || strings.Contains(said, "… and 2 more") != shown || strings.Contains(said, "since Jun 27: 0 let in") != shown {
			t.Errorf("%s: the details tell of ten who are held, and since when is counted: %t, want %t\n%s", name, !shown, shown, said)
		}
	}
}

// Each row is how version 3 fails after version 1 has ended, and the note about it.
func TestStatusNamesBothVersionsOfTheQuotes(t *testing.T) {
	for status, want := range map[int]string{
		500: "ended `/v1/cryptocurrency/quotes/latest`, and `/v3/cryptocurrency/quotes/latest` answers with status 500.",
		0:   "ended `/v1/cryptocurrency/quotes/latest`, and `/v3/cryptocurrency/quotes/latest` gives no valid answer.",
	} {
		gone := &market.V1GoneError{State: query.ReplacementBroken, Err: errors.New("inner")}
		if status != 0 {
			gone.State, gone.Status = query.ReplacementRefuses, status
		}
		err := market.Service.Fail(core.Unreachable, gone)
		failing := func(w *commandstest.Answers) { w.PriceErr = err }
		stale := func(w *commandstest.Answers) { w.Price.Stale, w.Price.Why = true, err }
		for _, change := range []func(*commandstest.Answers){failing, stale} {
			w := commandstest.Healthy()
			change(w)
			if said := texts(ask(t, w.Sources())); !strings.Contains(said, want) {
				t.Errorf("status %d: %s", status, said)
			}
		}
	}
}
