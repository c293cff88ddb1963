// Package commands has a file for each command, the table of all commands (commands.go), and the message for each
// failure. The commands about saved addresses share badges.go, which describes changes of badges, and saved.go, which
// describes a saved address.
//
// A command is a function from chat.Request to chat.Reply. It knows no platform and no language: it returns typed
// values and keys of package words. Text of a service or a person must pass through chat.NewUntrusted first.
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

// Sources answer the questions of commands. A source is nil if its service is off: All then leaves out the commands
// that require it, and the other commands leave out the part that it would answer.
type Sources struct {
	Price  query.Source[struct{}, *core.Quote]
	Supply query.Source[struct{}, core.Supply]
	Stakes query.Source[common.Address, core.Stake]
	// Total answers what all wallets together have staked. It is also nil if the pools cannot tell.
	Total    query.Source[struct{}, core.Stake]
	Accounts query.Source[core.Identity, core.Account]
	// Logins answers with the logins of a DID, the latest first.
	Logins query.Source[string, []core.Login]
	Chart  Chart
	// Services are the services that /status asks and shows, in this order.
	Services []Service
	// Members saves addresses. It is never nil, but may not be Enabled.
	Members Members
	// Joins has the outcomes of join requests, for the details under /status.
	Joins JoinLog
	// Moves has the configured groups whose IDs have changed, for the details under /status.
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
	// For returns the counts for the group with an ID, and the people who were left out last, the latest first.
	For(group string) (counts chat.JoinCounts, last []chat.LeftOut)
}

// Moves has the configured groups whose IDs have changed.
type Moves interface {
	// To returns the move of the group whose ID is now id, such as "telegram:-1001234567890".
	To(id string) (moved chat.Move, known bool)
}

// Chart draws the price over the period that ends with the quote. The text in the picture is in language l. name and
// handle, the bot's handle, are its signature. If Chart returns an error, there is no picture, but Change may be set.
// It returns an error when ctx is done.
type Chart func(
	ctx context.Context, quote core.Quote, period time.Duration, l chat.Language, name, handle string,
) (core.Chart, error)

// Options are the names in answers, and the targets of links.
type Options struct {
	// Symbol is the symbol of the token, such as "HRLD".
	Symbol string
	// ServiceName is the name of the service that people are registered with. If it is empty, answers
	// call it "the service" in the reader's language.
	ServiceName string
	// ExplorerURL is the URL of a block explorer, without a slash at its end. If it is empty, addresses
	// are not links.
	ExplorerURL string
	// RegisterURL and StakeURL are pages to register and to stake. If one is empty, there is no button.
	RegisterURL, StakeURL string
	// ChainID is the ID of the chain with the pools. It is 0 if the pools are off.
	ChainID uint64
	// JoinChats has the requirement of each group whose join requests the bot answers. The keys are as entryOf returns
	// them.
	JoinChats map[string]chat.Requirement
}

// inputs are the Sources and Options that a command works with.
type inputs struct {
	Sources
	Options
}

// All returns the commands whose services are on, in the order of menus and of /help. The commands after /help are not
// in menus.
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
	// Without the partner no address can be saved. But some may have been saved while it was on.
	if from.Accounts == nil && from.Members.Enabled() {
		all = append(all, unlisted(forget(from, options)))
	}
	return all
}

// canSave reports whether a wallet can be saved. That takes the partner, which knows the owner, the pools, which know
// the stake, and a store.
func (from Sources) canSave() bool {
	return from.Accounts != nil && from.Stakes != nil && from.Members.Enabled()
}

// unlisted returns a copy of a command that menus and /help leave out. People who know its name can still use it.
func unlisted(c chat.Command) chat.Command {
	c.Forms = slices.Clone(c.Forms)
	for i := range c.Forms {
		c.Forms[i].Unlisted = true
	}
	return c
}

// symbol returns the token's symbol as the argument of a message.
func (o Options) symbol() chat.Values { return chat.Values{"symbol": chat.Plain(o.Symbol)} }

// amount returns a number of tokens with the token's symbol.
func (o Options) amount(tokens decimal.Decimal, digits chat.Digits) chat.Amount {
	return chat.Amount{Decimal: tokens, Symbol: o.Symbol, Digits: digits}
}

// entryOf returns a community as settings name it: by the platform and its ID, such as "telegram:-1001234567890".
func entryOf(p chat.Platform, community string) string { return string(p) + ":" + community }

// service returns the name of the service that people are registered with.
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

// refresh returns the button that runs a command again and edits the reply. The adapter need not edit it
// if nothing has changed.
func refresh(command string, args ...string) chat.Action {
	return chat.Action{Label: chat.Say("button.refresh"), Command: command, Args: args, Edit: true, Refresh: true}
}

// link returns a button that opens a page, or no button if url is empty.
func link(label chat.Text, url string) []chat.Action {
	if url == "" {
		return nil
	}
	return []chat.Action{{Label: label, URL: url}}
}

// nextStep returns a link as the reader's next step, or no button if url is empty.
func nextStep(label, url string) []chat.Action {
	if url == "" {
		return nil
	}
	return []chat.Action{{Label: chat.Say(label), URL: url, NextStep: true}}
}

// Explain returns a sentence or two about an error of a command, for the sender. It contains neither what the sender
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

// partly wraps err in a PartialError. It returns nil if err is nil.
func partly(err error) error {
	if err == nil {
		return nil
	}
	return &chat.PartialError{Err: err}
}

// serviceText returns the name of a core.Service in the reader's language.
func serviceText(name string) chat.Text { return chat.Say("service." + name) }

// invalid turns a core.InvalidError about the argument of p into a chat.InputError. It returns any other
// error, or nil, unchanged.
func invalid(p chat.Param, err error) error {
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

// maxPersonName is the maximum length of a user's name as it is shown, in characters.
const maxPersonName = 64

// personParam is a user of the chat platform where the command is asked.
var personParam = chat.Param{
	Name:       "user",
	Summary:    chat.Say("param.user"),
	Example:    "123456789",
	Person:     true,
	WrongTitle: chat.Say("check.user"),
}

// sender returns the sender's own account on the chat platform. The error is an InputError if the sender
// is anonymous.
func sender(req *chat.Request) (core.Identity, error) {
	if req.From.ID == "" {
		return core.Identity{}, &chat.InputError{Title: chat.Say("anonymous.title"), Problem: chat.Say("anonymous.text")}
	}
	return core.NewIdentity(string(req.From.Platform), req.From.ID)
}

// target returns the person whom a moderator replied to, mentioned, picked, or typed as an ID. The error
// is an InputError if that person is anonymous, or if the ID is invalid.
func target(req *chat.Request) (core.Identity, error) {
	if req.Target.ID == "" {
		return core.Identity{}, &chat.InputError{Title: personParam.WrongTitle, Problem: chat.Say("anonymous.them")}
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
	return id, &chat.InputError{Title: personParam.WrongTitle, Problem: chat.SayWith(problem, command)}
}

// personField names the person in an answer to a moderator: by a mention and, if the name is known, also by the ID. It
// names a person of another platform by the platform and the ID.
func personField(id core.Identity, req *chat.Request) chat.Field {
	if !strings.EqualFold(id.Platform, string(req.From.Platform)) {
		name := chat.SayWith("person.id", chat.Values{"platform": chat.Plain(id.Platform)})
		return chat.Field{Name: name, Value: chat.Code(id.UID)}
	}
	mention := chat.Mention{
		User: chat.User{Platform: req.From.Platform, ID: id.UID},
		Name: chat.NewUntrusted(req.TargetName, maxPersonName),
	}
	member := chat.Field{Name: chat.Say("person.member"), Value: mention}
	if mention.Name != "" { // Otherwise the mention shows the ID.
		member.Value = chat.Parts{mention, chat.Code(id.UID)}
	}
	return member
}
