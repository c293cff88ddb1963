package router

import (
	"cmp"
	"slices"
	"strings"

	"herald/internal/chat"
)

// This file finds out which form of a command a request means. Its words:
//
//	form       a way to write a command, with its parameters: /staked <wallet>
//	typed      arguments that are words in a row, as in a message: /staked 0x52…
//	named      arguments with the names of their parameters, as Discord sends them
//	Target     the person whom the request is about: who was replied to or picked
//	Person     marks the parameter whose argument is a person; the Target is its argument
//	takes      a form takes arguments if each parameter gets one, and none is left over

// bind chooses the first form that takes the arguments of req, and returns only that form. It changes req: the Args
// become named arguments, and the argument of the Person parameter becomes the Target. If the arguments are wrong, bind
// returns the forms that the sender may have meant, and what is wrong.
func (c route) bind(req *chat.Request) ([]chat.Form, *chat.InputError) {
	c.prepare(req)
	for i, f := range c.Forms {
		bound, isTaken := assign(f, req)
		if !isTaken {
			continue
		}
		typed := req.Args.Words()
		req.Args = chat.Named(bound.values)
		req.Target = bound.target
		req.TargetName = bound.targetName
		meant := c.formMissingArg(f, typed)
		if meant != nil && req.MightModerate() {
			missing := meant[0].Params[1].Label()
			return meant, &chat.InputError{Problem: chat.SayWith("input.incomplete", chat.Values{"param": missing})}
		}
		return c.Forms[i : i+1], wrongChoice(f, bound.values)
	}
	return c.Forms, &chat.InputError{Problem: c.whyNoForm(req.Args)}
}

// prepare rewrites the arguments and the Target of req as assign expects them:
//
//  1. A named argument that was meant for another parameter becomes typed words: amount "7d".
//  2. The parameters tidy the typed words: "7 days" becomes "7d".
//  3. If there is no argument, the alias gives its own: /chart is /price 24h.
//  4. Typed words that no parameter accepts, such as "please", are dropped.
//  5. The Target is dropped if it is the sender, or if the command has no Person parameter.
func (c route) prepare(req *chat.Request) {
	args := c.retyped(req.Args)
	isTyped := args.ByName() == nil
	if isTyped && args.Len() > 0 {
		args = chat.Typed(chat.Tidied(args.Words(), c.params)...)
	}
	if args.Len() == 0 {
		args = chat.Typed(c.Aliases[req.Command]...)
		isTyped = true
	}
	if isTyped {
		args = c.keepMeant(args.Words())
	}
	req.Args = args
	if !c.takesPerson() || isAboutSender(req) {
		req.Target = nil
		req.TargetName = ""
	}
}

// takesPerson reports whether the command has a Person parameter.
func (c route) takesPerson() bool {
	return slices.ContainsFunc(c.params, func(p chat.Param) bool { return p.Person })
}

// isAboutSender reports whether the Target is the sender, who replied to a message of their own. Two anonymous users
// count as different people: they look the same, because they have no ID.
func isAboutSender(req *chat.Request) bool {
	return req.Target != nil && *req.Target == req.From && !isAnonymous(req)
}

// retyped undoes a mistake in named arguments: a Phrase parameter was given the word of another parameter, such as a
// period for an amount. If the only argument is that of a Phrase parameter, and another parameter accepts one of its
// words, retyped returns its words as typed, so that they may go to the other parameter. It returns any other args
// unchanged.
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

// keepMeant returns the words that a parameter accepts, and drops the others. If no parameter accepts a word, but a
// Phrase parameter accepts all words together, it returns them as the argument of that. Otherwise it returns all words,
// so that the sender is told what is wrong.
func (c route) keepMeant(words []string) chat.Args {
	if len(words) == 0 {
		return chat.Typed()
	}
	meant := chat.Meant(words, c.params...)
	if len(meant) > 0 {
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

// binding has the arguments of a request as a form takes them.
type binding struct {
	// values are the arguments by the names of their parameters, except that of the Person parameter.
	values map[string]string
	// target is the argument of the Person parameter. It is nil if the form has no such parameter.
	target *chat.User
	// targetName is the target's display name, or "".
	targetName string
}

// assign gives each parameter of f an argument of req. It returns false if f does not take the arguments. prepare must
// have been called. assign does not change req.
func assign(f chat.Form, req *chat.Request) (b binding, isTaken bool) {
	words := inOrder(f, req.Args.Words())
	named := req.Args.ByName()
	b.values = map[string]string{}
	used := 0 // the number of words, or of named arguments, that have a parameter
	for _, p := range f.Params {
		if p.Person && req.Target != nil {
			b.target = req.Target
			b.targetName = req.TargetName
			continue
		}
		given, isGiven := named[p.Name]
		if used < len(words) {
			given = words[used]
			isGiven = true
		}
		if !isGiven {
			return binding{}, false
		}
		used++
		if !p.Person {
			b.values[p.Name] = argument(p, given)
			continue
		}
		if !mayBePerson(f, p, given) {
			return binding{}, false
		}
		b.target = &chat.User{Platform: req.From.Platform, ID: given}
	}
	if used < len(words)+len(named) {
		return binding{}, false
	}
	ignoresTarget := req.Target != nil && b.target == nil
	return b, !ignoresTarget || mayIgnoreTarget(req.Args)
}

// mayBePerson reports whether f takes a word as the argument of its Person parameter p. If f has no other parameter, it
// takes any word, so that it can say what is wrong with the word.
func mayBePerson(f chat.Form, p chat.Param, word string) bool {
	isOnly := len(f.Params) == 1
	return isOnly || p.Accepts(word)
}

// mayIgnoreTarget reports whether a form without a Person parameter may take args although the request has a Target. It
// may if the arguments are typed: they are in a reply, perhaps to a message whose sender is not meant. It may not if
// they are named, because the sender picked the Target, or if there are none.
func mayIgnoreTarget(args chat.Args) bool { return len(args.Words()) > 0 }

// argument returns the argument of p that a given text contains. The text of a named argument may have other words
// around it: if p accepts exactly one of the words, that word is the argument, and otherwise the whole text is. A
// choice is spelled as in Param.Choices.
func argument(p chat.Param, given string) string {
	value := given
	meant := chat.Meant(strings.Fields(given), p)
	if len(meant) == 1 {
		value = meant[0]
	}
	return cmp.Or(p.Choice(value), value)
}

// inOrder returns the words in the order of the parameters: it swaps two words if the parameters accept them only in
// the other order. If f has a single parameter, and this has Choices, inOrder joins the words. They are not a valid
// choice then, and the sender is told the Choices.
func inOrder(f chat.Form, words []string) []string {
	if len(words) > 1 && len(f.Params) == 1 && f.Params[0].Choices != nil {
		return []string{strings.Join(words, " ")}
	}
	if len(words) != 2 || len(f.Params) != 2 {
		return words
	}
	accepts := func(first, second string) bool { return f.Params[0].Accepts(first) && f.Params[1].Accepts(second) }
	first, second := words[0], words[1]
	if !accepts(first, second) && accepts(second, first) {
		return []string{second, first}
	}
	return words
}

// formMissingArg returns the form that the sender probably meant if f took a user's ID for something else. It does so
// if only one word was typed, which is a user's ID, and f begins with another parameter. The sender then meant the form
// of a person and another parameter, and left out the second argument. In any other case formMissingArg returns nil.
//
// For example, /verify <wallet> takes the arguments of "/verify 700", but the sender meant /verify <user> <wallet>.
func (c route) formMissingArg(f chat.Form, typed []string) []chat.Form {
	if len(typed) != 1 || !chat.NamesPerson(typed[0]) {
		return nil
	}
	tookAsPerson := f.Params[0].Person // f took a word, so it has a parameter.
	if tookAsPerson {
		return nil
	}
	for i, other := range c.Forms {
		if len(other.Params) == 2 && other.Params[0].Person {
			return c.Forms[i : i+1]
		}
	}
	return nil
}

// wrongChoice returns an error if a value is not one of its parameter's Choices, and nil otherwise.
func wrongChoice(f chat.Form, values map[string]string) *chat.InputError {
	for _, p := range f.Params {
		value := values[p.Name]
		if p.Choices != nil && p.Choice(value) == "" {
			return &chat.InputError{Title: p.WrongTitle, Problem: p.WrongChoiceText(value)}
		}
	}
	return nil
}

// missingArgs is the key of the message that says that there is no argument.
const missingArgs = "input.missing"

// whyNoForm returns why no form takes args.
func (c route) whyNoForm(args chat.Args) chat.Text {
	maxParams := 0
	for _, f := range c.Forms {
		maxParams = max(maxParams, len(f.Params))
	}
	switch {
	case args.Len() == 0:
		return chat.Say(missingArgs)
	case maxParams == 0:
		return chat.SayWith("input.none", chat.Values{"command": chat.CommandLink("/" + c.Name)})
	case len(args.Words()) > maxParams:
		return chat.Say("input.too_much")
	case len(args.ByName()) > maxParams:
		return chat.Say("input.together")
	}
	return chat.Say("input.mismatch")
}

// Proof returns the argument of req, such as a wallet, that may prove to a group that the sender can join. It is the
// only argument of a command whose parameter is a Proof parameter, or the only word of a JoinCommand that a Proof
// parameter accepts. For any other request, Proof returns "". It does not change req.
func (r *Router) Proof(req *chat.Request) string {
	if req.Command == chat.JoinCommand {
		return r.proofAmong(req.Args.Words())
	}
	bound := *req
	forms, wrongInput := r.find(req.Command).bind(&bound)
	if wrongInput != nil || len(forms[0].Params) != 1 {
		return ""
	}
	p := forms[0].Params[0]
	if !p.Proof {
		return ""
	}
	return r.proofAmong([]string{bound.Args.Value(p.Name)})
}

// proofAmong returns the one word that a Proof parameter accepts, or "".
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
