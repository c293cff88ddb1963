package commands_test

import (
	"strings"
	"testing"

	"herald/commands/commandstest"
	"herald/internal/chat"
)

func TestHelpShowsWhatThisPersonMayUseHere(t *testing.T) {
	r := commandstest.Healthy().Router(t)
	forms := map[bool][]string{} // by whether they are moderators'
	for _, c := range r.Commands() {
		for _, f := range c.Forms {
			if !f.Unlisted && len(f.Params) > 0 {
				forms[f.Moderators] = append(forms[f.Moderators], c.Usage(f))
			}
		}
	}
	if len(forms[true]) < 3 || len(forms[false]) < 3 {
		t.Fatalf("too few forms to tell: %v", forms)
	}
	operator := chat.User{Platform: "telegram", ID: commandstest.Ann}
	for name, test := range map[string]struct {
		direct, operator    bool
		members, moderators bool
	}{
		"a group":                    {false, false, false, false},
		"a moderator in a group":     {false, true, false, false},
		"in private":                 {true, false, true, false},
		"in private, to an operator": {true, true, true, true},
	} {
		if test.operator {
			r.Operators = []chat.User{operator}
		} else {
			r.Operators = nil
		}
		reply := r.Handle(t.Context(), chat.Request{Command: "help", From: operator, Direct: test.direct, Chat: "1"})
		got := texts(reply)
		for _, c := range r.Commands() {
			if !strings.Contains(got, "/"+c.Name) {
				t.Errorf("%s: no /%s in\n%s", name, c.Name, got)
			}
		}
		for moderators, want := range map[bool]bool{false: test.members, true: test.moderators} {
			for _, usage := range forms[moderators] {
				if strings.Contains(got, usage) != want {
					t.Errorf("%s: %s is shown: %t\n%s", name, usage, !want, got)
				}
			}
		}
		if !strings.Contains(got, "I never ask you to connect a wallet.") {
			t.Errorf("%s: nothing is said about wallets:\n%s", name, got)
		}
		if strings.Contains(got, "For your eyes only: /mylogins, /exists, /verify") != test.direct {
			t.Errorf("%s: what is private:\n%s", name, got)
		}
		if lines := strings.Count(got, "\n"); !test.direct && lines > len(r.Commands())+2 {
			t.Errorf("%s: %d lines", name, lines+1)
		}
		if strings.Contains(got, "<page>") {
			t.Errorf("%s: a form for buttons is shown:\n%s", name, got)
		}
	}
}
