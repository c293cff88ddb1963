package truth

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"herald/internal/app"
	"herald/internal/app/e2e/e2etest"
	"herald/internal/chat"
	"herald/internal/sandbox"
	"herald/internal/sandbox/fault"
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

// query is a command with whoever asks it.
type query struct {
	name    string
	command string
	words   []string
	from    chat.User
	// uses are the services that the answer needs. Without the first there is
	// none, unless their parts stand apart; without another one something is left
	// out.
	uses  []fault.Target
	apart bool
	// staker is whether the wallet asked about stakes.
	staker bool
}

// queries are those of every command to which the world has an answer of
// its own. Their order is that of the answers in a trial's judges.
func queries(w sandbox.World) []query {
	registered, newcomer := e2etest.TelegramUser(w.Registered), e2etest.TelegramUser(w.Newcomer)
	partner, chain, both := []fault.Target{fault.Partner}, []fault.Target{fault.Chain}, []fault.Target{fault.Partner, fault.Chain}
	every := []fault.Target{fault.Price, fault.Supply, fault.Chain, fault.Partner}
	staker := []string{w.Staker.Hex()}
	return []query{
		{name: "price", command: "price", from: registered, uses: []fault.Target{fault.Price}},
		{name: "supply", command: "supply", from: registered, uses: []fault.Target{fault.Supply, fault.Price}},
		{name: "staked of a staker", command: "staked", words: staker, from: newcomer, uses: chain, staker: true},
		{name: "staked of an idle wallet", command: "staked", words: []string{w.Idle.Hex()}, from: newcomer, uses: chain},
		{name: "mylogins", command: "mylogins", from: registered, uses: partner},
		{name: "mylogins of a newcomer", command: "mylogins", from: newcomer, uses: partner},
		{name: "exists of a registered", command: "exists", from: registered, uses: partner},
		{name: "exists of an unregistered", command: "exists", from: e2etest.TelegramUser(w.Unregistered), uses: partner},
		{name: "verify of one's own wallet", command: "verify", words: staker, from: registered, uses: both, apart: true, staker: true},
		{name: "verify of another's wallet", command: "verify", words: staker, from: newcomer, uses: both, apart: true, staker: true},
		// The last, since of the price it says how those before it fared.
		{name: "status", command: "status", from: newcomer, uses: every, apart: true, staker: true},
	}
}

func (q query) needs(service fault.Target) bool { return slices.Contains(q.uses, service) }

// tells reports whether the answer only tells how earlier calls to the service
// went.
func (q query) tells(service fault.Target) bool {
	return q.command == "status" && (service == fault.Price || service == fault.Supply)
}

// calls is how often the service is asked, with nothing cached and no retries.
func (q query) calls(service fault.Target) int {
	if q.command == "verify" && service == fault.Partner {
		return 2
	}
	return 1
}

// poolFile names the pools, which are the same in every sandbox.
var poolFile string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "pools")
	if err != nil {
		panic(err)
	}
	var pools strings.Builder
	for _, p := range sandbox.New().World.Pools {
		fmt.Fprintf(&pools, "%s %s\n", p.Address, p.Name)
	}
	poolFile = filepath.Join(dir, "pools")
	if err := os.WriteFile(poolFile, []byte(pools.String()), 0o600); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// trial is the bot as the program assembles it, among services of its own.
type trial struct {
	*fault.Sandbox
	bot     *app.Bot
	queries []query
	log     e2etest.Buffer
}

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	rapid.TB
	Cleanup(func())
	Context() context.Context
}

func newTrial(t tester, settings ...string) *trial {
	t.Helper()
	tr := &trial{Sandbox: e2etest.Sandbox(t)}
	tr.queries = queries(tr.World)
	t.Cleanup(func() { tr.checkNothingLeaked(t) }) // runs once the bot is closed
	// A log of all there is, and without the last resort of striking out.
	base := e2etest.Settings(tr.Sandbox, "STAKING_POOLS=@"+poolFile, "UPSTREAM_TIMEOUT=10s")
	tr.bot = e2etest.New(t, slices.Concat(base, e2etest.TTLs(trialTTL), settings), e2etest.BareLog(false, &tr.log))
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
func (tr *trial) ask(t tester, q query) outcomes {
	t.Helper()
	from := time.Now()
	reply := tr.bot.Router.Handle(t.Context(), chat.Request{
		ID: "trial", Command: q.command, Args: chat.Typed(slices.Clone(q.words)...), From: q.from, Chat: "1", Direct: true,
	})
	got, err := judge(tr.World, q, reply, from)
	if err != nil {
		t.Errorf("%s: %v, in %+v", q.name, err, reply)
	}
	return got
}

// askAll puts these questions at once.
func (tr *trial) askAll(t tester, queries []query) []outcomes {
	t.Helper()
	got := make([]outcomes, len(queries))
	var askers sync.WaitGroup
	for i, q := range queries {
		askers.Go(func() { got[i] = tr.ask(t, q) })
	}
	askers.Wait()
	return got
}

// askUntil puts a question again and again until done with its answer.
func (tr *trial) askUntil(t *testing.T, q query, within time.Duration, done func(outcomes) bool) {
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
