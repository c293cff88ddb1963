package commands

import (
	"context"
	"strings"

	"herald/internal/chat"
)

func help(others chat.Commands) chat.Command {
	self := chat.Command{
		Name:       "help",
		Aliases:    []string{"start"},
		Summary:    chat.Say("command.help"),
		Visibility: chat.Public,
	}
	self.Forms = []chat.Form{{Run: func(_ context.Context, req chat.Request) (chat.Reply, error) {
		all := append(others[:len(others):len(others)], self)
		if req.Direct {
			return wholeHelp(all, req.MayModerate), nil
		}
		return shortHelp(all), nil
	}}}
	return self
}

// shortHelp has a line for each command, for a chat where others read along.
func shortHelp(all chat.Commands) chat.Reply {
	var fields []chat.Field
	for _, c := range all {
		fields = append(fields, chat.Field{Name: chat.Code("/" + c.Name), Value: c.Summary})
	}
	return chat.Reply{
		Title:    chat.Say("help.title"),
		Sections: []chat.Section{{Fields: fields}},
		Notes:    []chat.Text{chat.Say("help.wallet"), chat.Say("help.more")},
	}
}

// wholeHelp has every form that the sender may use: the first of a command with its
// summary, the others with an example.
func wholeHelp(all chat.Commands, moderator bool) chat.Reply {
	var everyone, moderators []chat.Field
	var private []string
	for _, c := range all {
		if c.Visibility == chat.Private {
			private = append(private, "/"+c.Name)
		}
		explained := false
		for _, f := range c.Forms {
			field := chat.Field{Name: chat.Code(c.Usage(f)), Value: c.Summary}
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
	reply := chat.Reply{
		Title:    chat.Say("help.title"),
		Sections: []chat.Section{{Fields: everyone}},
		Notes: []chat.Text{
			chat.Say("help.wallet"),
			chat.SayWith("help.private", chat.Values{"commands": chat.Plain(strings.Join(private, ", "))}),
			chat.Say("help.honest"),
		},
	}
	if moderator {
		reply.Sections = append(reply.Sections, chat.Section{Heading: chat.Say("help.moderators"), Fields: moderators})
	}
	return reply
}
