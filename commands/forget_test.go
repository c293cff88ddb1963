package commands_test

import (
	"slices"
	"strings"
	"testing"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/members"
)

// forget returns the reply to /forget when it makes these changes, and the keys of its messages.
func forget(t *testing.T, changes ...members.Change) (reply *chat.Reply, said string) {
	t.Helper()
	reply, err := run(t, commandsWithMembers(savingMembers(), changes, nil), "forget", nil)
	if err != nil {
		t.Error(err)
	}
	return reply, strings.Join(keys(reply), " ")
}

// removal returns the removal of a badge of a community. It failed because of the problem, or succeeded if that is "".
func removal(community string, problem chat.BadgeProblem) members.Change {
	return members.Change{
		Badge:   members.Badge{Badge: chat.Badge{Community: community}},
		Removed: true,
		Problem: problem,
	}
}

func TestForgettingSaysAReasonOnce(t *testing.T) {
	const want = "badge.not_removed badge.not_removed badge.why.role_above forget.later"
	_, said := forget(t, removal("A", chat.RoleAbove), removal("B", chat.RoleAbove))
	if said != want {
		t.Errorf("says %s, want %s", said, want)
	}
}

// If a role was deleted, there is nothing to try again: the member does not have it, as they wanted.
func TestForgettingARoleThatIsDeletedIsDone(t *testing.T) {
	for _, test := range []struct {
		changes []members.Change
		says    string
		tone    chat.Tone
		buttons int
	}{
		{
			changes: []members.Change{removal("A", chat.BadgeGone)},
			says:    "badge.deleted forget.done",
			tone:    chat.Positive,
		},
		{
			changes: []members.Change{removal("A", chat.BadgeGone), removal("B", "")},
			says:    "badge.removed badge.deleted forget.done",
			tone:    chat.Positive,
		},
		{
			changes: []members.Change{removal("A", chat.BadgeGone), removal("B", chat.RoleAbove)},
			says:    "badge.not_removed badge.deleted badge.why.role_above forget.later",
			tone:    chat.Warning,
			buttons: 1,
		},
	} {
		reply, said := forget(t, test.changes...)
		if said != test.says {
			t.Errorf("says %s, want %s", said, test.says)
		}
		if reply.Tone != test.tone || len(reply.Actions) != test.buttons {
			t.Errorf("%s: tone %d, buttons %v", test.says, reply.Tone, reply.Actions)
		}
	}
}

func TestDelayedRemovalIsNotReportedAsGiving(t *testing.T) {
	w := savingMembers()
	r := w.Router(t)
	inGroup(t, r, commandstest.Ann, save)
	w.Saved.Busy = true
	reply := inGroup(t, r, commandstest.Ann, "/forget")
	said := keys(reply)
	saysRemoval := slices.Contains(said, "badge.not_removed") && !slices.Contains(said, "badge.given_later")
	if reply.Tone != chat.Warning || !saysRemoval {
		t.Errorf("%v, tone %v", said, reply.Tone)
	}
}
