// Package truth checks what the bot answers, and knows what it must answer while a service
// fails. It reads an answer as people do, line by line, and compares it with the data of the
// stand-ins.
package truth

import (
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/commands"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// Outcome is what an answer says of one service's part in it.
type Outcome string

// The honest outcomes, with each fault.Reason. There are no others.
const (
	Right Outcome = "right"
	Stale Outcome = "right and marked old"
	// Partial tells a staker that some pools are unread.
	Partial Outcome = "right as far as could be read"
	// Undecided tells that the pools that could be read hold no stake of the wallet.
	Undecided Outcome = "cannot be told from the pools that could be read"
	// Omitted leaves out what a stake is worth, or what all wallets have staked.
	Omitted Outcome = "left out"
)

// Outcomes are what an answer says of each service.
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
			"why.silent": fault.Unreachable, "why.limited": fault.Limited, "why.used_up": fault.UsedUp, "why.no_data": fault.NoData,
			"why.wrong": fault.Nonsense, "why.refused": fault.Denied, "why.unchanged": "",
		} {
			silences[service][e2etest.Say(why, name)] = Outcome(reason)
		}
	}
}

// silence returns the outcome of a text about an old answer, with or without the time of the
// next request. known is false for any other text.
func silence(text string, service fault.Target) (why Outcome, known bool) {
	text, _, _ = strings.Cut(text, ". Next request ")
	why, known = silences[service][text]
	return why, known
}

var table = commands.All(commands.Sources{}, commands.Options{})

// Uses returns the services that a command needs if its wallet stakes. Without the first there
// is no answer, but for /verify; without another one something is left out.
func Uses(command string) (services []fault.Target) {
	c, _ := table.Find(command)
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

// Checker knows the data of the stand-ins as answers must show it.
type Checker struct {
	World services.World

	registered map[core.Identity]bool
	// What answers say, part by part; the first is the title.
	headline, beside             string
	changes, sums, supply, worth []string
	totalStaked                  string
}

// NewChecker returns a checker of answers about w.
func NewChecker(w services.World) *Checker {
	c := &Checker{World: w, registered: map[core.Identity]bool{}}
	for _, p := range []services.Person{w.Registered, w.Newcomer} {
		for _, id := range p.Accounts {
			c.registered[id] = true
		}
	}
	q, s := w.Quote, w.Supply
	c.headline = services.Symbol + " $" + q.Price.StringFixed(5) // four digits of 0.04…
	c.beside = " ▲ " + percent(q.Change24h) + " (24h)"
	c.changes = []string{"1h ▼ " + percent(q.Change1h), "7d ▼ " + percent(q.Change7d)}
	c.sums = []string{"Market cap " + dollars(q.MarketCap.Decimal), "Volume 24h " + dollars(q.Volume24h.Decimal)}
	share := func(part decimal.Decimal) string { return " (" + part.Shift(2).DivRound(s.Total, 1).String() + "%)" }
	c.supply = []string{tokens(s.Circulating.Round(0)) + " circulating" + share(s.Circulating), "Total " + thousands(s.Total.Round(0).String())}
	c.totalStaked = "Staked " + w.TotalStaked.Shift(-6).StringFixed(2) + "M" + share(w.TotalStaked)
	c.worth = []string{"Market cap " + dollars(s.Circulating.Mul(q.Price)), "FDV " + dollars(s.Total.Mul(q.Price))}
	return c
}

func percent(d decimal.NullDecimal) string { return d.Decimal.Abs().StringFixed(2) + "%" }

// dollars returns d as text. An amount from a thousand on has no cents, and one from a
// million on has a unit.
func dollars(d decimal.Decimal) string {
	switch {
	case d.GreaterThanOrEqual(decimal.New(1, 6)):
		return "$" + d.Shift(-6).StringFixed(2) + "M"
	case d.GreaterThanOrEqual(decimal.New(1, 3)):
		return "$" + thousands(d.Round(0).String())
	}
	return "$" + d.StringFixed(2)
}

func tokens(d decimal.Decimal) string { return thousands(d.String()) + " " + services.Symbol }

// short returns an amount as it is shown if the exact one is elsewhere or left out.
func short(d decimal.Decimal) string {
	if d.LessThan(decimal.New(1, -4)) {
		return "< 0.0001 " + services.Symbol
	}
	return tokens(d.Round(2))
}

func thousands(number string) string {
	whole, fraction, found := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if found {
		whole += "." + fraction
	}
	return whole
}

// owner returns who has registered an account or a wallet, or nil.
func (c *Checker) owner(id core.Identity) *services.Person {
	for _, p := range []services.Person{c.World.Registered, c.World.Newcomer} {
		for _, account := range p.Accounts {
			if strings.EqualFold(account.UID, id.UID) && account.Platform == id.Platform {
				return &p
			}
		}
	}
	return nil
}

func wrong(format string, args ...any) error { return fmt.Errorf("wrong: "+format, args...) }
