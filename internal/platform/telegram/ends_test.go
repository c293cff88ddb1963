package telegram

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/platform/telegram/botapi"
)

// killable is an adapter. Once it is killed, none of its calls arrives.
type killable struct {
	*adapterTest
	killed atomic.Bool
}

func (k *killable) RoundTrip(req *http.Request) (*http.Response, error) {
	if k.killed.Load() {
		return nil, errors.New("the process is gone")
	}
	return k.adapterTest.RoundTrip(req)
}

// load is the commands before a process ends. A 429 holds back groups meanwhile.
type load struct {
	hung    int // commands that hang, in private chats
	waiting int // commands in ten groups
	others  int // commands in private chats
}

// ask pushes the commands of a load. Those of the others come last.
func (l load) ask(r *adapterTest) {
	for i := range int64(l.waiting) {
		where := faketelegram.Group(group - i%10)
		r.api.Push(writes(where, 1+i, fmt.Sprint("/staked ", i)))
	}
	for _, user := range people(l.hung + l.others) {
		r.api.Push(inPrivate(user, "/price"))
	}
}

// lostBy returns how many commands of a load have no answer.
func (l load) lostBy(r *adapterTest) (lost int) {
	answers := perChat(r.api.Sent())
	for _, user := range people(l.hung + l.others) {
		lost += max(0, 1-answers[user])
	}
	for i := range int64(10) {
		asked := (l.waiting - int(i) + 9) / 10
		lost += max(0, asked-answers[group-i])
	}
	return lost
}

// A process ends after five seconds. The next one answers the updates that are still at Telegram. A command that waits
// or hangs is lost only if its update was acknowledged, which never happens while fewer than a batch are polled.
func TestAnEndLosesOnlyWhatWasAcknowledged(t *testing.T) {
	type test struct {
		load
		stopLoses int // at most
		killLoses int // at most
	}
	tests := map[string]test{
		"few hang, and others do not": {
			load: load{hung: 40, others: 59},
		},
		"few wait for a 429, and others do not": {
			load: load{waiting: 40, others: 59},
		},
		"many hang, and others do not": {
			load:      load{hung: 150, others: 20},
			stopLoses: 0, // Those that hang are answered within the drain.
			killLoses: 150,
		},
		"many wait for a 429, and others do not": {
			load:      load{waiting: 150, others: 20},
			stopLoses: 150,
			killLoses: 150,
		},
	}
	for _, end := range []string{"stop", "kill"} {
		t.Run(end, func(t *testing.T) {
			inBubble(t, tests, func(t *testing.T, tt test) {
				r := setUp(t)
				r.holdGroups(25*time.Second, 0)
				first := &killable{adapterTest: r}
				r.adapter.api = botapi.New(botapi.Config{
					Token:     r.adapter.Settings.Token,
					URL:       r.api.URL,
					Transport: first,
				})
				r.block(people(tt.hung)...)
				stop := r.run()
				tt.ask(r)
				time.Sleep(5 * time.Second)
				check(t, "others answered", len(r.api.Sent()), tt.others)
				first.killed.Store(end == "kill")
				_ = stop()
				left, sent := len(r.api.Pending()), len(r.api.Sent())

				r.answerAllWith(&chat.Reply{Title: chat.Say("x")})
				next := r.secondAdapter()
				next.run()
				next.waitIdle(time.Minute)
				time.Sleep(time.Minute) // for what outlasts the first drain
				check(t, "answers of the next process", len(r.api.Sent())-sent, left)
				most := map[string]int{"stop": tt.stopLoses, "kill": tt.killLoses}[end]
				if lost := tt.lostBy(r); lost > most {
					t.Errorf("%d commands are lost, want at most %d", lost, most)
				}
			})
		})
	}
}
