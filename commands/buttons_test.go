package commands_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/router"
	"herald/internal/words"
)

// buttons are the labels and the states of a reply's buttons that ask a command.
func buttons(t *testing.T, r *chat.Reply) map[string]string {
	t.Helper()
	card := words.Print(r)
	if len(card.Buttons) != len(r.Actions) {
		t.Errorf("%s: %d buttons of %d are shown: a state is too long", r.Title.Key, len(card.Buttons), len(r.Actions))
	}
	states := map[string]string{}
	for _, b := range card.Buttons {
		if b.State != "" {
			states[b.Label] = b.State
		}
	}
	return states
}

// press asks what a button asks.
func press(t *testing.T, r *router.Router, state string) (*chat.Reply, chat.Press) {
	t.Helper()
	p, err := chat.ParseState(state)
	if err != nil || !p.Edit {
		t.Fatalf("%q: %+v, %v", state, p, err)
	}
	return commandstest.Ask(t, r, strings.Join(append([]string{"/" + p.Command}, p.Args...), " ")), p
}

// atNoon runs a test two minutes after Noon, in simulated time.
func atNoon(t *testing.T, test func(*testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(commandstest.Noon.Add(2 * time.Minute)))
		test(t)
	})
}

// failure is a service's.
var failure = commandstest.Services[0].Fail(core.Unreachable, errInner)

// manyLogins has so many logins of Ann's, named by their places.
func manyLogins(n int) *commandstest.Answers {
	w := commandstest.Healthy()
	w.Logins = nil
	for i := range n {
		w.Logins = append(w.Logins, core.Login{Dapp: fmt.Sprint(i), Platform: "EVM", At: commandstest.Noon})
	}
	return w
}

func TestThePagesShowEveryLoginOnce(t *testing.T) {
	for n, pages := range map[int]int{1: 1, 10: 1, 11: 2, 21: 3, 500: 50} {
		r := manyLogins(n).Router(t)
		reply := commandstest.Ask(t, r, "/mylogins")
		walk := func(button string, see func(*chat.Reply)) (walked int) {
			for {
				walked++
				see(reply)
				state, more := buttons(t, reply)[button]
				if !more {
					return walked
				}
				reply, _ = press(t, r, state)
			}
		}
		seen := 0
		there := walk("Older", func(page *chat.Reply) {
			for _, f := range page.Sections[0].Fields {
				if dapp := f.Value.(chat.Parts)[0]; dapp != chat.Untrusted(fmt.Sprint(seen)) {
					t.Errorf("%d logins: %v stands where %d should", n, dapp, seen)
				}
				seen++
			}
		})
		if back := walk("Newer", func(*chat.Reply) {}); there != pages || back != pages || seen != n {
			t.Errorf("%d logins: %d on %d pages and %d back, want %d pages", n, seen, there, back, pages)
		}
	}
}
