package telegram

import (
	"fmt"
	"testing"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
)

// load is the number of commands before a process ends.
type load struct {
	hung    int // in private chats; they take until the drain
	limited int // in ten groups; a 429 holds back the answers
	quick   int // in private chats; they are answered at once
}

// ask queues the commands of a load, and returns their number by chat. The quick ones come last.
func (l load) ask(r *adapterTest) (asked map[int64]int) {
	const groups = 10
	asked = map[int64]int{}
	for i := range int64(l.limited) {
		where := faketelegram.Group(group - i%groups)
		r.api.Push(writes(where, 1+i, fmt.Sprint("/staked ", i)))
		asked[where.ID]++
	}
	for _, user := range people(l.hung + l.quick) {
		r.api.Push(inPrivate(user, "/price"))
		asked[user]++
	}
	return asked
}

// losses is a load, and how many of its commands may be lost if the process ends after five seconds.
type losses struct {
	load
	most int
}

// checkLosses ends a process by the signal, starts the next one, and checks how many commands are lost. The next
// process answers the updates that Telegram still has.
func checkLosses(t *testing.T, by signal, tests map[string]losses) {
	t.Helper()
	inBubble(t, tests, func(t *testing.T, tt losses) {
		r := setUp(t)
		const callTakes = 0
		r.holdGroups(25*time.Second, callTakes)
		first := newProcess(r)
		r.block(people(tt.hung)...)
		stop := r.run()
		asked := tt.ask(r)
		time.Sleep(5 * time.Second)
		check(t, "quick ones answered", len(r.api.Sent()), tt.quick)
		first.killed.Store(by == sigkill)
		if err := stop(); err != nil {
			t.Errorf("Run returned %v", err)
		}
		unacknowledged, sent := len(r.api.Pending()), len(r.api.Sent())

		r.answerAllWith(&chat.Reply{Title: chat.Say("x")})
		next := r.secondAdapter()
		next.run()
		next.waitIdle(time.Minute)
		time.Sleep(time.Minute) // for what outlasts the first drain
		check(t, "answers of the next process", len(r.api.Sent())-sent, unacknowledged)
		if n := lost(r, asked); n > tt.most {
			t.Errorf("%d commands are lost, want at most %d", n, tt.most)
		}
	})
}

// lost returns how many of the commands that were asked have no answer.
func lost(r *adapterTest, asked map[int64]int) (n int) {
	answers := perChat(r.api.Sent())
	for where, commands := range asked {
		n += max(0, commands-answers[where])
	}
	return n
}

// Of fewer updates than a batch, none is acknowledged before it is answered.
func TestAnEndLosesNothingOfLessThanABatch(t *testing.T) {
	const quick = batchSize - 1 - 40
	tests := map[string]losses{
		"few hang":           {load: load{hung: 40, quick: quick}},
		"few wait for a 429": {load: load{limited: 40, quick: quick}},
	}
	t.Run("stop", func(t *testing.T) { checkLosses(t, sigterm, tests) })
	t.Run("kill", func(t *testing.T) { checkLosses(t, sigkill, tests) })
}

// Commands that hang or wait keep the bot from getting newer ones, because a poll returns at most a batch. So the first
// batch may be acknowledged before it is answered. The commands behind it are fewer than a batch, so none of them is
// lost.
func TestAnEndLosesAtMostTheFirstBatch(t *testing.T) {
	hung, limited := load{hung: 150, quick: 20}, load{limited: 150, quick: 20}
	t.Run("stop", func(t *testing.T) {
		checkLosses(t, sigterm, map[string]losses{
			"many hang":           {load: hung, most: 0}, // They are answered within the drain.
			"many wait for a 429": {load: limited, most: batchSize},
		})
	})
	t.Run("kill", func(t *testing.T) {
		checkLosses(t, sigkill, map[string]losses{
			"many hang":           {load: hung, most: batchSize},
			"many wait for a 429": {load: limited, most: batchSize},
		})
	})
}
