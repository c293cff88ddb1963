package commands

import (
	"context"

	"herald/internal/chat"
)

func help(others chat.Commands, options Options) chat.Command {
	self := chat.Command{
		Name:       "help",
		Aliases:    map[string][]string{"start": nil},
		Summary:    chat.Say("command.help"),
		Visibility: chat.Public,
	}
	self.Forms = []chat.Form{{Run: func(_ context.Context, req chat.Request) (chat.Reply, error) {
		if req.Direct && req.Command == "start" {
			return startReply(options), nil
		}
		return helpReply(append(others[:len(others):len(others)], self), req), nil
	}}}
	return self
}

// startReply answers newcomers, and text without a command, with buttons for the commands
// that are asked most.
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

// helpReply lists all commands where the sender reads alone, with the forms for moderators
// if they can be used there. Elsewhere it is one line and a button to the private chat.
func helpReply(all chat.Commands, req chat.Request) chat.Reply {
	var everyone, moderators []chat.Field
	var here chat.Parts
	for _, c := range all {
		name := chat.CommandLink("/" + c.Name)
		if c.Visibility == chat.Public && c.Name != "help" {
			here = append(here, name)
		}
		for _, f := range c.Forms {
			if f.Moderators && req.MayModerate {
				moderators = append(moderators, chat.Field{Value: chat.Code(c.Example(f))})
			}
		}
		everyone = append(everyone, chat.Field{Value: chat.Parts{name, c.Summary}})
	}
	if !req.Direct {
		return chat.Reply{
			Text:    chat.SayWith("help.group", chat.Values{"commands": here}),
			Actions: []chat.Action{{Label: chat.Say("button.private"), Private: true}},
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
