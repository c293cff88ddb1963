package telegram

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/telegram/telegramtest"
	"herald/internal/words"
)

var answersMany = regexp.MustCompile(`This answers (\d+) requests\.`)

// answered is how many askers a message says that it is for.
func answered(m telegramtest.Sent) int {
	if found := answersMany.FindStringSubmatch(m.Text); found != nil {
		n, _ := strconv.Atoi(found[1])
		return n
	}
	return 1
}

// crowd is the same command of n people in the group.
func crowd(n int, text string) (all []telegramtest.Message) {
	for i := range n {
		all = append(all, inGroup(int64(1+i), text))
	}
	return all
}

// flood is a different command of each of n people in the group.
func flood(n int) (all []telegramtest.Message) {
	for i := range n {
		all = append(all, inGroup(int64(1+i), fmt.Sprint("/staked ", i)))
	}
	return all
}

// most is the largest number of messages within any span of a length.
func most(sent []telegramtest.Sent, length time.Duration) (best int) {
	sent = slices.SortedFunc(slices.Values(sent), func(a, b telegramtest.Sent) int { return a.At.Compare(b.At) })
	from := 0
	for i, m := range sent {
		for m.At.Sub(sent[from].At) >= length {
			from++
		}
		best = max(best, i-from+1)
	}
	return best
}

// inChat are the messages in one chat, and how many of them say busy.
func inChat(sent []telegramtest.Sent, id int64) (there []telegramtest.Sent, saidBusy int) {
	for _, m := range sent {
		if m.Chat == id {
			there = append(there, m)
			if strings.Contains(m.Text, words.Say(chat.English, chat.Busy().Text)) {
				saidBusy++
			}
		}
	}
	return there, saidBusy
}

// keepsRates fails the test where a rate that Telegram publishes is exceeded.
func keepsRates(t *testing.T, sent []telegramtest.Sent) {
	t.Helper()
	for id := range perChat(sent) {
		there, _ := inChat(sent, id)
		if second, minute := most(there, time.Second), most(there, time.Minute); second > 5 || id < 0 && minute > 20 {
			t.Errorf("%d messages in a second and %d in a minute in chat %d", second, minute, id)
		}
	}
	if n := most(sent, time.Second); n > 30 {
		t.Errorf("%d messages in a second in all", n)
	}
}

// One flooded group, many private chats, and a server that refuses now and then:
// every rate is kept, also by what is repeated. The group is told once that there
// is no room, and nobody else waits for it.
func TestAMixedCrowdKeepsEveryRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const people, flooding = 60, 60
		r := setUp(t, paced)
		for _, m := range flood(flooding) {
			r.api.Push(m)
		}
		r.askers(people)
		for range 20 {
			r.api.Fail("sendMessage", telegramtest.Fault{}, telegramtest.Fault{}, telegramtest.TooMany(time.Second))
		}
		start := time.Now()
		r.run()
		sent := r.settled(2 * time.Minute)
		keepsRates(t, sent)
		if len(perChat(sent)) != people+1 || r.events.of("rate_limited") != 20 {
			t.Errorf("%d chats are answered, events %v", len(perChat(sent)), r.events.n)
		}
		there, saidBusy := inChat(sent, group)
		if shed := r.events.of("send_shed"); saidBusy != 1 || len(there) < 10 || shed+len(there)-1 != flooding {
			t.Errorf("%d messages in the group, %d of them busy, and %d are shed", len(there), saidBusy, shed)
		}
		for id := range perChat(sent) {
			if others, busy := inChat(sent, id); id > 0 && (busy != 0 || len(others) != 1 || others[0].At.Sub(start) > 15*time.Second) {
				t.Errorf("chat %d got %+v", id, others)
			}
		}
	})
}

// Edits count towards a chat's rate, and where that is used up the presser alone
// is told.
func TestEditsKeepTheRatesOfTheirChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUp(t, paced)
		r.answer(refreshed("x", 1))
		r.run()
		r.api.Push(inGroup(ann, "/price"))
		r.sent(1)
		r.answer(chat.Reply{Title: chat.Say("y"), AsOf: refreshed("", 2).AsOf})
		for _, m := range flood(60) {
			r.api.Push(m)
		}
		r.inFlight(61)
		r.press(ann, "Refresh")
		if told := r.told(1)[0]; !strings.Contains(told.Text, "Busy") || !told.Alert {
			t.Errorf("told %+v", told)
		}
		if sent := r.settled(time.Minute); sent[0].Edits != 0 || r.events.of("busy_said") != 1 {
			t.Errorf("the card is edited %d times, events %v", sent[0].Edits, r.events.n)
		}
	})
}

// What has no turn yet when a drain ends stays in Telegram's queue, so that the
// next process answers it; and what is answered is acknowledged.
func TestACrowdIsAnsweredOnceAcrossAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const asked = 320
		r := setUp(t, paced)
		r.askers(asked)
		stop := r.run()
		time.Sleep(2510 * time.Millisecond)
		if err := stop(); err != nil {
			t.Error(err)
		}
		first := len(r.api.Sent())
		if first < 50 || first+len(r.api.Pending()) != asked {
			t.Errorf("%d of %d are answered, %d are left", first, asked, len(r.api.Pending()))
		}
		next := r.again()
		next.run()
		if sent := next.settled(time.Minute); len(sent) != asked || len(perChat(sent)) != asked {
			t.Errorf("%d messages to %d people", len(sent), len(perChat(sent)))
		}
	})
}

// A repetition whose turn comes after the drain is for the next process.
func TestAStopLeavesARepetitionWithoutATurnToTheNextProcess(t *testing.T) {
	simulated(t, func(t *testing.T, r *rig) {
		r.api.Fail("sendMessage", telegramtest.Page(http.StatusBadGateway))
		update, message := r.api.Push(inGroup(ann, "/price"))
		stop := r.run()
		r.waitFor("the call", func() bool { return len(r.api.Calls("sendMessage")) == 1 })
		for _, m := range flood(11) { // Their turns are all that there are for half a minute.
			r.api.Push(m)
		}
		time.Sleep(3 * time.Second)
		start := time.Now()
		if err := stop(); err != nil || time.Since(start) > chat.DrainTime || !slices.Contains(r.api.Pending(), update) {
			t.Fatalf("%v after %v; sent %+v", err, time.Since(start), r.api.Sent())
		}
		// There is a turn for all twelve then, in whatever order they take theirs.
		r.adapter.CommandTimeout = 4 * time.Minute
		next := r.again()
		next.run()
		if sent := next.settled(5 * time.Minute); !slices.ContainsFunc(sent, func(m telegramtest.Sent) bool { return m.ReplyTo == message }) {
			t.Errorf("it is never answered; sent %+v", sent)
		}
	}, paced)
}

func TestWithoutPacingNothingWaitsAndNothingIsShared(t *testing.T) {
	simulated(t, func(t *testing.T, r *rig) {
		r.run()
		start := time.Now()
		for _, m := range crowd(90, "/price") {
			r.api.Push(m)
		}
		for _, m := range r.sent(90) {
			if m.Text != "price" || m.At.Sub(start) > time.Second {
				t.Errorf("sent %+v after %v", m, m.At.Sub(start))
			}
		}
	})
}

func TestManyWhoAskTheSameAtOnceShareThreeMessages(t *testing.T) {
	inBubble(t, ways, func(t *testing.T, way func(*Config)) {
		for _, reply := range []chat.Reply{{Title: chat.Say("x")}, pictured(t, 100)} {
			const askers = 100
			r := setUp(t, way, paced)
			r.answer(reply)
			stop := r.run()
			start := time.Now()
			r.give(crowd(askers, "/price")...)
			sent, total := r.api.Sent(), 0
			for _, m := range sent {
				total += answered(m)
				if (m.Photo != nil) != (reply.Image != nil) {
					t.Errorf("sent %+v", m)
				}
			}
			if took := sent[len(sent)-1].At.Sub(start); total != askers || len(sent) > 3 || took > 3*time.Second {
				t.Errorf("%d messages for %d askers in %v", len(sent), total, took)
			}
			if shared := r.events.of("send_shared"); shared != askers-len(sent) {
				t.Errorf("%d are counted as shared", shared)
			}
			_ = stop()
			time.Sleep(2 * sameAnswerGap)
			w := &r.adapter.shared
			w.mu.Lock()
			if len(w.waiting)+len(w.next) != 0 {
				t.Errorf("%d answers wait and %d are remembered", len(w.waiting), len(w.next))
			}
			w.mu.Unlock()
		}
	})
}

// Only what is the same in one place shares a message: not another argument, not
// another topic, no refusal for an answer, and nothing private.
func TestOnlyTheSameAnswerInTheSamePlaceIsShared(t *testing.T) {
	inBubble(t, ways, func(t *testing.T, way func(*Config)) {
		const people = 10
		r := setUp(t, way, paced)
		r.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply {
			// The key of a title says what it is, and the tone how it went; the text the rest.
			reply := chat.Reply{Title: chat.Say(req.Command), Text: chat.Say("-")}
			for _, arg := range []string{"a", "b"} {
				if fmt.Sprint(req.Args) == fmt.Sprint(chat.Typed(arg)) {
					reply.Text = chat.Say(arg)
				}
			}
			switch req.From.ID {
			case "1", "2":
				reply.Title = chat.Say("refused")
			case "3", "4":
				reply.Tone = chat.Warning
			}
			return reply
		}
		r.adapter.CommandTimeout = time.Minute
		r.run()
		var messages []telegramtest.Message
		for _, m := range crowd(people, "/price") {
			messages = append(messages, m, inGroup(m["from"].(telegramtest.User).ID, "/price").In(7))
		}
		for i, line := range []string{"/staked a", "/staked b", "/mylogins", "/mylogins"} {
			r.api.Start(int64(100 + i))
			messages = append(messages, inGroup(int64(100+i), line))
		}
		r.give(messages...)
		got := map[string]int{}
		for _, m := range r.api.Sent() {
			text, _, _ := strings.Cut(m.Text, "\n\n")
			got[fmt.Sprint(m.Chat, " ", m.Thread, " ", text)] += answered(m)
		}
		want := map[string]int{
			"-1001 0 staked\na": 1, "-1001 0 staked\nb": 1, "102 0 mylogins\n-": 1, "103 0 mylogins\n-": 1, "-1001 0 " + said(answeredPrivately): 2,
			"-1001 0 refused\n-": 2, "-1001 0 ⚠️ price\n-": 2, "-1001 0 price\n-": people - 4,
			"-1001 7 refused\n-": 2, "-1001 7 ⚠️ price\n-": 2, "-1001 7 price\n-": people - 4,
		}
		if !maps.Equal(got, want) {
			t.Errorf("answered\n%v, want\n%v", got, want)
		}
		keepsRates(t, r.api.Sent())
	})
}

// The message that goes is the newest answer, as a reply to whoever waited
// longest. The first goes at once.
func TestASharedMessageShowsTheNewestAnswerToTheFirstAsker(t *testing.T) {
	simulated(t, func(t *testing.T, r *rig) {
		asked := 0
		r.handler.Reply = func(context.Context, chat.Request) chat.Reply {
			asked++ // One at a time, as they are asked below.
			return chat.Reply{Title: chat.Say("Price"), Text: chat.Say(fmt.Sprintf("Answer %d.", asked)), Notes: make([]chat.Text, 0, 5)}
		}
		r.run()
		var ids []int64
		for _, m := range crowd(6, "/price") {
			_, id := r.api.Push(m)
			ids = append(ids, id)
			time.Sleep(50 * time.Millisecond)
		}
		sent := r.sent(2)
		if sent[0].ReplyTo != ids[0] || answered(sent[0]) != 1 || !strings.Contains(sent[0].Text, "Answer 1.") {
			t.Errorf("the first message is %+v", sent[0])
		}
		if sent[1].ReplyTo != ids[1] || answered(sent[1]) != 5 || !strings.Contains(sent[1].Text, "Answer 6.") ||
			sent[1].At.Sub(sent[0].At) < time.Second {
			t.Errorf("the second message is %+v", sent[1])
		}
	}, paced)
}

// All who wait for a message share what becomes of it: their updates are settled,
// and each is logged by its own reference where it is not out.
func TestWhatBecomesOfASharedMessageIsThatOfAllWhoWaitForIt(t *testing.T) {
	const askers = 20
	page := telegramtest.Page(502)
	type test struct {
		faults     []telegramtest.Fault
		sent, lost int
	}
	inBubble(t, map[string]test{
		"refused":       {[]telegramtest.Fault{{}, telegramtest.NoRights()}, 1, askers - 1},
		"429":           {[]telegramtest.Fault{{}, telegramtest.TooMany(3 * time.Second)}, 2, 0},
		"unclear to it": {[]telegramtest.Fault{{}, page, page, page}, 1, askers - 1},
	}, func(t *testing.T, tt test) {
		r := setUp(t, paced)
		r.api.Fail("sendMessage", tt.faults...)
		r.run()
		r.api.Push(inGroup(1, "/price"))
		r.sent(1)
		for _, m := range crowd(askers-1, "/price") {
			r.api.Push(m)
		}
		if sent := r.settled(time.Minute); len(sent) != tt.sent {
			t.Errorf("%d messages, want %d", len(sent), tt.sent)
		}
		if n := strings.Count(r.logs.String(), "was not delivered"); n != tt.lost {
			t.Errorf("%d are logged as not delivered, want %d:\n%s", n, tt.lost, r.logs)
		}
	})
}
