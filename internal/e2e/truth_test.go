// Package e2e tests the whole bot: that its answers are true, that each command
// is answered once in every way in, that nothing leaks, and that it stays within
// its bounds, whatever services, platforms and replicas do.
//
// What takes long runs at night: see the flags, and .ci/nightly.
package e2e

import (
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"golang.org/x/sync/errgroup"

	"herald/internal/app"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/e2etest/truth"
	"herald/internal/e2e/fault"
)

var truthAll = flag.Bool("truth.all", false, "cross every fault of every service with every command, with an empty cache and an expired answer")

const (
	// trialsAtOnce run at a time: most of a trial is waiting.
	trialsAtOnce = 8
	// repeats is how often a failing service is asked again before its fault ends:
	// often enough for the client to leave it alone for a while.
	repeats = 5
	// maxWait is the longest Retry-After that a trial waits for.
	maxWait = 5 * time.Second
	// silentTime is the time limit of a call to a service that never answers; briefTime is
	// the limit if only one command asks it. Other calls have time for a busy machine.
	silentTime, briefTime = 5 * time.Second, time.Second
)

// Each answer must be the one that package truth expects while a service has a fault. By
// default every fault meets one command with an empty cache, and one fault of each class
// meets every command, with an empty cache and with an expired answer. -truth.all crosses
// all faults with all commands; -short tries one fault of each class only.
func TestTruth(t *testing.T) {
	t.Parallel()
	var trials errgroup.Group
	trials.SetLimit(trialsAtOnce)
	try := func(e truth.Expectation, name string, whole bool, settings ...string) {
		silent := map[bool]time.Duration{true: silentTime, false: briefTime}[whole]
		if e.Fault.Reason == fault.Slow && e.Fault.Effect == fault.Unanswerable {
			settings = append(settings, "UPSTREAM_TIMEOUT="+silent.String())
		}
		trials.Go(func() error {
			t.Run(name+"/cold", func(t *testing.T) { tryCold(t, e, whole, settings) })
			if whole {
				t.Run(name+"/warm", func(t *testing.T) { tryWarm(t, e, settings) })
			}
			return nil
		})
	}
	for _, service := range fault.Targets {
		met := map[string]bool{}
		for _, f := range fault.Of(service) {
			e := truth.Expectation{Service: service, Fault: f}
			// Those that take long are left to the night.
			class := fmt.Sprint(f.Effect, f.Reason)
			whole := *truthAll || !met[class] && f.Reason != fault.Slow && f.Wait == 0
			met[class] = met[class] || f.Wait == 0
			if testing.Short() && !whole {
				continue
			}
			try(e, string(service)+"/"+f.Name, whole)
			if service == fault.Chain {
				try(e, "chain by batch/"+f.Name, whole, "MULTICALL_ADDRESS=off")
			}
		}
	}
	_ = trials.Wait() // trials report to t
}

// tryCold asks one question while nothing is cached. If whole is set, it then asks all
// questions, and one of them repeatedly, and ends the fault.
func tryCold(t *testing.T, e truth.Expectation, whole bool, settings []string) {
	tr := newTrial(t, settings...)
	tr.At(e.Service).SetFault(e.Fault)
	first := tr.queries[slices.IndexFunc(tr.queries, func(q query) bool { return truth.Uses(q.Command)[0] == e.Service })]
	check(t, e, first, tr.ask(t, first))
	if !whole {
		return
	}
	for _, q := range append(slices.Clone(tr.queries), slices.Repeat([]query{first}, repeats)...) {
		check(t, e, q, tr.ask(t, q))
	}
	tr.recover(t, e)
}

// tryWarm asks every question when its answer is cached, until the fault shows in all
// answers that need the service, and ends the fault.
func tryWarm(t *testing.T, e truth.Expectation, settings []string) {
	tr := newTrial(t, settings...)
	e.Warm = true
	for _, q := range tr.queries {
		if got := tr.ask(t, q); !got.All(truth.Right) {
			t.Fatalf("%s: %v before any fault", q.name, got)
		}
	}
	stand := tr.At(e.Service)
	stand.SetFault(e.Fault)
	before, began := stand.Requests(), time.Now()
	for _, q := range tr.queries {
		within := trialTTL + slack
		if e.Fault.Reason == fault.Slow {
			within += silentTime // an early refresh leaves the answer right until it has ended
		}
		tr.askUntil(t, q, within, func(got truth.Outcomes) bool {
			asked := stand.Requests() != before && time.Since(began) > trialTTL
			if q.needs(e.Service) && got.All(truth.Right) && (!asked || !e.Want(q.Question, q.staker).All(truth.Right)) {
				return false
			}
			check(t, e, q, got)
			return true
		})
	}
	tr.recover(t, e)
}

// check compares an answer with the expected one.
func check(t *testing.T, e truth.Expectation, q query, got truth.Outcomes) {
	t.Helper()
	if want := e.Want(q.Question, q.staker); !maps.Equal(got, want) {
		t.Errorf("%s: the answer is %v, want %v (MayBeOld, in commands/commandstest/answers.go, names whose old answer may stand in)", q.name, got, want)
	}
}

// recover ends the fault. Every answer must be right again within a TTL, or within the time
// that the service asked for if that is longer. If it is longer than maxWait, recover only
// checks that the service is not asked meanwhile.
func (tr *trial) recover(t *testing.T, e truth.Expectation) {
	t.Helper()
	stand := tr.At(e.Service)
	stand.SetFault(fault.Fault{})
	before, deadline := stand.Requests(), time.Now().Add(max(e.Fault.Wait, trialTTL)+slack)
	for _, q := range tr.queries {
		if !q.needs(e.Service) {
			continue
		}
		if e.Fault.Wait > maxWait {
			check(t, e, q, tr.ask(t, q))
			if asked := stand.Requests() - before; asked != 0 {
				t.Errorf("asked %d times though it asked to wait", asked)
			}
			continue
		}
		tr.askUntil(t, q, time.Until(deadline), func(got truth.Outcomes) bool {
			if got.All(truth.Right) {
				return true
			}
			check(t, e, q, got)
			return false
		})
	}
}

const (
	// trialTTL is every TTL of a trial.
	trialTTL = 200 * time.Millisecond
	// slack is what a busy machine may need beyond a TTL. TTL and slack together are shorter
	// than the longest pause of a service that failed repeatedly.
	slack = 4 * time.Second
	// askAgain is the interval at which askUntil repeats a question.
	askAgain = 20 * time.Millisecond
)

// query is a question of one person.
type query struct {
	truth.Question
	name string
	from chat.User
	// staker is whether the wallet asked about stakes.
	staker bool
}

// arguments are what else is asked of a command than its first form for everybody, which takes
// a wallet or nothing.
var arguments = map[string][]string{"price": {"1500", "$100"}}

// queries returns the questions for each command that asks services: of a public one about
// each wallet, of a private one by each person.
func queries(all chat.Commands, w services.World) (queries []query) {
	for _, c := range all {
		if c.Asks == nil {
			continue
		}
		people, wallets := []services.Person{w.Newcomer}, []common.Address{w.Staker, w.Idle}
		if c.Visibility == chat.Private {
			people, wallets = []services.Person{w.Registered, w.Newcomer, w.Unregistered}, wallets[:1]
		}
		if params, _ := c.Params(); !slices.ContainsFunc(params, func(p chat.Param) bool { return p.Name == "wallet" }) {
			wallets = []common.Address{{}}
		}
		for _, by := range people {
			for _, wallet := range wallets {
				for _, argument := range append([]string{""}, arguments[c.Name]...) {
					queries = append(queries, newQuery(c.Name, by, wallet, argument, wallet == w.Staker))
				}
			}
		}
	}
	return queries
}

func newQuery(command string, by services.Person, wallet common.Address, argument string, staker bool) query {
	id := core.Identity{Platform: "Telegram", UID: by.UID("Telegram")}
	return query{
		Question: truth.Question{Command: command, Account: id, Wallet: wallet, Argument: argument},
		name:     fmt.Sprintf("/%s %s of %v by %s", command, argument, wallet, id.UID),
		from:     chat.User{Platform: "telegram", ID: id.UID}, staker: staker,
	}
}

func (q query) needs(service fault.Target) bool {
	worthless := service == fault.Price && q.Wallet != (common.Address{}) && !q.staker
	return slices.Contains(truth.Uses(q.Command), service) && !worthless
}

// trial is one bot with stand-ins of its own.
type trial struct {
	*fault.Fakes
	checker *truth.Checker
	bot     *app.Bot
	queries []query
}

func newTrial(t *testing.T, settings ...string) *trial {
	t.Helper()
	tr := &trial{Fakes: fault.Start(t)}
	tr.checker = truth.NewChecker(t, tr.Fakes)
	base := e2etest.Settings(tr.Fakes, "UPSTREAM_TIMEOUT=1m", "COMMAND_TIMEOUT=2m")
	tr.bot = e2etest.New(t, slices.Concat(base, app.TTLs(trialTTL), settings), slog.New(slog.DiscardHandler))
	tr.queries = queries(tr.bot.Router.Commands(), tr.World)
	return tr
}

// ask asks a question and returns what the answer says, which must be honest. On a busy
// machine a price or the chain may come too late, so ask tries three times.
func (tr *trial) ask(t *testing.T, q query) truth.Outcomes {
	t.Helper()
	args := strings.Fields(q.Argument)
	if q.Wallet != (common.Address{}) {
		args = []string{q.Wallet.Hex()}
	}
	for tries := 3; ; tries-- {
		reply := tr.bot.Router.Handle(t.Context(), &chat.Request{
			ID: "trial", Command: q.Command, Args: chat.Typed(args...), From: q.from, Chat: "1", Direct: true,
		})
		got, err := tr.checker.Check(q.Question, e2etest.Lines(reply))
		if err != nil {
			t.Errorf("%s: %v", q.name, err)
		}
		late := got[fault.Price] == truth.Omitted && !tr.Price.Failing() || got[fault.Chain] == truth.Omitted && !tr.Chain.Failing()
		if !late || tries == 1 {
			return got
		}
	}
}

// askUntil repeats a question until done returns true for its answer.
func (tr *trial) askUntil(t *testing.T, q query, within time.Duration, done func(truth.Outcomes) bool) {
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
			t.Errorf("%s: still %v after %v; does the name of its TTL's setting end in _TTL?", q.name, got, within)
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			return
		}
	}
}
