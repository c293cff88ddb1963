package commands

import (
	"context"
	"errors"
	"slices"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/members"
)

const saveName = "save"

// saveLimit is how often a person may save an address, because each time calls the chat platform.
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
			{Unlisted: true, Run: c.ownSaved}, // without a wallet, as somebody may type it
		},
	}
}

// run saves the wallet in the arguments. It first proves again that the wallet is the sender's, because anybody can
// forge the button. If it cannot prove that, or the stake is not known, it returns a card that says so.
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
	isSavedKnown := err == nil && s != nil // The row may be unreadable just now, or be deleted again.
	if !isSavedKnown {
		s = &members.Saved{Wallet: wallet}
	}
	return c.done(req, s, p, changes), asPartialError(err)
}

// done says that the address is saved, and what happened to the sender's badges.
func (c saveCommand) done(req *chat.Request, s *members.Saved, p proof, changes []members.Change) *chat.Reply {
	values := chat.Values{
		"wallet": c.address(s.Wallet),
		"every":  everyText(c.Members.RecheckEvery()),
		"verify": chat.CommandLink("/verify"),
		"forget": chat.CommandLink("/" + forgetName),
	}
	var reply *chat.Reply
	// The results come most important first. A badge that does not exist any more is only a note. It comes last, so if it
	// comes first, there is nothing else.
	results := badgeResults(req.Community, changes)
	hasMoreThanNotes := len(results) > 0 && results[0].outcome != badgeDeleted
	if hasMoreThanNotes {
		reply = c.withResults(req, s, results, values)
	} else {
		reply = c.withoutResults(req, s, p, values)
		reply.Notes = append(reply.Notes, lines(results)...)
	}
	reply.Actions = append(reply.Actions, forgetButton(givenBadges(s.Given)))
	return reply
}

// withoutResults says that the address is saved, and which badges the sender has, or will get when they stake.
func (c saveCommand) withoutResults(req *chat.Request, s *members.Saved, p proof, values chat.Values) *chat.Reply {
	reply := &chat.Reply{
		Tone:  chat.Positive,
		Title: chat.Say("save.done"),
		Text:  chat.SayWith("save.text", values),
		Notes: c.badgeNotes(s),
	}
	all := c.Members.ConfiguredBadges(req.From.Platform, req.Community)
	stakesNothing := p.stake.Value.StakerStatus() == core.NotStaker
	if len(all) > 0 && reply.Notes == nil && stakesNothing {
		values["badge"] = badgeTextIn(req.Community, all)
		reply.Notes = []chat.Text{chat.SayWith("save.later", values)}
	}
	return reply
}

// withResults puts the first result into the title, explains it, and lists the others.
func (c saveCommand) withResults(
	req *chat.Request, s *members.Saved, results []badgeResult, values chat.Values,
) *chat.Reply {
	first := results[0]
	others := withReasons(req.From.Platform, lines(results[1:]), results)
	why, lacksStake := c.whyRemoved(first, s)
	switch {
	case lacksStake: // The badge was removed, and the reply says which stake it needs.
		return &chat.Reply{
			Tone:  chat.Negative,
			Title: first.line(),
			Text:  why,
			Notes: append(others, chat.Say("badge.failed_saved")),
		}
	case first.problem != "": // A call to the platform failed, and the person may try again.
		return &chat.Reply{
			Tone:    chat.Warning,
			Title:   first.line(),
			Text:    problemText(req.From.Platform, first.problem),
			Notes:   append(others, chat.Say("badge.failed_saved")),
			Actions: []chat.Action{chat.TryAgain(saveName, s.Wallet.Hex())},
		}
	case first.outcome == badgeRemoved: // for another reason
		return &chat.Reply{
			Tone:  chat.Negative,
			Title: first.line(),
			Text:  chat.SayWith("badge.text", values),
			Notes: others,
		}
	}
	// The badge was given, or will be given or removed later.
	return &chat.Reply{
		Tone:  chat.Positive,
		Title: first.line(),
		Text:  chat.SayWith("badge.text", values),
		Notes: others,
	}
}

// withReasons returns notes followed by further problems: those of results with the same outcome as the first one. The
// explanation of the first result would otherwise seem to explain them, too. Each problem is told once.
func withReasons(p chat.Platform, notes []chat.Text, results []badgeResult) []chat.Text {
	explained := []chat.BadgeProblem{"", results[0].problem}
	for _, r := range results[1:] {
		if r.outcome == results[0].outcome && !slices.Contains(explained, r.problem) {
			notes = append(notes, problemText(p, r.problem))
			explained = append(explained, r.problem)
		}
	}
	return notes
}

// whyRemoved explains a result that says that a badge was removed for lack of stake. It returns false for any other
// result.
func (c saveCommand) whyRemoved(r badgeResult, s *members.Saved) (why chat.Text, lacksStake bool) {
	if r.outcome != badgeRemoved {
		return chat.Text{}, false
	}
	removed := r.badges[0]
	for _, l := range s.Missing {
		if l.Community == removed.Community && l.ID == removed.ID {
			return members.WhyLost(l.Why, c.address(s.Wallet), removed.Amount, c.Symbol), true
		}
	}
	return chat.Text{}, false
}
