//go:build soak

package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/sandbox/fault"
	"herald/internal/telegram/telegramtest"
)

// wait reports whether d went by before ctx was done.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// between is a random time.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}

// setFault sets a fault or, with the zero one, ends it. The port that Refuse
// gave away may be another's for a moment.
func setFault(ctx context.Context, service *fault.Service, f fault.Fault) {
	try := func() (ok bool) {
		defer func() { ok = recover() == nil }()
		service.SetFault(f)
		return
	}
	for !try() && wait(context.WithoutCancel(ctx), 100*time.Millisecond) {
	}
}

// failService makes one service fail now and again until ctx is done, and
// heals it then.
func (s *soak) failService(ctx context.Context, name fault.Target, r *rand.Rand) {
	service := s.world.At(name)
	var faults []fault.Fault
	for _, f := range fault.Of(name) {
		// A service that says to wait for years is not asked for 5 minutes.
		if !strings.Contains(f.Name, "9999") {
			faults = append(faults, f)
		}
	}
	for wait(ctx, between(r, 500*time.Millisecond, 6*time.Second)) {
		f := faults[r.IntN(len(faults))]
		if r.IntN(2) == 0 { // a service's own faults come last
			f = faults[len(faults)/2+r.IntN(len(faults)-len(faults)/2)]
		}
		if strings.Contains(f.Name, "Retry-After 30") && r.IntN(5) > 0 {
			continue
		}
		setFault(ctx, service, f)
		wait(ctx, between(r, 200*time.Millisecond, 5*time.Second))
		setFault(ctx, service, fault.Fault{})
	}
}

// failTelegram makes calls of the Bot API fail.
func (s *soak) failTelegram(ctx context.Context, r *rand.Rand) {
	faults := []telegramtest.Fault{
		telegramtest.ResetBefore(), telegramtest.Status(500), telegramtest.Status(503), telegramtest.Status(504),
		telegramtest.Page(502), telegramtest.Page(503), telegramtest.Page(504),
	}
	// Half of the calls that are answered so are carried out.
	unclear := func() telegramtest.Fault {
		f := faults[r.IntN(len(faults))]
		if r.IntN(2) == 0 {
			return f.CarriedOut()
		}
		return f
	}
	// Faults must not queue up: an adapter that fails waits longer each time,
	// and would meet them more slowly than they come.
	fail := func(method string, faults ...telegramtest.Fault) {
		s.telegram.fake.Heal(method)
		s.telegram.fake.Fail(method, faults...)
	}
	for wait(ctx, between(r, time.Second, 5*time.Second)) {
		switch r.IntN(12) {
		case 0, 1:
			for range 1 + r.IntN(6) {
				s.telegram.fake.Fail("sendMessage", unclear())
			}
		case 2:
			switch r.IntN(8) {
			case 0:
				fail("getUpdates", telegramtest.Hang())
			case 1, 2:
				s.telegram.fake.Fail("sendMessage", telegramtest.Hang())
			}
		case 3, 4:
			fail("getUpdates", telegramtest.TooMany(time.Second), unclear())
		case 5, 6:
			fail("getChatMember", telegramtest.TooMany(time.Second), unclear())
		default:
			for range 1 + r.IntN(5) {
				s.telegram.fake.Fail("sendMessage", telegramtest.TooMany(time.Second))
			}
		}
	}
	for _, method := range []string{"sendMessage", "getUpdates", "getChatMember"} {
		s.telegram.fake.Heal(method)
	}
}

// failDiscord makes REST calls fail, briefly enough that an interaction can
// still be answered within Discord's 3 seconds.
func (s *soak) failDiscord(ctx context.Context, r *rand.Rand) {
	for wait(ctx, between(r, 500*time.Millisecond, 4*time.Second)) {
		pause := time.Duration(r.IntN(300)) * time.Millisecond
		faults := []discordtest.Fault{
			{Status: http.StatusTooManyRequests, RetryAfter: pause}, {Status: http.StatusTooManyRequests, Code: 20028, RetryAfter: pause},
			{Status: http.StatusBadGateway}, {Status: http.StatusServiceUnavailable}, {Status: http.StatusInternalServerError},
			{Drop: true}, {DropAnswer: true}, {Latency: pause},
		}
		f := faults[r.IntN(len(faults))]
		switch r.IntN(3) {
		case 0:
			f.RetryAfter *= 5
			s.discord.script(discordtest.Edit, f)
		default:
			s.discord.script(discordtest.Callback, f)
		}
	}
}

// gatewayPause keeps the connections below the ten in 10 minutes after which
// the adapter protects the bot's token by waiting.
const gatewayPause = 80 * time.Second

// failGateway breaks the gateway's connection in one way after the other.
func (s *soak) failGateway(ctx context.Context, r *rand.Rand) {
	ways := []discordtest.Action{{Op: 7}, {Op: 9}, {Close: 4000}, {Close: 1001}, {Stall: true}}
	r.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
	for n, pause := 0, 4*time.Second; wait(ctx, pause); n, pause = n+1, gatewayPause {
		if r.IntN(2) == 0 {
			s.discord.script(discordtest.GatewayBot, discordtest.Fault{Status: http.StatusBadGateway})
		}
		s.discord.interrupt(ctx, ways[n%len(ways)])
	}
}

// fail lets everything fail at times until ctx is done; all is well when it
// returns.
func (s *soak) fail(ctx context.Context, seed uint64) {
	var loops sync.WaitGroup
	stream := uint64(100)
	random := func() *rand.Rand { stream++; return rand.New(rand.NewPCG(seed, stream)) }
	for _, name := range fault.Targets {
		r := random()
		loops.Go(func() { s.failService(ctx, name, r) })
	}
	for _, loop := range []func(context.Context, *rand.Rand){s.failTelegram, s.failDiscord, s.failGateway} {
		r := random()
		loops.Go(func() { loop(ctx, r) })
	}
	loops.Wait()
}

// lines are those of an answer without its look. Times are to the minute, as the
// text of Telegram's have them.
func lines(text string) []string {
	for _, mark := range []string{"\u200b", "✅ ", "❌ ", "⚠️ "} { // the first holds a question's command
		text = strings.TrimPrefix(text, mark)
	}
	var all []string
	text = discordTime.ReplaceAllStringFunc(text, func(mark string) string {
		seconds, _ := strconv.ParseInt(discordTime.FindStringSubmatch(mark)[1], 10, 64)
		return toTheMinute(time.Unix(seconds, 0))
	})
	for line := range strings.Lines(e2etest.Plain(text)) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	if len(all) == 0 {
		return []string{fmt.Sprintf("nothing in %q", text)}
	}
	return all
}

// discordTime is a time that Discord shows in its reader's way.
var discordTime = regexp.MustCompile(`<t:(\d+):R>`)
