package commands

import (
	"context"

	"herald/internal/chat"
)

func help(others chat.Commands) chat.Command {
	self := chat.Command{
		Name:       "help",
		Aliases:    []string{"start"},
		Summary:    "What I can do",
		Visibility: chat.Public,
	}
	run := func(context.Context, chat.Request) (chat.Reply, error) {
		return helpReply(append(others[:len(others):len(others)], self)), nil
	}
	self.Forms = []chat.Form{{Run: run}}
	return self
}

func helpReply(all chat.Commands) chat.Reply {
	var everyone, moderators []chat.Field
	for _, c := range all {
		for _, f := range c.Forms {
			field := chat.Field{Name: c.Usage(f), Value: c.Summary}
			if f.Moderators {
				field.Value = "for example " + c.Example(f)
				moderators = append(moderators, field)
				continue
			}
			everyone = append(everyone, field)
		}
	}
	return chat.Reply{
		Title: "What I can do",
		Sections: []chat.Section{
			{Fields: everyone},
			{Heading: "For moderators", Fields: moderators},
		},
		Notes: []string{"What is personal is shown to you alone. When a service cannot be asked I say so, and never guess."},
	}
}
