package commands

import (
	"context"
	"maps"
	"slices"
	"strings"

	"herald/internal/chat"
)

// helpCommand answers /help, /start and chat.HelloCommand.
type helpCommand struct {
	inputs
	all chat.Commands // of menus, /help last
}

// help returns /help, which says what the bot can do, and the greeting of a group that the bot
// was added to. others are all other commands of menus.
func help(from Sources, options Options, others chat.Commands) (self, greeting chat.Command) {
	c := &helpCommand{inputs: inputs{from, options}}
	self = chat.Command{
		Name:       "help",
		Aliases:    map[string][]string{"start": nil},
		Summary:    chat.Say("command.help"),
		Visibility: chat.Public,
		Forms:      []chat.Form{{Run: c.answer}, {Params: []chat.Param{commandParam}, NeedsRole: true, Run: c.usage}},
	}
	c.all = append(slices.Clone(others), self)
	return self, chat.Command{
		Name:       chat.HelloCommand,
		Visibility: chat.Public,
		Forms:      []chat.Form{{Unlisted: true, Run: c.hello}},
	}
}

// answer lists the commands. In a Telegram group it names some on one line, because the list
// would fill the screen of everybody.
func (c *helpCommand) answer(_ context.Context, req *chat.Request) (*chat.Reply, error) {
	var reply *chat.Reply
	switch {
	case !req.Direct && !req.CanReplyEphemerally:
		reply = groupHelp(c.all)
	case req.Command == "start":
		reply = c.start()
	default:
		reply = directHelp(c.all, req.MightModerate())
	}
	reply.Sections = slices.Insert(reply.Sections, min(1, len(reply.Sections)), c.waysIn(req))
	return reply, nil
}

// hello says in a group that the bot was added to what it does there, with the first three commands at most, and
// which entry the settings need for the group.
func (c *helpCommand) hello(_ context.Context, req *chat.Request) (*chat.Reply, error) {
	if req.Community == "" {
		return c.start(), nil
	}
	first := c.all[:min(3, len(c.all))]
	entry := chat.Values{"entry": chat.Code(string(req.From.Platform) + ":" + req.Community)}
	return &chat.Reply{
		Title: c.about("help.hello"),
		Sections: append(directHelp(first, false).Sections, c.waysIn(req),
			chat.Section{
				Heading: chat.Say("help.moderators"),
				Fields:  []chat.Field{{Value: chat.SayWith("details.entry", entry)}},
			}),
	}, nil
}

// waysIn says how to get the roles of the sender's community, or of all in a private chat, and
// which other groups can be joined. It leaves out groups whose name is not known.
func (c *helpCommand) waysIn(req *chat.Request) (ways chat.Section) {
	if all := c.Members.Badges(req.From.Platform, req.Community); len(all) > 0 {
		role := chat.Values{"command": chat.CommandLink("/verify"), "badge": badgesIn(req.Community, all)}
		ways.Fields = append(ways.Fields, chat.Field{Value: chat.SayWith("help.role", role)})
	}
	var groups chat.Parts
	for _, entry := range slices.Sorted(maps.Keys(c.JoinChats)) {
		platform, group, _ := strings.Cut(entry, ":")
		if name := c.Members.CommunityName(chat.Platform(platform), group); name != "" && group != req.Community {
			groups = append(groups, name)
		}
	}
	if groups != nil {
		ways.Fields = append(ways.Fields, chat.Field{Value: chat.SayWith("help.join", chat.Values{"groups": groups})})
	}
	return ways
}

// start greets newcomers, and answers text that is not a command. It offers buttons for the most used commands that
// there are.
func (c *helpCommand) start() *chat.Reply {
	reply := &chat.Reply{Title: c.about("help.start.pick")}
	if c.Price != nil {
		reply.Actions = append(reply.Actions,
			chat.Action{Label: chat.Say("button.price"), Command: "price"},
			chat.Action{Label: chat.Say("button.chart"), Command: "price", Args: []string{"7d"}},
		)
	}
	if c.Supply != nil {
		reply.Actions = append(reply.Actions, chat.Action{Label: chat.Say("button.supply"), Command: "supply"})
	}
	if c.Stakes != nil {
		reply.Title = c.about("help.start")
		reply.Actions = append(reply.Actions, chat.Action{Label: chat.Say("button.wallet"), Command: "staked"})
	}
	reply.Actions = append(reply.Actions,
		chat.Action{Label: chat.Say("button.invite"), Invite: true},
		chat.Action{Label: chat.Say("button.help"), Command: "help"},
	)
	return reply
}

// about returns the message of key about the token's symbol and the topics of the public commands; or, if these have
// none, of all commands.
func (c *helpCommand) about(key string) chat.Text {
	isPrivate := func(command chat.Command) bool { return command.Visibility != chat.Public }
	topics := slices.DeleteFunc(slices.Clone(c.all), isPrivate).Topics()
	if topics == nil {
		topics = c.all.Topics()
	}
	return chat.SayWith(key, chat.Values{"symbol": chat.Plain(c.Symbol), "topics": chat.List(topics)})
}

// groupHelp names the public commands on one line, above a button to the private chat.
func groupHelp(all chat.Commands) *chat.Reply {
	var public chat.Parts
	for _, c := range all {
		if c.Visibility == chat.Public && c.Name != "help" {
			public = append(public, chat.CommandLink("/"+c.Name))
		}
	}
	return &chat.Reply{
		Text:    chat.SayWith("help.group", chat.Values{"commands": public}),
		Actions: []chat.Action{{Label: chat.Say("button.private"), Private: true}},
	}
}

// directHelp lists all commands, and with mayModerate the forms for moderators.
func directHelp(all chat.Commands, mayModerate bool) *chat.Reply {
	var everyone, moderators []chat.Field
	for _, c := range all {
		everyone = append(everyone, chat.Field{Value: chat.Parts{chat.CommandLink("/" + c.Name), c.Summary}})
		for _, f := range c.Forms {
			if f.Moderators && mayModerate {
				moderators = append(moderators, chat.Field{Value: chat.Code(c.Example(f))})
			}
		}
	}
	sections := []chat.Section{{Fields: everyone}}
	if moderators != nil {
		sections = append(sections, chat.Section{Heading: chat.Say("help.moderators"), Fields: moderators})
	}
	return &chat.Reply{
		Title:    chat.Say("help.title"),
		Sections: sections,
		Notes:    []chat.Text{chat.Say("help.wallet"), chat.Say("help.honest")},
	}
}
