//go:build soak

// Package soak runs the whole bot, on both platforms at once, against stand-ins that fail
// at random, and on a Redis that is killed and paused. People ask one question after
// another, and package truth judges each answer: it must be honest, come once, and show
// others nothing that is private.
//
//	go test -v -tags soak -timeout 0 ./internal/e2e/soak -soak.time 1h -soak.busy 2
//
// Telegram delivers by webhook, 100 at a time and one for each chat; with -soak.polling the
// bot polls. -soak.people people are on each platform. They ask in several groups and in
// private, press the buttons below their answers, send forged states, write inline queries,
// and give ephemeral commands; now and then 130 ask at once.
// -soak.seed repeats the questions and faults of a run, but not the times of the answers.
// With -soak.polling, credits bound the calls for the price, so that it is often older than its
// TTL; without, every call is made, so that it fails often.
//
// -soak.busy shell loops take the machine's time beside it. A first response on Discord may be late
// only while the machine keeps the process waiting, and only if the bot counts it. The price provider never renews its
// quote, which is ten minutes old in the middle of a short run, and after ten minutes of a long
// one: from then on, an answer during an outage must be marked as old.
//
// Telegram's pacing is off, because with it most answers in a busy group are "busy", and no
// card is cleaned away, because somebody may press it.
package soak

import (
	"context"
	"flag"
	"fmt"
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
	// patience is how long an answer may take while platforms fail; afterwards is how long a
	// repeated answer is still noticed. A call to Telegram that hangs is repeated once its 15 s are
	// over, twice at most, after a few seconds each.
	patience   = 2 * time.Minute
	afterwards = time.Minute
	// maxHeld is how long a delivery of Telegram's may be held on a busy machine, beside its
	// longest stall. The bot acknowledges it after 0.1 s.
	maxHeld = 2 * time.Second
	// rarely is how many questions there are at least for each that is not answered.
	rarely = 1000
	// stalled is the least time of stalls, of the 3 seconds that Discord waits for a first
	// response, with which one may be late.
	stalled = time.Second
)

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
	// events holds what people see on Telegram until deliver takes it. It must never be
	// full, because the stand-in sends under its lock.
	events chan faketelegram.Event

	mu       sync.Mutex // guards what follows
	verdicts map[string]int
	counts   map[string]int
	people   map[int64]*person      // on Telegram
	owners   map[[2]int64]*question // of commands and cards in groups, by chat and ID
	presses  map[string]*question   // on Telegram that wait, by ID
	queries  map[string]string      // inline queries that wait, by ID
}

func TestSoak(t *testing.T) {
	redis := redistest.StartTLS(t)
	way := e2etest.Ways[1]
	if *soakPoll {
		way = e2etest.Ways[0]
	}
	services.MoreLogins = 18 // more than a page has
	services.QuoteAge = max(services.QuoteAge, truth.OldAfter-*soakTime/2)
	beBusy(t, *soakBusy)
	s := &soak{T: t, redis: redis, fakes: fault.Start(t), telegram: way.Open(t), discord: e2etest.Ways[2].Open(t),
		verdicts: map[string]int{}, counts: map[string]int{}, people: map[int64]*person{}, owners: map[[2]int64]*question{},
		presses: map[string]*question{}, queries: map[string]string{}, events: make(chan faketelegram.Event, 1<<16)}
	s.discord.Discord.FirstResponse = 3 * time.Second // as Discord has it; e2etest doubles it for busy machines
	s.telegram.Telegram.Watch(func(e faketelegram.Event) { s.events <- e })
	s.checker = truth.NewChecker(t, s.fakes)
	settings := slices.Concat(s.telegram.Settings(), s.discord.Settings(), app.TTLs(soakTTL), []string{
		"LOG_LEVEL=debug", "UPSTREAM_TIMEOUT=2500ms", "COMMAND_TIMEOUT=8s", "STALE_FOR=" + soakStaleFor.String(), "CLEAN_CHAT=off",
		"RATE_LIMIT_USER=600", "RATE_LIMIT_CHAT=10000", "MAX_PRICE_AGE=off", "REDIS_URL=" + s.redis.URL + "?read_timeout=100ms"})
	if *soakPoll {
		settings = append(settings, "PRICE_MONTHLY_CREDITS=15000")
	}
	log, err := os.Create(*soakLog)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.bot = e2etest.Serve(t, e2etest.Settings(s.fakes, settings...), log)
	s.bot.AwaitReady(t)
	s.telegram.Through(s.bot.URL)

	reading, end := context.WithCancel(t.Context())
	var reader sync.WaitGroup
	reader.Go(func() {
		for transport.Sleep(reading, 20*time.Millisecond) {
			s.deliver()
		}
	})
	reader.Go(func() { s.stalls.watch(reading) })
	began, warmUp := time.Now(), *soakTime/4
	s.phase(warmUp, *soakSeed)
	atStart := measure()
	s.phase(*soakTime-warmUp, *soakSeed+1)
	atEnd := measure()
	s.compare()
	fallbacks := s.metric("herald_redis_fallbacks_total")
	s.bot.Stop()
	if err := s.bot.Leave(); err != nil {
		t.Errorf("the bot left with %v", err)
	}
	end()
	reader.Wait()

	fmt.Printf("soak of %v by %s, -soak.seed %d\n%v\n%v\n", time.Since(began).Round(time.Second), way.Name, *soakSeed, s.counts, s.verdicts)
	fmt.Printf("a delivery took %v at most; %d calls were decided without redis\n", s.telegram.Held().Round(time.Millisecond), fallbacks)
	waited, longest := s.stalls.total.Round(time.Millisecond), s.stalls.longest.Round(time.Millisecond)
	fmt.Printf("the machine kept this process waiting for %v, at most %v at a time\n", waited, longest)
	fmt.Printf("at the start: %v\nat the end:   %v\n", atStart, atEnd)
	if held, most := s.telegram.Held(), maxHeld+s.stalls.longest; held > most {
		t.Errorf("a delivery took %v, want at most %v", held, most)
	}
	if atEnd.grown(atStart, s.counts["commands"]+s.counts["presses"]) {
		t.Error("memory or goroutines have grown")
	}
	if n := s.fakes.Strayed(); n > 0 {
		t.Errorf("%d requests followed a redirect with credentials", n)
	}
	for _, p := range s.discord.Discord.Problems() {
		t.Errorf("Discord refuses %s", p)
	}
}

// phase has people ask while everything fails. Then it waits until all faults have ended,
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
		for transport.Sleep(ctx, d/time.Duration(1+int(d.Seconds())/15)*2/3) {
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
	s.fail(begin)
	loops.Wait()
	http.DefaultClient.CloseIdleConnections()
	quiet, cancel := context.WithTimeout(s.Context(), min(*soakTime/4, 100*time.Second))
	defer cancel()
	for runtime.NumGoroutine() > 60 && transport.Sleep(quiet, 100*time.Millisecond) {
	}
	for _, p := range s.people {
		p.read()
		p.forget(afterwards)
	}
	s.forgetOwners(0)
}

// forgetOwners drops the owners of commands and cards that are so old.
func (s *soak) forgetOwners(old time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.owners, func(_ [2]int64, q *question) bool { return time.Since(q.At) >= old })
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

// metric returns a counter of the bot.
func (s *soak) metric(name string) (n int) {
	_, rest, _ := strings.Cut(e2etest.Metrics(s, s.bot.URL), "\n"+name+" ")
	_, _ = fmt.Sscan(rest, &n)
	return n
}

// event returns how often an adapter counted an event.
func (s *soak) event(platform, name string) int {
	return s.metric(`herald_adapter_events_total{event="` + name + `",platform="` + platform + `"}`)
}

// compare compares what the stand-ins have counted with the adapters' own counts.
func (s *soak) compare() {
	// A send that hangs has an unknown outcome once its time is over.
	e2etest.Eventually(s, "the adapter counts the sends that broke off", func() bool {
		return s.event("telegram", "send_outcome_unknown") == s.counted("sends of unknown outcome")
	})
	untold, unread := s.event("telegram", "press_unanswered"), s.event("telegram", "inline_unanswered")
	late := 0
	for _, event := range []string{"too_late", "answer_expired", "answer_outcome_unknown"} {
		late += s.event("discord", event)
	}
	abandoned, panics := s.event("telegram", "send_abandoned"), s.event("telegram", "panic")+s.event("discord", "panic")+s.event("members", "panic")
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	if len(s.presses) > untold || len(s.queries) > unread || panics > 0 {
		s.Errorf("%d presses and %d inline queries wait, %d and %d are counted; %d panics", len(s.presses), len(s.queries), untold, unread, panics)
	}
	if c["late on a stalled machine"] > late {
		s.Errorf("%d first responses are late, %d are counted", c["late on a stalled machine"], late)
	}
	if asked := c["commands"] + c["presses"]; c["unanswered"]*rarely > asked {
		s.Errorf("%d of %d are not answered", c["unanswered"], asked)
	}
	if c["unanswered"] > abandoned || c["doubled"] > c["sends of unknown outcome"] || c["calls repeated"] > c["calls with cause to be repeated"] {
		s.Errorf("%d abandoned: %v", abandoned, c)
	}
}

// figures is what the process uses, with the stand-ins.
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

// grown reports whether f is above since by more than the bound. The bot remembers each
// interaction of Discord for a day, 108,000 at most. An idle connection has three
// goroutines, with the stand-in's, and a burst leaves up to 128 connections to a platform.
func (f figures) grown(since figures, asked int) bool {
	const moreGoroutines, moreHeap, heapEach, maxRemembered = 400, 16 << 20, 400, 108_000
	return f.goroutines > since.goroutines+moreGoroutines || f.heap > since.heap+moreHeap+heapEach*uint64(min(asked, maxRemembered))
}
