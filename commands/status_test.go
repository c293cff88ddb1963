package commands_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/service/market"
)

// statusOf returns the reply to /status.
func statusOf(t *testing.T, from commands.Sources) *chat.Reply {
	t.Helper()
	reply, err := run(t, commands.All(from, commands.Options{Symbol: "TKN"}), "status", nil)
	if err != nil {
		t.Errorf("/status has told everything, and yet %v", err)
	}
	return reply
}

// failedSince is a service that answered a ping, and has failed for another command since then.
type failedSince struct{ commands.Service }

func (f failedSince) Health() query.Health {
	h := f.Service.Health()
	h.FailingSince = h.LastCall
	h.Reason = core.Unreachable
	return h
}

func TestStatusGoesByTheLastCall(t *testing.T) {
	for i, s := range commandstest.Services {
		from := commandstest.Healthy().Sources()
		from.Services[i] = failedSince{from.Services[i]}
		reply := statusOf(t, from)
		state := reply.Sections[0].Fields[i].Value.(chat.Parts)[1].(chat.Text)
		if reply.Tone != chat.Warning || state.Key != "status.silent" {
			t.Errorf("%s: tone %d, %s", s.Name, reply.Tone, state.Key)
		}
	}
}

// neverCalled is a service that this process has not called yet, because a replica's answer was fresh.
type neverCalled struct{ commands.Service }

func (n neverCalled) Health() query.Health {
	h := n.Service.Health()
	h.LastCall = time.Time{}
	return h
}

func (n neverCalled) Ping(ctx context.Context) (query.Snapshot[any], error) {
	answer, err := n.Service.Ping(ctx)
	answer.At = commandstest.Noon
	return answer, err
}

func TestStatusKnowsTheTimeOfAReplicasAnswer(t *testing.T) {
	from := commandstest.Healthy().Sources()
	for i, s := range from.Services {
		from.Services[i] = neverCalled{s}
		reply := statusOf(t, from)
		if !reply.Checked.Equal(commandstest.Noon) || !reply.Source.AsOf.Time.Equal(commandstest.Noon) {
			t.Errorf("%d: checked %v, as of %v", i, reply.Checked, reply.Source.AsOf)
		}
	}
}

func TestStatusOfABotWithoutServicesIsAnAnswer(t *testing.T) {
	from := commandstest.Healthy().Sources()
	from.Services = nil
	statusOf(t, from)
}

// statusCase is a state of the services, and what /status says of it.
type statusCase struct {
	name   string
	change func(*commandstest.Answers)
	title  string
	line   string // one of its lines
	notes  int
}

func checkStatus(t *testing.T, cases []statusCase) {
	t.Helper()
	for _, c := range cases {
		atNoon(t, func(t *testing.T) {
			reply := statusOf(t, answersTo(c.change).Sources())
			said := spaced(texts(reply))
			if !strings.Contains(said, "] "+c.title+"\n") || !strings.Contains(said, c.line+"\n") {
				t.Errorf("%s: want %q and %q in\n%s", c.name, c.title, c.line, said)
			}
			if len(reply.Notes) != c.notes {
				t.Errorf("%s: %d notes, want %d:\n%s", c.name, len(reply.Notes), c.notes, said)
			}
		})
	}
}

func TestStatusNamesWhatIsDownAndForHowLong(t *testing.T) {
	checkStatus(t, []statusCase{
		{
			name: "for hours",
			change: func(w *commandstest.Answers) {
				w.PriceErr = priceDown
				w.FailingFor = 2 * time.Hour
			},
			title: "Prices are down",
			line:  "Prices · no answer for 2 h",
		},
		{
			name: "for a second",
			change: func(w *commandstest.Answers) {
				w.PriceErr = priceDown
				w.FailingFor = time.Second
			},
			title: "Prices are down",
			line:  "Prices · no answer for 1 min",
		},
		{
			name: "at a rate limit",
			change: func(w *commandstest.Answers) {
				w.PriceErr = market.Service.Fail(core.Limited, errors.New("429"))
			},
			title: "Prices are delayed",
			line:  "Prices · the provider limits my requests",
		},
		{
			name: "two of four",
			change: func(w *commandstest.Answers) {
				w.PriceErr = priceDown
				w.AccountsErr = partnerDown
			},
			title: "Prices are down · Registration is down",
			line:  "Registration · no answer for 20 min",
		},
	})
}

func TestStatusNamesAPriceThatIsOldOrDoubtful(t *testing.T) {
	checkStatus(t, []statusCase{
		{
			name:   "doubtful",
			change: func(w *commandstest.Answers) { w.Doubt("891", commandstest.Noon) },
			title:  "The price is doubtful",
			line:   "Prices · doubtful",
			notes:  1,
		},
		{
			name:   "without a credit for a while",
			change: func(w *commandstest.Answers) { w.Price.Why = noCredit() },
			title:  "Everything works",
			line:   "Prices · OK",
		},
		{
			name: "without a credit for an hour",
			change: func(w *commandstest.Answers) {
				w.Price.Why = noCredit()
				w.Price.Value.LastUpdated = time.Now().Add(-time.Hour)
			},
			title: "The price is old",
			line:  "Prices · last updated 1 h ago",
			notes: 1,
		},
		{
			name: "used up for days",
			change: func(w *commandstest.Answers) {
				w.Price.Stale = true
				w.Price.Why = &core.Error{Service: market.Service, Reason: core.UsedUp, RetryAfter: 50 * time.Hour}
				w.Price.Value.LastUpdated = time.Now().Add(-50 * time.Hour)
			},
			title: "The price is old",
			line:  "Prices · last updated 2 days ago",
			notes: 1,
		},
		{
			name: "old, without a time of its own",
			change: func(w *commandstest.Answers) {
				w.Price.Stale = true
				w.Price.At = time.Now().Add(-time.Hour)
				w.Price.Value.LastUpdated = time.Time{}
			},
			title: "The price is old",
			line:  "Prices · last updated 1 h ago",
			notes: 1,
		},
		{
			name: "version 1 of the quotes has ended",
			change: func(w *commandstest.Answers) {
				w.Price.Value.Endpoint = "/v3/cryptocurrency/quotes/latest"
			},
			title: "Everything works",
			line:  "Prices · OK",
			notes: 1,
		},
	})
}

// Version 1 of the quotes has ended, and version 3 fails.
func TestStatusNamesBothVersionsOfTheQuotes(t *testing.T) {
	const ended = "ended `/v1/cryptocurrency/quotes/latest`, and `/v3/cryptocurrency/quotes/latest` "
	refuses := &market.V1GoneError{State: query.ReplacementRefuses, Status: 500, Err: errInner}
	broken := &market.V1GoneError{State: query.ReplacementBroken, Err: errInner}
	for want, gone := range map[string]*market.V1GoneError{
		ended + "answers with status 500.": refuses,
		ended + "gives no valid answer.":   broken,
	} {
		err := market.Service.Fail(core.Unreachable, gone)
		for name, change := range map[string]func(*commandstest.Answers){
			"failing": func(w *commandstest.Answers) { w.PriceErr = err },
			"stale": func(w *commandstest.Answers) {
				w.Price.Stale = true
				w.Price.Why = err
			},
		} {
			if said := texts(statusOf(t, answersTo(change).Sources())); !strings.Contains(said, want) {
				t.Errorf("%s: want %q in\n%s", name, want, said)
			}
		}
	}
}
