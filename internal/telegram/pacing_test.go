package telegram

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/telegram/telegramtest"
	"herald/internal/words"
)

// wireTime is more than a message takes to arrive, and its answer to come back.
// 30 messages go in a second and wireTime at most (a burst of 3, and then 25 a
// second), so that no more than 30 arrive in any second.
const wireTime = 80 * time.Millisecond

// wire carries calls to a Bot API in memory, each way in a time below wireTime.
type wire struct {
	*telegramtest.Server
	// refuses is how many of 5 messages the server answers with 429.
	refuses int

	mu      sync.Mutex
	refused []telegramtest.Sent // Telegram may count those too.
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(req.URL.Path, "/sendMessage") {
		return w.Server.RoundTrip(req)
	}
	time.Sleep(rand.N(wireTime))
	if rand.N(5) < w.refuses {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.refused = append(w.refused, telegramtest.Sent{Chat: group, At: time.Now()})
		const answer = `{"ok":false,"error_code":429,"parameters":{"retry_after":1}}`
		return &http.Response{StatusCode: http.StatusTooManyRequests, Body: io.NopCloser(strings.NewReader(answer))}, nil
	}
	resp, err := w.Server.RoundTrip(req)
	time.Sleep(rand.N(wireTime))
	return resp, err
}

// paced is a rig whose sends are paced and take time, for simulated time.
func paced(t *testing.T) (*rig, *wire) {
	t.Helper()
	r := setUpInMemory(t, func(c *Config) { c.Pacing = true })
	w := &wire{Server: r.api}
	r.carriedBy(w)
	return r, w
}

// flood pushes n commands, each another one of another person in the group.
func (r *rig) flood(n int) {
	for i := range n {
		r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(int64(1+i)), fmt.Sprint("/staked ", i)))
	}
}

// settled waits until nothing is queued or in hand, and returns what was sent.
func (r *rig) settled(within time.Duration) []telegramtest.Sent {
	r.Helper()
	for end := time.Now().Add(within); len(r.api.Pending())+len(r.adapter.inHand) > 0; time.Sleep(time.Second / 10) {
		if time.Now().After(end) {
			r.Fatalf("%d updates are queued and %d in hand after %v", len(r.api.Pending()), len(r.adapter.inHand), within)
		}
	}
	return r.api.Sent()
}

// most is the largest number of messages within any span of a length.
func most(sent []telegramtest.Sent, length time.Duration) (best int) {
	sent = slices.SortedFunc(slices.Values(sent), func(a, b telegramtest.Sent) int { return a.At.Compare(b.At) })
	for i, first := range sent {
		n := 0
		for _, m := range sent[i:] {
			if m.At.Sub(first.At) < length {
				n++
			}
		}
		best = max(best, n)
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
	chats := map[int64][]telegramtest.Sent{}
	for _, m := range sent {
		chats[m.Chat] = append(chats[m.Chat], m)
	}
	for chat, there := range chats {
		if n := most(there, time.Second); n > 5 {
			t.Errorf("%d messages in a second in chat %d", n, chat)
		}
		if n := most(there, time.Minute); chat < 0 && n > 20 {
			t.Errorf("%d messages in a minute in group %d", n, chat)
		}
	}
	if n := most(sent, time.Second); n > 30 {
		t.Errorf("%d messages in a second in all", n)
	}
}

func TestABurstInOneGroupKeepsTheRatesAndSaysBusyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := paced(t)
		r.flood(200)
		r.run()
		// What waits for its turn waits for no longer than a command may take.
		sent := r.settled(25 * time.Second)
		keepsRates(t, sent)
		if _, saidBusy := inChat(sent, group); saidBusy != 1 || len(sent) < 10 {
			t.Errorf("%d messages, %d of them say busy", len(sent), saidBusy)
		}
		if shed := r.events.of("send_shed"); shed+len(sent)-1 != 200 || r.events.of("busy_said") != 1 {
			t.Errorf("%d shed and %d sent of 200", shed, len(sent)-1)
		}
		if first := sent[0].At; sent[2].At.Sub(first) > time.Second || sent[len(sent)-1].At.Sub(first) < 15*time.Second {
			t.Errorf("answers from %v to %v", sent[0].At, sent[len(sent)-1].At)
		}
	})
}

func TestASteadyFlowInOneGroupKeepsTheMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := paced(t)
		r.run()
		for i := range 150 {
			r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(1), fmt.Sprint("/staked ", i)))
			time.Sleep(700 * time.Millisecond)
		}
		sent := r.settled(time.Minute)
		keepsRates(t, sent)
		if _, saidBusy := inChat(sent, group); saidBusy < 1 || saidBusy > 2 {
			t.Errorf("busy was said %d times", saidBusy)
		}
		if n := most(sent, time.Minute); n < 10 {
			t.Errorf("at most %d messages in a minute", n)
		}
	})
}

func TestAQuietChatIsNotStalledByAFloodedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := paced(t)
		r.flood(150)
		r.api.Push(telegramtest.Text(telegramtest.Private(ann), telegramtest.Person(ann), "/price"))
		start := time.Now()
		r.run()
		there, saidBusy := inChat(r.settled(time.Minute), ann)
		if len(there) != 1 || saidBusy != 0 || there[0].At.Sub(start) > stuckAfter+time.Second {
			t.Errorf("the quiet chat got %+v, after a flood that began at %v", there, start)
		}
	})
}

func TestManyChatsKeepTheTotalRateAndAreAllAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := paced(t)
		const people = 150 // They take longer than a command may.
		r.adapter.CommandTimeout = 5 * time.Second
		r.askers(people)
		r.run()
		sent := r.settled(2 * time.Minute)
		keepsRates(t, sent)
		if n := len(perChat(sent)); n != people || len(sent) != people {
			t.Errorf("%d messages to %d people", len(sent), n)
		}
		if _, saidBusy := inChat(sent, 10_000+people-1); saidBusy != 0 {
			t.Error("busy is said where only the total had no room")
		}
	})
}

// One flooded group, many private chats, and a server that refuses now and
// then: what is repeated counts too.
func TestAMixedCrowdKeepsEveryRateWithRepeatedSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := paced(t)
		w.refuses = 1
		r.askers(100)
		r.flood(200)
		r.run()
		sent := r.settled(10 * time.Minute)
		w.mu.Lock()
		defer w.mu.Unlock()
		keepsRates(t, sent)
		if n := most(slices.Concat(sent, w.refused), time.Second); n > 30 {
			t.Errorf("%d messages in a second in all, with those refused", n)
		}
		answers, saidBusy := inChat(sent, group)
		if saidBusy < 1 || len(answers)-saidBusy < 5 || len(w.refused) == 0 || len(perChat(sent)) != 101 {
			t.Errorf("%d answers and %d times busy in the group, %d refused, %d chats",
				len(answers)-saidBusy, saidBusy, len(w.refused), len(perChat(sent)))
		}
	})
}

func TestADrainShedsWhatWouldComeTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := paced(t)
		r.flood(15)
		stop := r.run()
		r.waitFor("all in hand", func() bool { return len(r.handler.Requests()) == 15 })
		start := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		sent := r.api.Sent()
		if _, saidBusy := inChat(sent, group); saidBusy != 1 || len(sent) < 9 || time.Since(start) >= chat.DrainTime {
			t.Errorf("drained in %v with %d messages, %d of them busy", time.Since(start), len(sent), saidBusy)
		}
		if pending := r.api.Pending(); len(pending) != 0 {
			t.Errorf("%d updates are not acknowledged", len(pending))
		}
	})
}

// What has no turn in the total yet stays in Telegram's queue, so that a stop
// loses nothing of it.
func TestACrowdIsAnsweredOnceAcrossAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const people = 300
		r, _ := paced(t)
		r.askers(people)
		stop := r.run()
		time.Sleep(2500 * time.Millisecond)
		if err := stop(); err != nil {
			t.Error(err)
		}
		first := r.api.Sent()
		next := r.again()
		next.carriedBy(r.api)
		next.run()
		sent := next.settled(time.Minute)
		if n := len(perChat(sent)); n != people || len(sent) != people || len(first) < 50 || len(first) == people {
			t.Errorf("%d messages to %d people, %d of them before the stop", len(sent), n, len(first))
		}
	})
}

func TestWhatTheTotalHoldsUpAtTheEndIsDeliveredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const people = 400
		r := setUpInMemory(t, func(c *Config) {
			c.Pacing, c.WebhookURL, c.WebhookSecret, c.Dedup = true, "https://bot.example/hook", config.NewSecret(secret), &memory{}
		})
		stop := r.run()
		r.waitFor("ready", r.adapter.Ready)
		var refused atomic.Int64
		var all sync.WaitGroup
		for user := range int64(people) {
			req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(r.update(1+user)))
			req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
			all.Go(func() {
				w := httptest.NewRecorder()
				if r.adapter.ServeHTTP(w, req); w.Code == http.StatusServiceUnavailable {
					refused.Add(1)
				}
			})
		}
		synctest.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}
		all.Wait()
		if sent, refused := len(r.api.Sent()), int(refused.Load()); sent < 150 || refused < 100 || sent+refused != people {
			t.Errorf("%d of %d are answered, %d are to be delivered again", sent, people, refused)
		}
	})
}

func TestWithoutPacingNothingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		r.flood(90)
		r.run()
		start := time.Now()
		if r.sent(90); time.Since(start) > time.Second {
			t.Errorf("90 messages took %v", time.Since(start))
		}
	})
}
