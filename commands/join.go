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

// maxGroupName is the maximum length of a group's name as it is shown, in characters.
const maxGroupName = 64

// groupParam is the ID of a group. It comes from a join request, a button or a link.
var groupParam = chat.Param{Name: "group", Like: regexp.MustCompile(`^-[0-9]{1,19}$`)}

// joinCommand answers chat.JoinCommand. The sender has asked to join one of the groups in JoinChats, and joinCommand
// checks whether they meet its Requirement: an account and, in a group for stakers, a stake. If they do, their join
// request is approved. Otherwise it stays open for moderators, who read why the sender was left out. joinCommand never
// declines a join request.
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

// form returns an unlisted form with a limit: a user is checked at most three times a minute for each group.
func (c joinCommand) form(run chat.Run, params ...chat.Param) chat.Form {
	limit := chat.Limit{Uses: 3, Per: time.Minute, Of: groupParam.Name, Counts: c.isCheck}
	return chat.Form{Params: params, Unlisted: true, Limit: limit, Run: run}
}

// isCheck reports whether a request counts against the limit of form. It does if it names a group in JoinChats and, for
// a group of stakers, a wallet. Without a wallet, the bot checks the saved one if there is one, and otherwise asks for
// a wallet. The general limits hold for such a request.
func (c joinCommand) isCheck(req *chat.Request) bool {
	required, listed := c.requirement(req)
	isWalletMissing := required.Staker && req.Args.Value(walletParam.Name) == ""
	return listed && !isWalletMissing
}

// requirement returns the requirement of the group in the arguments. listed is false if the group is not in JoinChats.
func (c joinCommand) requirement(req *chat.Request) (required chat.Requirement, listed bool) {
	required, listed = c.JoinChats[entryOf(req.From.Platform, req.Args.Value(groupParam.Name))]
	return required, listed
}

// groupText returns the message of key about the group in the arguments: by its name or, if that is unknown, its ID.
func (c joinCommand) groupText(key string, req *chat.Request) chat.Text {
	var shown chat.Value = chat.Code(req.Args.Value(groupParam.Name))
	if name := chat.NewUntrusted(req.GroupName, maxGroupName); name != "" {
		shown = name
	}
	return chat.SayWith(key, chat.Values{"group": shown, "service": c.service()})
}

// checkAgain returns a button that checks the user who presses it again. The arguments of the check are the group in
// the arguments of req, and args.
func checkAgain(label string, req *chat.Request, args ...string) chat.Action {
	args = append([]string{req.Args.Value(groupParam.Name)}, args...)
	return chat.Action{Label: chat.Say(label), Command: chat.JoinCommand, Args: args, Edit: true, NextStep: true}
}

// byGroup checks the sender without a wallet in the arguments. If the group requires only an account, it lets in every
// registered user. If the group requires a stake, it checks the sender's saved wallet or, if it cannot find one, asks
// for a wallet. The group may not be in JoinChats, because anybody can forge its ID.
func (c joinCommand) byGroup(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	required, listed := c.requirement(req)
	if !listed {
		return chat.OldButton(), nil
	}
	if required.Staker {
		if s, err := c.Members.Saved(ctx, req.From); err == nil && s != nil {
			return c.checkStaker(ctx, req, s.Wallet)
		}
	}
	self, err := sender(req)
	if err != nil {
		return nil, err
	}
	account, err := c.Accounts.Get(ctx, self)
	switch {
	case err != nil:
		return couldNotCheck(req, "join.unknown", err)
	case required.Staker:
		return c.stakerRequirements(req, required, account.Value.Registered()), nil
	case account.Value.Registered():
		return c.approve(ctx, req, nil), nil
	}
	reply := c.unregistered(req)
	reply.Checked = account.At
	return reply, nil
}

// stakerRequirements lists what a group of stakers requires. It asks a registered sender for their wallet, and any
// other sender to register.
func (c joinCommand) stakerRequirements(req *chat.Request, required chat.Requirement, isRegistered bool) *chat.Reply {
	account := chat.Values{"what": c.groupText("join.account", req)}
	stake := chat.Values{"what": c.withAmount("join.stake", "join.stake.amount", required)}
	reply := &chat.Reply{
		Title: c.groupText("join.two", req),
		Notes: []chat.Text{chat.Say("join.never")},
	}
	if isRegistered {
		done := chat.Field{Value: chat.SayWith("join.done", account)}
		next := chat.Field{Value: chat.SayWith("join.send", stake)}
		reply.Sections = []chat.Section{{Fields: []chat.Field{done, next}}}
		reply.Ask = askForWallet(req)
		reply.Join.WhyLeftOut = chat.Say("details.asked")
		return reply
	}
	first := chat.Field{Value: chat.SayWith("join.missing", account)}
	second := chat.Field{Value: chat.SayWith("join.missing", stake)}
	reply.Sections = []chat.Section{{Fields: []chat.Field{first, second}}}
	reply.Actions = append(nextStep("button.register", c.RegisterURL), checkAgain("button.again", req))
	reply.Join.WhyLeftOut = chat.Say("details.unregistered")
	return reply
}

// askForWallet asks for the wallet with which the sender stakes. The answer runs byWallet.
func askForWallet(req *chat.Request) *chat.Ask {
	return &chat.Ask{
		Command:  chat.JoinCommand,
		Args:     []string{req.Args.Value(groupParam.Name)},
		Question: walletParam.Question,
	}
}

// withAmount returns the message of amountKey with the required amount or, if any stake is enough, that of anyKey.
func (c joinCommand) withAmount(anyKey, amountKey string, required chat.Requirement) chat.Text {
	isAnyEnough := required.Amount.IsZero()
	if isAnyEnough {
		return chat.Say(anyKey)
	}
	return chat.SayWith(amountKey, chat.Values{"amount": c.amount(required.Amount, chat.Exact)})
}

// anotherWallet is the argument of the button [Another wallet]. It asks for a wallet. It starts like an address, so
// that walletParam accepts it.
const anotherWallet = "0x?"

// byWallet checks the sender with the wallet in the arguments. If the argument is not a wallet, it asks for one. If the
// group requires no stake, or is not in JoinChats, it ignores the wallet and does what byGroup does.
func (c joinCommand) byWallet(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	if required, _ := c.requirement(req); !required.Staker {
		return c.byGroup(ctx, req)
	}
	reply := &chat.Reply{
		Title: chat.Say("join.wallet"),
		Text:  c.groupText("join.wallet_text", req),
		Ask:   askForWallet(req),
	}
	if req.Args.Value(walletParam.Name) == anotherWallet {
		return reply, nil
	}
	wallet, err := parseWallet(req)
	if input, isInvalid := errors.AsType[*chat.InputError](err); isInvalid {
		reply.Tone = chat.Warning
		reply.Title = input.Title
		reply.Text = input.Problem
		return reply, nil
	}
	return c.checkStaker(ctx, req, wallet)
}

// checkStaker lets the sender in if the wallet is theirs and stakes enough. Otherwise it says what is missing, but not
// how much the wallet stakes.
func (c joinCommand) checkStaker(ctx context.Context, req *chat.Request, wallet common.Address) (*chat.Reply, error) {
	self, err := sender(req)
	if err != nil {
		return nil, err
	}
	p := c.prove(ctx, self, wallet)
	switch p.ownership() {
	case personUnregistered:
		return c.unregistered(req), nil
	case ownershipUnknown:
		return couldNotCheck(req, "join.unknown", errors.Join(p.account.Err, p.owner.Err))
	case ownedByOther, ownedByNobody:
		reply := c.wrongWallet(req, p, chat.Say("join.not_yours"), c.groupText("verify.you.another", req))
		reply.Join.WhyLeftOut = chat.Say("details.not_theirs")
		reply.Checked = core.Earlier(p.account.At, p.owner.At)
		return reply, nil
	}
	return c.checkStake(ctx, req, p)
}

// checkStake lets the sender in if the wallet of p, which is theirs, stakes enough.
func (c joinCommand) checkStake(ctx context.Context, req *chat.Request, p proof) (*chat.Reply, error) {
	if p.stake.Err != nil {
		return couldNotCheck(req, "join.unread", p.stake.Err)
	}
	required, _ := c.requirement(req)
	stake := p.stake.Value
	switch stake.Reaches(required.Amount) {
	case core.Staker:
		return c.approve(ctx, req, &p), nil
	case core.NotStaker:
		tooLittle := c.withAmount("join.no_stake", "join.no_stake.amount", required)
		reply := c.wrongWallet(req, p, tooLittle, chat.Text{})
		reply.Join.WhyLeftOut = chat.Say("details.too_little")
		reply.Checked = cmp.Or(stake.BlockTime, p.stake.At)
		reply.Actions = append(nextStep("button.stake", c.StakeURL), reply.Actions...)
		return reply, nil
	}
	return couldNotCheck(req, "join.unread", stake.Err())
}

// approve returns a reply that makes the adapter approve the sender's join request, and then show the reply of welcome
// or, if that failed, of notLetIn. p is the proof of a staker, or nil if the group requires no stake.
func (c joinCommand) approve(ctx context.Context, req *chat.Request, p *proof) *chat.Reply {
	welcome := c.welcome(ctx, req, p)
	say := func(result chat.ApprovalResult) *chat.Reply {
		if result == chat.LetIn {
			return welcome
		}
		return c.notLetIn(req, result)
	}
	return &chat.Reply{
		Title: c.groupText("join.joining", req),
		Join:  chat.Join{Admit: &chat.Admission{Group: req.Args.Value(groupParam.Name), Say: say}},
	}
}

// notLetIn says why the platform did not approve the join request of a sender who meets the requirement, and what they
// can do.
func (c joinCommand) notLetIn(req *chat.Request, result chat.ApprovalResult) (reply *chat.Reply) {
	leftOut := "details.not_approved"
	switch result {
	case chat.NotRequested:
		reply = &chat.Reply{
			Tone:     chat.Warning,
			Audience: chat.SenderAlone,
			Title:    chat.Say("join.gone.title"),
			Text:     c.groupText("join.gone.text", req),
		}
	case chat.InTooManyGroups:
		leftOut = "details.too_many"
		reply = leftOpen(req, chat.Negative, chat.Say("join.too_many"), chat.Say("join.too_many_text"))
	case chat.BannedThere:
		leftOut = "details.banned"
		reply = leftOpen(req, chat.Negative, chat.Say("join.banned"), c.groupText("join.banned_text", req))
	case chat.MayNotApprove:
		reply = leftOpen(req, chat.Warning, chat.Say("join.failed"), chat.Say("join.denied"))
	case chat.ApprovalTimedOut:
		reply = leftOpen(req, chat.Warning, chat.Say("join.failed"), chat.Say("reason.timeout"))
	case chat.AccountDeleted: // Nobody reads the reply.
		leftOut = "details.deleted"
		reply = &chat.Reply{}
	default:
		reply = leftOpen(req, chat.Warning, chat.Say("join.failed"), chat.Say("reason.internal"))
	}
	reply.Join.WhyLeftOut = chat.Say(leftOut)
	return reply
}

// welcome says that the sender is in the group. If p is not nil, it offers to save the wallet of p, unless that wallet
// is saved already or the store does not answer.
func (c joinCommand) welcome(ctx context.Context, req *chat.Request, p *proof) *chat.Reply {
	reply := &chat.Reply{
		Tone:    chat.Positive,
		Title:   c.groupText("join.in", req),
		Actions: nextStep("button.open_group", req.GroupURL),
	}
	if p == nil || !c.canSave() {
		return reply
	}
	s, err := c.Members.Saved(ctx, req.From)
	isSaved := s != nil && s.Wallet == p.wallet
	if isSaved || err != nil {
		return reply
	}
	note, button := c.offerSave(ctx, req.From, req.Args.Value(groupParam.Name), *p)
	reply.FullValues = c.fullAddress(p.wallet)
	reply.Notes = []chat.Text{note}
	reply.Actions = append(reply.Actions, button)
	return reply
}

// unregistered says that the sender has no account, and how to get one.
func (c joinCommand) unregistered(req *chat.Request) *chat.Reply {
	return &chat.Reply{
		Tone:    chat.Negative,
		Title:   chat.Say("join.no"),
		Text:    c.groupText("join.unregistered", req),
		Actions: append(nextStep("button.register", c.RegisterURL), checkAgain("button.again", req)),
		Join:    chat.Join{WhyLeftOut: chat.Say("details.unregistered")},
	}
}

// wrongWallet says that the wallet of p does not meet the requirement, and offers to send another one.
func (c joinCommand) wrongWallet(req *chat.Request, p proof, title, text chat.Text) *chat.Reply {
	reply := leftOpen(req, chat.Negative, title, text)
	reply.FullValues = c.fullAddress(p.wallet)
	reply.Actions = append(reply.Actions, checkAgain("button.another_wallet", req, anotherWallet))
	return reply
}

// couldNotCheck says that the sender could not be checked because of err. titleKey is the message in the title. It also
// returns err as a PartialError.
func couldNotCheck(req *chat.Request, titleKey string, err error) (*chat.Reply, error) {
	return leftOpen(req, chat.Warning, chat.Say(titleKey), Explain(err)), &chat.PartialError{Err: err}
}

// leftOpen says that the join request stays open for moderators. The reply has a button that checks the sender again.
func leftOpen(req *chat.Request, tone chat.Tone, title, text chat.Text) *chat.Reply {
	return &chat.Reply{
		Tone:    tone,
		Title:   title,
		Text:    text,
		Notes:   []chat.Text{chat.Say("join.open")},
		Actions: []chat.Action{checkAgain("button.again", req)},
	}
}
