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
	// all are the commands in menus. /help is the last of them.
	all chat.Commands
}

// help returns two commands: forHelp says what the bot can do, and forGreeting greets a group that has added the bot.
// others are the other commands in menus.
func help(from Sources, options Options, others chat.Commands) (forHelp, forGreeting chat.Command) {
	c := &helpCommand{inputs: inputs{from, options}}
	forHelp = chat.Command{
		Name:       "help",
		Aliases:    map[string][]string{"start": nil},
		Summary:    chat.Say("command.help"),
		Visibility: chat.Public,
		Forms:      []chat.Form{{Run: c.answer}, {Params: []chat.Param{commandParam}, NeedsRole: true, Run: c.usage}},
	}
	c.all = append(slices.Clone(others), forHelp) // The methods read it only when a form runs.
	forGreeting = chat.Command{
		Name:       chat.HelloCommand,
		Visibility: chat.Public,
		Forms:      []chat.Form{{Unlisted: true, Run: c.hello}},
	}
	return forHelp, forGreeting
}

// answer returns groupHelp if everybody in a group sees the reply, because a longer one would fill their screens.
// Otherwise it returns start for /start, and fullHelp for /help. It adds waysIn to each of them.
func (c *helpCommand) answer(_ context.Context, req *chat.Request) (*chat.Reply, error) {
	var reply *chat.Reply
	isSeenByAll := !req.Direct && !req.CanReplyEphemerally
	switch {
	case isSeenByAll:
		reply = groupHelp(c.all)
	case req.Command == "start":
		reply = c.start()
	default:
		reply = fullHelp(c.all, req.MightModerate())
	}
	// If there is a first section, it is the list of commands.
	afterCommands := min(1, len(reply.Sections))
	reply.Sections = slices.Insert(reply.Sections, afterCommands, c.waysIn(req))
	return reply, nil
}

// hello says what the bot does, in a group that has added it. It lists the first three commands, and shows
// moderators how the settings name the group.
func (c *helpCommand) hello(_ context.Context, req *chat.Request) (*chat.Reply, error) {
	if req.Community == "" {
		return c.start(), nil
	}
	first := c.all[:min(3, len(c.all))]
	entry := chat.Values{"entry": chat.Code(entryOf(req.From.Platform, req.Community))}
	return &chat.Reply{
		Title: c.about("help.hello"),
		Sections: []chat.Section{
			commandList(first),
			c.waysIn(req),
			{Heading: chat.Say("help.moderators"), Fields: []chat.Field{{Value: chat.SayWith("details.entry", entry)}}},
		},
	}, nil
}

// waysIn says how to get the badges of the sender's community or, in a private chat, of all communities. It also names
// the groups that users can ask to join, except the sender's and those whose names are unknown.
func (c *helpCommand) waysIn(req *chat.Request) (ways chat.Section) {
	if badges := c.Members.ConfiguredBadges(req.From.Platform, req.Community); len(badges) > 0 {
		values := chat.Values{"command": chat.CommandLink("/verify"), "badge": badgeTextIn(req.Community, badges)}
		ways.Fields = append(ways.Fields, chat.Field{Value: chat.SayWith("help.role", values)})
	}
	var groups chat.Parts
	for _, entry := range slices.Sorted(maps.Keys(c.JoinChats)) {
		platform, group, _ := strings.Cut(entry, ":")
		name := c.Members.CommunityName(chat.Platform(platform), group)
		isHere := group == req.Community
		if name != "" && !isHere {
			groups = append(groups, name)
		}
	}
	if groups != nil {
		ways.Fields = append(ways.Fields, chat.Field{Value: chat.SayWith("help.join", chat.Values{"groups": groups})})
	}
	return ways
}

// start greets newcomers, and answers text that is not a command. It has a button for each of the most used commands
// that are on.
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

// about returns the message of key, which names the token and the topics of the public commands. If no public command
// has a topic, it names the topics of all commands.
func (c *helpCommand) about(key string) chat.Text {
	isNotPublic := func(command chat.Command) bool { return command.Visibility != chat.Public }
	topics := slices.DeleteFunc(slices.Clone(c.all), isNotPublic).Topics()
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

// fullHelp lists all commands. If mayModerate is set, it also lists the forms for moderators.
func fullHelp(all chat.Commands, mayModerate bool) *chat.Reply {
	sections := []chat.Section{commandList(all)}
	if moderators := moderatorForms(all); mayModerate && moderators != nil {
		sections = append(sections, chat.Section{Heading: chat.Say("help.moderators"), Fields: moderators})
	}
	return &chat.Reply{
		Title:    chat.Say("help.title"),
		Sections: sections,
		Notes:    []chat.Text{chat.Say("help.wallet"), chat.Say("help.honest")},
	}
}

// commandList returns a line for each command.
func commandList(all chat.Commands) (list chat.Section) {
	for _, c := range all {
		line := chat.Parts{chat.CommandLink("/" + c.Name), c.Summary}
		list.Fields = append(list.Fields, chat.Field{Value: line})
	}
	return list
}

// moderatorForms returns an example of each form that only moderators may use.
func moderatorForms(all chat.Commands) (examples []chat.Field) {
	for _, c := range all {
		for _, f := range c.Forms {
			if f.Moderators {
				examples = append(examples, chat.Field{Value: chat.Code(c.Example(f))})
			}
		}
	}
	return examples
}
