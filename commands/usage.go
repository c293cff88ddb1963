package commands

import (
	"context"
	"strings"

	"herald/internal/chat"
)

// commandParam is text that contains the name of a command, such as "price" or "with /price please".
var commandParam = chat.Param{Name: "command", Summary: chat.Say("param.command"), Example: "price", Phrase: true}

// usage explains the first command that the argument names. If the argument names none, usage answers like /help
// without an argument.
func (c *helpCommand) usage(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	for _, word := range strings.Fields(req.Args.Value(commandParam.Name)) {
		if named, known := c.all.Find(strings.ToLower(strings.TrimPrefix(word, "/"))); known {
			return usageOf(named, req.MayModerate), nil
		}
	}
	return c.answer(ctx, req) // Its reply does not depend on the argument.
}

// usageOf says what a command does, and shows an example of each form with its parameters. It leaves out Unlisted
// forms and, unless mayModerate is set, the forms for Moderators.
func usageOf(c *chat.Command, mayModerate bool) *chat.Reply {
	var lines []chat.Field
	for _, f := range c.Forms {
		isForbidden := f.Moderators && !mayModerate
		if f.Unlisted || isForbidden {
			continue
		}
		line := chat.Parts{chat.Code(c.Example(f))}
		for _, p := range f.Params {
			line = append(line, p.Summary)
		}
		lines = append(lines, chat.Field{Value: line})
	}
	return &chat.Reply{Title: c.Summary, Sections: []chat.Section{{Fields: lines}}}
}
