package telegram

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-telegram/bot"

	"herald/internal/chat/chattest"
	"herald/internal/telegram/telegramtest"
	"herald/internal/transport"
)

// clocked is the Bot API in memory: it takes every message, some time after
// it was sent and some time before it says so.
type clocked struct {
	mu   sync.Mutex
	down int // how many connections fail before one is made
	took []arrival
	// refuse makes one in so many messages be refused by a server in trouble;
	// 0 is none. Telegram may count those too.
	refuse  int
	refused []arrival
}

type arrival struct {
	chat string
	text string
	at   time.Time
}

func (c *clocked) Do(req *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(req.URL.Path, "/sendMessage") {
		_, err := io.Copy(io.Discard, req.Body)
		return answered(200, `{"ok":true,"result":true}`), err
	}
	if err := req.ParseMultipartForm(1 << 16); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.down--
	down := c.down >= 0
	c.mu.Unlock()
	if down {
		return nil, &transport.Error{Host: "telegram", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	}
	<-time.After(rand.N(150 * time.Millisecond))
	c.mu.Lock()
	now := arrival{req.FormValue("chat_id"), req.FormValue("text"), time.Now()}
	refuse := c.refuse > 0 && rand.N(c.refuse) == 0
	if refuse {
		c.refused = append(c.refused, now)
	} else {
		c.took = append(c.took, now)
	}
	c.mu.Unlock()
	if refuse {
		return nil, &statusError{http.StatusBadGateway}
	}
	<-time.After(rand.N(150 * time.Millisecond))
	return answered(200, `{"ok":true,"result":{"message_id":1}}`), nil
}

// paced is a session whose sends are paced and go to a Bot API in memory.
func paced(t *testing.T) (*session, *clocked) {
	t.Helper()
	a, err := New(Config{Token: telegramtest.Token, Pacing: true, Handler: &chattest.Handler{},
		CommandTimeout: 20 * time.Second, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	api := &clocked{}
	a.api = inMemory(t, api)
	s := &session{Adapter: a, me: testMe, window: newWindow(), commandsCtx: t.Context(), sendsCtx: t.Context(), fail: func(error) {}}
	return s, api
}

// inMemory is the library's client of a Bot API in memory.
func inMemory(t *testing.T, api bot.HttpClient) *bot.Bot {
	t.Helper()
	b, err := bot.New(telegramtest.Token, bot.WithSkipGetMe(), bot.WithHTTPClient(time.Minute, api))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// queue is updates as Telegram holds them, numbered from 1.
type queue []json.RawMessage

func (q *queue) push(chat int64, kind string) {
	*q = append(*q, fmt.Appendf(nil, `{"update_id":%d,"message":{"message_id":%d,"from":{"id":5},"chat":{"id":%d,"type":%q},
		"text":"/price","entities":[{"type":"bot_command","offset":0,"length":6}]}}`, len(*q)+1, len(*q)+1, chat, kind))
}

// pollAll plays polling until everything in q is answered.
func (s *session) pollAll(q queue) {
	for {
		offset, busy := s.window.offset()
		batch := q[min(max(offset-1, 0), int64(len(q))):]
		if len(batch) == 0 && !busy {
			return
		}
		batch = batch[:min(len(batch), windowSize)]
		if s.take(offset, batch) == 0 && len(batch) == windowSize {
			s.window.shedWaiting()
		}
		pause(s.sendsCtx, s.window.moved, pollTick)
	}
}

// most is the largest number of arrivals within any span of a length.
func most(took []arrival, length time.Duration) int {
	best := 0
	for i := range took {
		n := 0
		for _, a := range took[i:] {
			if a.at.Sub(took[i].at) < length {
				n++
			}
		}
		best = max(best, n)
	}
	return best
}

func (c *clocked) of(chat string) (took []arrival, busy int) {
	for _, a := range c.took {
		if a.chat == chat {
			took = append(took, a)
			if a.text == busyText {
				busy++
			}
		}
	}
	return took, busy
}

func TestABurstInOneGroupKeepsTheRatesAndSaysBusyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, api := paced(t)
		var q queue
		for range 200 {
			q.push(group, "supergroup")
		}
		start := time.Now()
		s.pollAll(q)
		took, busy := api.of("-1001")
		if n := most(took, time.Minute); n > groupLimit {
			t.Errorf("%d messages in a minute", n)
		}
		if n := most(took, time.Second); n > 1 {
			t.Errorf("%d messages in a second", n)
		}
		// While the window is full nobody waits longer than patience, so that
		// this may be all that is said.
		if least := int(patience/chatGap) + 1; busy != 1 || len(took) < least {
			t.Errorf("%d messages, %d of them say busy", len(took), busy)
		}
		if spent := time.Since(start); spent > 45*time.Second {
			t.Errorf("all of it took %v", spent)
		}
	})
}

func TestAQuietChatIsNotStalledByAFloodedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, api := paced(t)
		var q queue
		for range 150 {
			q.push(group, "group")
		}
		q.push(77, "private")
		start := time.Now()
		s.pollAll(q)
		took, busy := api.of("77")
		if len(took) != 1 || busy != 0 || took[0].at.Sub(start) > patience+3*time.Second {
			t.Errorf("the quiet chat got %+v, %v after the flood began", took, took[0].at.Sub(start))
		}
	})
}

func TestManyChatsKeepTheTotalRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, api := paced(t)
		var q queue
		for i := range 300 {
			q.push(int64(1000+i), "private")
		}
		s.pollAll(q)
		if n := most(api.took, time.Second); n > totalLimit {
			t.Errorf("%d messages in a second", n)
		}
		if len(api.took) != 300 {
			t.Errorf("%d messages", len(api.took))
		}
		for _, a := range api.took {
			if a.text == busyText {
				t.Errorf("chat %s was told busy", a.chat)
			}
		}
	})
}

func TestWithoutPacingNothingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, api := paced(t)
		s.pace.off = true
		var q queue
		for range 90 {
			q.push(group, "group")
		}
		start := time.Now()
		s.pollAll(q)
		if spent := time.Since(start); spent > time.Second || len(api.took) != 90 {
			t.Errorf("%d messages in %v", len(api.took), spent)
		}
	})
}

func TestADrainShedsWhatWouldComeTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, api := paced(t)
		var q queue
		for range 15 {
			q.push(group, "group")
		}
		s.take(0, q)
		synctest.Wait()
		start := time.Now()
		s.drain(func() {}, func() {})
		took, busy := api.of("-1001")
		if spent := time.Since(start); spent > stopWaiting || busy != 1 || len(took) < 5 {
			t.Errorf("drained in %v with %d messages, %d of them busy", spent, len(took), busy)
		}
		if offset, inHand := s.window.offset(); inHand || offset != 16 {
			t.Errorf("offset %d, in hand %v", offset, inHand)
		}
	})
}

func TestThePacerForgetsQuietChats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(true)
		for i := range 50 {
			ended, err := p.wait(t.Context(), place{chat: int64(i)}, time.Time{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			ended()
		}
		<-time.After(3 * time.Minute)
		if ended, err := p.wait(t.Context(), place{chat: 99}, time.Time{}, nil); err == nil {
			ended()
		}
		if len(p.lanes) != 1 {
			t.Errorf("%d chats are remembered", len(p.lanes))
		}
	})
}

func TestAnOutageOfAnyLengthIsOutwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, api := paced(t)
		api.down = 40
		var q queue
		q.push(77, "private")
		start := time.Now()
		s.pollAll(q)
		if took, _ := api.of("77"); len(took) != 1 || time.Since(start) < deliveryLimit {
			t.Errorf("%d messages after %v", len(took), time.Since(start))
		}
	})
}

func TestASteadyFlowInOneGroupKeepsTheMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, api := paced(t)
		var q queue
		for range 240 {
			q.push(group, "group")
			s.take(0, q[len(q)-1:])
			<-time.After(700 * time.Millisecond)
		}
		s.pollAll(q)
		took, busy := api.of("-1001")
		if n := most(took, time.Minute); n > groupLimit || n < regularLimit-1 {
			t.Errorf("%d messages in a minute", n)
		}
		if busy < 2 || busy > 4 {
			t.Errorf("busy was said %d times", busy)
		}
	})
}

// One flooded group, many private chats, and a server in trouble now and then:
// what is repeated counts too.
func TestAMixedCrowdKeepsEveryRateWithRepeatedSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, api := paced(t)
		api.refuse = 5
		var q queue
		for i := range 200 {
			q.push(group, "supergroup")
			q.push(int64(1000+i), "private")
		}
		s.pollAll(q)
		all := slices.SortedFunc(slices.Values(slices.Concat(api.took, api.refused)), func(x, y arrival) int { return x.at.Compare(y.at) })
		if n := most(all, time.Second); n > totalLimit {
			t.Errorf("%d messages in a second", n)
		}
		chats := map[string][]arrival{}
		for _, a := range all {
			chats[a.chat] = append(chats[a.chat], a)
		}
		for chat, took := range chats {
			if n := most(took, time.Second); n > 1 {
				t.Errorf("%d messages in a second in chat %s", n, chat)
			}
		}
		if n := most(chats["-1001"], time.Minute); n > groupLimit {
			t.Errorf("%d messages in a minute in the group", n)
		}
		answered, busy := api.of("-1001")
		if busy < 1 || len(answered)-busy < 5 || len(api.refused) == 0 || len(chats) != 201 {
			t.Errorf("%d answers and %d times busy in the group, %d refused, %d chats", len(answered)-busy, busy, len(api.refused), len(chats))
		}
	})
}
