package delivery

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/telegram/telegramtest"
)

// most is the largest number of messages within any span of a length.
func most(sent []telegramtest.Sent, length time.Duration) (best int) {
	for i := range sent {
		n := 0
		for _, m := range sent[i:] {
			if m.At.Sub(sent[i].At) < length {
				n++
			}
		}
		best = max(best, n)
	}
	return best
}

// burst is how many messages a chat may get at once, before it gets one a
// second.
const burst = 3

// ownQuestion is a command in the group that nobody else asks.
func ownQuestion(i int) telegramtest.Message {
	return telegramtest.Text(telegramtest.Group(e2etest.GroupID), telegramtest.Person(int64(1+i)), fmt.Sprintf("/staked 0x%040d", i))
}

// keepsTheSecond fails the test where a chat gets more than a burst and then
// one message a second. A busy machine delays some messages and not those after
// them.
func keepsTheSecond(t *testing.T, sent []telegramtest.Sent) {
	t.Helper()
	const jitter = 500 * time.Millisecond
	for seconds := range 5 {
		if n := most(sent, time.Duration(seconds+1)*time.Second-jitter); n > burst+seconds {
			t.Errorf("%d messages in %d s", n, seconds+1)
		}
	}
}

// The limits of a minute are tested in simulated time beside the adapter; here
// all of it runs, for as long as a short COMMAND_TIMEOUT lets an answer wait.
func TestABurstInOneGroupKeepsTelegramsRates(t *testing.T) {
	t.Parallel()
	world := e2etest.Sandbox(t)
	fake := telegramtest.New(t)
	const commands = 200
	for i := range commands {
		fake.Push(ownQuestion(i))
	}
	began := time.Now()
	bot := e2etest.ServeReady(t, world, append(e2etest.Polling(fake), "TELEGRAM_PACING=on", "COMMAND_TIMEOUT=4s")...)
	if !fake.WaitAcknowledged(e2etest.Patience) {
		t.Fatalf("%d updates are left", len(fake.Pending()))
	}
	// What is acknowledged may still wait for its turn.
	bot.Stop()
	if err := bot.Leave(); err != nil {
		t.Fatal(err)
	}
	sent := fake.Sent()
	keepsTheSecond(t, sent)
	if n := most(sent, time.Minute); n > 20 {
		t.Errorf("%d messages in a minute", n)
	}
	answers, busy := 0, 0
	for _, m := range sent {
		switch {
		case strings.Contains(m.Text, "Not staked"):
			answers++
		case strings.Contains(strings.ToLower(m.Text), "busy"):
			busy++
		default:
			t.Errorf("sent %+v", m)
		}
	}
	took := time.Since(began)
	if busy != 1 || answers < 2 || took > 15*time.Second {
		t.Errorf("%d answers, %d times busy, in %v", answers, busy, took)
	}
	if calls := len(fake.Calls("sendMessage")); calls != len(sent) {
		t.Errorf("%d calls for %d messages", calls, len(sent))
	}
}

var answersMany = regexp.MustCompile(`This answers (\d+) requests\.`)

// price is one of many who ask for the price in the group.
func price(i int) telegramtest.Message {
	return telegramtest.Text(telegramtest.Group(e2etest.GroupID), telegramtest.Person(int64(1+i)), "/price")
}

// A hundred who ask the same in one group at once are served by three messages,
// which say for how many they are.
func TestAHundredWhoAskTheSameAreServedByThreeMessages(t *testing.T) {
	const askers = 100
	pace := []string{"TELEGRAM_PACING=on"}
	for name, serve := range map[string]func(*testing.T, *telegramtest.Server) (bot *e2etest.Bot){
		"polling": func(t *testing.T, fake *telegramtest.Server) *e2etest.Bot {
			for i := range askers {
				fake.Push(price(i))
			}
			return e2etest.ServeReady(t, e2etest.Sandbox(t), append(e2etest.Polling(fake), pace...)...)
		},
		"webhook": func(t *testing.T, fake *telegramtest.Server) *e2etest.Bot {
			bot := e2etest.ServeReady(t, e2etest.Sandbox(t), append(e2etest.Webhook(fake), pace...)...)
			var all sync.WaitGroup
			for i := range askers {
				all.Go(func() { deliver(t, fake, bot, price(i)) })
			}
			all.Wait()
			return bot
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := telegramtest.New(t)
			bot := serve(t, fake)
			if !fake.WaitAcknowledged(e2etest.Patience) {
				t.Fatalf("%d updates are left", len(fake.Pending()))
			}
			bot.Stop()
			if err := bot.Leave(); err != nil {
				t.Fatal(err)
			}
			served := 0
			sent := fake.Sent()
			for _, m := range sent {
				many := answersMany.FindStringSubmatch(m.Text)
				switch {
				case !strings.Contains(m.Text, e2etest.Price):
					t.Errorf("sent %+v", m)
				case many == nil:
					served++
				default:
					n, _ := strconv.Atoi(many[1])
					served += n
				}
			}
			// A busy machine takes longer, and another message for each second.
			if took := sent[len(sent)-1].At.Sub(sent[0].At); served != askers || len(sent) > 2+int(took.Seconds()) {
				t.Errorf("%d messages serve %d of %d, in %v", len(sent), served, askers, took)
			}
		})
	}
}

func deliver(t *testing.T, fake *telegramtest.Server, bot *e2etest.Bot, m telegramtest.Message) {
	status, err := fake.Deliver(t.Context(), bot.URL+e2etest.WebhookPath, fake.Update(m))
	if err != nil || status != http.StatusOK {
		t.Errorf("delivery: %d, %v", status, err)
	}
}

// Two whole bots on one Redis keep a chat's rate together: of four messages, two
// of each, the fourth waits for its second.
func TestReplicasOnOneRedisKeepAChatsRateTogether(t *testing.T) {
	t.Parallel()
	redis := miniredis.RunT(t)
	world := e2etest.Sandbox(t)
	fake := telegramtest.New(t)
	settings := append(e2etest.Webhook(fake), "TELEGRAM_PACING=on", "REDIS_URL=redis://"+redis.Addr())
	replicas := []*e2etest.Bot{e2etest.ServeReady(t, world, settings...), e2etest.ServeReady(t, world, settings...)}
	alone := func() int { return fallbacks(t, replicas[0]) + fallbacks(t, replicas[1]) }
	for person := int64(1); ; person++ {
		before := alone()
		for i := range 4 {
			text := fmt.Sprintf("/staked 0x%040d", i)
			deliver(t, fake, replicas[i%2], telegramtest.Text(telegramtest.Private(person), telegramtest.Person(person), text))
		}
		// Where Redis was too slow for a busy machine, they decided alone.
		if alone() > before && person < 100 {
			continue
		}
		sent := fake.Sent()
		if took := sent[len(sent)-1].At.Sub(sent[len(sent)-4].At); took < 800*time.Millisecond {
			t.Errorf("four messages took %v", took)
		}
		return
	}
}

// fallbacks counts what a bot decided without Redis.
func fallbacks(t *testing.T, bot *e2etest.Bot) int {
	t.Helper()
	resp, err := http.Get(bot.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	found := fallbacksLine.FindSubmatch(text)
	if err != nil || found == nil {
		t.Fatalf("no fallbacks in the metrics, %v", err)
	}
	n, _ := strconv.Atoi(string(found[1]))
	return n
}

var fallbacksLine = regexp.MustCompile(`(?m)^herald_redis_fallbacks_total (\d+)$`)
