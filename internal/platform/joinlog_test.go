package platform_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/platform"
)

func TestAJoinLogRemembersTheLastTenOfEachGroup(t *testing.T) {
	var log platform.JoinLog
	person := func(i int) chat.User { return chat.User{Platform: "telegram", ID: strconv.Itoa(i)} }
	for i := range 13 {
		log.LeaveOut("-1", chat.LeftOut{User: person(i), At: time.Unix(int64(i), 0), Why: chat.Say("why")}, i%2 == 0)
	}
	log.LeaveOut("-1", chat.LeftOut{User: person(5), Why: chat.Say("again")}, true)
	log.LetIn("-1", person(9))
	log.LetIn("-2", person(4))
	for group, want := range map[string]struct {
		counts chat.JoinCounts
		last   string
	}{
		"-1": {chat.JoinCounts{LetIn: 1, LeftOpen: 8, Unchecked: 6}, "5 12 11 10 8 7 6 4 3"},
		"-2": {chat.JoinCounts{LetIn: 1}, ""},
		"-3": {},
	} {
		counts, last := log.For(group)
		var ids []string
		for _, out := range last {
			ids = append(ids, out.User.ID)
		}
		if got := strings.Join(ids, " "); counts != want.counts || got != want.last {
			t.Errorf("%s: %+v %q, want %+v", group, counts, got, want)
		}
	}
	if _, last := log.For("-1"); last[0].Why.Key != "again" || !last[1].At.Equal(time.Unix(12, 0)) {
		t.Errorf("%+v", last)
	}
}

func TestAJoinLogKnowsWhichRequestsAreOpen(t *testing.T) {
	ann, bob := chat.User{Platform: "telegram", ID: "1"}, chat.User{Platform: "telegram", ID: "2"}
	var log platform.JoinLog
	leaveOut := func(group string, user chat.User) { log.LeaveOut(group, chat.LeftOut{User: user}, true) }
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, ""},
		{func() { leaveOut("-1", ann) }, "-1"},
		{func() { leaveOut("-2", bob) }, "-1"},
		{func() { leaveOut("-2", ann) }, "-1 -2"},
		{func() { leaveOut("-1", ann) }, "-2 -1"},
		{func() { log.Reopen("-2", ann) }, "-1 -2"},
		{func() { log.Reopen("-1", ann) }, "-2 -1"},
		{func() { log.LetIn("-2", bob) }, "-2 -1"},
		{func() { log.LetIn("-2", ann) }, "-1"},
		{func() { log.Close("-3", ann) }, "-1"},
		{func() { log.Close("-1", ann) }, ""},
	} {
		step.do()
		if got := strings.Join(log.Open(ann), " "); got != step.want {
			t.Errorf("open requests for %q, want %q", got, step.want)
		}
	}
}
