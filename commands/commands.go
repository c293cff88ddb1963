// Package commands has the bot's commands. Each command has a file of its own, such as price.go, and All lists them. A
// user can save the address of their wallet with /verify, and then gets badges by its stake: the commands about saved
// addresses share saved.go, which describes what is saved, and badges.go, which describes changes of badges.
//
// A command is a function from chat.Request to chat.Reply. It does not depend on the platform or the language: it
// returns typed values and keys of messages in package words. Text from a service or a user must pass through
// chat.NewUntrusted first.
package commands

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/members"
	"herald/internal/query"
)

// Sources answer the questions of commands. A source is nil if its service is off. All then leaves out the commands
// that require it, and the other commands leave out the part that it would answer.
type Sources struct {
	Price  query.Source[struct{}, *core.Quote]
	Supply query.Source[struct{}, core.Supply]
	Stakes query.Source[common.Address, core.Stake]
	// Total answers what all wallets together have staked. It is also nil if the pools cannot tell.
	Total query.Source[struct{}, core.Stake]
	// Accounts answers with the account of a user or a wallet at the partner, the service where they are registered.
	Accounts query.Source[core.Identity, core.Account]
	// Logins answers with the logins of an account, the latest first. It is asked by the account's DID.
	Logins query.Source[string, []core.Login]
	Chart  Chart
	// Services are the services that /status asks and shows, in this order.
	Services []Service
	// Members saves addresses. It is never nil, but may not be Enabled.
	Members Members
	// Joins has the outcomes of join requests, for the details under /status.
	Joins JoinLog
	// Moves has the new IDs of configured groups, for the details under /status.
	Moves Moves
	// Started is when Joins and Members.Status began to count.
	Started time.Time
}

// Members saves wallets, and gives and removes badges by their stakes. *members.Members implements it, and documents
// the methods.
type Members interface {
	Enabled() bool
	RecheckEvery() time.Duration
	ConfiguredBadges(p chat.Platform, community string) []members.Badge
	CommunityName(p chat.Platform, community string) chat.Untrusted
	Offer(ctx context.Context, user chat.User, here string, stake core.Stake) []members.Badge
	Saved(ctx context.Context, user chat.User) (*members.Saved, error)
	Save(ctx context.Context, user chat.User, wallet common.Address, stake core.Stake) ([]members.Change, error)
	Refresh(
		ctx context.Context, user chat.User, here string, wallet common.Address, stake core.Stake,
	) ([]members.Change, error)
	Forget(ctx context.Context, user chat.User) (members.Forgotten, error)
	Status(p chat.Platform, community string) (members.Status, error)
}

// JoinLog has the outcomes of join requests.
type JoinLog interface {
	// For returns the counts for a group, and the latest people who were left out of it, the latest first.
	For(group string) (counts chat.JoinCounts, last []chat.LeftOut)
}

// Moves knows which groups have got another ID, so that the settings still name them by the old one.
type Moves interface {
	// To returns the move of the group whose ID is now id, such as "telegram:-1001234567890". known is false if the ID
	// of that group has not changed.
	To(id string) (moved chat.Move, known bool)
}

// Chart draws the price over the period that ends with the quote. Text in the picture is in language l. The picture is
// signed with name and the bot's handle. If Chart returns an error, the core.Chart has no picture, but may have a
// Change. Chart returns an error when ctx is done.
type Chart func(
	ctx context.Context, quote core.Quote, period time.Duration, l chat.Language, name, handle string,
) (core.Chart, error)

// Options are the names in answers, and the targets of links.
type Options struct {
	// Symbol is the symbol of the token, such as "HRLD".
	Symbol string
	// ServiceName is the partner's name. If it is empty, answers call the partner "the service" in the reader's
	// language.
	ServiceName string
	// ExplorerURL is the URL of a block explorer, without a slash at its end. If it is empty, addresses are not links.
	ExplorerURL string
	// RegisterURL and StakeURL are the pages where users register and stake. If one is empty, replies lack its button.
	RegisterURL, StakeURL string
	// ChainID is the ID of the chain with the pools. It is 0 if the pools are off.
	ChainID uint64
	// JoinChats has the requirement of each group whose join requests the bot answers. A key is the group's entry in
	// the settings, as entryOf returns it.
	JoinChats map[string]chat.Requirement
}

// inputs are the Sources and Options that a command uses.
type inputs struct {
	Sources
	Options
}

// All returns the commands whose services are on, in the order of menus. The commands after /help are not in menus.
func All(from Sources, options Options) chat.Commands {
	var all chat.Commands
	if from.Price != nil {
		all = append(all, price(from, options))
	}
	if from.Supply != nil {
		all = append(all, supply(from, options))
	}
	if from.Stakes != nil {
		all = append(all, staked(from, options))
	}
	if from.Accounts != nil {
		all = append(all, myLogins(from, options), exists(from, options), verify(from, options), forget(from, options))
	}
	all = append(all, status(from, options))
	forHelp, forGreeting := help(from, options, all)
	all = append(all, forHelp, forGreeting, details(from, options))
	if from.Accounts != nil && from.Stakes != nil {
		all = append(all, save(from, options))
	}
	if len(options.JoinChats) > 0 {
		all = append(all, join(from, options))
	}
	// If the partner is off, no address can be saved. But some may have been saved while it was on.
	if from.Accounts == nil && from.Members.Enabled() {
		all = append(all, unlisted(forget(from, options)))
	}
	return all
}

// canSave reports whether the address of a wallet can be saved. That needs the partner, which knows the owner, the
// pools, which know the stake, and a store.
func (from Sources) canSave() bool {
	return from.Accounts != nil && from.Stakes != nil && from.Members.Enabled()
}

// unlisted returns a copy of c that menus and /help leave out. Users who know its name can still use it.
func unlisted(c chat.Command) chat.Command {
	c.Forms = slices.Clone(c.Forms)
	for i := range c.Forms {
		c.Forms[i].Unlisted = true
	}
	return c
}

// symbol returns the token's symbol as the argument of a message.
func (o Options) symbol() chat.Values { return chat.Values{"symbol": chat.Plain(o.Symbol)} }

// amount returns a number of tokens, followed by the token's symbol.
func (o Options) amount(tokens decimal.Decimal, digits chat.Digits) chat.Amount {
	return chat.Amount{Decimal: tokens, Symbol: o.Symbol, Digits: digits}
}

// service returns the partner's name.
func (o Options) service() chat.Value {
	if o.ServiceName == "" {
		return chat.Say("exists.service")
	}
	return chat.SayWith("exists.named", chat.Values{"name": chat.Plain(o.ServiceName)})
}

// address returns a wallet or contract, linked to the explorer if there is one.
func (o Options) address(a common.Address) chat.Address {
	shown := chat.Address{Hex: a.Hex()}
	if o.ExplorerURL != "" {
		shown.URL = o.ExplorerURL + "/address/" + a.Hex()
	}
	return shown
}

// entryOf returns how settings name a community: by its platform and its ID, such as "telegram:-1001234567890".
func entryOf(p chat.Platform, community string) string { return string(p) + ":" + community }

// refresh returns the button that runs a command again and replaces the reply by the new one, if that differs.
func refresh(command string, args ...string) chat.Action {
	return chat.Action{Label: chat.Say("button.refresh"), Command: command, Args: args, Edit: true, Refresh: true}
}

// link returns a button that opens the page at url, or no button if url is empty.
func link(label chat.Text, url string) []chat.Action {
	if url == "" {
		return nil
	}
	return []chat.Action{{Label: label, URL: url}}
}

// nextStep is like link, and marks the button as the reader's next step. labelKey is the message on the button.
func nextStep(labelKey, url string) []chat.Action {
	if url == "" {
		return nil
	}
	return []chat.Action{{Label: chat.Say(labelKey), URL: url, NextStep: true}}
}

// Explain returns a sentence or two that tell the sender why a command failed. They contain neither what the sender
// typed nor details of the error.
func Explain(err error) chat.Text {
	_, isDoubt := doubtOf(err)
	failed, isFailure := errors.AsType[*core.Error](err)
	switch {
	case isDoubt:
		return chat.SayWith("doubt.reason", chat.Values{"service": serviceText("price")})
	case isFailure && failed.RetryAfter > time.Minute: // It also says when the service is asked again.
		return chat.SayWith("reason.next", chat.Values{"why": failureText(failed)})
	case isFailure:
		return chat.SayWith("reason."+string(failed.Reason), chat.Values{"service": serviceText(failed.Service.Name)})
	case errors.Is(err, context.DeadlineExceeded):
		return chat.Say("reason.timeout")
	default:
		return chat.Say("reason.internal")
	}
}

// asPartialError wraps err in a PartialError, which says that the reply lacks a part. It returns nil if err is nil.
func asPartialError(err error) error {
	if err == nil {
		return nil
	}
	return &chat.PartialError{Err: err}
}

// serviceText returns the name of a core.Service in the reader's language.
func serviceText(name string) chat.Text { return chat.Say("service." + name) }

// asInputError turns a core.InvalidError about the argument of p into a chat.InputError, which the sender reads. It
// returns any other error, or nil, unchanged.
func asInputError(p chat.Param, err error) error {
	flawed, isInvalid := errors.AsType[*core.InvalidError](err)
	if !isInvalid {
		return err
	}
	return &chat.InputError{Title: p.WrongTitle, Problem: chat.SayWith("invalid."+string(flawed.Flaw), chat.Values{
		"platform":  chat.Plain(flawed.Platform),
		"example":   chat.Code(flawed.Example),
		"n":         chat.Count(flawed.Length),
		"platforms": chat.Plain(strings.Join(core.Platforms(), ", ")),
	})}
}
