package router

import (
	"slices"
	"strings"

	"herald/internal/chat"
)

// bind names the Args of req by the first form that takes them, and returns that form alone. Words that no parameter
// accepts, such as "please", are dropped unless all are. If the arguments are wrong, bind returns the forms that the
// sender may have meant, and what is wrong.
func (c route) bind(req *chat.Request) ([]chat.Form, *chat.InputError) {
	c.tidy(req)
	typed := req.Args.Words()
	for i, f := range c.Forms {
		if !takes(f, req) {
			continue
		}
		meant := c.missingSecondArg(f, typed)
		if meant != nil && req.MightModerate() {
			label := meant[0].Params[1].Label()
			return meant, &chat.InputError{Problem: chat.SayWith("input.incomplete", chat.Values{"param": label})}
		}
		return c.Forms[i : i+1], checkChoices(f, req.Args.ByName())
	}
	return c.Forms, &chat.InputError{Problem: c.wrongCount(req.Args)}
}

// tidy brings the arguments of req into the form that takes expects.
func (c route) tidy(req *chat.Request) {
	args := c.retyped(req.Args)
	if args.ByName() == nil && args.Len() > 0 {
		args = chat.Typed(chat.Tidied(args.Words(), c.params)...)
	}
	if args.Len() == 0 {
		args = chat.Typed(c.Aliases[req.Command]...)
	}
	if args.ByName() == nil {
		args = c.meantBy(args.Words())
	}
	req.Args = args

	takesPerson := slices.ContainsFunc(c.params, func(p chat.Param) bool { return p.Person })
	isSelf := req.Target != nil && *req.Target == req.From && req.From.ID != ""
	if !takesPerson || isSelf {
		req.Target = nil
		req.TargetName = ""
	}
}

// meantBy returns the typed words that a parameter accepts. If no parameter accepts one of them, it returns all words
// as one argument if a Phrase parameter accepts that, and otherwise as they are.
func (c route) meantBy(words []string) chat.Args {
	if len(words) == 0 {
		return chat.Typed()
	}
	if meant := chat.Meant(words, c.params...); len(meant) > 0 {
		return chat.Typed(meant...)
	}
	phrase := strings.Join(words, " ")
	for _, p := range c.params {
		if phrase != "" && p.Phrase && p.Accepts(phrase) {
			return chat.Named(map[string]string{p.Name: phrase})
		}
	}
	return chat.Typed(words...)
}

// retyped returns the only named argument as typed words if it is one of a Phrase parameter and another parameter
// accepts one of the words, such as a period in the place of an amount. It returns other args unchanged.
func (c route) retyped(args chat.Args) chat.Args {
	if len(args.ByName()) != 1 {
		return args
	}
	for _, p := range c.params {
		words := strings.Fields(args.Value(p.Name))
		if p.Phrase && len(chat.Meant(words, c.params...)) > 0 {
			return chat.Typed(words...)
		}
	}
	return args
}

// missingArgs is the problem of a command whose arguments were left out.
const missingArgs = "input.missing"

// wrongCount says why no form takes so many arguments.
func (c route) wrongCount(args chat.Args) chat.Text {
	most := 0
	for _, f := range c.Forms {
		most = max(most, len(f.Params))
	}
	switch {
	case args.Len() == 0:
		return chat.Say(missingArgs)
	case most == 0:
		return chat.SayWith("input.none", chat.Values{"command": chat.CommandLink("/" + c.Name)})
	case len(args.Words()) > most:
		return chat.Say("input.too_much")
	case args.Len() > most:
		return chat.Say("input.together")
	}
	return chat.Say("input.mismatch")
}

// missingSecondArg returns the (person, X) form if only a user ID was typed and f would read it as X. Otherwise it
// returns nil.
func (c route) missingSecondArg(f chat.Form, typed []string) []chat.Form {
	if len(typed) != 1 || f.Params[0].Person || !chat.NamesPerson(typed[0]) {
		return nil
	}
	for i, other := range c.Forms {
		if len(other.Params) == 2 && other.Params[0].Person {
			return c.Forms[i : i+1]
		}
	}
	return nil
}

// takes names the Args of req if f takes them all, and reports whether it does. The Target, if there is one, is the
// argument of the parameter with Person.
func takes(f chat.Form, req *chat.Request) (ok bool) {
	words := inOrder(f, req.Args.Words())
	isNamed := req.Args.ByName() != nil
	values := map[string]string{}
	used := 0 // arguments
	var target *chat.User
	targetName := ""
	for _, p := range f.Params {
		if p.Person && req.Target != nil {
			target = req.Target
			targetName = req.TargetName
			continue
		}
		value, given := req.Args.ByName()[p.Name]
		if used < len(words) {
			value = words[used]
			given = true
		}
		switch {
		case !given, p.Person && len(f.Params) > 1 && !p.Accepts(value):
			return false
		case p.Person:
			target = &chat.User{Platform: req.From.Platform, ID: value}
		default:
			values[p.Name] = meantBy(p, value)
		}
		used++
	}
	ignoresTarget := req.Target != nil && target == nil
	if used != len(words)+len(req.Args.ByName()) || ignoresTarget && (isNamed || used == 0) {
		return false
	}
	req.Args = chat.Named(values)
	req.Target = target
	req.TargetName = targetName
	return true
}

// meantBy returns the one word of a value that the parameter takes, because a named argument may have others around
// it. It returns the value if there is not one such word.
func meantBy(p chat.Param, value string) string {
	meant := chat.Meant(strings.Fields(value), p)
	if len(meant) == 1 {
		return meant[0]
	}
	return value
}

// inOrder returns the words in the order of the parameters. Two words are swapped if the parameters accept them only
// so. Several words for one choice become one wrong choice, so that the sender is told the choices.
func inOrder(f chat.Form, words []string) []string {
	switch {
	case len(words) > 1 && len(f.Params) == 1 && f.Params[0].Choices != nil:
		return []string{strings.Join(words, " ")}
	case len(words) != 2 || len(f.Params) != 2:
		return words
	}
	accepts := func(a, b string) bool { return f.Params[0].Accepts(a) && f.Params[1].Accepts(b) }
	first, second := words[0], words[1]
	if !accepts(first, second) && accepts(second, first) {
		return []string{second, first}
	}
	return words
}

// checkChoices replaces each choice by its spelling in Param.Choices. It says what is wrong if there is no such
// choice, and returns nil otherwise.
func checkChoices(f chat.Form, values map[string]string) *chat.InputError {
	for _, p := range f.Params {
		if p.Choices == nil {
			continue
		}
		typed := values[p.Name]
		values[p.Name] = p.Choice(typed)
		if values[p.Name] == "" {
			return &chat.InputError{Title: p.Check, Problem: p.WrongChoice(typed)}
		}
	}
	return nil
}

// Proof returns the argument of req that may prove to a group that the sender can come in: the only argument of a
// command, if its parameter has Proof; or the one word of a JoinCommand that such a parameter accepts. It returns ""
// for any other request. It does not change req.
func (r *Router) Proof(req *chat.Request) string {
	if req.Command == chat.JoinCommand {
		return r.proofAmong(req.Args.Words())
	}
	bound := *req
	forms, wrong := r.find(req.Command).bind(&bound)
	if wrong != nil || len(forms[0].Params) != 1 || !forms[0].Params[0].Proof {
		return ""
	}
	return r.proofAmong([]string{bound.Args.Value(forms[0].Params[0].Name)})
}

// proofAmong returns the one word that a parameter with Proof accepts, or "".
func (r *Router) proofAmong(words []string) string {
	for _, c := range r.routes {
		for _, p := range c.params {
			if !p.Proof {
				continue
			}
			meant := chat.Meant(words, p)
			if len(meant) == 1 {
				return meant[0]
			}
		}
	}
	return ""
}
