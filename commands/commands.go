// Package commands has a file for each command, the table of all commands, and the words for
// each failure.
//
// A command is a function from chat.Request to chat.Reply. It knows no platform and no
// language: it returns typed values and keys of package words. Text of a service or a
// person goes through chat.NewUntrusted first.
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

// Sources answer the questions of commands. A source is nil if its service is off: then All leaves out the commands
// that cannot do without it, and other commands leave out what it would add.
type Sources struct {
	Price  query.Source[struct{}, *core.Quote]
	Supply query.Source[struct{}, core.Supply]
	Stakes query.Source[common.Address, core.Stake]
	// Total answers with what all wallets together have staked; nil also if the pools cannot say that.
	Total    query.Source[struct{}, core.Stake]
	Accounts query.Source[core.Identity, core.Account]
	// Logins answers with a DID's logins, newest first.
	Logins query.Source[string, []core.Login]
	Chart  Chart
	// Services are asked by /status, which shows them in this order.
	Services []Service
	// Members saves addresses.
	Members Members
	// Joins has what became of requests to join groups, for /status.
	Joins JoinLog
	// Moves has the groups of the settings whose IDs have changed, for /status.
	Moves Moves
	// Started is when Joins, and the counts of Members.Status, began.
	Started time.Time
}

// Members saves wallets, and gives and removes badges by their stakes. *members.Members implements it.
type Members interface {
	Enabled() bool
	RecheckEvery() time.Duration
	Badges(p chat.Platform, community string) []members.Badge
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

// JoinLog says what became of requests to join groups.
type JoinLog interface {
	// For returns the counts of a group by its ID, and the last people who are left out, the newest first.
	For(group string) (counts chat.JoinCounts, last []chat.LeftOut)
}

// Moves says which groups have another ID than the settings say.
type Moves interface {
	// To returns the move of the group that has an ID now, such as "telegram:-1001234567890".
	To(id string) (moved chat.Move, known bool)
}

// Chart draws the price over the period that ends with the quote, in a language, and signs
// the picture with a name and the bot's handle. It returns when ctx is done. With an error there is no picture,
// though Change may be set.
type Chart func(
	ctx context.Context, quote core.Quote, period time.Duration, l chat.Language, name, handle string,
) (core.Chart, error)

// Options are the names in answers, and the targets of links.
type Options struct {
	// Symbol is the token's.
	Symbol string
	// ServiceName is what people call the service they are registered with; "" is "the
	// service" in the reader's language.
	ServiceName string
	// ExplorerURL is a block explorer's, without a slash at its end; "" links nothing.
	ExplorerURL string
	// RegisterURL and StakeURL are pages to register and to stake; "" shows no button.
	RegisterURL, StakeURL string
	// ChainID is the ID of the chain with the pools; 0: there are none.
	ChainID uint64
	// JoinChats holds what the groups require whose requests to join the bot answers. The
	// keys are a platform and a group's ID, such as "telegram:-1001234567890".
	JoinChats map[string]chat.Requirement
}

// inputs are what a command works with.
type inputs struct {
	Sources
	Options
}

// All returns the table of commands whose services are on, in the order of menus and of /help.
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
	helping, greeting := help(from, options, all)
	all = append(all, helping, greeting, details(from, options))
	if from.Accounts != nil && from.Stakes != nil {
		all = append(all, save(from, options))
	}
	if len(options.JoinChats) > 0 {
		all = append(all, join(from, options))
	}
	if from.Accounts == nil && from.Members.Enabled() {
		all = append(all, unlisted(forget(from, options)))
	}
	return all
}

// canSave reports whether a wallet can be saved: the partner says whose it is, the pools what it stakes, and there is a
// store.
func (from Sources) canSave() bool {
	return from.Accounts != nil && from.Stakes != nil && from.Members.Enabled()
}

// unlisted returns a command that menus and /help leave out. Those who know it can still use it.
func unlisted(c chat.Command) chat.Command {
	c.Forms = slices.Clone(c.Forms)
	for i := range c.Forms {
		c.Forms[i].Unlisted = true
	}
	return c
}

// symbol returns the token's symbol as the argument of a message.
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

// address returns a wallet or contract, linked to the explorer if there is one.
func (o Options) address(a common.Address) chat.Address {
	shown := chat.Address{Hex: a.Hex()}
	if o.ExplorerURL != "" {
		shown.URL = o.ExplorerURL + "/address/" + a.Hex()
	}
	return shown
}

// refresh returns the button that asks the same again.
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
	buttons := link(chat.Say(label), url)
	for i := range buttons {
		buttons[i].NextStep = true
	}
	return buttons
}

// Explain returns a sentence or two about an error of a command, for the person who asked.
// It holds nothing that they typed, and no detail of the error.
func Explain(err error) chat.Text {
	failed, is := errors.AsType[*core.Error](err)
	_, isDoubt := doubtOf(err)
	switch {
	case isDoubt:
		return chat.SayWith("doubt.reason", chat.Values{"service": serviceText("price")})
	case is && failed.RetryAfter > time.Minute:
		return chat.SayWith("reason.next", chat.Values{"why": failureText(failed)})
	case is:
		return chat.SayWith("reason."+string(failed.Reason), chat.Values{"service": serviceText(failed.Service.Name)})
	case errors.Is(err, context.DeadlineExceeded):
		return chat.Say("reason.timeout")
	default:
		return chat.Say("reason.internal")
	}
}

// serviceText returns what members call the core.Service of this name.
func serviceText(name string) chat.Text { return chat.Say("service." + name) }

// invalid returns a core.InvalidError about the argument of p as a chat.InputError. It
// returns any other error, or nil, as it is.
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

// sender returns the sender's own account on the chat platform.
func sender(req *chat.Request) (core.Identity, error) {
	if req.From.ID == "" {
		return core.Identity{}, &chat.InputError{Title: chat.Say("anonymous.title"), Problem: chat.Say("anonymous.text")}
	}
	return core.NewIdentity(string(req.From.Platform), req.From.ID)
}

// target returns the person replied to, mentioned, picked, or typed as an ID.
func target(req *chat.Request) (core.Identity, error) {
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

// personField names the person whom an answer to a moderator is about.
func personField(id core.Identity, req *chat.Request) chat.Field {
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
