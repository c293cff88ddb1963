package commands

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
)

// maxGroupName bounds the shown name of a group, in characters.
const maxGroupName = 64

// groupParam is the ID of a group. Requests to join, buttons and links give it.
var groupParam = chat.Param{Name: "group", Like: regexp.MustCompile(`^-[0-9]{1,19}$`)}

// joinCommand answers chat.JoinCommand, about the groups in JoinChats.
type joinCommand struct{ verifyCommand }

func join(from Sources, options Options) chat.Command {
	c := joinCommand{verifyCommand{from, options}}
	return chat.Command{
		Name:       chat.JoinCommand,
		Visibility: chat.Private,
		Asks:       []string{"partner", "chain"},
		Forms: []chat.Form{
			c.form(c.byGroup, groupParam),
			c.form(c.byWallet, groupParam, walletParam),
		},
	}
}

func (c joinCommand) form(run chat.Run, params ...chat.Param) chat.Form {
	limit := chat.Limit{Uses: 3, Per: time.Minute, Of: groupParam.Name, Counts: c.isCheck}
	return chat.Form{Params: params, Unlisted: true, Limit: limit, Run: run}
}

// isCheck reports whether a request is checked. The answer to any other is a question for a wallet, or that the button
// has expired.
func (c joinCommand) isCheck(req *chat.Request) bool {
	required, listed := c.requirement(req)
	return listed && (!required.Staker || req.Args.Value(walletParam.Name) != "")
}

// requirement returns what the group in the arguments requires. listed is false if the group
// is not in JoinChats.
func (c joinCommand) requirement(req *chat.Request) (required chat.Requirement, listed bool) {
	required, listed = c.JoinChats[string(req.From.Platform)+":"+req.Args.Value(groupParam.Name)]
	return required, listed
}

// groupText returns a message of package words about the group in the arguments.
func (c joinCommand) groupText(key string, req *chat.Request) chat.Text {
	var shown chat.Value = chat.Code(req.Args.Value(groupParam.Name))
	if name := chat.NewUntrusted(req.GroupName, maxGroupName); name != "" {
		shown = name
	}
	return chat.SayWith(key, chat.Values{"group": shown, "service": c.service()})
}

// again returns a button that checks whether the person who presses may join the group.
func again(label string, req *chat.Request, args ...string) chat.Action {
	args = append([]string{req.Args.Value(groupParam.Name)}, args...)
	return chat.Action{Label: chat.Say(label), Command: chat.JoinCommand, Args: args, Edit: true, NextStep: true}
}

// byGroup admits a registered person, or one who stakes with their saved address.
// From others it asks for the wallet of a staker. Anybody can forge an ID: for a group that is
// not in JoinChats, byGroup returns OldButton.
func (c joinCommand) byGroup(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	required, listed := c.requirement(req)
	if !listed {
		return chat.OldButton(), nil
	}
	if required.Staker {
		if s, err := c.Members.Saved(ctx, req.From); err == nil && s != nil {
			return c.staker(ctx, req, s.Wallet)
		}
	}
	self, err := sender(req)
	if err != nil {
		return nil, err
	}
	account, err := c.Accounts.Get(ctx, self)
	switch {
	case err != nil:
		return unchecked(req, "join.unknown", err)
	case required.Staker:
		return c.question(req, account.Value.Registered()), nil
	case account.Value.Registered():
		return c.admit(ctx, req, nil), nil
	}
	reply := c.unregistered(req)
	reply.Checked = account.At
	return reply, nil
}

// question says what a group of stakers requires, and asks a registered sender for their
// wallet.
func (c joinCommand) question(req *chat.Request, registered bool) *chat.Reply {
	required, _ := c.requirement(req)
	account, stake := c.groupText("join.account", req), c.withAmount("join.stake", "join.stake.amount", required)
	reply := &chat.Reply{
		Title: c.groupText("join.two", req),
		Notes: []chat.Text{chat.Say("join.never")},
		Join:  chat.Join{LeftOut: chat.Say("details.unregistered")},
	}
	mark := func(key string, what chat.Text) chat.Field {
		return chat.Field{Value: chat.SayWith(key, chat.Values{"what": what})}
	}
	fields := []chat.Field{mark("join.missing", account), mark("join.missing", stake)}
	if registered {
		fields = []chat.Field{mark("join.done", account), mark("join.send", stake)}
		reply.Ask = ask(req)
		reply.Join.LeftOut = chat.Say("details.asked")
	} else {
		reply.Actions = append(nextStep("button.register", c.RegisterURL), again("button.again", req))
	}
	reply.Sections = []chat.Section{{Fields: fields}}
	return reply
}

// ask asks for the wallet with which the sender stakes.
func ask(req *chat.Request) *chat.Ask {
	return &chat.Ask{
		Command:  chat.JoinCommand,
		Args:     []string{req.Args.Value(groupParam.Name)},
		Question: walletParam.Question,
	}
}

// withAmount returns the message of anyKey, or of amountKey if an amount is required.
func (c joinCommand) withAmount(anyKey, amountKey string, required chat.Requirement) chat.Text {
	if required.Amount.IsZero() {
		return chat.Say(anyKey)
	}
	return chat.SayWith(amountKey, chat.Values{"amount": c.amount(required.Amount, chat.Exact)})
}

// anotherWallet in place of a wallet asks for one. It has the beginning of a wallet, so that
// it counts as one that is meant.
const anotherWallet = "0x?"

// byWallet admits the sender if the wallet in the arguments is theirs and stakes enough.
func (c joinCommand) byWallet(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	if required, _ := c.requirement(req); !required.Staker {
		return c.byGroup(ctx, req)
	}
	reply := &chat.Reply{Title: chat.Say("join.wallet"), Text: c.groupText("join.wallet_text", req), Ask: ask(req)}
	if req.Args.Value(walletParam.Name) == anotherWallet {
		return reply, nil
	}
	wallet, err := parseWallet(req)
	if flawed, wrong := errors.AsType[*chat.InputError](err); wrong {
		reply.Tone = chat.Warning
		reply.Title = flawed.Title
		reply.Text = flawed.Problem
		return reply, nil
	}
	return c.staker(ctx, req, wallet)
}

// staker admits the sender if the wallet is theirs and stakes enough. Otherwise it says what
// is missing, without the sum.
func (c joinCommand) staker(ctx context.Context, req *chat.Request, wallet common.Address) (*chat.Reply, error) {
	self, err := sender(req)
	if err != nil {
		return nil, err
	}
	p := c.prove(ctx, self, wallet)
	required, _ := c.requirement(req)
	switch reached, failed := p.stake.Value.Reaches(required.Amount), errors.Join(p.account.Err, p.owner.Err); {
	case p.account.Err == nil && !p.account.Value.Registered():
		return c.unregistered(req), nil
	case failed != nil:
		return unchecked(req, "join.unknown", failed)
	case !p.owned():
		reply := c.notIn(req, p, chat.Say("join.not_yours"), "details.not_theirs")
		reply.Text = c.groupText("verify.you.another", req)
		reply.Checked = core.Earlier(p.account.At, p.owner.At)
		return reply, nil
	case p.stake.Err != nil:
		return unchecked(req, "join.unread", p.stake.Err)
	case reached == core.Undetermined:
		return unchecked(req, "join.unread", p.stake.Value.Err())
	case reached == core.NotStaker:
		reply := c.notIn(req, p, c.withAmount("join.no_stake", "join.no_stake.amount", required), "details.too_little")
		reply.Checked = cmp.Or(p.stake.Value.BlockTime, p.stake.At)
		reply.Actions = append(nextStep("button.stake", c.StakeURL), reply.Actions...)
		return reply, nil
	}
	return c.admit(ctx, req, &p), nil
}

// admit lets the sender in. p is the proof of a staker, or nil.
func (c joinCommand) admit(ctx context.Context, req *chat.Request, p *proof) *chat.Reply {
	in := c.in(ctx, req, p)
	say := func(outcome chat.AdmissionOutcome) *chat.Reply {
		if outcome == chat.LetIn {
			return in
		}
		return c.notLetIn(req, outcome)
	}
	return &chat.Reply{
		Title: c.groupText("join.joining", req),
		Join:  chat.Join{Admit: &chat.Admission{Group: req.Args.Value(groupParam.Name), Say: say}},
	}
}

// notLetIn says why a person who may be in the group is not, and what they can do.
func (c joinCommand) notLetIn(req *chat.Request, outcome chat.AdmissionOutcome) (reply *chat.Reply) {
	leftOut := "details.not_approved"
	switch outcome {
	case chat.NotRequested:
		reply = &chat.Reply{
			Tone:     chat.Warning,
			Audience: chat.SenderAlone,
			Title:    chat.Say("join.gone.title"),
			Text:     c.groupText("join.gone.text", req),
		}
	case chat.InTooManyGroups:
		leftOut = "details.too_many"
		reply = staysOpen(req, "join.too_many", chat.Say("join.too_many_text"))
		reply.Tone = chat.Negative
	case chat.BannedThere:
		leftOut = "details.banned"
		reply = staysOpen(req, "join.banned", c.groupText("join.banned_text", req))
		reply.Tone = chat.Negative
	case chat.MayNotApprove:
		reply = staysOpen(req, "join.failed", chat.Say("join.denied"))
	case chat.ApprovalTimedOut:
		reply = staysOpen(req, "join.failed", chat.Say("reason.timeout"))
	case chat.AccountDeleted: // Nobody reads the reply.
		leftOut = "details.deleted"
		reply = &chat.Reply{}
	default:
		reply = staysOpen(req, "join.failed", chat.Say("reason.internal"))
	}
	reply.Join.LeftOut = chat.Say(leftOut)
	return reply
}

// in says that the sender is in the group. p is the proof of a staker, or nil: its wallet can be
// saved, unless it is.
func (c joinCommand) in(ctx context.Context, req *chat.Request, p *proof) *chat.Reply {
	reply := &chat.Reply{
		Tone: chat.Positive, Title: c.groupText("join.in", req), Actions: nextStep("button.open_group", req.GroupURL),
	}
	if p == nil || !c.canSave() {
		return reply
	}
	if s, err := c.Members.Saved(ctx, req.From); err != nil || s != nil && s.Wallet == p.wallet {
		return reply
	}
	offer := c.offerSave(ctx, req.From, req.Args.Value(groupParam.Name), *p)
	reply.FullValues = stakeText{Options: c.Options}.full(p.wallet)
	reply.Notes = offer.Notes
	reply.Actions = append(reply.Actions, offer.Actions...)
	return reply
}

// unregistered says that the sender's account is missing.
func (c joinCommand) unregistered(req *chat.Request) *chat.Reply {
	return &chat.Reply{
		Tone:    chat.Negative,
		Title:   chat.Say("join.no"),
		Text:    c.groupText("join.unregistered", req),
		Actions: append(nextStep("button.register", c.RegisterURL), again("button.again", req)),
		Join:    chat.Join{LeftOut: chat.Say("details.unregistered")},
	}
}

// notIn says why a wallet that was checked admits nobody. leftOut is what moderators read.
func (c joinCommand) notIn(req *chat.Request, p proof, why chat.Text, leftOut string) *chat.Reply {
	return &chat.Reply{
		Tone:       chat.Negative,
		Title:      why,
		Join:       chat.Join{LeftOut: chat.Say(leftOut)},
		FullValues: stakeText{Options: c.Options}.full(p.wallet),
		Notes:      []chat.Text{chat.Say("join.open")},
		Actions:    []chat.Action{again("button.again", req), again("button.another_wallet", req, anotherWallet)},
	}
}

// unchecked says, with the title of that key, that the sender could not be checked.
func unchecked(req *chat.Request, key string, err error) (*chat.Reply, error) {
	return staysOpen(req, key, Explain(err)), &chat.PartialError{Err: err}
}

// staysOpen says why the request stays open though the sender may deserve to be in.
func staysOpen(req *chat.Request, key string, why chat.Text) *chat.Reply {
	return &chat.Reply{
		Tone:    chat.Warning,
		Title:   chat.Say(key),
		Text:    why,
		Notes:   []chat.Text{chat.Say("join.open")},
		Actions: []chat.Action{again("button.again", req)},
	}
}
