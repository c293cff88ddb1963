package router

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"herald/internal/chat"
)

// rateLimitedReply tells the sender how long to wait, in seconds or, above two minutes, in minutes. If a rate limit
// already refused the sender in this chat within the last minute, the reply is for SenderAgain.
func (r *Router) rateLimitedReply(ctx context.Context, req *chat.Request, wait time.Duration) *chat.Reply {
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

// unknownReply says that there is no command with this name. If the name is similar to a known command, it names that.
func (r *Router) unknownReply(name string) *chat.Reply {
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

// failedReply says why form f failed with err. partial is the reply that the form returned beside err, or nil. The
// result has its About and, if it has any, its Actions.
func (r *Router) failedReply(
	req *chat.Request, command route, f *chat.Form, partial *chat.Reply, err error,
) *chat.Reply {
	reply := unavailableReply(req, command.Name, f, r.Explain(err))
	if partial == nil {
		return reply
	}
	reply.About = partial.About
	if partial.Actions != nil {
		reply.Actions = partial.Actions
	}
	return reply
}

// unavailableReply says that something is unavailable, and why. Its title is NoAnswer(what). It has a button that runs
// form f again. If f is a moderators' form, it has no button, because the reply may be in a private chat, where nobody
// is a moderator.
func unavailableReply(req *chat.Request, what string, f *chat.Form, why chat.Text) *chat.Reply {
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

// badInputResult returns the result of a command whose arguments are wrong. forms are the forms that the sender may
// have meant. If a moderators' form is among them, badInputResult first resolves the sender's role, because the reply
// shows such a form only to those who may use it.
func (r *Router) badInputResult(
	ctx context.Context, req *chat.Request, command route, forms []chat.Form, input *chat.InputError,
) result {
	if slices.ContainsFunc(forms, func(f chat.Form) bool { return f.Moderators }) {
		r.tryResolveRole(ctx, req)
	}
	return result{reply: badInputReply(req, command, forms, input), outcome: BadInput}
}

// badInputReply says what is wrong with the arguments, and how to write those of forms that the sender may use. If one
// of them has a Question, such as "Which wallet?", the reply depends on the request:
//
//   - If it has a Target, the reply does not ask the Question, because an answer to a Question has no Target.
//   - If it has no argument either, the reply is only the Question.
//   - If only the sender and the bot can read the reply, the reply also asks the Question.
func badInputReply(req *chat.Request, command route, forms []chat.Form, input *chat.InputError) *chat.Reply {
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
	withQuestion := slices.IndexFunc(forms, hasQuestion)
	if withQuestion < 0 || req.Target != nil {
		return reply
	}
	p := forms[withQuestion].Params[0]
	if input.Problem.Key == missingArgs {
		return chat.Question(command.Name, p)
	}
	if req.Direct || command.Visibility == chat.Private {
		reply.Ask = &chat.Ask{Command: command.Name, Question: p.Question}
	}
	return reply
}

// hasQuestion reports whether f has a single parameter, with a Question.
func hasQuestion(f chat.Form) bool { return len(f.Params) == 1 && f.Params[0].Question.Key != "" }

// usageFields returns a field that shows how to write each form and, if the form has parameters, one with an example.
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
