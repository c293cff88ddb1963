// Package commands is what can be asked of Herald: a file for each command,
// the table of them all, and what people read when something fails.
//
// A command is a function from chat.Request to chat.Reply. It knows no
// platform and no language: what it returns is typed values and keys of package
// words, and every text that a service or a person wrote goes through
// chat.NewUntrusted first.
package commands

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

// Sources are the questions that commands ask.
type Sources struct {
	Price    core.Source[struct{}, core.Quote]
	Supply   core.Source[struct{}, core.Supply]
	Stakes   core.Source[common.Address, core.Stake]
	Accounts core.Source[core.Identity, core.Account]
	// Logins are those of a DID, newest first.
	Logins core.Source[string, []core.Login]
	Charts Charts
	// Services are what /status asks, in the order in which they are shown.
	Services []Service
}

// Charts draw the price over time.
type Charts interface {
	// Chart draws the period that ends with the quote, with words in a language.
	// It returns when ctx is done. With an error there is no picture.
	Chart(ctx context.Context, quote core.Quote, period time.Duration, l chat.Language) (core.Chart, error)
}

// Options is what answers call things, and where they link to.
type Options struct {
	// Symbol is the token's.
	Symbol string
	// ServiceName is what people call the service they are registered with;
	// DefaultServiceName is said in the reader's language.
	ServiceName string
	// ExplorerURL is a block explorer's, without a slash at its end; empty is no
	// links.
	ExplorerURL string
}

// DefaultServiceName is the ServiceName of a service that has none.
const DefaultServiceName = "the service"

// All is the table of commands, in the order of menus and of /help.
func All(from Sources, look Options) chat.Commands {
	all := chat.Commands{
		price(from.Price, from.Charts, look),
		supply(from.Supply, from.Price, look),
		staked(from.Stakes, look),
		myLogins(from.Accounts, from.Logins, look),
		exists(from.Accounts, look),
		verify(from.Accounts, from.Stakes, look),
		status(from.Services),
	}
	return append(all, help(all))
}

// symbol is the token's, for a message.
func (l Options) symbol() chat.Values { return chat.Values{"symbol": chat.Plain(l.Symbol)} }

func (l Options) amount(tokens decimal.Decimal) chat.Amount {
	return chat.Amount{Decimal: tokens, Symbol: l.Symbol}
}

func (l Options) service() chat.Value {
	if l.ServiceName == "" || l.ServiceName == DefaultServiceName {
		return chat.Say("exists.service")
	}
	return chat.Plain(l.ServiceName)
}

// address links to the explorer.
func (l Options) address(a common.Address) chat.Address {
	return chat.Address{Hex: a.Hex(), URL: l.explorer(a)}
}

// explorer is where a wallet or contract is shown; empty is nowhere.
func (l Options) explorer(a common.Address) string {
	if l.ExplorerURL == "" {
		return ""
	}
	return l.ExplorerURL + "/address/" + a.Hex()
}

// refresh is the button that asks for the same once more.
func refresh(command string, args ...string) chat.Action {
	return chat.Action{Label: chat.Say("button.refresh"), Command: command, Args: args, Edit: true, Refresh: true}
}

// checked notes when an answer was learned.
func checked(at time.Time) chat.Text {
	return chat.SayWith("checked", chat.Values{"when": chat.Moment{Time: at}})
}

// markOld says that s is the last good answer of a service that fails, if it is.
func markOld[V any](r chat.Reply, s core.Snapshot[V], service string) chat.Reply {
	if s.Stale {
		r.Tone, r.Stale = chat.Warning, true
		r.Notes = append(r.Notes, chat.SayWith("old."+service, chat.Values{"service": serviceText(service), "when": chat.Moment{Time: s.At}}))
	}
	return r
}

// oldQuote says that the provider itself has no newer price.
func oldQuote(q core.Quote) chat.Text {
	return chat.SayWith("old.quote", chat.Values{"service": serviceText("price"), "when": chat.Moment{Time: q.LastUpdated}})
}
