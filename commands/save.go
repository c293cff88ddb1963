package commands

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/members"
)

// Members saves addresses, and has badges follow the stake. *members.Members implements it.
type Members interface {
	Enabled() bool
	RecheckEvery() time.Duration
	Badges(p chat.Platform, community string) []members.Badge
	CommunityName(p chat.Platform, community string) chat.Untrusted
	Offer(ctx context.Context, user chat.User, here string, stake core.Stake) []members.Badge
	Saved(ctx context.Context, user chat.User) (*members.Saved, error)
	Save(ctx context.Context, user chat.User, wallet common.Address, stake core.Stake) ([]members.Change, error)
	Refresh(ctx context.Context, user chat.User, here string, wallet common.Address, stake core.Stake) ([]members.Change, error)
	Forget(ctx context.Context, user chat.User) (members.Forgotten, error)
	Status(p chat.Platform, community string) (members.Status, error)
}

const (
	saveName   = "save"
	forgetName = "forget"
	// savesPerMinute is how often a minute a person may save an address: each time makes calls
	// to the chat platform.
	savesPerMinute = 6
)

// saveCommand answers the button that saves an address.
type saveCommand struct{ verifyCommand }

func save(from Sources, options Options) chat.Command {
	c := saveCommand{verifyCommand{from, options}}
	return chat.Command{
		Name:       saveName,
		Visibility: chat.Private,
		Asks:       []string{"partner", "chain"},
		Forms: []chat.Form{
			{Params: []chat.Param{walletParam}, Unlisted: true, PerMinute: func(chat.Request) int { return savesPerMinute }, Run: c.run},
			{Unlisted: true, Run: c.saved},
		},
	}
}

// run saves the address if it is the sender's, as is found out anew. Anybody can forge the
// button: it has no power over anybody else.
func (c saveCommand) run(ctx context.Context, req chat.Request) (chat.Reply, error) {
	id, err := sender(req)
	if err != nil {
		return chat.Reply{}, err
	}
	wallet, err := parseWallet(req)
	if err != nil {
		return chat.Reply{}, err
	}
	p := c.prove(ctx, id, wallet)
	if !p.owned() || !p.stakeKnown() {
		return c.card(p, yourWallet, chat.Reply{Notes: []chat.Text{chat.Say("save.not")}})
	}
	changes, err := c.Members.Save(ctx, req.From, wallet, p.stake.Value)
	if err != nil {
		return chat.Reply{
			Tone: chat.Warning, Title: chat.Say("save.failed"), Text: chat.Say("save.failed_text"),
			Actions: []chat.Action{chat.TryAgain(saveName, wallet.Hex())},
		}, &chat.PartialError{Err: err}
	}
	s, err := c.Members.Saved(ctx, req.From)
	if err != nil || s == nil { // It may be deleted again.
		s = &members.Saved{Wallet: wallet}
	}
	return c.savedCard(req, s, changes), nil
}

// savedCard says that the address is saved, and what became of the sender's badges.
func (c saveCommand) savedCard(req chat.Request, s *members.Saved, changes []members.Change) chat.Reply {
	wallet := s.Wallet
	values := chat.Values{
		"wallet": c.address(wallet), "every": everyText(c.Members.RecheckEvery()),
		"verify": chat.CommandLink("/verify"), "forget": chat.CommandLink("/" + forgetName),
	}
	lines := changeLines(req.Community, changes)
	reply := chat.Reply{Tone: chat.Positive, Actions: []chat.Action{forgetButton(badgesOf(s.Badges))}}
	failed := slices.IndexFunc(changes, func(ch members.Change) bool { return ch.Problem != "" })
	given := slices.ContainsFunc(changes, func(ch members.Change) bool { return !ch.Removed && !ch.Later && ch.Problem == "" })
	switch {
	case len(changes) == 0:
		reply.Title, reply.Text, reply.Notes = chat.Say("save.done"), chat.SayWith("save.text", values), c.badgeNotes(s)
		if all := c.Members.Badges(req.From.Platform, req.Community); len(all) > 0 && reply.Notes == nil {
			values["badge"] = badgeNames(all)
			reply.Notes = []chat.Text{chat.SayWith("save.later", values)}
		}
	case failed >= 0 && !given:
		reply.Tone, reply.Title, reply.Text, reply.Notes = chat.Warning, lines[0], whyNot(req.From.Platform, changes[failed].Problem), lines[1:]
		reply.Notes = append(reply.Notes, chat.Say("badge.failed_saved"))
		reply.Actions = append([]chat.Action{chat.TryAgain(saveName, wallet.Hex())}, reply.Actions...)
	default:
		reply.Title, reply.Text, reply.Notes = lines[0], chat.SayWith("badge.text", values), lines[1:]
	}
	return reply
}

// changeLines says what became of badges, a line for each community and outcome: first what was
// given here, then what was given elsewhere, then the rest.
func changeLines(here string, changes []members.Change) (lines []chat.Text) {
	type line struct {
		key, community string
		badges         []members.Badge
	}
	var all []line
	for _, c := range changes {
		key := "badge.in"
		switch {
		case c.Later:
			key = "badge.soon"
		case c.Problem != "" && c.Removed:
			key = "badge.still"
		case c.Problem != "":
			key = "badge.failed"
		case c.Removed:
			key = "badge.removed"
		case c.Badge.Community == here:
			key = "badge.here"
		}
		i := slices.IndexFunc(all, func(l line) bool { return l.key == key && l.community == c.Badge.Community })
		if i < 0 {
			i, all = len(all), append(all, line{key: key, community: c.Badge.Community})
		}
		all[i].badges = append(all[i].badges, c.Badge)
	}
	rank := map[string]int{"badge.here": -2, "badge.in": -1}
	slices.SortStableFunc(all, func(a, b line) int { return rank[a.key] - rank[b.key] })
	for _, l := range all {
		lines = append(lines, chat.SayWith(l.key, chat.Values{"badge": badgeNames(l.badges), "group": l.badges[0].Group()}))
	}
	return lines
}

// badgeNames returns the names of badges, each once.
func badgeNames(badges []members.Badge) chat.Value {
	var names []string
	for _, b := range badges {
		if b.Name == "" {
			return chat.Say("badge.unnamed")
		}
		if !slices.Contains(names, string(b.Name)) {
			names = append(names, string(b.Name))
		}
	}
	return chat.Untrusted(strings.Join(names, ", "))
}

// whyNot says why a badge could not be given or removed on a platform.
func whyNot(p chat.Platform, problem chat.BadgeProblem) chat.Text {
	return chat.SayWith("badge.why."+string(problem), chat.Values{"right": chat.Say("badge.right." + string(p))})
}

// everyText says how often something happens, in hours if they are whole.
func everyText(d time.Duration) chat.Text {
	if d%time.Hour == 0 {
		return chat.SayWith("every.hours", chat.Values{"n": chat.Count(d / time.Hour)})
	}
	return chat.SayWith("every.minutes", chat.Values{"n": chat.Count(d / time.Minute)})
}

// forgetButton returns the button that deletes what is saved of who presses it, and removes
// their badges.
func forgetButton(has []members.Badge) chat.Action {
	label := chat.Say("button.forget")
	if len(has) > 0 {
		label = chat.SayWith("button.remove", chat.Values{"badge": badgeNames(has)})
	}
	return chat.Action{Label: label, Command: forgetName, Edit: true}
}

// saveButton returns the button that saves a wallet, and says which badges come with it.
func saveButton(wallet common.Address, offered []members.Badge) chat.Action {
	label := chat.Say("button.save")
	if len(offered) > 0 {
		label = chat.SayWith("button.save_badge", chat.Values{"badge": badgeNames(offered)})
	}
	return chat.Action{Label: label, Command: saveName, Args: []string{wallet.Hex()}, Edit: true, NextStep: true}
}

// saved answers about the sender's saved address. Without one it asks for a wallet.
func (c verifyCommand) saved(ctx context.Context, req chat.Request) (chat.Reply, error) {
	s, err := c.Members.Saved(ctx, req.From)
	if s != nil {
		return c.ownWallet(ctx, req, s.Wallet)
	}
	reply := chat.Question("verify", walletParam)
	if err != nil {
		reply.Notes = []chat.Text{chat.Say("save.unread")}
	}
	return reply, nil
}

// offer returns what is added to a card about the sender's own wallet: that they can save the
// address or, if it is saved, their badges and the button that deletes all of it.
func (c verifyCommand) offer(ctx context.Context, req chat.Request, p proof) (more chat.Reply) {
	if !p.owned() || !c.Members.Enabled() {
		return more
	}
	s, err := c.Members.Saved(ctx, req.From)
	if err != nil { // What was asked is answered all the same.
		return more
	}
	if s == nil || s.Wallet != p.wallet {
		var offered []members.Badge
		if p.stake.Err == nil {
			offered = c.Members.Offer(ctx, req.From, req.Community, p.stake.Value)
		}
		return chat.Reply{Notes: []chat.Text{c.consent(offered)}, Actions: []chat.Action{saveButton(p.wallet, offered)}}
	}
	var changes []members.Change
	if p.stake.Err == nil {
		changes, _ = c.Members.Refresh(ctx, req.From, req.Community, p.wallet, p.stake.Value) // The address is saved as it was.
	}
	more.Notes = c.badgeNotes(s)
	if len(changes) > 0 {
		more.Notes = changeLines(req.Community, changes)
		if after, err := c.Members.Saved(ctx, req.From); err == nil && after != nil {
			s = after
		}
	}
	more.Actions = []chat.Action{forgetButton(badgesOf(s.Badges))}
	return more
}

// consent says before the press what is saved, and who sees what.
func (c verifyCommand) consent(offered []members.Badge) chat.Text {
	key := "save.offer"
	if len(offered) > 0 {
		key = "save.offer_badge"
	}
	return chat.SayWith(key, chat.Values{
		"badge": badgeNames(offered), "every": everyText(c.Members.RecheckEvery()),
		"verify": chat.CommandLink("/verify"), "forget": chat.CommandLink("/" + forgetName),
	})
}

func badgesOf(has []members.Has) (all []members.Badge) {
	for _, h := range has {
		all = append(all, h.Badge)
	}
	return all
}

// badgeNotes says to its owner since when they have a badge, and when and why one goes or went.
func (c verifyCommand) badgeNotes(s *members.Saved) (notes []chat.Text) {
	for _, h := range s.Badges {
		notes = append(notes, chat.SayWith("badge.since", chat.Values{
			"badge": badgeNames([]members.Badge{h.Badge}), "group": h.Badge.Group(), "day": chat.Day{Time: h.Since},
		}))
	}
	if len(s.Going) > 0 {
		notes = append(notes, chat.SayWith("badge.going", chat.Values{"badge": badgeNames(badgesOf(s.Going)), "time": clock(s.LastBlock)}))
	}
	if s.Lost != nil && len(s.Missing) > 0 {
		b := s.Missing[0]
		notes = append(notes, chat.SayWith("badge.lost", chat.Values{
			"badge": badgeNames(s.Missing), "why": members.WhyLost(*s.Lost, c.address(s.Wallet), b.Amount, c.Symbol),
		}))
	}
	return notes
}

// clock returns a time of day in UTC.
func clock(t time.Time) chat.Plain { return chat.Plain(t.UTC().Format("15:04 UTC")) }

// savedNote returns the line about a person's saved address that moderators of a community
// read, without the address. It returns nothing if none is saved, or that is not known.
func savedNote(ctx context.Context, m Members, id core.Identity, community string) []chat.Text {
	s, err := m.Saved(ctx, chat.User{Platform: chat.Platform(strings.ToLower(id.Platform)), ID: id.UID})
	if err != nil || s == nil {
		return nil
	}
	here := func(all []members.Badge) []members.Badge {
		return slices.DeleteFunc(all, func(b members.Badge) bool { return community != "" && b.Community != community })
	}
	has, going, lost := here(badgesOf(s.Badges)), here(badgesOf(s.Going)), here(s.Missing)
	values := chat.Values{"day": chat.Day{Time: s.SavedAt}, "checked": chat.Moment{Time: s.CheckedAt}}
	key := "exists.idle"
	switch {
	case len(going) > 0:
		key, values["badge"], values["time"] = "exists.going", badgeNames(going), clock(s.LastBlock)
	case s.Lost != nil && len(lost) > 0 && len(has) == 0:
		key, values["badge"], values["when"] = "exists.lost", badgeNames(lost), members.WhenLost(*s.Lost)
		if s.Lost.Disowned {
			key = "exists.disowned"
		}
	case len(has) > 0:
		key, values["badge"] = "exists.has", badgeNames(has)
	case s.Stakes:
		key = "exists.stakes"
	}
	return []chat.Text{chat.SayWith("exists.saved", chat.Values{"day": values["day"], "state": chat.SayWith(key, values)})}
}
