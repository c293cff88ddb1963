package bounds

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/sandbox/fault"
	"herald/internal/telegram/telegramtest"
	"herald/internal/transport"
)

const (
	// others ask one after the other, each in a private chat of their own, of
	// either bot that is compared.
	others   = 40
	othersAt = 20 * time.Millisecond
	flooder  = 1
)

// clockedAsker gives a command as a user. What it returns is how long the answer
// took, 0 until there is one.
type clockedAsker func(user int64, command string) func() time.Duration

func telegramAsker(t *testing.T, world *fault.Sandbox, settings ...string) clockedAsker {
	fake := telegramtest.New(t)
	hook := e2etest.ServeReady(t, world, append(e2etest.Webhook(fake), settings...)...).URL + e2etest.WebhookPath
	// Telegram keeps its connections open; to open them anew would be most of
	// what is measured.
	client := transport.New(transport.Options{MaxBody: 1 << 10, MaxConns: 100})
	t.Cleanup(client.CloseIdleConnections)
	return func(user int64, command string) func() time.Duration {
		asked := time.Now()
		body := fake.Update(telegramtest.Text(telegramtest.Private(user), telegramtest.Person(user), "/"+command))
		go func() {
			code := deliver(client, hook, body)
			// A delivery that finds no room comes again; the flood's own
			// would only keep this machine busy.
			for code == http.StatusServiceUnavailable && user != flooder {
				<-time.After(5 * time.Millisecond)
				code = deliver(client, hook, body)
			}
		}()
		return answeredAfter(fake, user, asked)
	}
}

func pollingAsker(t *testing.T, world *fault.Sandbox, settings ...string) clockedAsker {
	fake := telegramtest.New(t)
	e2etest.ServeReady(t, world, append(e2etest.Polling(fake), settings...)...)
	return func(user int64, command string) func() time.Duration {
		asked := time.Now()
		fake.Push(telegramtest.Text(telegramtest.Private(user), telegramtest.Person(user), "/"+command))
		return answeredAfter(fake, user, asked)
	}
}

// answeredAfter looks for the first message to a user.
func answeredAfter(fake *telegramtest.Server, user int64, asked time.Time) func() time.Duration {
	return func() time.Duration {
		for _, sent := range fake.Sent() {
			if sent.Chat == user && sent.At.After(asked) {
				return sent.At.Sub(asked)
			}
		}
		return 0
	}
}

// deliver posts an update and returns the status, 0 for none.
func deliver(client *http.Client, address string, update []byte) int {
	req, err := http.NewRequest(http.MethodPost, address, bytes.NewReader(update))
	if err != nil {
		return 0
	}
	req.Header.Set("X-Telegram-Bot-Api-Secret-Token", e2etest.WebhookSecret)
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// lost is how long a Discord user waits for an answer that never comes: a first
// response is taken for 3 seconds, which this machine may let pass.
const lost = 4 * time.Second

func discordAsker(t *testing.T, world *fault.Sandbox, settings ...string) clockedAsker {
	fake := e2etest.Discord(t)
	e2etest.ServeReady(t, world, append(e2etest.Gateway(fake), settings...)...)
	return func(user int64, command string) func() time.Duration {
		asked := time.Now()
		pending, err := fake.Push(discordtest.Interaction{Command: command, UserID: strconv.FormatInt(user, 10)})
		if err != nil {
			t.Error(err)
		}
		return func() time.Duration {
			answer := pending.Answer()
			if answer.First == 0 && time.Since(asked) > lost {
				return lost
			}
			return answer.Final
		}
	}
}

var clockedAskers = map[string]func(*testing.T, *fault.Sandbox, ...string) clockedAsker{
	"telegram webhook": telegramAsker, "telegram polling": pollingAsker, "discord gateway": discordAsker,
}

// mustKeepPace demands that others wait for a price of busy, in the median, at
// most twice as long as for one of calm. They ask both in turn, so that whatever
// else this machine has to do slows both.
func mustKeepPace(t *testing.T, calm, busy clockedAsker) {
	t.Helper()
	var ofCalm, ofBusy []func() time.Duration
	tick := time.NewTicker(othersAt)
	defer tick.Stop()
	for user := range int64(others) {
		ofCalm = append(ofCalm, calm(1000+user, "price"))
		<-tick.C
		ofBusy = append(ofBusy, busy(1000+user, "price"))
		<-tick.C
	}
	was, is := latencies(t, ofCalm), latencies(t, ofBusy)
	t.Logf("others' median %v, then %v; p95 %v, then %v", was[others/2], is[others/2], was[others*95/100], is[others*95/100])
	if limit := max(2*was[others/2], floor); is[others/2] > limit {
		t.Errorf("the median is %v, want at most %v", is[others/2], limit)
	}
}

// latencies waits for each and returns them in ascending order.
func latencies(t *testing.T, answered []func() time.Duration) []time.Duration {
	t.Helper()
	var took []time.Duration
	for _, a := range answered {
		e2etest.Eventually(t, "a price is answered", func() bool { return a() > 0 })
		took = append(took, a())
	}
	slices.Sort(took)
	return took
}

func TestAFloodByOneLeavesOthersTheirLatency(t *testing.T) {
	for name, open := range clockedAskers {
		t.Run(name, func(t *testing.T) {
			settings := []string{"RATE_LIMIT_USER=20", "LOG_LEVEL=error"}
			calm, busy := open(t, e2etest.Sandbox(t), settings...), open(t, e2etest.Sandbox(t), settings...)
			stop, flooded := make(chan struct{}), make(chan int, 1)
			go func() {
				n := 0
				tick := time.NewTicker(time.Second / floodRate)
				defer tick.Stop()
				for {
					select {
					case <-stop:
						flooded <- n
						return
					case <-tick.C:
						busy(flooder, "price")
						n++
					}
				}
			}()
			mustKeepPace(t, calm, busy)
			close(stop)
			t.Logf("%d commands in the flood", <-flooded)
		})
	}
}

func TestAHungPartnerSlowsNoPrice(t *testing.T) {
	for name, hung := range map[string]int64{"telegram webhook": 60, "telegram polling": 60, "discord gateway": 200} {
		t.Run(name, func(t *testing.T) {
			// It hangs for as long as the others ask.
			settings := []string{"UPSTREAM_TIMEOUT=1m", "COMMAND_TIMEOUT=1m"}
			world := e2etest.Sandbox(t)
			calm, busy := clockedAskers[name](t, e2etest.Sandbox(t), settings...), clockedAskers[name](t, world, settings...)
			world.Partner.SetFault(fault.Hang())
			t.Cleanup(func() { world.Partner.SetFault(fault.Fault{}) })
			for i := range hung {
				busy(3000+i, "exists")
			}
			e2etest.Eventually(t, "the partner hangs", func() bool { return world.Partner.Requests() >= 32 })
			mustKeepPace(t, calm, busy)
		})
	}
}

func TestADeadServiceIsNotAskedForEachCommand(t *testing.T) {
	b, world := demoBot(t)
	world.Partner.SetFault(fault.Refuse())
	world.Supply.SetFault(fault.Answer(503, "text/plain", "down"))
	for range 1000 {
		b.Router.Handle(t.Context(), e2etest.Request("supply"))
	}
	// The pause is at most 5 seconds, so that few fit into this test.
	if n := world.Supply.Requests(); n > 60 {
		t.Errorf("the dead service was asked %d times for 1,000 commands", n)
	}
}

func TestRetriesKeepToTheirBudget(t *testing.T) {
	b, world := demoBot(t)
	const commands = 100
	for i := range commands {
		if i%3 == 0 {
			world.Partner.SetFault(fault.Answer(500, "text/plain", "down"))
		}
		req := e2etest.Request("exists")
		req.From.ID = fmt.Sprint(8000000000 + i)
		b.Router.Handle(t.Context(), req)
		world.Partner.SetFault(fault.Fault{})
	}
	if n := world.Partner.Requests(); n < commands || n > commands+commands/10+2 {
		t.Errorf("%d calls for %d commands", n, commands)
	}
}
