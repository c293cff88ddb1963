// Package truth judges what the bot answers, and knows what it must answer while a
// service fails. The tests of every fault and the soak use it.
//
// It reads an answer as people do, line by line, and compares it with the world
// that the stand-ins of the services tell of.
package truth

import (
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// Outcome is what an answer says of one service's part in it.
type Outcome string

// The honest outcomes. There are no others.
const (
	Right Outcome = "right"
	Stale Outcome = "right and marked old"
	// Partial is for a staker with unread pools, who is told so.
	Partial Outcome = "right as far as could be read"
	// Undecided is for a wallet with nothing in the pools that could be read.
	Undecided Outcome = "cannot be told from the pools that could be read"

	// The others could not be checked, for the reason of this message.
	Unreachable Outcome = "reason.unreachable"
	Slow        Outcome = "reason.slow"
	Limited     Outcome = "reason.limited"
	UsedUp      Outcome = "reason.used_up"
	Denied      Outcome = "reason.denied"
	Rejected    Outcome = "reason.rejected"
	Nonsense    Outcome = "reason.malformed"
	Behind      Outcome = "reason.behind"
	Paused      Outcome = "reason.paused"
	TimedOut    Outcome = "reason.timeout"
)

// Outcomes are what an answer says of each service.
type Outcomes map[fault.Target]Outcome

// All reports whether every outcome is o, and there is one.
func (o Outcomes) All(want Outcome) bool {
	for _, got := range o {
		if got != want {
			return false
		}
	}
	return len(o) > 0
}

// reasons are why a service could not be asked, by what people are told.
var reasons = map[fault.Target]map[string]Outcome{}

func init() {
	for service, name := range map[fault.Target]string{
		fault.Partner: "service.partner", fault.Price: "service.price", fault.Supply: "service.supply", fault.Chain: "service.chain",
	} {
		reasons[service] = map[string]Outcome{}
		for _, o := range []Outcome{Unreachable, Slow, Limited, UsedUp, Denied, Rejected, Nonsense, Behind, Paused, TimedOut} {
			text := chat.SayWith(string(o), chat.Values{"service": chat.Say(name)})
			reasons[service][e2etest.Lines(chat.Reply{Title: text})[0]] = o
		}
	}
}

// use is what a command needs of services. Without the first there is no answer,
// unless the parts are apart; without another one something is left out.
type use struct {
	services []fault.Target
	apart    bool
}

var uses = map[string]use{
	"price":    {services: []fault.Target{fault.Price}},
	"supply":   {services: []fault.Target{fault.Supply, fault.Price}},
	"staked":   {services: []fault.Target{fault.Chain}},
	"mylogins": {services: []fault.Target{fault.Partner}},
	"exists":   {services: []fault.Target{fault.Partner}},
	"verify":   {services: []fault.Target{fault.Partner, fault.Chain}, apart: true},
}

// Uses are the services that a command needs.
func Uses(command string) []fault.Target { return uses[command].services }

// Question is a command that was typed rightly by somebody who may give it.
type Question struct {
	Command string
	// Account is the asker's, which /mylogins, /exists and /verify are about.
	Account core.Identity
	// Wallet is the one that /staked and /verify are about.
	Wallet common.Address
}

// Judge knows the sandbox's world as answers should show it.
type Judge struct {
	World services.World

	registered map[core.Identity]bool
	price      []string
	// What is shown short stands exactly below all of it.
	supply, supplyExactly []string
	worth, worthExactly   []string
}

// NewJudge returns the judge of a world.
func NewJudge(w services.World) *Judge {
	j := &Judge{World: w, registered: map[core.Identity]bool{}}
	for _, p := range []services.Person{w.Registered, w.Newcomer} {
		for _, id := range p.Accounts {
			j.registered[id] = true
		}
	}
	q, s := w.Quote, w.Supply
	each := "$" + q.Price.StringFixed(5) // four digits of 0.04…
	j.price = []string{
		services.Symbol + " price", "Price: " + each,
		"1 h: ▼ " + q.Change1h.Decimal.StringFixed(2) + "%",
		"24 h: ▲ +" + q.Change24h.Decimal.StringFixed(2) + "%",
		"7 d: ▼ " + q.Change7d.Decimal.StringFixed(2) + "%",
		"Market cap: $" + millions(q.MarketCap.Decimal), "24 h volume: $" + millions(q.Volume24h.Decimal),
		"Market cap: " + dollars(q.MarketCap.Decimal), "24 h volume: " + dollars(q.Volume24h.Decimal),
		"Updated " + e2etest.Minute(q.LastUpdated),
	}
	share := s.Circulating.Mul(decimal.NewFromInt(100)).DivRound(s.Total, 2)
	j.supply = []string{
		services.Symbol + " supply", "Total: " + millions(s.Total) + " " + services.Symbol, "Circulating: " + millions(s.Circulating) + " " + services.Symbol,
		"Share circulating: ▰▰▰▰▰▰▱▱▱▱ " + share.StringFixed(2) + "%",
	}
	j.supplyExactly = []string{"Total: " + tokens(s.Total), "Circulating: " + tokens(s.Circulating)}
	total, circulating, at := s.Total.Mul(q.Price), s.Circulating.Mul(q.Price), "At "+each+" each"
	j.worth = []string{at, "Total: $" + millions(total), "Circulating: $" + millions(circulating)}
	j.worthExactly = []string{at + " · Total: " + dollars(total), at + " · Circulating: " + dollars(circulating)}
	return j
}

// millions and dollars are never more than d.
func millions(d decimal.Decimal) string { return d.Shift(-6).Truncate(2).String() + "M" }

func dollars(d decimal.Decimal) string { return "$" + thousands(d.Truncate(2).StringFixed(2)) }

func tokens(d decimal.Decimal) string { return thousands(d.String()) + " " + services.Symbol }

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

// owner is who owns an account or a wallet; nil is nobody who is registered.
func (j *Judge) owner(id core.Identity) *services.Person {
	for _, p := range []services.Person{j.World.Registered, j.World.Newcomer} {
		for _, account := range p.Accounts {
			if strings.EqualFold(account.UID, id.UID) && account.Platform == id.Platform {
				return &p
			}
		}
	}
	return nil
}

func wrong(format string, args ...any) error { return fmt.Errorf("wrong: "+format, args...) }
