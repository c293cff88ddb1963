package commands_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
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
			var why []chat.Text // Its silence is told already.
			if reason != core.Unreachable && reason != core.SlowAnswer {
				why = []chat.Text{commands.Explain(err)}
			}
			if reply.Tone != chat.Warning || len(reply.Title.Args["what"].(chat.Parts)) != 1 || !reflect.DeepEqual(reply.Notes, why) ||
				len(reply.Sections[0].Fields) != len(commandstest.Services) {
				t.Errorf("%s, %s: %+v", service.Name, reason, reply)
			}
			for _, f := range reply.Sections[0].Fields {
				parts := f.Value.(chat.Parts)
				name, said := parts[0].(chat.Text).Key, parts[1].(chat.Text).Key
				if (name == "status."+service.Name) != (said == "status.failing_hours") {
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
		if reply.Tone != chat.Warning || reply.Sections[0].Fields[i].Value.(chat.Parts)[1].(chat.Text).Key != "status.failing_hours" {
			t.Errorf("%d: %+v", i, reply)
		}
	}
}

func TestAPriceThatItsProviderNoLongerUpdatesIsSaidToBeOldWhereverItIsShown(t *testing.T) {
	w := commandstest.Healthy()
	w.Price.Value.LastUpdated, w.Price.Value.OldFrom = commandstest.Noon.Add(-72*time.Hour), commandstest.Noon.Add(-71*time.Hour)
	for _, name := range []string{"price", "supply"} {
		command, _ := commands.All(w.Sources(), w.Look).Find(name)
		reply, err := command.Forms[0].Run(t.Context(), chat.Request{})
		headline, since := chat.Value(chat.Age{Time: w.Price.Value.LastUpdated}), chat.Value(chat.Moment{Time: w.Price.Value.LastUpdated})
		old := slices.ContainsFunc(reply.Notes, func(n chat.Text) bool { return n.Key == "old.price" && n.Args["when"] == since })
		if err != nil || reply.Tone != chat.Warning || (reply.Title.Args["age"] == headline) == old {
			t.Errorf("/%s: %+v, %v", name, reply, err)
		}
	}
}

func TestStatusNamesWhatIsDownAndForHowLong(t *testing.T) {
	for name, test := range map[string]struct {
		change      func(*commandstest.World)
		title, line string
		notes       int
	}{
		"prices":        {func(w *commandstest.World) { w.PriceErr = failure }, "Prices are down", "Prices · no answer for 20 min", 0},
		"two of four":   {func(w *commandstest.World) { w.PriceErr, w.AccountsErr = failure, down }, "Prices are down · Registration is down", "Registration · no answer for 20 min", 0},
		"an old price":  {func(w *commandstest.World) { w.Price.Value.OldFrom = commandstest.Noon }, "The price is old", "Prices · last updated 2 min ago", 0},
		"an old supply": {func(w *commandstest.World) { w.Supply.Stale = true }, "Supply: couldn't be checked", "Supply · couldn't be checked", 1},
		"a pool":        {func(w *commandstest.World) { w.Stake.Failed = unreadPool() }, "Some staking pools aren't answering", "Staking · 21 of 22 pools", 0},
		"nothing":       {func(*commandstest.World) {}, "Everything works", "Staking · OK", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(commandstest.Noon.Add(2 * time.Minute)))
			w := commandstest.Healthy()
			test.change(w)
			reply := ask(t, w.Sources())
			if said := texts(reply); !strings.Contains(said, "] "+test.title+"\n") || !strings.Contains(said, test.line+"\n") || len(reply.Notes) != test.notes {
				t.Errorf("%s: %s", name, said)
			}
		})
	}
}

func TestStatusTellsModeratorsTheEntryThatIsMissing(t *testing.T) {
	r := commandstest.Healthy().Router(t)
	for name, test := range map[string]struct {
		role chat.Role
		chat string
		told bool
	}{
		"a moderator":           {chat.Moderator, "-1009", true},
		"a member":              {chat.Member, "-1009", false},
		"whose role is unknown": {chat.UnknownRole, "-1009", false},
		"of a listed chat":      {chat.Moderator, commandstest.Community, false},
	} {
		reply := r.Handle(t.Context(), chat.Request{Command: "status", From: chat.User{Platform: "telegram", ID: "7"}, Role: test.role, Community: test.chat})
		if got := strings.Contains(texts(reply), "`telegram:-1009` to MODERATOR_CHATS"); got != test.told {
			t.Errorf("%s: %s", name, texts(reply))
		}
	}
}
