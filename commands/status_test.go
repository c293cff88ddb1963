package commands_test

import (
	"slices"
	"testing"
	"time"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
)

// ask runs /status.
func ask(t *testing.T, from commands.Sources) chat.Reply {
	t.Helper()
	command, _ := commands.All(from, commands.Options{Symbol: "TKN"}).Find("status")
	reply, err := command.Forms[0].Run(t.Context(), chat.Request{})
	if err != nil {
		t.Errorf("what it says is all there is to say, and yet %v", err)
	}
	return reply
}

func TestStatusOfOneFailingServiceLeavesTheOthers(t *testing.T) {
	for _, service := range commandstest.Services {
		for _, reason := range core.Reasons() {
			if reason == core.Paused || reason == core.NoCredit {
				continue // There was no call: its Health is as before.
			}
			w := commandstest.Healthy()
			err := service.Fail(reason, errInner)
			*map[string]*error{"price": &w.PriceErr, "supply": &w.SupplyErr, "chain": &w.StakeErr, "partner": &w.AccountsErr}[service.Name] = err
			reply := ask(t, w.Sources())
			if reply.Tone != chat.Warning || reply.Title.Key != "status.some" || len(reply.Notes) != 1 ||
				reply.Notes[0].Key != "reason."+string(reason) || len(reply.Sections[0].Fields) != len(commandstest.Services) {
				t.Errorf("%s, %s: %+v", service.Name, reason, reply)
			}
			for _, f := range reply.Sections[0].Fields {
				parts := f.Value.(chat.Parts)
				name, said := parts[0].(chat.Text).Key, parts[1].(chat.Text).Key
				if (name == "status."+service.Name) != (said == "status.failing") {
					t.Errorf("%s, %s: %s is said to be %s", service.Name, reason, name, said)
				}
			}
		}
	}
}

// failed is a service that has failed for another command since it was pinged.
type failed struct{ commands.Service }

func (f failed) Health() core.Health {
	h := f.Service.Health()
	h.FailingSince, h.Reason = h.Asked, core.Unreachable
	return h
}

func TestStatusBelievesTheLastCallRatherThanAFreshAnswer(t *testing.T) {
	for i := range commandstest.Services {
		from := commandstest.Healthy().Sources()
		from.Services[i] = failed{from.Services[i]}
		reply := ask(t, from)
		if reply.Tone != chat.Warning || reply.Sections[0].Fields[i].Value.(chat.Parts)[1].(chat.Text).Key != "status.failing" {
			t.Errorf("%d: %+v", i, reply)
		}
	}
}

func TestAPriceThatItsProviderNoLongerUpdatesIsSaidToBeOldWhereverItIsShown(t *testing.T) {
	w := commandstest.Healthy()
	w.Price.Value.LastUpdated, w.Price.Value.OldFrom = commandstest.Noon.Add(-72*time.Hour), commandstest.Noon.Add(-71*time.Hour)
	for _, name := range []string{"price", "supply", "status"} {
		command, _ := commands.All(w.Sources(), w.Look).Find(name)
		reply, err := command.Forms[0].Run(t.Context(), chat.Request{})
		old := slices.IndexFunc(reply.Notes, func(n chat.Text) bool { return n.Key == "old.quote" })
		if err != nil || reply.Tone != chat.Warning || old < 0 || reply.Notes[old].Args["when"] != (chat.Moment{Time: w.Price.Value.LastUpdated}) {
			t.Errorf("/%s: %+v, %v", name, reply, err)
		}
	}
}
