package commands_test

import (
	"fmt"
	"testing"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
)

// manyLogins has so many logins of Ann's, named by their places.
func manyLogins(n int) *commandstest.World {
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
		walk := func(button string, see func(chat.Reply)) (walked int) {
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
		there := walk("Older", func(page chat.Reply) {
			for _, f := range page.Sections[0].Fields {
				if dapp := f.Value.(chat.Parts)[0]; dapp != chat.Untrusted(fmt.Sprint(seen)) {
					t.Errorf("%d logins: %v stands where %d should", n, dapp, seen)
				}
				seen++
			}
		})
		if back := walk("Newer", func(chat.Reply) {}); there != pages || back != pages || seen != n {
			t.Errorf("%d logins: %d on %d pages and %d back, want %d pages", n, seen, there, back, pages)
		}
	}
}

func TestAnotherPersonsPressShowsTheirOwnLogins(t *testing.T) {
	r := manyLogins(30).Router(t)
	p, err := chat.ParseState(buttons(t, commandstest.Ask(t, r, "/mylogins"))["Older"])
	if err != nil {
		t.Fatal(err)
	}
	reply := r.Handle(t.Context(), chat.Request{
		Command: p.Command, Args: chat.Typed(p.Args...), From: chat.User{Platform: "telegram", ID: commandstest.Stranger},
	})
	if reply.Text.Key != "logins.unregistered" || len(reply.Sections) > 0 {
		t.Errorf("a stranger got %s", texts(reply))
	}
}
