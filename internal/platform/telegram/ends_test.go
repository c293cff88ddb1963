package telegram

import (
	"fmt"
	"testing"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
)

// load is the commands before a process ends. A 429 holds back groups meanwhile.
type load struct {
	hung    int // commands that hang, in private chats
	limited int // commands in ten groups
	quick   int // commands in private chats
}

// ask pushes the commands of a load, and returns their number by chat. The quick ones come last.
func (l load) ask(r *adapterTest) (asked map[int64]int) {
	asked = map[int64]int{}
	for i := range int64(l.limited) {
		where := faketelegram.Group(group - i%10)
		r.api.Push(writes(where, 1+i, fmt.Sprint("/staked ", i)))
		asked[where.ID]++
	}
	for _, user := range people(l.hung + l.quick) {
		r.api.Push(inPrivate(user, "/price"))
		asked[user]++
	}
	return asked
}

// lost returns how many of the commands that were asked have no answer.
func lost(r *adapterTest, asked map[int64]int) (n int) {
	answers := perChat(r.api.Sent())
	for where, commands := range asked {
		n += max(0, commands-answers[where])
	}
	return n
}

// losses is a load, and the largest number of its commands that an end after five seconds may lose.
type losses struct {
	load
	most int
}

// checkLosses ends a process by the signal, starts the next one, and checks what is lost. The next process answers the
// updates that are still at Telegram.
func checkLosses(t *testing.T, by signal, tests map[string]losses) {
	t.Helper()
	inBubble(t, tests, func(t *testing.T, tt losses) {
		r := setUp(t)
		r.holdGroups(25*time.Second, 0)
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
		left, sent := len(r.api.Pending()), len(r.api.Sent())

		r.answerAllWith(&chat.Reply{Title: chat.Say("x")})
		next := r.secondAdapter()
		next.run()
		next.waitIdle(time.Minute)
		time.Sleep(time.Minute) // for what outlasts the first drain
		check(t, "answers of the next process", len(r.api.Sent())-sent, left)
		if n := lost(r, asked); n > tt.most {
			t.Errorf("%d commands are lost, want at most %d", n, tt.most)
		}
	})
}

// With fewer than a batch of updates, none is acknowledged before it is answered.
func TestAnEndLosesNothingOfLessThanABatch(t *testing.T) {
	const quick = batchSize - 1 - 40
	tests := map[string]losses{
		"few hang":           {load: load{hung: 40, quick: quick}},
		"few wait for a 429": {load: load{limited: 40, quick: quick}},
	}
	t.Run("stop", func(t *testing.T) { checkLosses(t, sigterm, tests) })
	t.Run("kill", func(t *testing.T) { checkLosses(t, sigkill, tests) })
}

// The commands of the first batch that hang or wait hide newer ones, so they may be acknowledged early. After them,
// fewer than a batch are left, and none of these is lost.
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
