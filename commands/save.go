package commands

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/members"
)

const saveName = "save"

// saveLimit is how often a user may save an address. Each time, the bot may call the chat platform to give badges.
var saveLimit = chat.Limit{Uses: 6, Per: time.Minute}

// saveCommand answers the button that saves an address.
type saveCommand struct{ verifyCommand }

func save(from Sources, options Options) chat.Command {
	c := saveCommand{verifyCommand{from, options}}
	return chat.Command{
		Name:       saveName,
		Visibility: chat.Private,
		Asks:       []string{"partner", "chain"},
		Forms: []chat.Form{
			{
				Params:   []chat.Param{walletParam},
				Unlisted: true,
				Limit:    saveLimit,
				Run:      c.run,
			},
			{Unlisted: true, Run: c.ownSaved}, // for users who type /save
		},
	}
}

// run saves the wallet in the arguments. It first proves again that the wallet is the sender's, because anybody can
// forge the button. If it cannot prove that, or the stake is unknown, it saves nothing and returns a card that says so.
func (c saveCommand) run(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	id, err := sender(req)
	if err != nil {
		return nil, err
	}
	wallet, err := parseWallet(req)
	if err != nil {
		return nil, err
	}
	p := c.prove(ctx, id, wallet)
	// The stake is known if it is certain whether anything is staked, even if a pool could not be read.
	if !p.owned() || !p.stakeKnown() {
		return c.ownCard(p, cardParts{notes: []chat.Text{chat.Say("save.not")}})
	}
	changes, err := c.Members.Save(ctx, req.From, wallet, p.stake.Value)
	if errors.Is(err, members.ErrUnreadable) {
		return &chat.Reply{
			Tone:  chat.Warning,
			Title: chat.Say("save.failed"),
			Text:  chat.Say("save.unreadable"),
		}, &chat.PartialError{Err: err}
	}
	if err != nil {
		return &chat.Reply{
			Tone:    chat.Warning,
			Title:   chat.Say("save.failed"),
			Text:    chat.Say("save.failed_text"),
			Actions: []chat.Action{chat.TryAgain(saveName, wallet.Hex())},
		}, &chat.PartialError{Err: err}
	}
	s, err := c.Members.Saved(ctx, req.From)
	// If the store does not answer, or the row was deleted again, the reply is shown all the same.
	if err != nil || s == nil {
		s = &members.Saved{Wallet: wallet}
	}
	return c.savedReply(req, s, p, changes), asPartialError(err)
}

// savedReply says that the address is saved, and what happened to the sender's badges.
func (c saveCommand) savedReply(req *chat.Request, s *members.Saved, p proof, changes []members.Change) *chat.Reply {
	values := chat.Values{
		"wallet": c.address(s.Wallet),
		"every":  everyText(c.Members.RecheckEvery()),
		"verify": chat.CommandLink("/verify"),
		"forget": chat.CommandLink("/" + forgetName),
	}
	results := badgeResults(req.Community, changes)
	// Minor results matter less than that the address is saved. They come last, so if the first one is minor, all are.
	areAllMinor := len(results) == 0 || results[0].isMinor()
	var reply *chat.Reply
	if areAllMinor {
		reply = c.replyAboutAddress(req, s, p, values)
		reply.Notes = append(reply.Notes, resultLines(results)...)
	} else {
		reply = c.replyAboutBadges(req, s, results, values)
	}
	reply.Actions = append(reply.Actions, forgetButton(givenBadges(s.Given)))
	return reply
}

// replyAboutAddress says that the address is saved. Its notes are about the badges that the sender has or, if they have
// none and stake nothing, can get.
func (c saveCommand) replyAboutAddress(req *chat.Request, s *members.Saved, p proof, values chat.Values) *chat.Reply {
	reply := &chat.Reply{
		Tone:  chat.Positive,
		Title: chat.Say("save.done"),
		Text:  chat.SayWith("save.text", values),
		Notes: c.badgeNotes(s),
	}
	all := c.Members.ConfiguredBadges(req.From.Platform, req.Community)
	stakesNothing := p.stake.Value.StakerStatus() == core.NotStaker
	if len(all) > 0 && reply.Notes == nil && stakesNothing {
		canGet := maps.Clone(values)
		canGet["badge"] = badgeTextIn(req.Community, all)
		reply.Notes = []chat.Text{chat.SayWith("save.later", canGet)}
	}
	return reply
}

// replyAboutBadges has the first result as its title, explains it, and lists the other results.
func (c saveCommand) replyAboutBadges(
	req *chat.Request, s *members.Saved, results []badgeResult, values chat.Values,
) *chat.Reply {
	first := results[0]
	reply := &chat.Reply{
		Tone:  chat.Positive, // unless a case below changes it
		Title: first.line(),
		Text:  chat.SayWith("badge.text", values),
		Notes: append(resultLines(results[1:]), otherProblems(req.From.Platform, results)...),
	}
	why := c.whyRemoved(first, s)
	switch {
	case len(why) > 0:
		reply.Tone = chat.Negative
		reply.Text = why[0]
		reply.Notes = slices.Concat(why[1:], reply.Notes, []chat.Text{chat.Say("badge.still_saved")})
	case first.problem != "": // The platform refused to give or remove a badge, and the user can try again.
		reply.Tone = chat.Warning
		reply.Text = problemText(req.From.Platform, first.problem)
		reply.Notes = append(reply.Notes, chat.Say("badge.still_saved"))
		reply.Actions = []chat.Action{chat.TryAgain(saveName, s.Wallet.Hex())}
	case first.outcome == badgeRemoved: // The settings no longer name the badge, or the row could not be read again.
		reply.Tone = chat.Negative
	}
	return reply
}

// otherProblems explains the problems of the results after the first one, each problem once. It leaves out the problem
// of the first result, which the text of the reply explains.
func otherProblems(p chat.Platform, results []badgeResult) (notes []chat.Text) {
	explained := []chat.BadgeProblem{"", results[0].problem}
	for _, r := range results[1:] {
		if !slices.Contains(explained, r.problem) {
			notes = append(notes, problemText(p, r.problem))
			explained = append(explained, r.problem)
		}
	}
	return notes
}

// whyRemoved explains why the badges of r were removed. It returns nil if they were not removed, or if the row does not
// say why. Badges that were lost by the same two checks share a text.
func (c saveCommand) whyRemoved(r badgeResult, s *members.Saved) (why []chat.Text) {
	if r.outcome != badgeRemoved {
		return nil
	}
	var lost []members.LostBadge
	for _, l := range s.Missing {
		isRemoved := func(b members.Badge) bool { return b.Community == l.Community && b.ID == l.ID }
		if slices.ContainsFunc(r.badges, isRemoved) {
			lost = append(lost, l)
		}
	}
	for _, group := range byChecks(lost) {
		first := group[0]
		why = append(why, members.WhyLost(first.Why, c.address(s.Wallet), first.Amount, c.Symbol))
	}
	return why
}
