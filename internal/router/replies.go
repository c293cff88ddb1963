package router

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"herald/internal/chat"
)

// tooMany says how long the sender has to wait. If the sender was refused in this chat within the last minute, the
// reply is for SenderAgain.
func (r *Router) tooMany(ctx context.Context, req *chat.Request, wait time.Duration) *chat.Reply {
	reply := chat.Refusal("limit.title", "limit.text")
	reply.Text.Args = chat.Values{"n": chat.Count(math.Ceil(wait.Seconds()))}
	if wait > 2*time.Minute {
		reply.Text = chat.SayWith("limit.minutes", chat.Values{"n": chat.Count(math.Ceil(wait.Minutes()))})
	}
	_, isFirst := r.Limiter.Reserve(ctx, 0, r.perMinute(1, req, "refusal", senderKey(req), req.Chat))
	if !isFirst {
		reply.Audience = chat.SenderAgain
	}
	return reply
}

// unknown says that there is no such command, and which one may be meant.
func (r *Router) unknown(name string) *chat.Reply {
	reply := chat.Refusal("unknown.title", "unknown.text")
	var known []string
	for _, c := range r.listed {
		known = append(known, append(slices.Sorted(maps.Keys(c.Aliases)), c.Name)...)
	}
	if meant := r.Nearest(name, known); meant != "" {
		reply.Text = chat.SayWith("unknown.nearest", chat.Values{"command": chat.CommandLink("/" + meant)})
	}
	return reply
}

// noAnswer says why a form failed with err. If the form returned a reply beside err, noAnswer keeps its About, and its
// Actions if it has any.
func (r *Router) noAnswer(req *chat.Request, command route, f *chat.Form, failed *chat.Reply, err error) *chat.Reply {
	reply := unavailable(req, command.Name, f, r.Explain(err))
	if failed == nil {
		return reply
	}
	reply.About = failed.About
	if failed.Actions != nil {
		reply.Actions = failed.Actions
	}
	return reply
}

// unavailable returns a reply with the title NoAnswer(what) and the text why. It has a button that runs form f again,
// unless f is a moderators' form: the reply may be in a private chat, where nobody is a moderator.
func unavailable(req *chat.Request, what string, f *chat.Form, why chat.Text) *chat.Reply {
	reply := &chat.Reply{
		Tone:  chat.Warning,
		Title: chat.NoAnswer(what),
		Text:  why,
		Notes: []chat.Text{chat.Reference(req.ID)},
	}
	if f.Moderators {
		return reply
	}
	var args []string
	for _, p := range f.Params {
		args = append(args, req.Args.Value(p.Name))
	}
	reply.Actions = []chat.Action{chat.TryAgain(req.Command, args...)}
	return reply
}

// badInput says what is wrong with the arguments. If moderators' forms are among forms, it first resolves the sender's
// role, because the reply shows such a form only to those who may use it.
func (r *Router) badInput(
	ctx context.Context, req *chat.Request, command route, forms []chat.Form, input *chat.InputError,
) result {
	if slices.ContainsFunc(forms, func(f chat.Form) bool { return f.Moderators }) {
		r.tryResolveRole(ctx, req)
	}
	return result{wrongInput(req, command, forms, input), BadInput, nil}
}

// wrongInput returns a reply that says what is wrong with the arguments, and how to write the forms that the sender
// may use. If one of these forms has a Question, and only the sender and the bot can read the answer, the reply also
// asks the Question. If no argument was given, the reply is only the Question.
func wrongInput(req *chat.Request, command route, forms []chat.Form, input *chat.InputError) *chat.Reply {
	isHidden := func(f chat.Form) bool { return f.Unlisted || (f.Moderators && !req.MayModerate) }
	forms = slices.DeleteFunc(slices.Clone(forms), isHidden)
	reply := &chat.Reply{
		Tone:     chat.Warning,
		Audience: chat.SenderAlone,
		Title:    input.Title,
		Text:     input.Problem,
		Sections: []chat.Section{{Fields: usageFields(command, forms)}},
	}
	if reply.Title.Key == "" {
		reply.Title = chat.Say("input.title")
	}
	i := slices.IndexFunc(forms, hasQuestion)
	if i < 0 || req.Target != nil { // The answer to a Question has no Target.
		return reply
	}
	p := forms[i].Params[0]
	if input.Problem.Key == missingArgs {
		return chat.Question(command.Name, p)
	}
	if req.Direct || command.Visibility == chat.Private {
		reply.Ask = &chat.Ask{Command: command.Name, Question: p.Question}
	}
	return reply
}

// hasQuestion reports whether the only parameter of f has a Question.
func hasQuestion(f chat.Form) bool { return len(f.Params) == 1 && f.Params[0].Question.Key != "" }

// usageFields returns how to write each form, with an example.
func usageFields(command route, forms []chat.Form) (fields []chat.Field) {
	for _, f := range forms {
		usage := chat.Usage{Command: command.Name}
		for _, p := range f.Params {
			usage.Params = append(usage.Params, p.Label())
		}
		fields = append(fields, chat.Field{Name: chat.Say("input.write"), Value: usage})
		if len(f.Params) > 0 {
			fields = append(fields, chat.Field{Name: chat.Say("input.example"), Value: chat.Code(command.Example(f))})
		}
	}
	return fields
}
