package main

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/sandbox"
)

const (
	// trialTTL is every TTL of a trial.
	trialTTL = 200 * time.Millisecond
	// slack is what a loaded machine may take beyond a TTL. TTL and slack are
	// less than the longest pause of a service that failed repeatedly.
	slack = 4 * time.Second
	// askAgain is how often a question that awaits an answer is put.
	askAgain = 20 * time.Millisecond
)

var services = []core.Service{core.Partner, core.Price, core.TokenSupply, core.Chain}

// enquiry is a command with whoever asks it.
type enquiry struct {
	name    string
	command string
	words   []string
	from    chat.User
	// uses are the services that the answer needs. Without the first there is
	// none; without another one something is left out.
	uses []core.Service
}

// enquiries are those of every command to which the world has an answer of
// its own. Their order is that of the answers in a trial's judges.
func enquiries(w sandbox.World) []enquiry {
	registered, newcomer := telegramUser(w.Registered), telegramUser(w.Newcomer)
	partner, chain := []core.Service{core.Partner}, []core.Service{core.Chain}
	return []enquiry{
		{"price", "price", nil, registered, []core.Service{core.Price}},
		{"supply", "supply", nil, registered, []core.Service{core.TokenSupply, core.Price}},
		{"staked of a staker", "staked", []string{w.Staker.Hex()}, newcomer, chain},
		{"staked of an idle wallet", "staked", []string{w.Idle.Hex()}, newcomer, chain},
		{"mylogins", "mylogins", nil, registered, partner},
		{"mylogins of a newcomer", "mylogins", nil, newcomer, partner},
		{"exists of a registered", "exists", nil, registered, partner},
		{"exists of an unregistered", "exists", nil, telegramUser(w.Unregistered), partner},
	}
}

func (q enquiry) needs(service core.Service) bool { return slices.Contains(q.uses, service) }

// trial is the bot as the program assembles it, among services of its own.
type trial struct {
	*sandbox.Sandbox
	bot       *bot
	enquiries []enquiry
	log       safeBuffer
}

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	rapid.TB
	Cleanup(func())
	Context() context.Context
}

func newTrial(t tester, settings ...string) *trial {
	t.Helper()
	world, err := sandbox.Start()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(slices.Concat(demoSettings(world), []string{
		"UPSTREAM_TIMEOUT=10s",
		"PRICE_TTL=" + trialTTL.String(),
		"SUPPLY_TTL=" + trialTTL.String(),
		"STAKE_TTL=" + trialTTL.String(),
		"EXISTS_TTL=" + trialTTL.String(),
		"LOGINS_TTL=" + trialTTL.String(),
	}, settings), "")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Chain.Pools = world.World.Pools
	tr := &trial{Sandbox: world, enquiries: enquiries(world.World)}
	// A log of all there is, and without the last resort of striking out.
	log := slog.New(slog.NewTextHandler(&tr.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if tr.bot, err = assemble(cfg, log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tr.bot.close()
		if err := world.Close(); err != nil {
			t.Errorf("close the sandbox: %v", err)
		}
		tr.checkNothingLeaked(t)
	})
	return tr
}

// checkNothingLeaked is for the end of a trial, whatever happened in it.
func (tr *trial) checkNothingLeaked(t tester) {
	t.Helper()
	if n := tr.Elsewhere.Requests(); n != 0 {
		t.Errorf("%d requests followed a redirect", n)
	}
	log := tr.log.String()
	for _, private := range []string{
		tr.SecretKey, tr.PriceKey, tr.World.Staker.Hex()[2:], tr.World.Idle.Hex()[2:],
		tr.World.Registered.DID, tr.World.Registered.UID("Telegram"),
	} {
		if strings.Contains(strings.ToLower(log), strings.ToLower(private)) {
			t.Error("a secret, a wallet or a person stands in the log")
		}
	}
}

// ask puts a question and judges the answer, which must be honest.
func (tr *trial) ask(t tester, q enquiry) outcomes {
	t.Helper()
	from := time.Now()
	reply := tr.bot.router.Handle(t.Context(), chat.Request{
		ID: "trial", Command: q.command, Words: slices.Clone(q.words), From: q.from, Chat: "1", Direct: true,
	})
	got, err := judge(tr.World, q, reply, from)
	if err != nil {
		t.Errorf("%s: %v, in %+v", q.name, err, reply)
	}
	return got
}

// askAll puts every question at once.
func (tr *trial) askAll(t tester) []outcomes {
	t.Helper()
	got := make([]outcomes, len(tr.enquiries))
	var askers sync.WaitGroup
	for i, q := range tr.enquiries {
		askers.Go(func() { got[i] = tr.ask(t, q) })
	}
	askers.Wait()
	return got
}

// askUntil puts a question again and again until done with its answer.
func (tr *trial) askUntil(t *testing.T, q enquiry, within time.Duration, done func(outcomes) bool) {
	t.Helper()
	tick := time.NewTicker(askAgain)
	defer tick.Stop()
	deadline := time.Now().Add(within)
	for {
		got := tr.ask(t, q)
		if t.Failed() || done(got) {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: still %v after %v", q.name, got, within)
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			return
		}
	}
}

// safeBuffer is a bytes.Buffer for many goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
