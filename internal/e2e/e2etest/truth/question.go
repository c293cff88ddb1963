// Package truth checks what the bot answers, and what it must answer while a service fails. It compares
// an answer, line by line, with the answer of a bot whose services never fail.
package truth

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/app"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// Outcome is what an answer says about one service's part in it.
type Outcome string

// The honest outcomes, with each fault.Reason. There are no others.
const (
	Right Outcome = "right"
	Stale Outcome = "right and marked old"
	// Partial says that a wallet stakes, and that some pools are unread.
	Partial Outcome = "right as far as could be read"
	// Undecided says that the wallet stakes nothing in the pools that could be read.
	Undecided Outcome = "cannot be told from the pools that could be read"
	// Omitted leaves out the value of a stake, or the total of all stakes.
	Omitted Outcome = "left out"
)

// Outcomes is what an answer says about each service.
type Outcomes map[fault.Target]Outcome

// All reports whether there are outcomes, and every one is want.
func (o Outcomes) All(want Outcome) bool {
	for _, got := range o {
		if got != want {
			return false
		}
	}
	return len(o) > 0
}

// reasons are why a service could not be asked, by what people are told. silences are why an
// old answer stands in, and what is said before the time of the next request.
var reasons, silences = map[fault.Target]map[string]Outcome{}, map[fault.Target]map[string]Outcome{}

func init() {
	for _, service := range fault.Targets {
		reasons[service], silences[service] = map[string]Outcome{}, map[string]Outcome{}
		name := chat.Values{"service": chat.Say("service." + string(service))}
		for _, why := range fault.Reasons {
			reasons[service][e2etest.Say(string(why), name)] = Outcome(why)
		}
		for why, reason := range map[string]fault.Reason{
			"why.silent": fault.Unreachable, "why.limited": fault.Limited, "why.no_data": fault.NoData,
			"why.wrong": fault.Nonsense, "why.refused": fault.Denied, "why.unchanged": "",
		} {
			silences[service][e2etest.Say(why, name)] = Outcome(reason)
		}
	}
	// No other service has a plan.
	silences[fault.Price][e2etest.Say("why.used_up", nil)] = Outcome(fault.UsedUp)
	silences[fault.Price][e2etest.Say("why.no_credit", nil)] = ""
	reasons[fault.Price][e2etest.Say("reason.no_credit", nil)] = "reason.no_credit"
}

// silence returns the outcome of a text about an old answer, with or without the time of the
// next request. known is false for any other text.
func silence(text string, service fault.Target) (why Outcome, known bool) {
	text, _, _ = strings.Cut(text, ". Next request ")
	why, known = silences[service][text]
	return why, known
}

var table = commands.All(commandstest.Healthy().Sources(), commands.Options{})

// Uses returns the services that a command needs if its wallet stakes. Without the first there
// is no answer, but for /verify; without another one something is left out. It panics if the
// command is not in the table.
func Uses(command string) (services []fault.Target) {
	c, known := table.Find(command)
	if !known {
		panic("/" + command + " is not in the table of tests: add its source to Sources, in commands/commandstest/answers.go")
	}
	for _, name := range c.Asks {
		services = append(services, fault.Target(name))
	}
	return services
}

// Question is a well-formed command of somebody who may use it.
type Question struct {
	Command string
	// Account is the asker's, which /mylogins, /exists and /verify are about.
	Account core.Identity
	// Wallet is the argument of /staked and /verify.
	Wallet common.Address
	// Argument is the period or the amount of a /price, or the page of /mylogins; it may be
	// empty. An amount has digits and a point alone, or a $ and the digits of a sum that is
	// worth a thousand tokens at least.
	Argument string
}

// Checker compares answers with the answers of a bot that has services which never fail.
type Checker struct {
	world   services.World
	healthy func() *app.Bot // makes the bot when it is first asked

	mu   sync.Mutex
	said map[Question][]string // by healthy
}

// NewChecker returns a checker of answers about these fakes.
func NewChecker(t testing.TB, fakes *fault.Fakes) *Checker {
	healthy := sync.OnceValue(func() *app.Bot {
		settings := e2etest.Settings(fakes, "MAX_PRICE_AGE=off")
		for _, target := range fault.Targets {
			settings = append(settings, fakes.At(target).Setting+"="+fakes.At(target).Right(t))
		}
		return e2etest.New(t, settings, slog.New(slog.DiscardHandler))
	})
	return &Checker{world: fakes.World, healthy: healthy, said: map[Question][]string{}}
}

// truth returns the answer to q of the bot whose services never fail.
func (c *Checker) truth(q Question) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.said[q] == nil {
		args := strings.Fields(q.Argument)
		if q.Wallet != (common.Address{}) {
			args = []string{q.Wallet.Hex()}
		}
		c.said[q] = e2etest.Lines(c.healthy().Router.Handle(context.Background(), &chat.Request{
			ID: "truth", Command: q.Command, Args: chat.Typed(args...), Chat: "1", Direct: true,
			From: chat.User{Platform: chat.Platform(strings.ToLower(q.Account.Platform)), ID: q.Account.UID},
		}))
	}
	return c.said[q]
}

// forget deletes the answer to q, so that truth asks for it again.
func (c *Checker) forget(q Question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.said, q)
}

func wrong(format string, args ...any) error { return fmt.Errorf("wrong: "+format, args...) }
