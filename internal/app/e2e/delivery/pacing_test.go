package delivery

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/telegram/telegramtest"
)

// burst is how many messages a chat may get at once, before it gets one a
// second.
const burst = 3

// ownQuestion is a command that nobody else gives. Its answer, that it names no
// wallet, asks no service, which a busy machine might take too long for.
func ownQuestion(chat telegramtest.Chat, i int) telegramtest.Message {
	return telegramtest.Text(chat, telegramtest.Person(int64(1+i)), fmt.Sprint("/staked ", i))
}

// ownAnswer is in the answer to it.
const ownAnswer = "40 hexadecimal digits"

// keepsTheSecond fails the test where a chat gets more than a burst and then
// one message a second, counted from when the first was asked for: a busy
// machine may delay a message and not those after it, but hastens none. Any
// second, and any minute, is looked at in simulated time, beside the adapter.
func keepsTheSecond(t *testing.T, sent []telegramtest.Sent, began time.Time) {
	t.Helper()
	for i, m := range sent {
		// A millisecond may be lost to rounding.
		after, earliest := m.At.Sub(began), time.Duration(i+1-burst)*time.Second-time.Millisecond
		if after < earliest {
			t.Errorf("message %d went out after %v, want at least %v", i+1, after, earliest)
		}
	}
}

// Here all of it runs, for as long as a short COMMAND_TIMEOUT lets an answer
// wait.
func TestABurstInOneGroupKeepsTelegramsRates(t *testing.T) {
	t.Parallel()
	world := e2etest.Sandbox(t)
	fake := telegramtest.New(t)
	const commands = 200
	for i := range commands {
		fake.Push(ownQuestion(telegramtest.Group(e2etest.GroupID), i))
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
	keepsTheSecond(t, sent, began)
	took := time.Since(began)
	if took < time.Minute && len(sent) > 20 {
		t.Errorf("%d messages in %v", len(sent), took)
	}
	answers, busy := 0, 0
	for _, m := range sent {
		switch {
		case strings.Contains(m.Text, ownAnswer):
			answers++
		case strings.Contains(strings.ToLower(m.Text), "busy"):
			busy++
		default:
			t.Errorf("sent %+v", m)
		}
	}
	if busy != 1 || answers < 2 || took > time.Minute {
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
			began := time.Now()
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
			if took := sent[len(sent)-1].At.Sub(began); served != askers || len(sent) > burst+int(took.Seconds()) {
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
	world := e2etest.Sandbox(t)
	fake := telegramtest.New(t)
	settings := slices.Concat(e2etest.Webhook(fake), e2etest.OnRedis(miniredis.RunT(t)), []string{"TELEGRAM_PACING=on"})
	replicas := []*e2etest.Bot{e2etest.ServeReady(t, world, settings...), e2etest.ServeReady(t, world, settings...)}
	began := time.Now()
	for i := range 4 {
		deliver(t, fake, replicas[i%2], ownQuestion(telegramtest.Private(1), i))
	}
	keepsTheSecond(t, fake.Sent(), began)
	if sent := fake.Sent(); len(sent) != 4 {
		t.Errorf("sent %+v", sent)
	}
}
