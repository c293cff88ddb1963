//go:build soak

// Package soak runs the whole bot, on both platforms at once, against stand-ins
// that fail at random, and looks at every answer: it must be right, marked as
// old, or say that it could not be checked; there must be one and only one;
// and nothing private or secret may be anywhere it does not belong.
//
//	go test -v -tags soak -run TestSoak -timeout 0 ./internal/app/e2e/soak -soak.time 1h
//
// It asks about -soak.rate commands a second in all; -soak.seed repeats a run
// in kind, the times of the answers aside. A line a minute goes to standard
// error, the sum to standard output. Telegram's pacing is off: with it most of
// a busy group's answers are one "try again", which would test little else.
package soak

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/sandbox/fault"
	"herald/internal/telegram/telegramtest"
)

var (
	soakTime = flag.Duration("soak.time", time.Minute, "how long to ask, the warm-up included")
	soakSeed = flag.Uint64("soak.seed", rand.Uint64()>>1, "of the questions and the faults")
	soakRate = flag.Int("soak.rate", 30, "commands a second in all")
)

// Short, so that many states are gone through.
const (
	soakTTL      = time.Second
	soakStaleFor = 5 * time.Second
)

// soak is one run.
type soak struct {
	world    *fault.Sandbox
	telegram *telegramSide
	discord  *discordSide
	tally    *tally
	leaks    *leaks
	log      *watchedLog
	bot      *e2etest.Bot
}

func TestSoak(t *testing.T) {
	fmt.Printf("soak of %v with -soak.seed %d\n", *soakTime, *soakSeed)
	s := newSoak(t)
	s.launch(t)
	var reading sync.WaitGroup
	readCtx, endReading := context.WithCancel(t.Context())
	reading.Go(func() { s.read(readCtx) })

	began := time.Now()
	warmUp := min(*soakTime/4, 2*time.Minute)
	s.phase(t, warmUp, *soakSeed)
	atStart := measure()
	s.phase(t, *soakTime-warmUp, *soakSeed+1)
	atEnd := measure()
	s.compare(t)
	s.leave(t)
	endReading()
	reading.Wait()
	s.telegram.left()
	s.discord.left()

	fmt.Printf("\nsoak of %v, -soak.seed %d, %d log lines\n%v\nat the start: %v\nat the end:   %v\n%s",
		time.Since(began).Round(time.Second), *soakSeed, s.log.lines, s.tally, atStart, atEnd, s.tally.details())
	if s.tally.bad() {
		t.Errorf("wrong, lost, doubled and leaks must be 0; the last log lines:\n%s", s.log)
	}
	if err := atEnd.grown(atStart, s.discord.pushed); err != nil {
		t.Errorf("grown: %v", err)
	}
	if n := s.world.Elsewhere.Requests(); n > 0 {
		t.Errorf("%d requests followed a redirect with credentials", n)
	}
}

func newSoak(t *testing.T) *soak {
	world := e2etest.Sandbox(t)
	d := e2etest.Discord(t)
	s := &soak{world: world, tally: newTally()}
	s.leaks = newLeaks(s.tally, world, d)
	s.log = &watchedLog{leaks: s.leaks}
	s.telegram = newTelegramSide(telegramtest.New(t), newQuestions(world.World, "Telegram", *soakSeed, 1), s.tally, s.leaks)
	s.discord = newDiscordSide(d, newQuestions(world.World, "Discord", *soakSeed, 2), s.tally, s.leaks)
	return s
}

// launch starts the bot.
func (s *soak) launch(t *testing.T) {
	settings := slices.Concat(e2etest.Polling(s.telegram.fake), e2etest.Gateway(s.discord.fake), []string{
		"LOG_LEVEL=debug",
		"UPSTREAM_TIMEOUT=2500ms", "COMMAND_TIMEOUT=8s", fmt.Sprintf("STALE_FOR=%v", soakStaleFor),
		"OPERATORS=telegram:" + operatorUID + ",discord:" + operatorUID,
		"RATE_LIMIT_USER=300", "RATE_LIMIT_CHAT=10000",
	}, e2etest.TTLs(soakTTL))
	s.bot = e2etest.Serve(t, e2etest.Settings(s.world, settings...), s.log)
	s.bot.AwaitReady(t)
}

// phase asks while everything fails, then lets all heal and everything be
// answered.
func (s *soak) phase(t *testing.T, d time.Duration, seed uint64) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var loops sync.WaitGroup
	loops.Go(func() { s.ask(ctx, s.telegram.ask) })
	loops.Go(func() { s.ask(ctx, s.discord.ask) })
	loops.Go(func() { s.fail(ctx, seed) })
	loops.Go(func() {
		for wait(ctx, 5*time.Second) {
			s.metrics(ctx)
		}
	})
	loops.Wait()
	until(t, "everything asked is answered", patienceLost+10*time.Second, func() bool {
		return s.telegram.waiting()+s.discord.waiting() == 0
	})
	s.settle(t)
}

// ask asks half of the rate.
func (s *soak) ask(ctx context.Context, ask func()) {
	tick := time.NewTicker(2 * time.Second / time.Duration(*soakRate))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			ask()
		case <-ctx.Done():
			return
		}
	}
}

// read collects answers and reports every minute until ctx is done.
func (s *soak) read(ctx context.Context) {
	began, told := time.Now(), time.Now()
	for ctx.Err() == nil {
		s.telegram.collect()
		s.discord.collect()
		if time.Since(told) > time.Minute {
			told = time.Now()
			fmt.Fprintf(os.Stderr, "after %v: %v; %v\n", time.Since(began).Round(time.Second), s.tally, glance())
		}
	}
}

// settle waits until what still runs after the last answer has ended, such as
// idle connections, of which a burst leaves some hundred, and calls that nobody
// waits for.
func (s *soak) settle(t *testing.T) {
	http.DefaultClient.CloseIdleConnections()
	wait(t.Context(), min(*soakTime/10, 10*time.Second))
	ctx, cancel := context.WithTimeout(t.Context(), min(idle, *soakTime/4))
	defer cancel()
	for runtime.NumGoroutine() > quiet && wait(ctx, 100*time.Millisecond) {
	}
}

// quiet is about how many goroutines there are while nobody asks; idle is
// longer than connections are kept without use.
const (
	quiet = 60
	idle  = 100 * time.Second
)

// until is eventually with a limit of its own.
func until(t *testing.T, what string, limit time.Duration, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for !done() {
		if !wait(ctx, 20*time.Millisecond) {
			t.Errorf("not in time: %s", what)
			return
		}
	}
}

// compare holds the harness's counts against the adapters' own.
func (s *soak) compare(t *testing.T) {
	s.telegram.mu.Lock()
	breaks := s.telegram.breaks
	s.telegram.mu.Unlock()
	// A send that hangs is known to be unclear once its time is over.
	until(t, "the adapter counts the sends that the fake broke off", 20*time.Second, func() bool {
		return event(s.metrics(t.Context()), "telegram", "send_unclear") == breaks
	})
	metrics := s.metrics(t.Context())
	s.discord.mu.Lock()
	answered := s.discord.answered
	s.discord.mu.Unlock()
	arrived := event(metrics, "discord", "interaction") - event(metrics, "discord", "duplicate")
	if arrived != answered {
		t.Errorf("%d interactions arrived, %d are answered", arrived, answered)
	}
	for _, name := range []string{"panic"} {
		if n := event(metrics, "telegram", name) + event(metrics, "discord", name); n > 0 {
			t.Errorf("%d of %s", n, name)
		}
	}
}

// leave stops the bot as SIGTERM does while commands are in hand, and expects
// that it leaves in good order.
func (s *soak) leave(t *testing.T) {
	for _, name := range fault.Targets {
		setFault(t.Context(), s.world.At(name), fault.Late(700*time.Millisecond))
	}
	before := event(s.metrics(t.Context()), "discord", "interaction")
	pushed := s.discord.pushed
	for range 20 {
		s.telegram.ask()
		s.discord.ask()
	}
	until(t, "the last interactions arrive", 10*time.Second, func() bool {
		return event(s.metrics(t.Context()), "discord", "interaction")-before >= s.discord.pushed-pushed
	})
	s.bot.Stop()
	left := make(chan error, 1)
	go func() { left <- s.bot.Leave() }()
	select {
	case err := <-left:
		if err != nil {
			t.Errorf("the bot left with %v", err)
		}
	case <-time.After(15 * time.Second):
		t.Error("the bot does not stop")
	}
}
