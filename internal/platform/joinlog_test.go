package platform_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/platform"
)

func person(number int) chat.User { return chat.User{Platform: "telegram", ID: strconv.Itoa(number)} }

// leaveOutThirteen leaves out the people 0 to 12 of group -1, one each second. Only those with an even number were
// checked.
func leaveOutThirteen(log *platform.JoinLog) {
	for i := range 13 {
		out := chat.LeftOut{User: person(i), At: time.Unix(int64(i), 0), Why: chat.Say("why")}
		wasChecked := i%2 == 0
		log.LeaveOut("-1", out, wasChecked)
	}
}

// leftOut returns the numbers of the people that a group left out last.
func leftOut(log *platform.JoinLog, group string) string {
	_, last := log.For(group)
	var numbers []string
	for _, out := range last {
		numbers = append(numbers, out.User.ID)
	}
	return strings.Join(numbers, " ")
}

func TestAJoinLogRemembersTheLastTenOfEachGroup(t *testing.T) {
	var log platform.JoinLog
	leaveOutThirteen(&log)
	for group, want := range map[string]string{
		"-1": "12 11 10 9 8 7 6 5 4 3",
		"-2": "",
	} {
		if got := leftOut(&log, group); got != want {
			t.Errorf("%s left out %q, want %q", group, got, want)
		}
	}
}

func TestAPersonLeftOutAgainMovesToTheFront(t *testing.T) {
	var log platform.JoinLog
	leaveOutThirteen(&log)
	log.LeaveOut("-1", chat.LeftOut{User: person(5), Why: chat.Say("again")}, true)
	if got, want := leftOut(&log, "-1"), "5 12 11 10 9 8 7 6 4 3"; got != want {
		t.Errorf("left out %q, want %q", got, want)
	}
	_, last := log.For("-1")
	if last[0].Why.Key != "again" || !last[1].At.Equal(time.Unix(12, 0)) {
		t.Errorf("left out %+v, want person 5 with the new reason, then person 12", last)
	}
}

func TestAPersonLetInIsNoLongerLeftOut(t *testing.T) {
	var log platform.JoinLog
	leaveOutThirteen(&log)
	log.LetIn("-1", person(9))
	log.LetIn("-2", person(4))
	if got, want := leftOut(&log, "-1"), "12 11 10 8 7 6 5 4 3"; got != want {
		t.Errorf("left out %q, want %q", got, want)
	}
}

func TestAJoinLogCountsEachOutcome(t *testing.T) {
	var log platform.JoinLog
	leaveOutThirteen(&log)
	log.LeaveOut("-1", chat.LeftOut{User: person(5)}, true)
	log.LetIn("-1", person(9))
	log.LetIn("-2", person(4))
	for group, want := range map[string]chat.JoinCounts{
		"-1": {LetIn: 1, LeftOpen: 8, Unchecked: 6},
		"-2": {LetIn: 1},
		"-3": {},
	} {
		if got, _ := log.For(group); got != want {
			t.Errorf("%s: %+v, want %+v", group, got, want)
		}
	}
}

func TestAJoinLogKnowsWhichRequestsAreOpen(t *testing.T) {
	ann, bob := person(1), person(2)
	var log platform.JoinLog
	leaveOut := func(group string, user chat.User) { log.LeaveOut(group, chat.LeftOut{User: user}, true) }
	for _, step := range []struct {
		name string
		do   func()
		want string // the groups of Ann's open requests
	}{
		{"nothing", func() {}, ""},
		{"Ann is left out", func() { leaveOut("-1", ann) }, "-1"},
		{"Bob is left out", func() { leaveOut("-2", bob) }, "-1"},
		{"Ann is left out of another group", func() { leaveOut("-2", ann) }, "-1 -2"},
		{"Ann is left out again", func() { leaveOut("-1", ann) }, "-2 -1"},
		{"the older request is reopened", func() { log.Reopen("-2", ann) }, "-1 -2"},
		{"the other one is reopened", func() { log.Reopen("-1", ann) }, "-2 -1"},
		{"Bob is let in", func() { log.LetIn("-2", bob) }, "-2 -1"},
		{"Ann is let in", func() { log.LetIn("-2", ann) }, "-1"},
		{"a request that is not open is closed", func() { log.Close("-3", ann) }, "-1"},
		{"the last request is closed", func() { log.Close("-1", ann) }, ""},
	} {
		step.do()
		if got := strings.Join(log.Open(ann), " "); got != step.want {
			t.Errorf("%s: Ann has open requests for %q, want %q", step.name, got, step.want)
		}
	}
}
