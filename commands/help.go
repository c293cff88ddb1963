package commands

import (
	"context"
	"slices"

	"herald/internal/chat"
)

// help answers /help and /start with what the bot can do. others are all other commands.
func help(others chat.Commands, options Options) chat.Command {
	self := chat.Command{
		Name:       "help",
		Aliases:    map[string][]string{"start": nil},
		Summary:    chat.Say("command.help"),
		Visibility: chat.Public,
	}
	self.Forms = []chat.Form{{Run: func(_ context.Context, req chat.Request) (chat.Reply, error) {
		switch {
		case !req.Direct:
			return groupHelp(others), nil
		case req.Command == "start":
			return startReply(options), nil
		}
		return directHelp(slices.Concat(others, chat.Commands{self}), req.MayModerate), nil
	}}}
	explain(&self, others)
	return self
}

// startReply greets newcomers, and answers text without a command. It offers buttons for the
// most used commands.
func startReply(options Options) chat.Reply {
	return chat.Reply{Title: chat.SayWith("help.start", options.symbol()), Actions: []chat.Action{
		{Label: chat.Say("button.price"), Command: "price"},
		{Label: chat.Say("button.chart"), Command: "price", Args: []string{"7d"}},
		{Label: chat.Say("button.supply"), Command: "supply"},
		{Label: chat.Say("button.wallet"), Command: "staked"},
		{Label: chat.Say("button.invite"), Invite: true},
		{Label: chat.Say("button.help"), Command: "help"},
	}}
}

// groupHelp names the public commands on one line, above a button to the private chat.
func groupHelp(others chat.Commands) chat.Reply {
	var public chat.Parts
	for _, c := range others {
		if c.Visibility == chat.Public {
			public = append(public, chat.CommandLink("/"+c.Name))
		}
	}
	return chat.Reply{
		Text:    chat.SayWith("help.group", chat.Values{"commands": public}),
		Actions: []chat.Action{{Label: chat.Say("button.private"), Private: true}},
	}
}

// directHelp lists all commands, and with mayModerate the forms for moderators.
func directHelp(all chat.Commands, mayModerate bool) chat.Reply {
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
	return chat.Reply{
		Title:    chat.Say("help.title"),
		Sections: sections,
		Notes:    []chat.Text{chat.Say("help.wallet"), chat.Say("help.honest")},
	}
}
