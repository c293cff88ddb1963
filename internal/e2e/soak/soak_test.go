//go:build soak

// Package soak runs the whole bot, on both platforms at once, against stand-ins that fail
// at random, and on a Redis that is killed and paused. It checks every answer: package
// truth must find it honest, each command has one answer, and no answer shows others what
// is private.
//
//	go test -v -tags soak -timeout 0 ./internal/e2e/soak -soak.time 1h
//
// Telegram delivers by webhook, 100 at a time and one for each chat; with -soak.polling the
// bot polls. People ask in several groups and in private, about -soak.rate commands a
// second in all, and now and then 130 ask at once. They press buttons, send forged states,
// write inline queries letter by letter, and give ephemeral commands: another 25 a second.
// -soak.seed repeats the questions and faults of a run, but not the times of the answers.
// Telegram's pacing is off, because with it most answers in a busy group are "busy".
package soak

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/e2etest/truth"
	"herald/internal/e2e/fault"
	"herald/internal/store/redistest"
)

var (
	soakTime = flag.Duration("soak.time", time.Minute, "how long to ask, the warm-up included")
	soakSeed = flag.Uint64("soak.seed", rand.Uint64()>>1, "of the questions and the faults")
	soakRate = flag.Int("soak.rate", 30, "commands a second in all")
	soakPoll = flag.Bool("soak.polling", false, "Telegram is polled")
)

const (
	// soakTTL is short, so that answers expire often.
	soakTTL      = time.Second
	soakStaleFor = 5 * time.Second
	// patience is how long an answer may take while platforms fail; afterwards is how long a
	// repeated answer is still noticed.
	patience   = 2 * time.Minute
	afterwards = 15 * time.Second
	// maxHeld is how long a delivery of Telegram's may be held on a busy machine. The
	// bot acknowledges it after 0.1 s.
	maxHeld = 2 * time.Second
)

// soak is one run.
type soak struct {
	*testing.T
	fakes   *fault.Fakes
	checker *truth.Checker
	bot     *e2etest.Bot
	redis   *redistest.Server

	telegram, discord *e2etest.Platform

	mu sync.Mutex
	// open holds the questions that are watched. On Telegram only its reader tells whose a
	// private answer is, so each user has one such question open at most.
	open map[*question]bool
	// scripted counts the faults of Discord after which a call is repeated; repeated counts
	// repeated calls.
	scripted, repeated int
	// unknown counts sends to Telegram whose outcome is unknown, doubled the messages that
	// are there twice, and unanswered the questions without an answer.
	unknown, doubled, unanswered int
	asked, wrong                 int
	verdicts                     map[string]int
	// killed and paused count what was done to Redis.
	killed, paused int

	// events holds what people see on Telegram until collect takes it. It must never be
	// full, because the stand-in sends under its lock.
	events chan faketelegram.Event
	// cards holds the answers whose buttons are pressed. presses counts by platform; pressed
	// holds the presses on Telegram that wait, by ID.
	cards   []*card
	presses map[string]int
	pressed map[string]*question
	// queries holds the inline queries that wait, by ID; inlines and ephemerals count.
	queries             map[string]string
	inlines, ephemerals int
	// knocks counts the requests to join, and left those that the bot has left to moderators.
	knocks, left int
}

func TestSoak(t *testing.T) {
	redis := redistest.StartTLS(t)
	way := e2etest.Ways[1]
	if *soakPoll {
		way = e2etest.Ways[0]
	}
	services.MoreLogins = 18 // more than a page has
	s := &soak{T: t, redis: redis, fakes: fault.Start(t), telegram: way.Open(t), discord: e2etest.Ways[2].Open(t),
		open: map[*question]bool{}, verdicts: map[string]int{},
		presses: map[string]int{}, pressed: map[string]*question{}, queries: map[string]string{}, events: make(chan faketelegram.Event, 1<<16)}
	s.discord.Discord.FirstResponse = 3 * time.Second // as Discord has it; e2etest doubles it for busy machines
	s.telegram.Telegram.Watch(func(e faketelegram.Event) { s.events <- e })
	s.checker = truth.NewChecker(s.fakes.World)
	s.telegram.Telegram.GrantInvite(joined.ID, true)
	settings := slices.Concat(s.telegram.Settings(), s.discord.Settings(), e2etest.TTLs(soakTTL), []string{
		"LOG_LEVEL=debug", "UPSTREAM_TIMEOUT=2500ms", "COMMAND_TIMEOUT=8s", "STALE_FOR=" + soakStaleFor.String(),
		"RATE_LIMIT_USER=600", "RATE_LIMIT_CHAT=10000", "MAX_PRICE_AGE=off", fmt.Sprintf("JOIN_CHATS=telegram:%d:registered", joined.ID), "REDIS_URL=" + s.redis.URL + "?read_timeout=100ms"})
	s.bot = e2etest.Serve(t, e2etest.Settings(s.fakes, settings...), io.Discard)
	s.bot.AwaitReady(t)
	s.telegram.Through(s.bot.URL)

	reading, end := context.WithCancel(t.Context())
	var reader sync.WaitGroup
	reader.Go(func() {
		for wait(reading, 50*time.Millisecond) {
			s.collect()
		}
	})
	began, warmUp := time.Now(), *soakTime/4
	s.phase(warmUp, *soakSeed)
	atStart := measure()
	s.phase(*soakTime-warmUp, *soakSeed+1)
	atEnd := measure()
	s.compare()
	_, fallbacks, _ := strings.Cut(e2etest.Metrics(t, s.bot.URL), "\nherald_redis_fallbacks_total ")
	fallbacks, _, _ = strings.Cut(fallbacks, "\n")
	s.bot.Stop()
	if err := s.bot.Leave(); err != nil {
		t.Errorf("the bot left with %v", err)
	}
	end()
	reader.Wait()
	s.collect()

	fmt.Printf("soak of %v by %s, -soak.seed %d\n", time.Since(began).Round(time.Second), way.Name, *soakSeed)
	fmt.Printf("commands %d, presses %v, inline %d, ephemeral %d: %v\n", s.asked, s.presses, s.inlines, s.ephemerals, s.verdicts)
	fmt.Printf("requests to join %d, answered %d\n", s.knocks, s.left)
	if s.left == 0 {
		t.Error("no request to join is answered")
	}
	fmt.Printf("wrong %d, unanswered %d, doubled %d, sends of unknown outcome %d\n", s.wrong, s.unanswered, s.doubled, s.unknown)
	fmt.Printf("a delivery took %v at most\n", s.telegram.Held().Round(time.Millisecond))
	fmt.Printf("redis killed %d times, paused %d; %s calls decided without it\n", s.killed, s.paused, fallbacks)
	fmt.Printf("at the start: %v\nat the end:   %v\n", atStart, atEnd)
	if held := s.telegram.Held(); held > maxHeld {
		t.Errorf("a delivery took %v, want at most %v", held, maxHeld)
	}
	if atEnd.grown(atStart, s.asked+s.presses["Discord"]) {
		t.Error("memory or goroutines have grown")
	}
	if n := s.fakes.Strayed(); n > 0 {
		t.Errorf("%d requests followed a redirect with credentials", n)
	}
	for _, p := range s.discord.Discord.Problems() {
		t.Errorf("Discord refuses %s", p)
	}
}

// phase asks while everything fails. Then it waits until all faults have ended, every
// question is answered, and idle connections are closed.
func (s *soak) phase(d time.Duration, seed uint64) {
	ctx, cancel := context.WithTimeout(s.Context(), d)
	defer cancel()
	var loops sync.WaitGroup
	for n, asking := range []struct {
		ask   func(*rand.Rand)
		pause time.Duration
	}{
		{s.askTelegram, 2 * time.Second / time.Duration(*soakRate)},
		{s.askDiscord, 2 * time.Second / time.Duration(*soakRate)},
		{func(r *rand.Rand) { s.pressButton(r, "Telegram") }, 5 * time.Second / time.Duration(*soakRate)},
		{func(r *rand.Rand) { s.pressButton(r, "Discord") }, 5 * time.Second / time.Duration(*soakRate)},
		{s.inline, 3 * time.Second / time.Duration(*soakRate)},
		{s.askEphemerally, 10 * time.Second / time.Duration(*soakRate)},
		{s.knock, 10 * time.Second / time.Duration(*soakRate)},
		{s.askAtOnce, d / time.Duration(1+int(d.Seconds())/15) * 2 / 3},
	} {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		loops.Go(func() {
			for wait(ctx, asking.pause) {
				asking.ask(r)
			}
		})
	}
	s.fail(ctx, &loops, seed)
	loops.Wait()
	s.until("everything asked is answered", patience+afterwards, func() bool { return s.waiting() == 0 })
	http.DefaultClient.CloseIdleConnections()
	quiet, cancel := context.WithTimeout(s.Context(), min(*soakTime/4, 100*time.Second))
	defer cancel()
	for runtime.NumGoroutine() > 60 && wait(quiet, 100*time.Millisecond) {
	}
}

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

func (s *soak) until(what string, limit time.Duration, done func() bool) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), limit)
	defer cancel()
	for !done() {
		if !wait(ctx, 20*time.Millisecond) {
			s.Errorf("not in time: %s", what)
			return
		}
	}
}

// waiting counts the questions without an answer.
func (s *soak) waiting() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for q := range s.open {
		if q.ended.IsZero() {
			n++
		}
	}
	return n
}

// event returns how often an adapter counted an event.
func (s *soak) event(platform, name string) (n int) {
	_, rest, _ := strings.Cut(e2etest.Metrics(s, s.bot.URL), `herald_adapter_events_total{event="`+name+`",platform="`+platform+`"} `)
	_, _ = fmt.Sscan(rest, &n)
	return n
}

// compare compares what the stand-ins have counted with the adapters' own counts.
func (s *soak) compare() {
	// A send that hangs has an unknown outcome once its time is over.
	s.until("the adapter counts the sends that broke off", 30*time.Second, func() bool {
		s.mu.Lock()
		unknown := s.unknown
		s.mu.Unlock()
		return s.event("telegram", "send_outcome_unknown") == unknown
	})
	s.until("every press and every inline query is answered, or counted as not", 30*time.Second, func() bool {
		presses, queries := s.event("telegram", "press_unanswered"), s.event("telegram", "inline_unanswered")
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.pressed) <= presses && len(s.queries) <= queries
	})
	abandoned, panics := s.event("telegram", "send_abandoned"), s.event("telegram", "panic")+s.event("discord", "panic")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unanswered > abandoned || s.doubled > s.unknown || panics > 0 {
		s.Errorf("%d unanswered, %d abandoned; %d doubled, %d sends of unknown outcome; %d panics",
			s.unanswered, abandoned, s.doubled, s.unknown, panics)
	}
	if s.repeated > s.scripted {
		s.Errorf("%d calls to Discord were made again, %d had cause", s.repeated, s.scripted)
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
