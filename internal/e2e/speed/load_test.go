//go:build speed

package speed

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	fakediscord "herald/internal/demo/fake/discord"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
)

// answerTime is how long all answers to a load may take before those that are
// missing count as lost.
const answerTime = time.Minute

// load is the commands that are asked of one bot, and their answers.
type load struct {
	door *e2etest.Door

	mu       sync.Mutex
	answers  map[string]int // by the chat in Telegram, the interaction in Discord
	wrong    error          // the first problem
	inFlight chan struct{}  // holds a token for each command asked and not answered
}

// newLoad takes the answers that the door's platform shows from now on.
func newLoad(door *e2etest.Door) *load {
	l := &load{door: door}
	if door.OnDiscord {
		door.Discord.Watch(func(s fakediscord.Shown) { l.answered(s.Interaction.ID, s.Message.Text()) })
		return l
	}
	door.Telegram.Watch(func(e faketelegram.Event) {
		if e.Message != nil {
			l.answered(strconv.FormatInt(e.Message.Chat, 10), e.Message.Text)
		}
	})
	return l
}

// answered takes an answer to the command with this ID.
func (l *load) answered(id, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers[id]++
	switch {
	case !strings.Contains(text, e2etest.Price):
		l.wrong = errors.Join(l.wrong, fmt.Errorf("command %s is answered with %.300q", id, text))
	case l.answers[id] > 1:
		l.wrong = errors.Join(l.wrong, fmt.Errorf("command %s is answered twice", id))
		return
	}
	<-l.inFlight
}

// ask asks n commands after the first ones, and returns once all are answered, with
// the time that took.
func (l *load) ask(first, n, inFlight int) (took time.Duration, err error) {
	l.mu.Lock()
	l.answers, l.inFlight = map[string]int{}, make(chan struct{}, inFlight)
	l.mu.Unlock()
	began, lost := time.Now(), time.After(answerTime)
	var asked []*e2etest.Asked
	for i := range n + inFlight {
		select {
		case l.inFlight <- struct{}{}:
		case <-lost:
			l.mu.Lock()
			defer l.mu.Unlock()
			return 0, errors.Join(fmt.Errorf("%d of %d commands were not answered within %v", n-len(l.answers), n, answerTime), l.wrong)
		}
		if i < n { // the others only wait
			asked = append(asked, l.door.Ask(e2etest.Command{User: int64(firstUser + (first+i)%users), Name: "price"}))
		}
	}
	took = time.Since(began)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range asked {
		id := strconv.FormatInt(a.User, 10)
		if a.OnDiscord() {
			id = a.Pending.ID
			a.Pending.Forget()
		}
		if l.answers[id] != 1 {
			l.wrong = errors.Join(l.wrong, fmt.Errorf("command %s is answered %d times", id, l.answers[id]))
		}
	}
	if !l.door.OnDiscord {
		l.door.Telegram.Take()
	}
	return took, l.wrong
}

// askOne returns what the bot says, as JSON that the bare bot can read.
func (l *load) askOne() (answer string, err error) {
	l.mu.Lock()
	l.answers, l.inFlight = map[string]int{}, make(chan struct{}, 1)
	l.mu.Unlock()
	l.inFlight <- struct{}{}
	asked := l.door.Ask(e2etest.Command{User: firstUser, Name: "price"})
	asked.Wait()
	said := any(nil)
	if asked.OnDiscord() {
		said = map[string]any{"type": 4, "data": asked.Pending.Answer().Payload("", "")}
	} else {
		said = l.door.Telegram.Calls("sendMessage")[0].Params
	}
	text, err := json.Marshal(said)
	return string(text), err
}
