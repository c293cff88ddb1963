package app

import (
	"context"
	"sync"

	"herald/internal/chat"
	"herald/internal/demo/fake/services"
	"herald/internal/platform/telegram"
)

// group is the stand-in of a Telegram group that all users of the terminal are in. It
// implements chat.Badges, and keeps what Telegram would show.
type group struct {
	mu    sync.Mutex
	tags  map[string]string     // by user ID; "" is none
	notes map[string]chat.Reply // by user ID: the newest of Notify, until takeNote
}

func (*group) OneEach() bool { return true }

func (*group) BadgeName(_, tag string) chat.Untrusted { return chat.Untrusted(tag) }

func (*group) CommunityName(string) chat.Untrusted { return "Herald demo" }

func (g *group) Give(_ context.Context, _, tag, user, _ string) error { return g.setTag(user, tag) }

func (g *group) Remove(_ context.Context, _, _, user, _ string) error { return g.setTag(user, "") }

// setTag sets the tag of a user. "" removes it. It never fails.
func (g *group) setTag(user, tag string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tags[user] = tag
	return nil
}

func (g *group) Has(_ context.Context, _, user string) (tags []string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if tag := g.tags[user]; tag != "" {
		tags = []string{tag}
	}
	return tags, nil
}

func (g *group) Notify(_ context.Context, user string, note *chat.Reply) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.notes[user] = *note
}

// takeNote returns a user's note once, and false if there is none.
func (g *group) takeNote(user string) (note chat.Reply, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	note, ok = g.notes[user]
	delete(g.notes, user)
	return note, ok
}

// addStory adds three commands that change what happens to a saved address: /unstake and
// /stake change the stake of the World's Staker, and /later checks all saved addresses as if
// RECHECK_EVERY had passed. It must be called before b.members.Run.
func (b *Bot) addStory(world *services.Fakes) error {
	g := &group{tags: map[string]string{}, notes: map[string]chat.Reply{}}
	b.members.Use(telegram.Platform, g)
	values := chat.Values{
		"wallet": chat.Address{Hex: world.World.Staker.Hex()},
		"later":  chat.CommandLink("/later"),
		"stake":  chat.CommandLink("/stake"),
	}
	unstake := func(context.Context, *chat.Request) (*chat.Reply, error) {
		world.Unstaked.On.Store(true)
		return &chat.Reply{
			Title: chat.SayWith("terminal.unstaked", values),
			Text:  chat.SayWith("terminal.unstaked_text", values),
		}, nil
	}
	stake := func(context.Context, *chat.Request) (*chat.Reply, error) {
		world.Unstaked.On.Store(false)
		return &chat.Reply{Title: chat.SayWith("terminal.staked", values)}, nil
	}
	later := func(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
		err := b.members.CheckAll(ctx, b.cfg.Members.Every)
		reply := &chat.Reply{Title: chat.Say("terminal.later"), Text: chat.Say("terminal.later_text")}
		if note, ok := g.takeNote(req.From.ID); ok {
			reply.Sections = []chat.Section{{Heading: note.Title, Fields: []chat.Field{{Value: note.Text}}}}
		}
		return reply, err
	}
	form := func(run chat.Run) []chat.Form { return []chat.Form{{Unlisted: true, Run: run}} }
	return b.Router.Add(
		chat.Command{Name: "unstake", Visibility: chat.Public, Forms: form(unstake)},
		chat.Command{Name: "stake", Visibility: chat.Public, Forms: form(stake)},
		chat.Command{Name: "later", Visibility: chat.Private, Forms: form(later)},
	)
}
