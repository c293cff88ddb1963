package commands

import (
	"context"
	"errors"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/members"
)

const forgetName = "forget"

// forgetCommand answers /forget.
type forgetCommand inputs

func forget(from Sources, options Options) chat.Command {
	return chat.Command{
		Name:       forgetName,
		Summary:    chat.Say("command.forget"),
		Visibility: chat.Private,
		NoDeepLink: true, // What it deletes is gone.
		Forms:      []chat.Form{{Run: forgetCommand{from, options}.run}},
	}
}

// run deletes what is saved of the sender, and says what was deleted, what was removed, and
// what could not be.
func (c forgetCommand) run(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	f, err := c.Members.Forget(ctx, req.From)
	if errors.Is(err, members.ErrUnreadable) {
		return &chat.Reply{
			Tone:  chat.Warning,
			Title: chat.Say("forget.unreadable"),
			Text:  chat.Say("forget.unreadable_text"),
		}, &chat.PartialError{Err: err}
	}
	if err != nil {
		return &chat.Reply{
			Tone:    chat.Warning,
			Title:   chat.Say("forget.failed"),
			Text:    chat.Say("forget.failed_text"),
			Actions: []chat.Action{chat.TryAgain(forgetName)},
		}, &chat.PartialError{Err: err}
	}
	for i := range f.Changes { // A call that has to wait does not say yet that it removes.
		f.Changes[i].Removed = true
	}
	hadWallet := f.Wallet != common.Address{}
	if !hadWallet && len(f.Changes) == 0 {
		return &chat.Reply{Title: chat.Say("forget.nothing")}, nil
	}
	reply := &chat.Reply{
		Tone:  chat.Positive,
		Title: chat.Say("forget.done"),
		Notes: lines(badgeResults(req.Community, f.Changes)),
	}
	if hadWallet {
		reply.Text = chat.SayWith("forget.text", chat.Values{"wallet": c.address(f.Wallet)})
	}
	said := map[chat.BadgeProblem]bool{"": true}
	for _, change := range f.Changes {
		if isDone(change) {
			continue
		}
		reply.Tone = chat.Warning
		reply.Title = chat.Say("forget.later")
		if !said[change.Problem] {
			reply.Notes = append(reply.Notes, whyNot(req.From.Platform, change.Problem))
		}
		said[change.Problem] = true
		reply.Actions = []chat.Action{chat.TryAgain(forgetName)}
	}
	return reply, nil
}

// isDone reports whether a badge was removed, or does not exist any more.
func isDone(c members.Change) bool {
	return !c.Later && (c.Problem == "" || c.Problem == chat.BadgeGone)
}
