// Package commands is what can be asked of Herald: a file for each command, the
// table of all of them, and which words tell which failure.
//
// A command is a function from chat.Request to chat.Reply. It knows no platform and
// no language: it returns typed values and keys of package words. Whatever a service
// or a person wrote goes through chat.NewUntrusted first.
package commands

import (
	"cmp"
	"context"
	"errors"
	"strings"
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
	// Logins are a DID's, newest first.
	Logins core.Source[string, []core.Login]
	Chart  Chart
	// Services are what /status asks, in the order in which they are shown.
	Services []Service
}

// Chart draws the price over the period that ends with the quote, with words in a
// language, and signs it with a name. It returns when ctx is done. With an error
// there is no picture.
type Chart func(ctx context.Context, quote core.Quote, period time.Duration, l chat.Language, name string) (core.Chart, error)

// Options are what answers call things, and where they link to.
type Options struct {
	// Symbol is the token's.
	Symbol string
	// ServiceName is what people call the service they are registered with;
	// DefaultServiceName is said in the reader's language.
	ServiceName string
	// ExplorerURL is a block explorer's, without a slash at its end. If it is empty,
	// there are no links.
	ExplorerURL string
	// RegisterURL and StakeURL are the pages where one registers, and where one
	// stakes. If one is empty, there is no button to it.
	RegisterURL, StakeURL string
}

// DefaultServiceName is the ServiceName of a service that has none.
const DefaultServiceName = "the service"

// All is the table of commands, in the order of menus and of /help.
func All(from Sources, options Options) chat.Commands {
	if options.ServiceName == DefaultServiceName {
		options.ServiceName = ""
	}
	all := chat.Commands{
		price(from, options),
		supply(from, options),
		staked(from, options),
		myLogins(from.Accounts, from.Logins, options),
		exists(from.Accounts, options),
		verify(from, options),
		status(from.Services),
	}
	return append(all, help(all, options))
}

// symbol is the token's, for a message.
func (o Options) symbol() chat.Values { return chat.Values{"symbol": chat.Plain(o.Symbol)} }

func (o Options) amount(tokens decimal.Decimal, digits chat.Digits) chat.Amount {
	return chat.Amount{Decimal: tokens, Symbol: o.Symbol, Digits: digits}
}

func (o Options) service() chat.Value {
	if o.ServiceName == "" {
		return chat.Say("exists.service")
	}
	return chat.SayWith("exists.named", chat.Values{"name": chat.Plain(o.ServiceName)})
}

// address links a wallet or contract to the explorer, if there is one.
func (o Options) address(a common.Address) chat.Address {
	shown := chat.Address{Hex: a.Hex()}
	if o.ExplorerURL != "" {
		shown.URL = o.ExplorerURL + "/address/" + a.Hex()
	}
	return shown
}

// refresh is the button that asks the same again.
func refresh(command string, args ...string) chat.Action {
	return chat.Action{Label: chat.Say("button.refresh"), Command: command, Args: args, Edit: true, Refresh: true}
}

// link returns a button that opens a page, or no button if url is empty.
func link(label, url string) []chat.Action {
	if url == "" {
		return nil
	}
	return []chat.Action{{Label: chat.Say(label), URL: url}}
}

// dated returns the quote of s. A stale one is old from its own time on; every old quote
// has a time.
func dated(s core.Snapshot[core.Quote]) core.Quote {
	q := s.Value
	if s.Stale {
		q.LastUpdated = cmp.Or(q.LastUpdated, s.At)
		q.OldFrom = q.LastUpdated
	}
	return q
}

// OldPrice returns the headline of a price with its age, and whether the price is old.
// There is no change in it: a change up to then is not of today.
func OldPrice(s core.Snapshot[core.Quote], symbol string) (headline chat.Text, old bool) {
	q := dated(s)
	return chat.SayWith("old.title", chat.Values{
		"symbol": chat.Plain(symbol), "price": chat.Price{Decimal: q.Price}, "age": chat.Age{Time: q.LastUpdated},
	}), q.Old()
}

// whyOld says why there is no newer answer of a service.
func whyOld(service string, failing bool) chat.Text {
	key := "old.unchanged"
	if failing {
		key = "old.failing"
	}
	return chat.SayWith(key, chat.Values{"service": serviceText(service)})
}

// lastKnown says from when a service's last answer is, and why there is no newer one.
func lastKnown(service string, at time.Time, failing bool) chat.Text {
	return chat.SayWith("old."+service, chat.Values{"why": whyOld(service, failing), "when": chat.Moment{Time: at}})
}

// Explain words an error of a command for the person who asked, in a sentence or
// two, without anything that they typed and without any detail of the error.
func Explain(err error) chat.Text {
	failed, is := errors.AsType[*core.Error](err)
	switch {
	case is:
		return chat.SayWith("reason."+string(failed.Reason), chat.Values{"service": serviceText(failed.Service.Name)})
	case errors.Is(err, context.DeadlineExceeded):
		return chat.Say("reason.timeout")
	default:
		return chat.Say("reason.internal")
	}
}

// serviceText is what members call a core.Service, by its name.
func serviceText(name string) chat.Text { return chat.Say("service." + name) }

// invalid turns what core finds wrong with an argument into an InputError, which is
// shown with the command's example.
func invalid(p chat.Param, err error) error {
	flawed, is := errors.AsType[*core.InvalidError](err)
	if !is {
		return err
	}
	return &chat.InputError{Title: p.Check, Problem: chat.SayWith("invalid."+string(flawed.Flaw), chat.Values{
		"platform":  chat.Plain(flawed.Platform),
		"example":   chat.Code(flawed.Example),
		"n":         chat.Count(flawed.Length),
		"platforms": chat.Plain(strings.Join(core.Platforms(), ", ")),
	})}
}

// maxPersonName bounds what users call themselves, in characters.
const maxPersonName = 64

// personParam is somebody on the chat platform where the command is asked.
var personParam = chat.Param{
	Name: "user", Summary: chat.Say("param.user"), Example: "123456789", Person: true, Check: chat.Say("check.user"),
}

// subject returns whom a request is about: sender, target or typedIdentity.
type subject func(chat.Request) (core.Identity, error)

// sender returns the sender's own account on the chat platform.
func sender(req chat.Request) (core.Identity, error) {
	if req.From.ID == "" {
		return core.Identity{}, &chat.InputError{Title: chat.Say("anonymous.title"), Problem: chat.Say("anonymous.text")}
	}
	return core.NewIdentity(string(req.From.Platform), req.From.ID)
}

// target returns the person replied to, mentioned, picked, or typed as an ID.
func target(req chat.Request) (core.Identity, error) {
	if req.Target.ID == "" {
		return core.Identity{}, &chat.InputError{Title: personParam.Check, Problem: chat.Say("anonymous.them")}
	}
	id, err := core.NewIdentity(string(req.Target.Platform), req.Target.ID)
	if err == nil {
		return id, nil
	}
	problem := "invalid.user"
	if strings.HasPrefix(req.Target.ID, "@") {
		problem = "invalid.username"
	}
	command := chat.Values{"command": chat.Code("/" + req.Command)}
	return id, &chat.InputError{Title: personParam.Check, Problem: chat.SayWith(problem, command)}
}

// personField says whom an answer to a moderator is about.
func personField(id core.Identity, req chat.Request) chat.Field {
	if !strings.EqualFold(id.Platform, string(req.From.Platform)) {
		name := chat.SayWith("person.id", chat.Values{"platform": chat.Plain(id.Platform)})
		return chat.Field{Name: name, Value: chat.Code(id.UID)}
	}
	mention := chat.Mention{
		User: chat.User{Platform: req.From.Platform, ID: id.UID}, Name: chat.NewUntrusted(req.TargetName, maxPersonName),
	}
	member := chat.Field{Name: chat.Say("person.member"), Value: mention}
	if mention.Name != "" {
		member.Value = chat.Parts{mention, chat.Code(id.UID)}
	}
	return member
}
