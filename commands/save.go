package commands

import (
	"context"
	"errors"
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
	Refresh(
		ctx context.Context, user chat.User, here string, wallet common.Address, stake core.Stake,
	) ([]members.Change, error)
	Forget(ctx context.Context, user chat.User) (members.Forgotten, error)
	Status(p chat.Platform, community string) (members.Status, error)
}

const (
	saveName   = "save"
	forgetName = "forget"
	// savesPerMinute bounds how often one person saves an address, because that makes calls to
	// the chat platform.
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
			{
				Params:    []chat.Param{walletParam},
				Unlisted:  true,
				PerMinute: func(*chat.Request) int { return savesPerMinute },
				Run:       c.run,
			},
			{Unlisted: true, Run: c.ownSaved},
		},
	}
}

// run proves anew that the wallet is the sender's, because anybody can forge the button, and saves
// it.
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
		return c.card(p, yourWallet, &chat.Reply{Notes: []chat.Text{chat.Say("save.not")}})
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
	if err != nil || s == nil { // The row cannot be read just now, or is deleted again.
		s = &members.Saved{Wallet: wallet}
	}
	return c.doneCard(req, s, p, changes), partly(err)
}

// doneCard says that the address is saved, and what became of the sender's badges.
func (c saveCommand) doneCard(req *chat.Request, s *members.Saved, p proof, changes []members.Change) *chat.Reply {
	values := chat.Values{
		"wallet": c.address(s.Wallet), "every": everyText(c.Members.RecheckEvery()),
		"verify": chat.CommandLink("/verify"), "forget": chat.CommandLink("/" + forgetName),
	}
	var reply *chat.Reply
	outcomes := outcomesOf(req.Community, changes)
	if len(outcomes) > 0 && outcomes[0].key != badgeGone {
		reply = c.outcomeCard(req, s, outcomes, values)
	} else {
		reply = c.savedCard(req, s, p, values)
		reply.Notes = append(reply.Notes, lines(outcomes)...)
	}
	reply.Actions = append(reply.Actions, forgetButton(badgesOf(s.Badges)))
	return reply
}

// savedCard says that the address is saved, and which badges the sender has, or gets once they stake.
func (c saveCommand) savedCard(req *chat.Request, s *members.Saved, p proof, values chat.Values) *chat.Reply {
	reply := &chat.Reply{
		Tone:  chat.Positive,
		Title: chat.Say("save.done"),
		Text:  chat.SayWith("save.text", values),
		Notes: c.badgeNotes(s),
	}
	all := c.Members.Badges(req.From.Platform, req.Community)
	isIdle := p.stake.Value.StakerStatus() == core.NotStaker
	if len(all) > 0 && reply.Notes == nil && isIdle {
		values["badge"] = badgesIn(req.Community, all)
		reply.Notes = []chat.Text{chat.SayWith("save.later", values)}
	}
	return reply
}

// outcomeCard says the first outcome in its title, explains it, and lists the others.
func (c saveCommand) outcomeCard(
	req *chat.Request, s *members.Saved, outcomes []outcome, values chat.Values,
) *chat.Reply {
	first, others := outcomes[0], lines(outcomes[1:])
	gone := first.badges[0]
	isGone := func(b members.Badge) bool { return b.Community == gone.Community && b.ID == gone.ID }
	if first.key == "badge.removed" && slices.ContainsFunc(s.Missing, isGone) {
		why := members.WhyLost(*s.Lost, c.address(s.Wallet), gone.Amount, c.Symbol)
		return &chat.Reply{
			Tone:  chat.Negative,
			Title: first.line(),
			Text:  why,
			Notes: append(others, chat.Say("badge.failed_saved")),
		}
	}
	if first.problem == "" {
		tone := chat.Positive
		if first.isBad() {
			tone = chat.Negative
		}
		return &chat.Reply{Tone: tone, Title: first.line(), Text: chat.SayWith("badge.text", values), Notes: others}
	}
	return &chat.Reply{
		Tone:    chat.Warning,
		Title:   first.line(),
		Text:    whyNot(req.From.Platform, first.problem),
		Notes:   append(others, chat.Say("badge.failed_saved")),
		Actions: []chat.Action{chat.TryAgain(saveName, s.Wallet.Hex())},
	}
}

// outcome is what became of some badges of one community, as one line says it.
type outcome struct {
	key     string // one of outcomeKeys
	badges  []members.Badge
	problem chat.BadgeProblem // or ""
}

// badgeGone is the outcomeKey of badges that were to be removed, and do not exist any more.
const badgeGone = "badge.gone"

// outcomeKeys are the messages that say an outcome, in the order in which people read them.
var outcomeKeys = []string{
	"badge.here", "badge.in", "badge.rules", "badge.failed", "badge.still", "badge.soon", "badge.removed", badgeGone,
}

// outcomeKey returns the key for a change, for a reader in the community here.
func outcomeKey(here string, c members.Change) string {
	switch {
	case c.Removed && !c.Later && c.Problem == chat.BadgeGone:
		return badgeGone
	case c.Removed && (c.Later || c.Problem != ""):
		return "badge.still"
	case c.Later:
		return "badge.soon"
	case c.Problem == chat.RulesPending:
		return "badge.rules"
	case c.Problem != "":
		return "badge.failed"
	case c.Removed:
		return "badge.removed"
	case c.Badge.Community == here:
		return "badge.here"
	}
	return "badge.in"
}

// outcomesOf returns the outcomes of changes in the order of outcomeKeys, one for each key and
// community.
func outcomesOf(here string, changes []members.Change) (all []outcome) {
	for _, c := range changes {
		key := outcomeKey(here, c)
		i := slices.IndexFunc(all, func(o outcome) bool {
			return o.key == key && o.badges[0].Community == c.Badge.Community
		})
		if i < 0 {
			all = append(all, outcome{key: key, badges: []members.Badge{c.Badge}, problem: c.Problem})
		} else {
			all[i].badges = append(all[i].badges, c.Badge)
		}
	}
	slices.SortStableFunc(all, func(a, b outcome) int {
		return slices.Index(outcomeKeys, a.key) - slices.Index(outcomeKeys, b.key)
	})
	return all
}

// isBad reports whether the person has fewer badges than they expect.
func (o outcome) isBad() bool { return o.key == "badge.failed" || o.key == "badge.removed" }

// line returns the message that says the outcome.
func (o outcome) line() chat.Text {
	return chat.SayWith(o.key, chat.Values{"badge": badgeNames(o.badges), "group": o.badges[0].Group()})
}

// lines returns the line of each outcome.
func lines(outcomes []outcome) (all []chat.Text) {
	for _, o := range outcomes {
		all = append(all, o.line())
	}
	return all
}

// badgeNames returns the names of badges, each once. If a name is not known, it returns words that
// stand for all of them.
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

// badgesIn returns the names of badges for a reader in the community here. If here is "", each has
// its community.
func badgesIn(here string, badges []members.Badge) (list chat.Value) {
	if here != "" {
		return badgeNames(badges)
	}
	return placed(badges)
}

// placed returns the names of badges, each with its community.
func placed(badges []members.Badge) (list chat.Value) {
	var groups []string
	in := map[string][]members.Badge{}
	for _, b := range badges {
		if in[b.Community] == nil {
			groups = append(groups, b.Community)
		}
		in[b.Community] = append(in[b.Community], b)
	}
	for _, group := range groups {
		there := in[group]
		next := chat.SayWith("badge.at", chat.Values{"badge": badgeNames(there), "group": there[0].Group()})
		if list == nil {
			list = next
		} else {
			list = chat.SayWith("badge.list", chat.Values{"first": list, "next": next})
		}
	}
	return list
}

// whyNot says why a badge could not be given or removed on a platform.
func whyNot(p chat.Platform, problem chat.BadgeProblem) chat.Text {
	return chat.SayWith("badge.why."+string(problem), chat.Values{"right": chat.Say("badge.right." + string(p))})
}

// everyText says that something happens once in d, in hours if they are whole.
func everyText(d time.Duration) chat.Text {
	if d%time.Hour == 0 {
		return chat.SayWith("every.hours", chat.Values{"n": chat.Count(d / time.Hour)})
	}
	return chat.SayWith("every.minutes", chat.Values{"n": chat.Count(d / time.Minute)})
}

// forgetButton returns the button that deletes what is saved of the person who presses it, and
// removes the badges that they have.
func forgetButton(has []members.Badge) chat.Action {
	label := chat.Say("button.forget")
	if len(has) > 0 {
		label = chat.SayWith("button.remove", chat.Values{"badge": badgeNames(has)})
	}
	return chat.Action{Label: label, Command: forgetName, Edit: true}
}

// ownSaved returns the card about the sender and their saved wallet. Without one it asks for a
// wallet.
func (c verifyCommand) ownSaved(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	s, err := c.Members.Saved(ctx, req.From)
	if s != nil {
		return c.ownWallet(ctx, req, s.Wallet)
	}
	reply := chat.Question("verify", walletParam)
	switch {
	case errors.Is(err, members.ErrUnreadable):
		reply.Notes = []chat.Text{chat.Say("save.unreadable")}
	case err != nil:
		reply.Notes = []chat.Text{chat.Say("save.unread")}
	}
	return reply, partly(err)
}

// saveOrRefresh returns the notes and buttons that a card about the sender's own wallet gets: those of
// offerSave or, if the wallet is saved, of refreshBadges. If what is saved is unreadable, the note says so, and
// saveOrRefresh also returns the error.
func (c verifyCommand) saveOrRefresh(ctx context.Context, req *chat.Request, p proof) (*chat.Reply, error) {
	if !p.owned() || !c.Members.Enabled() {
		return &chat.Reply{}, nil
	}
	s, err := c.Members.Saved(ctx, req.From)
	switch {
	case errors.Is(err, members.ErrUnreadable):
		return &chat.Reply{Notes: []chat.Text{chat.Say("save.unreadable")}}, err
	case err != nil: // The card has its answer all the same.
		return &chat.Reply{}, nil
	case s != nil && s.Wallet == p.wallet:
		return c.refreshBadges(ctx, req, p, s), nil
	case !p.stakeKnown(): // A press would save nothing.
		return &chat.Reply{}, nil
	}
	return c.offerSave(ctx, req.From, req.Community, p), nil
}

// offerSave returns the button that saves a wallet, and says before the press what is saved, who
// sees what, and which badges come with it, where. The user is in the community here.
func (c verifyCommand) offerSave(ctx context.Context, user chat.User, here string, p proof) *chat.Reply {
	offered := c.Members.Offer(ctx, user, here, p.stake.Value)
	consent, label := "save.offer", "button.save"
	if len(offered) > 0 {
		consent, label = "save.offer_badge", "button.save_badge"
	}
	values := chat.Values{
		"badge": badgeNames(offered), "badges": placed(offered), "every": everyText(c.Members.RecheckEvery()),
		"verify": chat.CommandLink("/verify"), "forget": chat.CommandLink("/" + forgetName),
	}
	button := chat.Action{
		Label:    chat.SayWith(label, values),
		Command:  saveName,
		Args:     []string{p.wallet.Hex()},
		Edit:     true,
		NextStep: true,
	}
	return &chat.Reply{Notes: []chat.Text{chat.SayWith(consent, values)}, Actions: []chat.Action{button}}
}

// refreshBadges gives the sender what their saved wallet's stake allows, and returns what became of
// their badges and the button that deletes what is saved. The tone is Negative if that is bad news.
func (c verifyCommand) refreshBadges(ctx context.Context, req *chat.Request, p proof, s *members.Saved) *chat.Reply {
	var changes []members.Change
	if p.stake.Err == nil {
		// If it fails, all is as before.
		changes, _ = c.Members.Refresh(ctx, req.From, req.Community, p.wallet, p.stake.Value)
	}
	var waiting []members.Change
	if req.RulesPending { // Then the sender has no role there, whatever was given before they left.
		s = s.Elsewhere(req.Community)
		waiting = c.waitingForRules(req, p)
	}
	notes := c.badgeNotes(s)
	isBad := len(s.Going) > 0 || len(s.Missing) > 0
	if len(changes) > 0 {
		outcomes := outcomesOf(req.Community, changes)
		notes, isBad = lines(outcomes), slices.ContainsFunc(outcomes, outcome.isBad)
		if after, err := c.Members.Saved(ctx, req.From); err == nil && after != nil {
			s = after
		}
	}
	if len(waiting) > 0 {
		notes = append(notes, lines(outcomesOf(req.Community, waiting))...)
		notes = append(notes, whyNot(req.From.Platform, chat.RulesPending))
	}
	reply := &chat.Reply{Notes: notes, Actions: []chat.Action{forgetButton(badgesOf(s.Badges))}}
	if isBad {
		reply.Tone = chat.Negative
	}
	return reply
}

// waitingForRules returns the badges of the community here that the sender's stake reaches. Nothing was
// given when this command arrived, because the sender has not accepted the rules there.
func (c verifyCommand) waitingForRules(req *chat.Request, p proof) (changes []members.Change) {
	if p.stake.Err != nil {
		return nil
	}
	for _, b := range c.Members.Badges(req.From.Platform, req.Community) {
		if p.stake.Value.Reaches(b.Amount) == core.Staker {
			changes = append(changes, members.Change{Badge: b, Problem: chat.RulesPending})
		}
	}
	return changes
}

// badgesOf returns the badges without their times.
func badgesOf(has []members.Has) (all []members.Badge) {
	for _, h := range has {
		all = append(all, h.Badge)
	}
	return all
}

// badgeNotes tells the person who saved s since when they have each badge, which ones go at the
// next check, and why others went.
func (c verifyCommand) badgeNotes(s *members.Saved) (notes []chat.Text) {
	for _, h := range s.Badges {
		notes = append(notes, chat.SayWith("badge.since", chat.Values{
			"badge": badgeNames([]members.Badge{h.Badge}), "group": h.Badge.Group(), "day": chat.Day{Time: h.Since},
		}))
	}
	if len(s.Going) > 0 {
		notes = append(notes, chat.SayWith("badge.going", chat.Values{
			"badge": badgeNames(badgesOf(s.Going)), "time": clock(s.LastBlock),
		}))
	}
	if len(s.Missing) > 0 {
		why := members.WhyLost(*s.Lost, c.address(s.Wallet), s.Missing[0].Amount, c.Symbol)
		notes = append(notes, chat.SayWith("badge.lost", chat.Values{"badge": badgeNames(s.Missing), "why": why}))
	}
	return notes
}

// clock returns a time of day in UTC.
func clock(t time.Time) chat.Plain { return chat.Plain(t.UTC().Format("15:04 UTC")) }

// noteForModerators returns the line about a person's saved address for moderators of a community,
// who do not read the address. It returns nothing if none is saved, or that is not known. If what is saved is
// unreadable, the line says so, and noteForModerators also returns the error.
func noteForModerators(ctx context.Context, m Members, id core.Identity, community string) ([]chat.Text, error) {
	s, err := m.Saved(ctx, chat.User{Platform: chat.Platform(strings.ToLower(id.Platform)), ID: id.UID})
	switch {
	case errors.Is(err, members.ErrUnreadable):
		return []chat.Text{chat.Say("exists.unreadable")}, err
	case err != nil || s == nil:
		return nil, nil
	}
	values := chat.Values{"day": chat.Day{Time: s.SavedAt}, "state": savedState(s, community)}
	return []chat.Text{chat.SayWith("exists.saved", values)}, nil
}

// savedState says whether a saved address stakes, and which badges its person has, loses or has lost
// in a community, or with "" anywhere.
func savedState(s *members.Saved, community string) chat.Text {
	isElsewhere := func(b members.Badge) bool { return community != "" && b.Community != community }
	here := func(all []members.Badge) []members.Badge {
		return slices.DeleteFunc(slices.Clone(all), isElsewhere)
	}
	has, going, lost := here(badgesOf(s.Badges)), here(badgesOf(s.Going)), here(s.Missing)
	checked := chat.Moment{Time: s.CheckedAt}
	switch {
	case len(going) > 0:
		return chat.SayWith("exists.going", chat.Values{"badge": badgeNames(going), "time": clock(s.LastBlock)})
	case len(has) > 0:
		return chat.SayWith("exists.has", chat.Values{"badge": badgeNames(has), "checked": checked})
	case len(lost) > 0 && s.Lost.Disowned:
		return chat.SayWith("exists.disowned", chat.Values{"badge": badgeNames(lost), "when": members.WhenLost(*s.Lost)})
	case len(lost) > 0:
		return chat.SayWith("exists.lost", chat.Values{"badge": badgeNames(lost), "when": members.WhenLost(*s.Lost)})
	case s.Stakes:
		return chat.SayWith("exists.stakes", chat.Values{"checked": checked})
	}
	return chat.SayWith("exists.idle", chat.Values{"checked": checked})
}
