package commands

import (
	"context"
	"errors"
	"slices"

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
		NoDeepLink: true, // because it deletes for good
		Forms:      []chat.Form{{Run: forgetCommand{from, options}.run}},
	}
}

// run deletes everything that is saved about the sender. It says which address was deleted, which badges were removed,
// which could not be removed, and why. If nothing could be deleted, it says so, and also returns a PartialError.
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
	for i := range f.Changes {
		// After /forget, each change is a removal, even one that could not begin. Members leaves Removed unset there.
		f.Changes[i].Removed = true
	}
	hadWallet := f.Wallet != common.Address{}
	if !hadWallet && len(f.Changes) == 0 {
		return &chat.Reply{Title: chat.Say("forget.nothing")}, nil
	}
	reply := &chat.Reply{
		Tone:  chat.Positive,
		Title: chat.Say("forget.done"),
		Notes: resultLines(badgeResults(req.Community, f.Changes)),
	}
	if hadWallet {
		reply.Text = chat.SayWith("forget.text", chat.Values{"wallet": c.address(f.Wallet)})
	}
	if slices.ContainsFunc(f.Changes, isLeft) {
		reply.Tone = chat.Warning
		reply.Title = chat.Say("forget.later")
		reply.Actions = []chat.Action{chat.TryAgain(forgetName)}
	}
	for _, problem := range problemsOf(f.Changes) {
		reply.Notes = append(reply.Notes, problemText(req.From.Platform, problem))
	}
	return reply, nil
}

// isLeft reports whether a removal has not succeeded yet. If the badge itself was deleted, nothing is left to remove.
func isLeft(removal members.Change) bool {
	isRefused := removal.Problem != "" && removal.Problem != chat.BadgeGone
	return removal.Later || isRefused
}

// problemsOf returns why badges could not be removed, each problem once.
func problemsOf(removals []members.Change) (problems []chat.BadgeProblem) {
	for _, c := range removals {
		isNew := c.Problem != "" && !slices.Contains(problems, c.Problem)
		if isNew && isLeft(c) {
			problems = append(problems, c.Problem)
		}
	}
	return problems
}
