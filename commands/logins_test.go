package commands_test

import (
	"fmt"
	"testing"
	"time"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
)

func TestThePagesShowEveryLoginOnce(t *testing.T) {
	for n, pages := range map[int]int{1: 1, 9: 1, 10: 1, 11: 2, 20: 2, 21: 3, 500: 50} {
		w := commandstest.Healthy()
		w.Logins = nil
		for i := range n {
			w.Logins = append(w.Logins, core.Login{Dapp: fmt.Sprint(i), Platform: "EVM", At: commandstest.Noon})
		}
		r := w.Router(t)
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
		if got := walk("Older", func(page chat.Reply) {
			for _, f := range page.Sections[0].Fields {
				if f.Name != chat.Foreign(fmt.Sprint(seen)) {
					t.Errorf("%d logins: %v stands where %d should", n, f.Name, seen)
				}
				seen++
			}
		}); got != pages || seen != n {
			t.Errorf("%d logins: %d on %d pages, want %d pages", n, seen, got, pages)
		}
		if got := walk("Newer", func(chat.Reply) {}); got != pages {
			t.Errorf("%d logins: %d pages on the way back, want %d", n, got, pages)
		}
	}
}

func TestAPageThatIsNoMoreIsTheLast(t *testing.T) {
	w := commandstest.Healthy()
	if got := texts(commandstest.Ask(t, w.Router(t), "/mylogins 7")); got != texts(commandstest.Ask(t, w.Router(t), "/mylogins 1")) {
		t.Errorf("got %s", got)
	}
	w.Logins = nil
	if reply := commandstest.Ask(t, w.Router(t), "/mylogins 7"); reply.Title.Key != "logins.none" {
		t.Errorf("got %+v", reply)
	}
}

func TestAnotherPersonsPressShowsTheirOwnLogins(t *testing.T) {
	w := commandstest.Healthy()
	for i := range 30 {
		w.Logins = append(w.Logins, core.Login{Dapp: fmt.Sprint("Ann's ", i), Platform: "EVM", At: commandstest.Noon})
	}
	r := w.Router(t)
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

func TestALoginInTheFutureIsShown(t *testing.T) {
	w := commandstest.Healthy()
	w.Logins = []core.Login{{Dapp: "Tomorrow", Platform: "EVM", At: time.Now().AddDate(1, 0, 0)}}
	if fields := commandstest.Ask(t, w.Router(t), "/mylogins").Sections[0].Fields; len(fields) != 1 {
		t.Errorf("got %+v", fields)
	}
}
