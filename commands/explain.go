package commands

import (
	"context"
	"slices"
	"strings"

	"herald/internal/chat"
)

// commandParam is the name of a command, among whatever words.
var commandParam = chat.Param{Name: "command", Summary: chat.Say("param.command"), Example: "price", Phrase: true}

// explain adds a form to /help that tells how a command is typed: one of others, or /help
// itself. Where no command is named, the first form of /help answers.
func explain(self *chat.Command, others chat.Commands) {
	list := self.Forms[0].Run
	named := func(ctx context.Context, req chat.Request) (chat.Reply, error) {
		all := slices.Concat(others, chat.Commands{*self})
		for _, word := range strings.Fields(req.Args.Value(commandParam.Name)) {
			if c, known := all.Find(strings.ToLower(strings.TrimPrefix(word, "/"))); known {
				return explained(c, req.MayModerate && req.Role != chat.UnknownRole), nil
			}
		}
		return list(ctx, req)
	}
	self.Forms = append(self.Forms, chat.Form{Params: []chat.Param{commandParam}, Run: named})
}

// explained tells what a command does and how it is typed, with mayModerate also by
// moderators.
func explained(c *chat.Command, mayModerate bool) chat.Reply {
	var lines []chat.Field
	for _, f := range c.Forms {
		if f.Unlisted || f.Moderators && !mayModerate {
			continue
		}
		line := chat.Parts{chat.Code(c.Example(f))}
		for _, p := range f.Params {
			line = append(line, p.Summary)
		}
		lines = append(lines, chat.Field{Value: line})
	}
	return chat.Reply{Title: c.Summary, Sections: []chat.Section{{Fields: lines}}}
}
