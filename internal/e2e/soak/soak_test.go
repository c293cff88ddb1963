//go:build soak

// Package soak runs the whole bot for a long time, on both platforms at once, while services, platforms
// and Redis fail at random. Simulated people ask one question after another, and package truth judges
// each answer: it must be honest, come exactly once, and show others nothing that is private.
//
//	go test -v -tags soak -timeout 0 ./internal/e2e/soak -soak.time 1h -soak.busy 2
//
// There are -soak.people people on each platform. They send commands in groups and in private, press the
// buttons below their answers, forge presses, and write inline queries. From time to time 130 more people
// ask at once. -soak.seed repeats the questions and the faults of a run, but not the times of the answers.
//
// Telegram delivers by webhook: at most 100 updates at a time, and one for each chat. If -soak.polling is
// set, the bot polls instead, and the price provider's monthly credits limit the calls for the price, so
// that the price is often older than its TTL. Otherwise every call is made, so that it fails often.
// Telegram's pacing is off, because with pacing most answers in a busy group would be "busy". The bot does
// not delete old cards, because people press them.
//
// The price provider never renews its quote. The quote becomes old (truth.OldAfter) halfway through a run,
// or after ten minutes of a run that is longer than twenty. After that, an answer during an outage must be
// marked as old.
//
// -soak.busy shell loops compete with the bot for the processors. A first response on Discord may then be
// late, but only if the machine kept the process waiting, and only if the bot counts the response as late.
//
//	soak_test.go     a run: two phases in which people ask, and what must hold at its end
//	people_test.go   what people ask and press
//	judge_test.go    whether an answer is right
//	count_test.go    what is counted, and how it must agree with the bot's metrics
//	fault_test.go    how services, platforms and Redis fail
//	machine_test.go  busy loops, stalls of the process, memory
package soak

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"herald/internal/app"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/e2etest/truth"
	"herald/internal/e2e/fault"
	"herald/internal/store/redistest"
	"herald/internal/transport"
)

var (
	soakTime   = flag.Duration("soak.time", time.Minute, "how long to ask, the warm-up included")
	soakSeed   = flag.Uint64("soak.seed", rand.Uint64()>>1, "of the questions and the faults")
	soakPeople = flag.Int("soak.people", 20, "people on each platform")
	soakPoll   = flag.Bool("soak.polling", false, "Telegram is polled")
	soakLog    = flag.String("soak.log", os.DevNull, "file for the bot's log")
	soakBusy   = flag.Int("soak.busy", 0, "busy shell loops beside the bot")
)

const (
	// soakTTL is every TTL of the bot. It is short, so that cached answers expire often.
	soakTTL = time.Second
	// soakStaleFor is how long an expired answer may still be shown during an outage.
	soakStaleFor = 5 * time.Second
	// patience is how long an answer may take while platforms fail. A call to Telegram that hangs is
	// retried after its 15 s, at most twice, after a few seconds each.
	patience = 2 * time.Minute
	// burstPeople is how many people ask at once in a burst: more than Telegram makes deliveries at a time.
	burstPeople = 130
	// firstBurst is the number of the first of them. Other people have lower numbers.
	firstBurst = 1000
	// maxDelivery is how long a delivery of Telegram may take, besides the longest stall of the process.
	// The bot acknowledges a delivery after 0.1 s.
	maxDelivery = 2 * time.Second
	// idleGoroutines is the maximum number of goroutines once idle connections are closed.
	idleGoroutines = 60
)

// TestSoak lets people ask for -soak.time. The first quarter is a warm-up: memory and goroutines at its
// end are compared with those at the end of the run.
func TestSoak(t *testing.T) {
	way := e2etest.TelegramWebhook
	if *soakPoll {
		way = e2etest.TelegramPolling
	}
	services.MoreLogins = 18 // more than a page has
	services.QuoteAge = max(services.QuoteAge, truth.OldAfter-*soakTime/2)
	beBusy(t, *soakBusy)
	log, err := os.Create(*soakLog)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s := newSoak(t, way)
	s.serve(log)

	stopWatching := s.watch()
	began, warmUp := time.Now(), *soakTime/4
	s.phase(warmUp, *soakSeed)
	atStart := measure()
	s.phase(*soakTime-warmUp, *soakSeed+1)
	atEnd := measure()
	s.compareCounts()
	fallbacks := s.exported("herald_redis_fallbacks_total")
	s.bot.Stop()
	if err := s.bot.AwaitEnd(); err != nil {
		t.Errorf("the bot left with %v", err)
	}
	stopWatching()

	fmt.Printf("soak of %v by %s, -soak.seed %d\n", time.Since(began).Round(time.Second), way.Name, *soakSeed)
	s.print(fallbacks, atStart, atEnd)
	s.checkEnd(atStart, atEnd)
}

// soak is one run.
type soak struct {
	*testing.T
	fakes             *fault.Fakes
	checker           *truth.Checker
	bot               *e2etest.Bot
	redis             *redistest.Server
	telegram, discord *e2etest.Platform
	stalls            stalls
	polls             atomic.Int64 // how many calls of getUpdates the bot has made
	// events holds what Telegram shows to people until dispatchEvents takes it. It must never be full,
	// because the fake sends to it under its lock.
	events chan faketelegram.Event

	mu       sync.Mutex // guards what follows
	verdicts map[verdict]int
	counts   map[counter]int
	people   map[int64]*person        // on Telegram, by user
	owners   map[messageKey]*question // the question that a message in a group asks or answers
	presses  map[string]*question     // on Telegram, not answered yet, by ID
	queries  map[string]string        // texts of inline queries that are not answered yet, by ID
}

// messageKey identifies a message on Telegram.
type messageKey struct{ chat, id int64 }

// newSoak returns a run without a bot.
func newSoak(t *testing.T, way e2etest.Way) *soak {
	t.Helper()
	s := &soak{
		T:        t,
		fakes:    fault.Start(t),
		redis:    redistest.StartTLS(t),
		telegram: way.Open(t),
		discord:  e2etest.DiscordGateway.Open(t),
		events:   make(chan faketelegram.Event, 1<<16),
		verdicts: map[verdict]int{},
		counts:   map[counter]int{},
		people:   map[int64]*person{},
		owners:   map[messageKey]*question{},
		presses:  map[string]*question{},
		queries:  map[string]string{},
	}
	s.discord.Discord.FirstResponse = 3 * time.Second // as on Discord; e2etest doubles it for busy machines
	s.telegram.Telegram.Watch(func(e faketelegram.Event) { s.events <- e })
	s.checker = truth.NewChecker(t, s.fakes)
	return s
}

// serve runs the bot, and waits until it is ready.
func (s *soak) serve(log io.Writer) {
	s.Helper()
	settings := slices.Concat(s.telegram.Settings(), s.discord.Settings(), app.TTLs(soakTTL), []string{
		"LOG_LEVEL=debug",
		"UPSTREAM_TIMEOUT=2500ms",
		"COMMAND_TIMEOUT=8s",
		"STALE_FOR=" + soakStaleFor.String(),
		"CLEAN_CHAT=off",
		"RATE_LIMIT_USER=600",
		"RATE_LIMIT_CHAT=10000",
		"MAX_PRICE_AGE=off",
		"REDIS_URL=" + s.redis.URL + "?read_timeout=100ms",
	})
	if *soakPoll {
		settings = append(settings, "PRICE_MONTHLY_CREDITS=15000")
	}
	s.bot = e2etest.Serve(s, e2etest.Settings(s.fakes, settings...), log)
	s.bot.AwaitReady(s)
	s.telegram.Through(s.bot.URL)
}

// watch reads what happens on Telegram, and records stalls, until stop is called.
func (s *soak) watch() (stop func()) {
	ctx, cancel := context.WithCancel(s.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		for transport.Sleep(ctx, 20*time.Millisecond) {
			s.readCalls()
			s.dispatchEvents()
		}
	})
	watching.Go(func() { s.stalls.watch(ctx) })
	return func() {
		cancel()
		watching.Wait()
	}
}

// phase lets people ask for this long while everything fails. Then it waits until all faults have ended,
// every question is answered, and idle connections are closed.
func (s *soak) phase(length time.Duration, seed uint64) {
	ctx, cancel := context.WithTimeout(s.Context(), length)
	defer cancel()
	var loops sync.WaitGroup
	// begin runs loop until it returns, with random numbers that depend on the seed and on stream.
	begin := func(stream uint64, loop func(context.Context, *rand.Rand)) {
		r := rand.New(rand.NewPCG(seed, stream))
		loops.Go(func() { loop(ctx, r) })
	}
	for n := range *soakPeople {
		begin(uint64(1000+n), s.person(s.telegram, n).live)
		begin(uint64(2000+n), s.person(s.discord, n).live)
	}
	begin(1, func(ctx context.Context, r *rand.Rand) {
		for transport.Sleep(ctx, burstEvery(length)) {
			for n := range burstPeople {
				ownRandom := rand.New(rand.NewPCG(r.Uint64(), 0))
				loops.Go(func() { s.person(s.telegram, firstBurst+n).askOnce(ownRandom) })
			}
		}
	})
	begin(2, func(ctx context.Context, _ *rand.Rand) {
		for transport.Sleep(ctx, time.Minute) {
			s.forgetOwners(5 * patience)
		}
	})
	s.injectFaults(begin)
	loops.Wait()
	s.awaitQuiet()
	s.mu.Lock()
	people := slices.Collect(maps.Values(s.people))
	s.mu.Unlock()
	for _, p := range people {
		p.readInbox()
		p.forgetQuestions(repeatTime)
	}
	s.forgetOwners(0)
}

// burstEvery returns the time between bursts in a phase: at most ten seconds, and two thirds of a phase that is
// shorter than 15 seconds, so that each phase has a burst.
func burstEvery(phase time.Duration) time.Duration {
	parts := 1 + int(phase.Seconds())/15
	return phase / time.Duration(parts) * 2 / 3
}

// awaitQuiet waits until idle connections are closed. In a short run it gives up earlier, and logs that.
func (s *soak) awaitQuiet() {
	http.DefaultClient.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(s.Context(), min(*soakTime/4, 100*time.Second))
	defer cancel()
	for runtime.NumGoroutine() > idleGoroutines {
		if !transport.Sleep(ctx, 100*time.Millisecond) {
			s.Logf("%d goroutines are left, idle ones are at most %d", runtime.NumGoroutine(), idleGoroutines)
			return
		}
	}
}

// forgetOwners forgets the messages of questions that were asked at least this long ago.
func (s *soak) forgetOwners(age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.owners, func(_ messageKey, q *question) bool { return time.Since(q.At) >= age })
}

// print prints what was counted and measured.
func (s *soak) print(fallbacks int, atStart, atEnd figures) {
	fmt.Printf("%v\n%v\n", s.counts, s.verdicts)
	held := s.telegram.Held().Round(time.Millisecond)
	fmt.Printf("a delivery took at most %v; %d calls were decided without redis\n", held, fallbacks)
	waited, longest := s.stalls.total.Round(time.Millisecond), s.stalls.longest.Round(time.Millisecond)
	fmt.Printf("the machine kept this process waiting for %v, at most %v at a time\n", waited, longest)
	fmt.Printf("at the start: %v\nat the end:   %v\n", atStart, atEnd)
}

// checkEnd fails the test if a delivery took too long, the process has grown, a redirect was followed, or
// Discord would refuse a call.
func (s *soak) checkEnd(atStart, atEnd figures) {
	if held, maxHeld := s.telegram.Held(), maxDelivery+s.stalls.longest; held > maxHeld {
		s.Errorf("a delivery took %v, want at most %v", held, maxHeld)
	}
	if atEnd.grown(atStart, s.counts[commandsSent]+s.counts[pressesMade]) {
		s.Error("memory or goroutines have grown")
	}
	if n := s.fakes.Strayed(); n > 0 {
		s.Errorf("%d requests followed a redirect with credentials", n)
	}
	for _, p := range s.discord.Discord.Problems() {
		s.Errorf("Discord refuses %s", p)
	}
}
