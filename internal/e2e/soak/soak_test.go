//go:build soak

// Package soak runs the whole bot, on both platforms at once, against fakes that fail at random, and
// on a Redis that is killed and paused. People ask one question after another, and package truth
// judges each answer: it must be honest, come once, and show others nothing that is private.
//
//	go test -v -tags soak -timeout 0 ./internal/e2e/soak -soak.time 1h -soak.busy 2
//
// Telegram delivers by webhook, 100 updates at a time and one for each chat; with -soak.polling the
// bot polls. -soak.people people are on each platform. They ask in several groups and in private,
// press the buttons below their answers, send forged states, write inline queries, and send ephemeral
// commands; now and then 130 ask at once. -soak.seed repeats the questions and faults of a run, but
// not the times of the answers. With -soak.polling, credits limit the calls for the price, so that the
// price is often older than its TTL; without, every call is made, so that it fails often.
//
// -soak.busy shell loops use the machine's time beside the test. A first response on Discord may be
// late only while the machine keeps the process waiting, and only if the bot counts it.
//
// The quote is never renewed. It turns old (OldAfter) halfway through a run, or after ten minutes of
// one longer than twenty. From then on, an answer during an outage must be marked as old.
//
// Telegram's pacing is off, because with it most answers in a busy group are "busy". No card is
// cleaned away, because somebody may press it.
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
	"strings"
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
	// soakTTL is short, so that answers expire often.
	soakTTL      = time.Second
	soakStaleFor = 5 * time.Second
	// patience is how long an answer may take while platforms fail. A call to Telegram that hangs is
	// retried after its 15 s, at most twice, after a few seconds each.
	patience = 2 * time.Minute
	// afterwards is how long a repeated answer is still noticed.
	afterwards = time.Minute
	// maxHeld is how long a delivery of Telegram may be held on a busy machine, beside its longest
	// stall. The bot acknowledges a delivery after 0.1 s.
	maxHeld = 2 * time.Second
	// askedPerUnanswered is the minimum number of questions for each one that is not answered.
	askedPerUnanswered = 1000
	// stallExcuse is the minimum time of stalls within Discord's 3 seconds for a first response that
	// excuses a late one.
	stallExcuse = time.Second
	// idleGoroutines is how many goroutines are left, at most, once idle connections are closed.
	idleGoroutines = 60
)

// messageKey identifies a message on Telegram.
type messageKey struct{ chat, id int64 }

// soak is one run.
type soak struct {
	*testing.T
	fakes             *fault.Fakes
	checker           *truth.Checker
	bot               *e2etest.Bot
	redis             *redistest.Server
	telegram, discord *e2etest.Platform
	stalls            stalls
	polls             atomic.Int64 // calls of getUpdates
	// events holds what people see on Telegram until deliver takes it. It must never be full, because
	// the fake sends to it under its lock.
	events chan faketelegram.Event

	mu       sync.Mutex // guards what follows
	verdicts map[string]int
	counts   map[string]int
	people   map[int64]*person        // on Telegram, by user
	owners   map[messageKey]*question // whose command or card in a group a message is
	presses  map[string]*question     // on Telegram, not answered yet, by ID
	queries  map[string]string        // inline queries not answered yet, by ID
}

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
		verdicts: map[string]int{},
		counts:   map[string]int{},
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

// watch reads what Telegram shows, and measures stalls, until stop is called.
func (s *soak) watch() (stop func()) {
	ctx, cancel := context.WithCancel(s.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		for transport.Sleep(ctx, 20*time.Millisecond) {
			s.deliver()
		}
	})
	watching.Go(func() { s.stalls.watch(ctx) })
	return func() {
		cancel()
		watching.Wait()
	}
}

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

// print prints what was counted and measured.
func (s *soak) print(fallbacks int, atStart, atEnd figures) {
	fmt.Printf("%v\n%v\n", s.counts, s.verdicts)
	held := s.telegram.Held().Round(time.Millisecond)
	fmt.Printf("a delivery took at most %v; %d calls were decided without redis\n", held, fallbacks)
	waited, longest := s.stalls.total.Round(time.Millisecond), s.stalls.longest.Round(time.Millisecond)
	fmt.Printf("the machine kept this process waiting for %v, at most %v at a time\n", waited, longest)
	fmt.Printf("at the start: %v\nat the end:   %v\n", atStart, atEnd)
}

// checkEnd fails the test if a delivery was held too long, the process has grown, a redirect was
// followed, or Discord would refuse a call.
func (s *soak) checkEnd(atStart, atEnd figures) {
	if held, most := s.telegram.Held(), maxHeld+s.stalls.longest; held > most {
		s.Errorf("a delivery took %v, want at most %v", held, most)
	}
	if atEnd.grown(atStart, s.counts["commands"]+s.counts["presses"]) {
		s.Error("memory or goroutines have grown")
	}
	if n := s.fakes.Strayed(); n > 0 {
		s.Errorf("%d requests followed a redirect with credentials", n)
	}
	for _, p := range s.discord.Discord.Problems() {
		s.Errorf("Discord refuses %s", p)
	}
}

// phase lets people ask for a time while everything fails. Then it waits until all faults have ended,
// every question is answered, and idle connections are closed.
func (s *soak) phase(d time.Duration, seed uint64) {
	ctx, cancel := context.WithTimeout(s.Context(), d)
	defer cancel()
	var loops sync.WaitGroup
	begin := func(stream uint64, live func(context.Context, *rand.Rand)) {
		r := rand.New(rand.NewPCG(seed, stream))
		loops.Go(func() { live(ctx, r) })
	}
	for n := range *soakPeople {
		begin(uint64(1000+n), s.person(s.telegram, n).live)
		begin(uint64(2000+n), s.person(s.discord, n).live)
	}
	begin(1, func(ctx context.Context, r *rand.Rand) {
		for transport.Sleep(ctx, burstEvery(d)) {
			for n := range 130 { // more than Telegram makes deliveries at a time
				one := rand.New(rand.NewPCG(r.Uint64(), 0))
				loops.Go(func() { s.person(s.telegram, firstBurst+n).askOnce(one) })
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
		p.read()
		p.forget(afterwards)
	}
	s.forgetOwners(0)
}

// burstEvery returns the time between bursts in a phase: at most ten seconds, and two thirds of a phase that is
// shorter than 15 seconds, so that each phase has a burst.
func burstEvery(phase time.Duration) time.Duration {
	parts := 1 + int(phase.Seconds())/15
	return phase / time.Duration(parts) * 2 / 3
}

// awaitQuiet waits until idle connections are closed. A short run does not wait as long as that takes.
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

// forgetOwners forgets who owns commands and cards of this age.
func (s *soak) forgetOwners(old time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.owners, func(_ messageKey, q *question) bool { return time.Since(q.At) >= old })
}

// count adds to what is counted under a name.
func (s *soak) count(name string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[name] += n
}

// counted returns what was counted under a name.
func (s *soak) counted(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[name]
}

// metric returns a counter of the bot, and whether the bot exports it.
func (s *soak) metric(name string) (n int, isExported bool) {
	_, rest, isExported := strings.Cut(e2etest.Metrics(s, s.bot.URL), "\n"+name+" ")
	var value float64
	_, _ = fmt.Sscan(rest, &value)
	return int(value), isExported
}

// exported returns a counter that the bot exports from the start, and fails the test if it does not.
func (s *soak) exported(name string) int {
	n, isExported := s.metric(name)
	if !isExported {
		s.Errorf("the bot does not export %s", name)
	}
	return n
}

// eventSeries returns the name of the counter of an adapter's event.
func eventSeries(platform, event string) string {
	return `herald_adapter_events_total{event="` + event + `",platform="` + platform + `"}`
}

// event returns how often an adapter counted an event. It is not exported before the first time.
func (s *soak) event(platform, name string) int {
	n, _ := s.metric(eventSeries(platform, name))
	return n
}

// alerted is like event, for an event that is exported from the start, because there is an alert on it.
func (s *soak) alerted(platform, name string) int { return s.exported(eventSeries(platform, name)) }

// compareCounts compares what the fakes have counted with what the adapters have.
func (s *soak) compareCounts() {
	// A send that hangs has an unknown outcome once its time is over.
	e2etest.Eventually(s, "the adapter counts the sends that broke off", func() bool {
		return s.event("telegram", "send_outcome_unknown") == s.counted("sends of unknown outcome")
	})
	unansweredPresses := s.event("telegram", "press_unanswered")
	unansweredQueries := s.event("telegram", "inline_unanswered")
	abandoned := s.event("telegram", "send_abandoned")
	late := s.event("discord", "too_late") +
		s.alerted("discord", "answer_expired") +
		s.alerted("discord", "answer_outcome_unknown")
	panics := s.alerted("telegram", "panic") + s.alerted("discord", "panic") + s.alerted("members", "panic")

	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	if len(s.presses) > unansweredPresses {
		s.Errorf("%d presses are not answered, %d are counted", len(s.presses), unansweredPresses)
	}
	if len(s.queries) > unansweredQueries {
		s.Errorf("%d inline queries are not answered, %d are counted", len(s.queries), unansweredQueries)
	}
	if panics > 0 {
		s.Errorf("%d panics", panics)
	}
	if c["late on a stalled machine"] > late {
		s.Errorf("%d first responses are late, %d are counted", c["late on a stalled machine"], late)
	}
	asked := c["commands"] + c["presses"]
	if c["unanswered"]*askedPerUnanswered > asked || c["unanswered"] > abandoned {
		s.Errorf("%d of %d are not answered, %d are counted as abandoned", c["unanswered"], asked, abandoned)
	}
	if c["doubled"] > c["sends of unknown outcome"] {
		s.Errorf("more answers are doubled than sends had an unknown outcome: %v", c)
	}
	if c["calls repeated"] > c["calls with cause to be repeated"] {
		s.Errorf("more calls are repeated than had a cause: %v", c)
	}
}

// figures is what the process uses, including the fakes.
type figures struct {
	goroutines int
	heap       uint64 // bytes in use
}

// measure collects garbage and returns the figures.
func measure() figures {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return figures{goroutines: runtime.NumGoroutine(), heap: m.HeapInuse}
}

func (f figures) String() string {
	return fmt.Sprintf("goroutines %d, heap in use %.1f MiB", f.goroutines, float64(f.heap)/(1<<20))
}

// grown reports whether f exceeds since by more than is allowed after this many commands and presses.
func (f figures) grown(since figures, asked int) bool {
	const (
		// An idle connection has three goroutines, including the fake's, and a burst leaves up to 128
		// connections to a platform.
		moreGoroutines = 400
		moreHeap       = 16 << 20
		// The bot remembers each interaction of Discord for a day, at most 108,000 of them.
		heapEach      = 400
		maxRemembered = 108_000
	)
	maxHeap := since.heap + moreHeap + heapEach*uint64(min(asked, maxRemembered))
	return f.goroutines > since.goroutines+moreGoroutines || f.heap > maxHeap
}
