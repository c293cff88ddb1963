package commands_test

import (
	"context"
	"testing"
	"time"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
)

// statusOf runs /status with these sources.
func statusOf(t *testing.T, from commands.Sources) (chat.Reply, error) {
	t.Helper()
	command, _ := commands.All(from, commands.Options{Symbol: "TKN"}).Find("status")
	return command.Forms[0].Run(t.Context(), chat.Request{})
}

// TestStatusOfOneFailingServiceLeavesTheOthers, and knows each of them.
func TestStatusOfOneFailingServiceLeavesTheOthers(t *testing.T) {
	for _, service := range commandstest.Services {
		for _, reason := range core.Reasons() {
			if reason == core.Paused || reason == core.NoCredit {
				continue // There was no call: its Health is as before.
			}
			w := commandstest.Healthy()
			err := service.Fail(reason, errInner)
			*map[string]*error{"price": &w.PriceErr, "supply": &w.SupplyErr, "chain": &w.StakeErr, "partner": &w.AccountsErr}[service.Name] = err
			reply, failed := statusOf(t, w.Sources())
			if _, partial := failed.(*chat.PartialError); !partial || reply.Tone != chat.Warning || reply.Title.Key != "status.some" ||
				len(reply.Notes) != 1 || reply.Notes[0].Key != "reason."+string(reason) || len(reply.Sections[0].Fields) != len(commandstest.Services) {
				t.Errorf("%s, %s: %+v, %v", service.Name, reason, reply, failed)
			}
			for _, f := range reply.Sections[0].Fields {
				name, said := f.Name.(chat.Text).Key, f.Value.(chat.Text).Key
				if (name == "status."+service.Name) != (said == "status.failing") {
					t.Errorf("%s, %s: %s is said to be %s", service.Name, reason, name, said)
				}
			}
		}
	}
}

// counted counts the questions for the price.
type counted struct {
	core.Source[struct{}, core.Quote]
	asked int
}

func (c *counted) Get(ctx context.Context, key struct{}) (core.Snapshot[core.Quote], error) {
	c.asked++
	return c.Source.Get(ctx, key)
}

func TestStatusHasAPriceAskedForOnlyIfNobodyEverDidOrItFailedAWhileAgo(t *testing.T) {
	for name, test := range map[string]struct {
		asked   time.Time
		failing bool
		calls   int
	}{
		"never asked":        {time.Time{}, false, 1},
		"asked a month ago":  {commandstest.Noon.AddDate(0, -1, 0), false, 0},
		"failed a while ago": {time.Now().Add(-time.Minute), true, 1},
		"failed just now":    {time.Now(), true, 0},
	} {
		w := commandstest.Healthy()
		w.Asked = test.asked
		if test.failing {
			w.PriceErr = failure
		}
		from := w.Sources()
		price := &counted{Source: from.Price}
		from.Price = price
		if _, _ = statusOf(t, from); price.asked != test.calls {
			t.Errorf("%s: asked for the price %d times, want %d", name, price.asked, test.calls)
		}
	}
}

// A service that has failed for another command may have answered /status shortly
// before.
func TestStatusBelievesTheLastCallRatherThanAFreshAnswer(t *testing.T) {
	for i := range commandstest.Services {
		from := commandstest.Healthy().Sources()
		health := from.Status.Health
		from.Status.Health = func() []core.Health {
			all := health()
			all[i].Asked, all[i].FailingSince, all[i].Reason = time.Now(), time.Now(), core.Unreachable
			return all
		}
		reply, err := statusOf(t, from)
		if err == nil || reply.Tone != chat.Warning || reply.Sections[0].Fields[i].Value.(chat.Text).Key != "status.failing" {
			t.Errorf("%d: %+v, %v", i, reply, err)
		}
	}
}
