package commands

import (
	"context"
	"errors"
	"regexp"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
)

// joinsPerMinute is how often a minute a person may have checked whether they may join a
// group.
const joinsPerMinute = 3

// groupParam is the ID of a group. Requests to join, buttons and links give it.
var groupParam = chat.Param{Name: "group", Like: regexp.MustCompile(`^-[0-9]{1,19}$`)}

// joinCommand answers chat.JoinCommand, about the groups in JoinChats.
type joinCommand struct{ verifyCommand }

func join(from Sources, options Options) chat.Command {
	c := joinCommand{verifyCommand{from, options}}
	return chat.Command{
		Name:       chat.JoinCommand,
		Visibility: chat.Private,
		Forms: []chat.Form{
			{Params: []chat.Param{groupParam}, Unlisted: true, PerMinute: c.perMinute, Run: c.byGroup},
			{Params: []chat.Param{groupParam, walletParam}, Unlisted: true, PerMinute: c.perMinute, Run: c.byWallet},
		},
	}
}

// perMinute returns joinsPerMinute for a request that is checked. It returns 0 for one that
// is answered by a question, or not at all.
func (c joinCommand) perMinute(req chat.Request) int {
	required := c.requirement(req)
	if required == "" || required == chat.Staker && req.Args.Value(walletParam.Name) == "" {
		return 0
	}
	return joinsPerMinute
}

// group returns the group in the arguments.
func group(req chat.Request) chat.Group {
	return chat.Group{ID: req.Args.Value(groupParam.Name), Name: req.GroupName}
}

// requirement returns what the group in the arguments requires, or "" if the group is not in
// JoinChats.
func (c joinCommand) requirement(req chat.Request) chat.Requirement {
	return c.JoinChats[string(req.From.Platform)+":"+group(req).ID]
}

// byGroup admits a registered person, or one who stakes with the wallet that they have kept.
// From others it asks for the wallet of a staker. Anybody can forge an ID: for a group that is
// not in JoinChats, byGroup returns OldButton.
func (c joinCommand) byGroup(ctx context.Context, req chat.Request) (chat.Reply, error) {
	switch c.requirement(req) {
	case chat.Registered:
		return c.registered(ctx, req)
	case chat.Staker:
		if s, err := c.Members.Saved(ctx, req.From); err == nil && s != nil {
			return c.staker(ctx, req, s.Wallet)
		}
		return c.question(group(req)), nil
	}
	return chat.OldButton(), nil
}

// registered admits the sender if they are registered.
func (c joinCommand) registered(ctx context.Context, req chat.Request) (chat.Reply, error) {
	self, err := sender(req)
	if err != nil {
		return chat.Reply{}, err
	}
	account, err := c.Accounts.Get(ctx, self)
	switch {
	case err != nil:
		return group(req).Unchecked(Explain(err)), &chat.PartialError{Err: err}
	case account.Value.Registered():
		return group(req).Joined(), nil
	}
	return chat.Reply{
		Tone:    chat.Negative,
		Title:   chat.Say("join.no"),
		Text:    chat.SayWith("join.unregistered", chat.Values{"group": group(req).Shown(), "service": c.service()}),
		Checked: account.At,
		Actions: append(nextStep("button.register", c.RegisterURL), group(req).Again("button.again", true)),
	}, nil
}

// question asks the sender for their wallet.
func (c joinCommand) question(g chat.Group) chat.Reply {
	return chat.Reply{
		Title: chat.Say("join.wallet"),
		Text:  chat.SayWith("join.wallet_text", chat.Values{"group": g.Shown(), "service": c.service()}),
		Ask:   &chat.Ask{Command: chat.JoinCommand, Args: []string{g.ID}, Question: walletParam.Question},
	}
}

// anotherWallet in place of a wallet asks for one. It has the beginning of a wallet, so that
// it counts as one that is meant.
const anotherWallet = "0x?"

// byWallet admits the sender if the wallet in the arguments is theirs and stakes.
func (c joinCommand) byWallet(ctx context.Context, req chat.Request) (chat.Reply, error) {
	if c.requirement(req) != chat.Staker {
		return c.byGroup(ctx, req)
	}
	if req.Args.Value(walletParam.Name) == anotherWallet {
		return c.question(group(req)), nil
	}
	wallet, err := parseWallet(req)
	if flawed, wrong := errors.AsType[*chat.InputError](err); wrong {
		reply := c.question(group(req))
		reply.Tone, reply.Title, reply.Text = chat.Warning, flawed.Title, flawed.Problem
		return reply, nil
	}
	return c.staker(ctx, req, wallet)
}

// staker admits the sender if the wallet is theirs and stakes. Otherwise it answers as /verify
// does, and offers to try again.
func (c joinCommand) staker(ctx context.Context, req chat.Request, wallet common.Address) (chat.Reply, error) {
	self, err := sender(req)
	if err != nil {
		return chat.Reply{}, err
	}
	p := c.prove(ctx, self, wallet)
	if p.ownerStakes() {
		return group(req).Joined(), nil
	}
	reply, err := c.card(p, yourWallet)
	reply.Notes = append(reply.Notes, chat.StaysOpen())
	switch _, partly := errors.AsType[*chat.PartialError](err); {
	case err == nil:
		another := group(req).Again("button.another_wallet", false)
		another.Args = append(another.Args, anotherWallet)
		reply.Actions = append(reply.Actions, another)
	case partly:
		reply.Actions = []chat.Action{group(req).Again("button.again", false)}
	default:
		reply, err = group(req).Unchecked(Explain(err)), &chat.PartialError{Err: err}
	}
	return reply, err
}
