package commands

import (
	"context"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/members"
)

// Members keeps wallets, and has who stakes wear a badge. *members.Members implements it.
type Members interface {
	Keeps() bool
	RecheckEvery() time.Duration
	Badge(p chat.Platform, community string) chat.Untrusted
	Kept(ctx context.Context, user chat.User) (*members.Row, error)
	Keep(ctx context.Context, user chat.User, wallet common.Address, stake core.Stake) ([]members.Change, error)
	Forget(ctx context.Context, user chat.User) (changes []members.Change, had bool, err error)
	Status(ctx context.Context, p chat.Platform) (members.Status, error)
}

const (
	forgetName = "forget"
	// keepsPerMinute is how often a minute a person may keep a wallet: each time makes calls to
	// the chat platform.
	keepsPerMinute = 6
)

// keepCommand answers the button that keeps a wallet.
type keepCommand struct{ verifyCommand }

func keep(from Sources, options Options) chat.Command {
	c := keepCommand{verifyCommand{from, options}}
	return chat.Command{
		Name:       chat.KeepCommand,
		Visibility: chat.Private,
		Forms: []chat.Form{{
			Params: []chat.Param{walletParam}, Unlisted: true, PerMinute: func(chat.Request) int { return keepsPerMinute }, Run: c.run,
		}},
	}
}

// run keeps the wallet if it is the sender's, as is found out anew. Anybody can forge the
// button: it has no power over anybody else.
func (c keepCommand) run(ctx context.Context, req chat.Request) (chat.Reply, error) {
	id, err := sender(req)
	if err != nil {
		return chat.Reply{}, err
	}
	wallet, err := parseWallet(req)
	if err != nil {
		return chat.Reply{}, err
	}
	p := c.prove(ctx, id, wallet)
	if !p.owned() || p.stake.Err != nil || p.stake.Value.Outcome() == core.Undetermined {
		reply, err := c.card(p, yourWallet)
		if reply.Title.Key != "" {
			reply.Notes = append(reply.Notes, chat.Say("keep.not"))
		}
		return reply, err
	}
	changes, err := c.Members.Keep(ctx, req.From, wallet, p.stake.Value)
	if err != nil {
		return chat.Reply{
			Tone: chat.Warning, Title: chat.Say("keep.failed"), Text: chat.Say("keep.failed_text"),
			Actions: []chat.Action{chat.TryAgain(chat.KeepCommand, wallet.Hex())},
		}, &chat.PartialError{Err: err}
	}
	return c.keptCard(req, p, changes), nil
}

// keptCard says that the wallet is kept, and what became of the sender's badge.
func (c keepCommand) keptCard(req chat.Request, p proof, changes []members.Change) chat.Reply {
	every := chat.Values{
		"every": everyText(c.Members.RecheckEvery()), "verify": chat.CommandLink("/verify"), "forget": chat.CommandLink("/" + forgetName),
	}
	reply := chat.Reply{
		Tone: chat.Positive, Title: chat.Say("keep.done"), Text: chat.SayWith("keep.text", every), Actions: []chat.Action{forgetButton(false)},
	}
	change, here := changeToShow(req, changes), c.Members.Badge(req.From.Platform, req.Community)
	badge := chat.Values{"badge": change.Badge}
	switch {
	case len(changes) == 0 && !p.ownerStakes() && here != "":
		reply.Notes = []chat.Text{chat.SayWith("keep.later", chat.Values{"badge": here, "verify": chat.CommandLink("/verify")})}
	case len(changes) == 0:
	case change.Problem != "":
		reply.Tone, reply.Title, reply.Text = chat.Warning, chat.SayWith("badge.failed", badge), whyNot(change)
		reply.Notes = []chat.Text{chat.Say("badge.failed_kept")}
		reply.Actions = append([]chat.Action{chat.TryAgain(chat.KeepCommand, p.wallet.Hex())}, reply.Actions...)
	default:
		reply.Title, reply.Text = wornText(req, change), chat.SayWith("badge.text", every)
		reply.Actions = []chat.Action{forgetButton(true)}
	}
	return reply
}

// changeToShow returns the change in the community of the request. Without one it returns the
// first that succeeded, or the first.
func changeToShow(req chat.Request, changes []members.Change) (shown members.Change) {
	for i, c := range changes {
		if c.Community == req.Community {
			return c
		}
		if i == 0 || shown.Problem != "" && c.Problem == "" {
			shown = c
		}
	}
	return shown
}

// wornText says that the sender wears a badge, here or elsewhere.
func wornText(req chat.Request, c members.Change) chat.Text {
	key := "badge.worn"
	if c.Community == req.Community {
		key = "badge.here"
	}
	return chat.SayWith(key, chat.Values{"badge": c.Badge})
}

// whyNot says why a badge could not be given or taken.
func whyNot(c members.Change) chat.Text { return chat.Say("badge.why." + string(c.Problem)) }

// everyText says how often something happens, in hours if they are whole.
func everyText(d time.Duration) chat.Text {
	if d%time.Hour == 0 {
		return chat.SayWith("every.hours", chat.Values{"n": chat.Count(d / time.Hour)})
	}
	return chat.SayWith("every.minutes", chat.Values{"n": chat.Count(d / time.Minute)})
}

// forgetButton returns the button that deletes what is kept of who presses it. worn says that
// they wear a badge.
func forgetButton(worn bool) chat.Action {
	label := "button.forget"
	if worn {
		label = "button.take_off"
	}
	return chat.Action{Label: chat.Say(label), Command: forgetName, Edit: true}
}

// kept answers about the sender's kept wallet. Without one it asks for a wallet.
func (c verifyCommand) kept(ctx context.Context, req chat.Request) (chat.Reply, error) {
	row, err := c.Members.Kept(ctx, req.From)
	if row != nil {
		return c.ownWallet(ctx, req, row.Wallet)
	}
	reply := chat.Question("verify", walletParam)
	if err != nil {
		reply.Notes = []chat.Text{chat.Say("keep.unread")}
	}
	return reply, nil
}

// offer adds to a card about the sender's own wallet what they can do: keep the wallet or, if
// it is kept, have it forgotten. Who stakes with a kept wallet is given their badge again.
func (c verifyCommand) offer(ctx context.Context, req chat.Request, reply *chat.Reply, p proof) {
	if !p.owned() || !c.Members.Keeps() {
		return
	}
	row, err := c.Members.Kept(ctx, req.From)
	switch {
	case err != nil:
	case row == nil || row.Wallet != p.wallet:
		reply.Actions = append(reply.Actions, chat.Action{
			Label: c.keepLabel(req, p), Command: chat.KeepCommand, Args: []string{p.wallet.Hex()}, Edit: true, NextStep: true,
		})
	default:
		worn := false
		if p.ownerStakes() {
			changes, _ := c.Members.Keep(ctx, req.From, p.wallet, p.stake.Value) // It is kept as it was.
			if worn = len(changes) > 0; worn {
				change := changeToShow(req, changes)
				note := wornText(req, change)
				if change.Problem != "" {
					note = chat.SayWith("badge.failed_why", chat.Values{"badge": change.Badge, "why": whyNot(change)})
				}
				reply.Notes = append(reply.Notes, note)
			}
		}
		reply.Actions = append(reply.Actions, forgetButton(worn))
	}
}

// keepLabel returns the label of the button that keeps a wallet. The label names the badge that
// comes with it, also where the badge is worn elsewhere: everybody there will see it.
func (c verifyCommand) keepLabel(req chat.Request, p proof) chat.Text {
	badge := c.Members.Badge(req.From.Platform, req.Community)
	if badge == "" || !p.ownerStakes() {
		return chat.Say("button.keep")
	}
	return chat.SayWith("button.show", chat.Values{"badge": chat.Untrusted(strings.TrimPrefix(string(badge), "@"))})
}

// forgetCommand answers /forget.
type forgetCommand struct{ Sources }

func forget(from Sources) chat.Command {
	return chat.Command{
		Name:       forgetName,
		Summary:    chat.Say("command.forget"),
		Visibility: chat.Private,
		Forms:      []chat.Form{{Run: forgetCommand{from}.run}},
	}
}

// run deletes what is kept of the sender, and says what went and what could not.
func (c forgetCommand) run(ctx context.Context, req chat.Request) (chat.Reply, error) {
	changes, had, err := c.Members.Forget(ctx, req.From)
	switch {
	case err != nil:
		return chat.Reply{
			Tone: chat.Warning, Title: chat.Say("forget.failed"), Text: chat.Say("keep.failed_text"),
			Actions: []chat.Action{chat.TryAgain(forgetName)},
		}, &chat.PartialError{Err: err}
	case !had:
		return chat.Reply{Title: chat.Say("forget.nothing")}, nil
	}
	reply := chat.Reply{Tone: chat.Positive, Title: chat.Say("forget.done"), Text: chat.Say("forget.text")}
	for _, change := range changes {
		switch {
		case change.Problem == "":
			reply.Notes = append(reply.Notes, chat.SayWith("forget.off", chat.Values{"badge": change.Badge}))
		case change.Gone():
		default:
			reply.Tone, reply.Title, reply.Text = chat.Warning, chat.Say("forget.later"), chat.Say("forget.later_text")
			reply.Notes = append(reply.Notes, chat.SayWith("badge.still", chat.Values{"badge": change.Badge, "why": whyNot(change)}))
			reply.Actions = []chat.Action{chat.TryAgain(forgetName)}
		}
	}
	return reply, nil
}

// keptNote returns the line about a person's kept wallet that moderators read, without the
// wallet. It returns nothing if none is kept, or that is not known.
func keptNote(ctx context.Context, m Members, id core.Identity) []chat.Text {
	row, err := m.Kept(ctx, chat.User{Platform: chat.Platform(strings.ToLower(id.Platform)), ID: id.UID})
	if err != nil || row == nil {
		return nil
	}
	state := chat.Say("exists.kept_idle")
	if row.Stakes() {
		state = chat.Say("exists.kept_stakes")
	}
	return []chat.Text{chat.SayWith("exists.kept", chat.Values{
		"when": chat.Moment{Time: row.KeptAt}, "state": state, "looked": chat.Moment{Time: row.LookedAt},
	})}
}

// memberNotes returns the lines of /status about kept wallets, for moderators.
func memberNotes(ctx context.Context, m Members, p chat.Platform) (notes []chat.Text) {
	s, err := m.Status(ctx, p)
	if err != nil {
		return []chat.Text{chat.Say("status.members_unknown")}
	}
	if s.Rows == 0 && len(s.Worn) == 0 {
		return nil
	}
	notes = append(notes, chat.SayWith("status.members", chat.Values{
		"n": chat.Count(s.Rows), "looked": chat.Count(s.Looked),
		"given": chat.Count(s.Given), "taken": chat.Count(s.Taken), "unknown": chat.Count(s.Unknown),
	}))
	for _, w := range s.Worn {
		notes = append(notes, chat.SayWith("status.worn", chat.Values{"badge": w.Badge, "n": chat.Count(w.Wearers), "holders": chat.Count(w.Holders)}))
	}
	for _, h := range s.Held {
		notes = append(notes, chat.SayWith("status.held", chat.Values{
			"n": chat.Count(h.Losing), "holders": chat.Count(h.Holders), "command": chat.Code("bot members --release"),
		}))
	}
	return notes
}
