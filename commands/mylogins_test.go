package commands_test

import (
	"fmt"
	"testing"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/router"
)

// manyLogins returns services that know n logins of Ann, named "0" and so on.
func manyLogins(n int) *commandstest.Answers {
	w := commandstest.Healthy()
	w.Logins = nil
	for i := range n {
		w.Logins = append(w.Logins, core.Login{Dapp: fmt.Sprint(i), Platform: "EVM", At: commandstest.Noon})
	}
	return w
}

// pagesFrom returns a page, and all that follow it when a button is pressed until there is none.
func pagesFrom(t *testing.T, r *router.Router, page *chat.Reply, button string) []*chat.Reply {
	t.Helper()
	pages := []*chat.Reply{page}
	for {
		last := pages[len(pages)-1]
		state, hasButton := buttons(t, last)[button]
		if !hasButton {
			return pages
		}
		pages = append(pages, press(t, r, state))
	}
}

func TestThePagesShowEveryLoginOnce(t *testing.T) {
	for n, wantPages := range map[int]int{1: 1, 10: 1, 11: 2, 21: 3, 500: 50} {
		r := manyLogins(n).Router(t)
		pages := pagesFrom(t, r, commandstest.Ask(t, r, "/mylogins"), "Older")
		seen := 0
		for _, page := range pages {
			for _, f := range page.Sections[0].Fields {
				if dapp := f.Value.(chat.Parts)[0]; dapp != chat.Untrusted(fmt.Sprint(seen)) {
					t.Errorf("%d logins: login %d is shown as %v", n, seen, dapp)
				}
				seen++
			}
		}
		if seen != n || len(pages) != wantPages {
			t.Errorf("%d logins: %d on %d pages, want %d pages", n, seen, len(pages), wantPages)
		}
		back := pagesFrom(t, r, pages[len(pages)-1], "Newer")
		if len(back) != wantPages {
			t.Errorf("%d logins: %d pages back, want %d", n, len(back), wantPages)
		}
	}
}
