//go:build !race

package replicas

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/telegram/telegramtest"
)

var phase = flag.Duration("replicas.phase", time.Second, "how long commands are asked with each fault of Redis")

const (
	// mayCost is what Redis may cost a command.
	mayCost = 50 * time.Millisecond
	// backWithin is how soon after its return Redis is used again.
	backWithin = 5 * time.Second
	// attempts is how often a fault that cost too much is tried: the machine
	// may have been busy.
	attempts = 3
	// The times between two commands. Telegram's keep to the rate of all, so
	// that none has to wait for its turn.
	telegramGap, discordGap = 60 * time.Millisecond, 15 * time.Millisecond
)

// askers ask two replicas on one Redis, behind a wire.
type askers struct {
	*testing.T
	telegram *telegram
	discord  *discord
	redis    *redisServer
	wire     *wire
	people   int // so far: each asks once
}

func startAskers(t *testing.T) *askers {
	t.Helper()
	redis := startRedis(t)
	a := &askers{T: t, redis: redis, wire: newWire(t, redis.addr), telegram: newTelegram(t), discord: &discord{Server: e2etest.Discord(t)}}
	world, binary := e2etest.Sandbox(t), e2etest.BuildBot(t)
	settings := slices.Concat(e2etest.Settings(world), e2etest.Webhook(a.telegram.Server), e2etest.Interactions(a.discord.Server), []string{
		redis.url(a.wire.addr, ""), "TELEGRAM_PACING=on", "PRICE_TTL=100ms", "RATE_LIMIT_USER=3", "RATE_LIMIT_CHAT=10000",
	})
	b := startBalancer(t, e2etest.StartProcess(t, binary, settings...), e2etest.StartProcess(t, binary, settings...))
	a.telegram.hook, a.discord.endpoint = b.URL+e2etest.WebhookPath, b.URL+e2etest.InteractionsPath
	return a
}

// delays are how long answers took, in order.
type delays []time.Duration

// quantile is what the given share of them took at most.
func (d delays) quantile(share float64) time.Duration { return d[int(share*float64(len(d)-1))] }

// figures are the delays by platform.
type figures map[string]delays

// worse is by how much the median and the 99th percentile of a platform are
// above those of others.
func (f figures) worse(than figures, platform string) (median, p99 time.Duration) {
	return f[platform].quantile(0.5) - than[platform].quantile(0.5), f[platform].quantile(0.99) - than[platform].quantile(0.99)
}

// measure has commands asked for a while, and begin called when the first are on
// their way. Each must be answered rightly.
func (a *askers) measure(d time.Duration, begin func()) figures {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), d+e2etest.Patience)
	defer cancel()
	asked := map[int64]time.Time{}
	var pending []*discordtest.Pending
	var asking sync.WaitGroup
	start := time.Now()
	// The sleeps set the rate of asking; no event is waited for.
	asking.Go(func() {
		for time.Since(start) < d {
			a.people++
			user := int64(10_000 + a.people)
			update := a.telegram.Update(telegramtest.Text(telegramtest.Private(user), telegramtest.Person(user), "/price"))
			asked[user] = time.Now()
			a.telegram.deliver(ctx, fmt.Sprint(user), update)
			time.Sleep(telegramGap)
		}
	})
	asking.Go(func() {
		for i := 0; time.Since(start) < d; i++ {
			pending = append(pending, a.discord.ask(ctx, discordtest.Interaction{
				Command: "price", UserID: fmt.Sprint(start.UnixNano(), i), GuildID: e2etest.GuildID,
			}))
			time.Sleep(discordGap)
		}
	})
	time.Sleep(d / 10)
	begin()
	asking.Wait()
	a.telegram.all.Wait()
	a.discord.all.Wait()
	f := figures{}
	sent, _ := a.telegram.Take()
	for _, m := range sent {
		if !strings.Contains(m.Text, e2etest.Price) {
			a.Errorf("Telegram: answered %q", m.Text)
		}
		f["Telegram"] = append(f["Telegram"], m.At.Sub(asked[m.Chat]))
	}
	if len(sent) != len(asked) {
		a.Errorf("Telegram: %d commands have %d answers", len(asked), len(sent))
	}
	for _, p := range pending {
		answer := p.Answer()
		if !strings.Contains(answer.Text(), e2etest.Price) {
			a.Errorf("Discord: answered %q", answer.Text())
		}
		f["Discord"] = append(f["Discord"], answer.First)
		p.Forget()
	}
	for _, d := range f {
		slices.Sort(d)
	}
	return f
}

// awaitShared waits until the replicas count one person's commands together
// again, and returns how long that took.
func (a *askers) awaitShared() time.Duration {
	a.Helper()
	start := time.Now()
	e2etest.Eventually(a.T, "limits are shared again", func() bool {
		a.people++
		said := ""
		for range 4 { // of 3 that are allowed; each replica is asked twice
			p := a.discord.ask(a.Context(), discordtest.Interaction{Command: "help", UserID: fmt.Sprint(a.people), GuildID: e2etest.GuildID})
			a.discord.all.Wait()
			said = p.Answer().Text()
		}
		return strings.Contains(said, "Too many commands")
	})
	return time.Since(start)
}

// TestASlowOrMissingRedisCostsACommandLittle compares times, so it does not run
// with the race detector, beside which packages are tested in parallel.
func TestASlowOrMissingRedisCostsACommandLittle(t *testing.T) {
	a := startAskers(t)
	nothing := func() {}
	a.measure(*phase, nothing) // warms up
	a.awaitShared()
	healthy := a.measure(2**phase, nothing)
	for _, platform := range []string{"Telegram", "Discord"} {
		d := healthy[platform]
		t.Logf("healthy: %s %v median, %v p99 of %d", platform, d.quantile(0.5), d.quantile(0.99), len(d))
	}
	for _, fault := range []struct {
		name       string
		begin, end func()
	}{
		{"1 ms a call", func() { a.wire.slow(time.Millisecond) }, a.wire.mend},
		{"3 ms a call", func() { a.wire.slow(3 * time.Millisecond) }, a.wire.mend},
		{"20 ms a call", func() { a.wire.slow(20 * time.Millisecond) }, a.wire.mend},
		{"50 ms a call", func() { a.wire.slow(50 * time.Millisecond) }, a.wire.mend},
		{"200 ms a call", func() { a.wire.slow(200 * time.Millisecond) }, a.wire.mend},
		{"5 s a call", func() { a.wire.slow(5 * time.Second) }, a.wire.mend},
		{"up to 30 ms a call", func() { a.wire.jitter(30 * time.Millisecond) }, a.wire.mend},
		{"refused", a.wire.refuse, a.wire.mend},
		{"silent", a.wire.swallow, func() { a.wire.mend(); a.wire.reset() }},
		{"no route", a.wire.drop, a.wire.mend},
		{"connections reset", a.wire.reset, nothing},
		{"stopped", func() { a.redis.signal(syscall.SIGSTOP) }, func() { a.redis.signal(syscall.SIGCONT) }},
		{"paused", func() { a.redis.do("CLIENT", "PAUSE", phase.Milliseconds(), "ALL") }, nothing},
		{"busy", func() { a.redis.do("DEBUG", "SLEEP", phase.Seconds()) }, nothing},
		{"killed, back without data", a.redis.kill, a.redis.start},
	} {
		for attempt := 1; ; attempt++ {
			got := a.measure(*phase, fault.begin)
			fault.end()
			back := a.awaitShared()
			line, cost := "", time.Duration(0)
			for _, platform := range []string{"Telegram", "Discord"} {
				median, p99 := got.worse(healthy, platform)
				cost = max(cost, median, p99)
				line += fmt.Sprintf("%s %+.1f ms median, %+.1f ms p99; ", platform, ms(median), ms(p99))
			}
			t.Logf("%s: %sshared again after %.1f s", fault.name, line, back.Seconds())
			if cost <= mayCost && back <= backWithin {
				break
			}
			if attempt == attempts {
				t.Errorf("%s: it costs %v, and it takes %v until Redis is used again", fault.name, cost, back)
				break
			}
		}
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
