package commands_test

import (
	"fmt"
	"strings"
	"testing"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/members"
)

// Moderators of a group whose ID has changed read which entry of the settings to change.
func TestDetailsNameTheEntryOfAGroupThatMoved(t *testing.T) {
	w := commandstest.Healthy()
	w.Moves.Add(chat.Move{From: "telegram:-5", To: "telegram:-1007", Settings: "JOIN_CHATS"})
	want := fmt.Sprint(chat.SayWith("details.moved", chat.Values{
		"settings": chat.Plain("JOIN_CHATS"),
		"from":     chat.Code("telegram:-5"),
		"to":       chat.Code("telegram:-1007"),
	}))
	for community, hasMoved := range map[string]bool{"-1007": true, "-1008": false, "-5": false} {
		req := &chat.Request{From: ann, Community: community}
		reply, err := runFor(t, req, allCommands(w), "details", nil)
		saysSo := fmt.Sprint(reply.Text) == want
		warns := reply.Tone == chat.Warning
		if saysSo != hasMoved || warns != hasMoved || err != nil {
			t.Errorf("%s: %+v, %v", community, reply, err)
		}
	}
}

// withDetails returns a bot with something to hide. In Community, 7,654 users have a badge, 12 users have badges that
// are held back, and Bob was left out. The Stranger was left out of unlistedGroup, which the settings do not name.
func withDetails() *commandstest.Answers {
	w := savingMembers()
	w.Saved.Status = members.Status{Have: 7654, HeldBack: 12}
	for i := range 10 {
		held := chat.User{Platform: "telegram", ID: fmt.Sprint("held", i)}
		w.Saved.Status.FirstHeldBack = append(w.Saved.Status.FirstHeldBack, held)
	}
	w.Options.JoinChats = map[string]chat.Requirement{"telegram:" + commandstest.Community: {}}
	stranger := chat.User{Platform: "telegram", ID: commandstest.Stranger}
	w.Joins.LeaveOut(commandstest.Community, chat.LeftOut{User: bob}, true)
	w.Joins.LeaveOut(unlistedGroup, chat.LeftOut{User: stranger}, true)
	return w
}

const unlistedGroup = "-1009"

// askAs returns the reply to a command of a user who has a role in a group.
func askAs(t *testing.T, w *commandstest.Answers, role chat.Role, group, command string) *chat.Reply {
	t.Helper()
	return w.Router(t).Handle(t.Context(), &chat.Request{
		Command:   command,
		From:      chat.User{Platform: "telegram", ID: "7"},
		Role:      role,
		Community: group,
	})
}

func TestDetailsTellAModeratorOfTheirGroup(t *testing.T) {
	reply := askAs(t, withDetails(), chat.Moderator, commandstest.Community, "details")
	said := texts(reply)
	for _, want := range []string{"7,654", "… and 2 more", "since Jun 27: 0 let in"} {
		if !strings.Contains(said, want) {
			t.Errorf("want %q in\n%s", want, said)
		}
	}
	users := fmt.Sprint(reply)
	if n := strings.Count(users, "{telegram held"); n != 10 {
		t.Errorf("%d users whose badges are held back are named, want 10", n)
	}
	if !strings.Contains(users, commandstest.Bob) || strings.Contains(users, "{telegram "+commandstest.Stranger+"}") {
		t.Errorf("want Bob, and not somebody who was left out elsewhere, in %s", users)
	}
}

// othersOfDetails are senders who may not read the details of a group.
var othersOfDetails = map[string]struct {
	role  chat.Role
	group string
	says  string // a part of the reply to /details
}{
	"a member": {
		role:  chat.Member,
		group: commandstest.Community,
		says:  "moderators",
	},
	"a sender whose role is unknown": {
		role:  chat.UnknownRole,
		group: unlistedGroup,
	},
	"a moderator of an unlisted group": {
		role:  chat.Moderator,
		group: unlistedGroup,
		says:  "telegram:" + unlistedGroup,
	},
}

func TestDetailsTellNobodyElse(t *testing.T) {
	for name, sender := range othersOfDetails {
		reply := askAs(t, withDetails(), sender.role, sender.group, "details")
		said := texts(reply)
		if !strings.Contains(said, sender.says) {
			t.Errorf("%s: want %q in\n%s", name, sender.says, said)
		}
		for _, secret := range []string{"7,654", "… and 2 more", "since Jun 27: 0 let in"} {
			if strings.Contains(said, secret) {
				t.Errorf("%s reads %q in\n%s", name, secret, said)
			}
		}
		users := fmt.Sprint(reply)
		for _, secret := range []string{"{telegram held", commandstest.Bob, "{telegram " + commandstest.Stranger + "}"} {
			if strings.Contains(users, secret) {
				t.Errorf("%s is told of %q in %s", name, secret, users)
			}
		}
	}
}

func TestStatusNamesDetailsAndTellsNone(t *testing.T) {
	check := func(name string, role chat.Role, group string) {
		said := texts(askAs(t, withDetails(), role, group, "status"))
		if strings.Contains(said, "7,654") || strings.Contains(said, "Door") || !strings.Contains(said, "details") {
			t.Errorf("%s: /status says %s", name, said)
		}
	}
	check("a moderator", chat.Moderator, commandstest.Community)
	for name, sender := range othersOfDetails {
		check(name, sender.role, sender.group)
	}
}
