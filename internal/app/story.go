package app

import (
	"context"
	"sync"

	"herald/internal/chat"
	"herald/internal/demo/fake/services"
	"herald/internal/platform/telegram"
)

// group is the stand-in of a Telegram group with all users of the terminal. It implements
// chat.Badges.
type group struct {
	tags  sync.Map // by user ID
	notes sync.Map // the newest chat.Reply of Notify, by user ID
}

func (*group) OneEach() bool                                            { return true }
func (*group) BadgeName(_, tag string) chat.Untrusted                   { return chat.Untrusted(tag) }
func (*group) CommunityName(string) chat.Untrusted                      { return "Herald demo" }
func (g *group) Notify(_ context.Context, user string, note chat.Reply) { g.notes.Store(user, note) }

func (g *group) Give(_ context.Context, _, tag, user, _ string) error {
	g.tags.Store(user, tag)
	return nil
}

func (g *group) Remove(_ context.Context, _, _, user, _ string) error {
	g.tags.Delete(user)
	return nil
}

func (g *group) Has(_ context.Context, _, user string) (tags []string, err error) {
	if tag, has := g.tags.Load(user); has {
		tags = []string{tag.(string)}
	}
	return tags, nil
}

// addStory adds commands that change what happens to a saved address: /unstake and /stake
// change the stake of the World's Staker, and /later has hours pass. It must be called before
// runMembers.
func (b *Bot) addStory(world *services.Fakes) {
	g := &group{}
	b.members.Use(telegram.Platform, g)
	values := chat.Values{
		"wallet": chat.Address{Hex: world.World.Staker.Hex()}, "later": chat.CommandLink("/later"), "stake": chat.CommandLink("/stake"),
	}
	add := func(name string, v chat.Visibility, run chat.Run) {
		all := &b.Router.Config.Commands
		*all = append(*all, chat.Command{Name: name, Visibility: v, Forms: []chat.Form{{Unlisted: true, Run: run}}})
	}
	add("unstake", chat.Public, func(context.Context, chat.Request) (chat.Reply, error) {
		world.Unstaked.On.Store(true)
		return chat.Reply{Title: chat.SayWith("terminal.unstaked", values), Text: chat.SayWith("terminal.unstaked_text", values)}, nil
	})
	add("stake", chat.Public, func(context.Context, chat.Request) (chat.Reply, error) {
		world.Unstaked.On.Store(false)
		return chat.Reply{Title: chat.SayWith("terminal.staked", values)}, nil
	})
	add("later", chat.Private, func(ctx context.Context, req chat.Request) (chat.Reply, error) {
		g.notes.Clear()
		err := b.members.CheckAll(ctx, b.cfg.Members.Every)
		reply := chat.Reply{Title: chat.Say("terminal.later"), Text: chat.Say("terminal.later_text")}
		if note, told := g.notes.Load(req.From.ID); told {
			reply.Sections = []chat.Section{{Heading: note.(chat.Reply).Title, Fields: []chat.Field{{Value: note.(chat.Reply).Text}}}}
		}
		return reply, err
	})
}
