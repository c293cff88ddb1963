// Package e2e tests the whole bot: that its answers are true, that each command is answered once, that
// nothing leaks, and that the bot stays within its limits, whatever services, platforms and replicas do.
// Most tests try every way in which commands reach a bot (e2etest.Way): polling and webhook on Telegram,
// gateway and HTTP on Discord.
//
// Flags make the tests longer; .ci/nightly sets them.
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

var truthAll = flag.Bool("truth.all", false,
	"test every fault of every service with every command, with an empty cache and with an expired answer")

// A trial tests one bot while one of its services has a fault.
const (
	// trialsAtOnce is how many trials run at a time. They mostly wait.
	trialsAtOnce = 8
	// trialTTL is every TTL of the bot.
	trialTTL = 200 * time.Millisecond
	// slack is what a busy machine may need beyond a TTL. A TTL and slack together are shorter than the
	// longest pause after repeated failures.
	slack = 4 * time.Second
	// askAgain is the interval at which askUntil repeats a question.
	askAgain = 20 * time.Millisecond
	// repeats is how often a failing service is asked again before its fault ends: often enough to make the
	// client pause.
	repeats = 5
	// maxWait is the longest Retry-After that a trial waits for.
	maxWait = 5 * time.Second
	// silentTime is the time limit of a call to a service that never answers. Other calls have time for
	// a busy machine.
	silentTime = 5 * time.Second
	// briefTime takes the place of silentTime if only one command asks the service.
	briefTime = time.Second
)

// Each answer must be what package truth expects while a service has a fault. By default every fault
// meets one command with an empty cache, and one fault of each class meets every command, with an empty
// cache and with an expired answer. -truth.all crosses all faults with all commands; -short tries one
// fault of each class only.
func TestTruth(t *testing.T) {
	t.Parallel()
	var trials errgroup.Group
	trials.SetLimit(trialsAtOnce)
	for _, service := range fault.Targets {
		seen := map[faultClass]bool{}
		for _, f := range fault.Of(service) {
			e := truth.Expectation{Service: service, Fault: f}
			scope := oneCommand
			if *truthAll || isFirstOfItsClass(f, seen) {
				scope = allCommands
			}
			if testing.Short() && scope == oneCommand {
				continue
			}
			startTrials(t, &trials, string(service)+"/"+f.Name, e, scope)
			if service == fault.Chain {
				startTrials(t, &trials, "chain by batch/"+f.Name, e, scope, "MULTICALL_ADDRESS=off")
			}
		}
	}
	_ = trials.Wait() // Trials report to t.
}

// faultClass is what faults have in common that the bot handles in the same way.
type faultClass struct {
	effect fault.Effect
	reason fault.Reason
}

// isFirstOfItsClass reports whether no fault of the class of f was seen before, and adds the class to seen.
// It returns false for a fault that takes long.
func isFirstOfItsClass(f fault.Fault, seen map[faultClass]bool) bool {
	takesLong := f.Reason == fault.Slow || f.Wait > 0
	if takesLong {
		return false
	}
	class := faultClass{f.Effect, f.Reason}
	isFirst := !seen[class]
	seen[class] = true
	return isFirst
}

// scope is what a fault meets.
type scope int

const (
	oneCommand  scope = iota // one command, with an empty cache
	allCommands              // every command, with an empty cache and with an expired answer
)

// startTrials starts the trials of one fault: with an empty cache, which is cold, and for all commands also
// with a warm cache.
func startTrials(t *testing.T, trials *errgroup.Group, name string, e truth.Expectation, s scope, settings ...string) {
	if e.Fault.Reason == fault.Slow && e.Fault.Effect == fault.Unanswerable {
		limit := briefTime
		if s == allCommands {
			limit = silentTime
		}
		settings = append(settings, "UPSTREAM_TIMEOUT="+limit.String())
	}
	trials.Go(func() error {
		t.Run(name+"/cold", func(t *testing.T) { tryCold(t, e, s, settings) })
		if s == allCommands {
			t.Run(name+"/warm", func(t *testing.T) { tryWarm(t, e, settings) })
		}
		return nil
	})
}

// tryCold asks one question while nothing is cached. For all commands, it then asks all questions, asks the
// first one repeatedly, and ends the fault.
func tryCold(t *testing.T, e truth.Expectation, s scope, settings []string) {
	tr := newTrial(t, settings...)
	tr.At(e.Service).SetFault(e.Fault)
	i := slices.IndexFunc(tr.queries, func(q query) bool {
		services := truth.Uses(q.Command)
		return len(services) > 0 && services[0] == e.Service
	})
	if i < 0 {
		t.Fatalf("no command has the service %s first in its Asks", e.Service)
	}
	first := tr.queries[i]
	check(t, e, first, tr.ask(t, first))
	if s == oneCommand {
		return
	}
	for _, q := range slices.Concat(tr.queries, slices.Repeat([]query{first}, repeats)) {
		check(t, e, q, tr.ask(t, q))
	}
	tr.recover(t, e)
}

// tryWarm caches the answers to all questions, and sets the fault. Then it repeats each question until the
// fault shows in the answer, and ends the fault.
func tryWarm(t *testing.T, e truth.Expectation, settings []string) {
	tr := newTrial(t, settings...)
	e.Warm = true
	for _, q := range tr.queries {
		if got := tr.ask(t, q); !got.All(truth.Right) {
			t.Fatalf("%s: %v before any fault", q.name, got)
		}
	}
	service := tr.At(e.Service)
	service.SetFault(e.Fault)
	requestsBefore := service.Requests()
	began := time.Now()
	within := trialTTL + slack
	if e.Fault.Reason == fault.Slow {
		within += silentTime // The cached answer stays right until an early refresh has failed.
	}
	for _, q := range tr.queries {
		tr.askUntil(t, q, within, func(got truth.Outcomes) bool {
			metFault := service.Requests() != requestsBefore && time.Since(began) > trialTTL
			isRightDespiteFault := metFault && e.Want(q.Question, q.staker).All(truth.Right)
			if q.needs(e.Service) && got.All(truth.Right) && !isRightDespiteFault {
				return false // The fault does not show yet.
			}
			check(t, e, q, got)
			return true
		})
	}
	tr.recover(t, e)
}

// check fails the test unless an answer says what e expects.
func check(t *testing.T, e truth.Expectation, q query, got truth.Outcomes) {
	t.Helper()
	if want := e.Want(q.Question, q.staker); !maps.Equal(got, want) {
		t.Errorf("%s: the answer is %v, want %v "+
			"(MayBeOld, in commands/commandstest/answers.go, lists commands that may show an old answer)",
			q.name, got, want)
	}
}

// recover ends the fault. Every answer must be right again within a TTL or, if it is longer, within the wait
// that the service asked for. If that wait is longer than maxWait, recover only checks that the bot does not
// call the service.
func (tr *trial) recover(t *testing.T, e truth.Expectation) {
	t.Helper()
	service := tr.At(e.Service)
	service.SetFault(fault.Fault{})
	requestsBefore := service.Requests()
	deadline := time.Now().Add(max(e.Fault.Wait, trialTTL) + slack)
	for _, q := range tr.queries {
		if !q.needs(e.Service) {
			continue
		}
		if e.Fault.Wait > maxWait {
			check(t, e, q, tr.ask(t, q))
			if calls := service.Requests() - requestsBefore; calls != 0 {
				t.Errorf("the service asked to wait, and was called %d times", calls)
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

// trial is a bot with fakes of its own.
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

// ask asks a question and returns what the answer says. It fails the test if the answer is false. On a
// busy machine the price or the chain may be late, so that the answer omits a part; ask then asks again.
func (tr *trial) ask(t *testing.T, q query) truth.Outcomes {
	t.Helper()
	args := strings.Fields(q.Argument)
	if q.Wallet != (common.Address{}) {
		args = []string{q.Wallet.Hex()}
	}
	const maxAttempts = 3
	for attempt := 1; ; attempt++ {
		reply := tr.bot.Router.Handle(t.Context(), &chat.Request{
			ID:      "trial",
			Command: q.Command,
			Args:    chat.Typed(args...),
			From:    q.from,
			Chat:    "1",
			Direct:  true,
		})
		got, err := tr.checker.Check(q.Question, e2etest.Lines(reply))
		if err != nil {
			t.Errorf("%s: %v", q.name, err)
		}
		priceLate := got[fault.Price] == truth.Omitted && !tr.Price.Failing()
		chainLate := got[fault.Chain] == truth.Omitted && !tr.Chain.Failing()
		isLate := priceLate || chainLate
		if !isLate || attempt == maxAttempts {
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

// query is a question, and who asks it.
type query struct {
	truth.Question
	name   string
	from   chat.User
	staker bool // the question's wallet stakes
}

// arguments lists arguments of a command, besides a wallet or nothing, with which every command is asked.
var arguments = map[string][]string{"price": {"1500", "$100"}}

// queries returns the questions for each command that asks services: a public command about each
// wallet, a private one by each person.
func queries(all chat.Commands, w services.World) (queries []query) {
	for _, c := range all {
		if c.Asks == nil {
			continue
		}
		people := []services.Person{w.Newcomer}
		wallets := []common.Address{w.Staker, w.Idle}
		if c.Visibility == chat.Private {
			people = []services.Person{w.Registered, w.Newcomer, w.Unregistered}
			wallets = wallets[:1]
		}
		if !takesWallet(c) {
			wallets = []common.Address{{}}
		}
		for _, person := range people {
			for _, wallet := range wallets {
				for _, argument := range append([]string{""}, arguments[c.Name]...) {
					queries = append(queries, newQuery(c.Name, person, wallet, argument, wallet == w.Staker))
				}
			}
		}
	}
	return queries
}

func takesWallet(c chat.Command) bool {
	params, _ := c.Params()
	return slices.ContainsFunc(params, func(p chat.Param) bool { return p.Name == "wallet" })
}

func newQuery(command string, by services.Person, wallet common.Address, argument string, staker bool) query {
	id := core.Identity{Platform: "Telegram", UID: by.UID("Telegram")}
	return query{
		Question: truth.Question{
			Command:  command,
			Account:  id,
			Wallet:   wallet,
			Argument: argument,
		},
		name:   fmt.Sprintf("/%s %s of %v by %s", command, argument, wallet, id.UID),
		from:   chat.User{Platform: "telegram", ID: id.UID},
		staker: staker,
	}
}

// needs reports whether the answer needs a service. The price is not needed for a wallet that stakes
// nothing.
func (q query) needs(service fault.Target) bool {
	stakesNothing := q.Wallet != (common.Address{}) && !q.staker
	if service == fault.Price && stakesNothing {
		return false
	}
	return slices.Contains(truth.Uses(q.Command), service)
}
