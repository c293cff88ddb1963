package commands

import (
	"context"

	"herald/internal/chat"
)

func help(others chat.Commands) chat.Command {
	self := chat.Command{
		Name:       "help",
		Aliases:    map[string][]string{"start": nil},
		Summary:    chat.Say("command.help"),
		Visibility: chat.Public,
	}
	self.Forms = []chat.Form{{Run: func(_ context.Context, req chat.Request) (chat.Reply, error) {
		if req.Stray {
			return strayReply(), nil
		}
		all := append(others[:len(others):len(others)], self)
		return helpReply(all, req.Direct), nil
	}}}
	return self
}

// strayReply answers what names no command, with what is asked most.
func strayReply() chat.Reply {
	reply := chat.Reply{Title: chat.Say("help.stray")}
	for _, command := range []string{"price", "supply", "help"} {
		reply.Actions = append(reply.Actions, chat.Action{Label: chat.Say("button." + command), Command: command})
	}
	return reply
}

// helpReply is one line and a button to the private chat where others read along.
// Directly it has every command, and an example of each form for moderators.
func helpReply(all chat.Commands, direct bool) chat.Reply {
	var everyone, moderators []chat.Field
	var here chat.Parts
	for _, c := range all {
		name := chat.CommandLink("/" + c.Name)
		if c.Visibility == chat.Public && c.Name != "help" {
			here = append(here, name)
		}
		for _, f := range c.Forms {
			if f.Moderators {
				moderators = append(moderators, chat.Field{Value: chat.Code(c.Example(f))})
			}
		}
		everyone = append(everyone, chat.Field{Value: chat.Parts{name, c.Summary}})
	}
	if !direct {
		return chat.Reply{
			Text:    chat.SayWith("help.group", chat.Values{"commands": here}),
			Actions: []chat.Action{{Label: chat.Say("button.private"), Private: true}},
		}
	}
	return chat.Reply{
		Title:    chat.Say("help.title"),
		Sections: []chat.Section{{Fields: everyone}, {Heading: chat.Say("help.moderators"), Fields: moderators}},
		Notes:    []chat.Text{chat.Say("help.wallet"), chat.Say("help.honest")},
	}
}
