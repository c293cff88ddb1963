package commands

import (
	"context"
	"strings"

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
		all := append(others[:len(others):len(others)], self)
		return helpReply(all, req.Direct), nil
	}}}
	return self
}

// helpReply has a line for each command in a chat where others read along. Directly
// it has every form: the first of a command with its summary, the others with an
// example.
func helpReply(all chat.Commands, direct bool) chat.Reply {
	var everyone, moderators []chat.Field
	var private []string
	for _, c := range all {
		if c.Visibility == chat.Private {
			private = append(private, "/"+c.Name)
		}
		if !direct {
			everyone = append(everyone, chat.Field{Name: chat.Code("/" + c.Name), Value: c.Summary})
			continue
		}
		explained := false
		for _, f := range c.Forms {
			field := chat.Field{Name: c.Usage(f), Value: c.Summary}
			if f.Moderators || explained {
				field.Value = chat.SayWith("help.example", chat.Values{"example": chat.Code(c.Example(f))})
			}
			switch {
			case f.Unlisted:
			case f.Moderators:
				moderators = append(moderators, field)
			default:
				everyone = append(everyone, field)
				explained = true
			}
		}
	}
	reply := chat.Reply{Title: chat.Say("help.title"), Sections: []chat.Section{{Fields: everyone}}, Notes: []chat.Text{chat.Say("help.wallet")}}
	if !direct {
		reply.Notes = append(reply.Notes, chat.Say("help.more"))
		return reply
	}
	only := chat.SayWith("help.private", chat.Values{"commands": chat.Plain(strings.Join(private, ", "))})
	reply.Notes = append(reply.Notes, only, chat.Say("help.honest"))
	reply.Sections = append(reply.Sections, chat.Section{Heading: chat.Say("help.moderators"), Fields: moderators})
	return reply
}
