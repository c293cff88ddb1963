package chat

import (
	"slices"
	"strings"
)

// Args are a command's arguments: words in order, or values by the names of their
// parameters. The zero value has none.
type Args struct {
	words  []string
	byName map[string]string
}

// Typed returns Args of words in the order in which they were typed.
func Typed(words ...string) Args { return Args{words: words} }

// Named returns Args of values by the names of their parameters. The map must not be nil.
func Named(values map[string]string) Args { return Args{byName: values} }

// Value returns the argument of a parameter, or "". It is "" for typed words, which the
// Router names before a Form runs.
func (a Args) Value(param string) string { return a.byName[param] }

// First returns the first of the words that were typed, or "".
func (a Args) First() string {
	if len(a.words) == 0 {
		return ""
	}
	return a.words[0]
}

// Len returns the number of arguments.
func (a Args) Len() int { return len(a.words) + len(a.byName) }

// bind names the Args of req by the first form that takes them, and returns that form.
// Words that no parameter accepts, such as "please", are dropped unless all are. On an
// error bind returns the forms that the sender may have meant.
func (c *Command) bind(req *Request) ([]Form, error) {
	req.Args = c.retyped(req.Args)
	req.Args.words = tidied(req.Args.words, c.params)
	if req.Args.Len() == 0 {
		req.Args = Typed(c.Aliases[req.Command]...)
	}
	takesPerson := slices.ContainsFunc(c.params, func(p Param) bool { return p.Person })
	if !takesPerson || req.Target != nil && *req.Target == req.From && req.From.ID != "" {
		req.Target = nil
		req.TargetName = ""
	}
	phrase := strings.Join(req.Args.words, " ")
	takesAll := func(p Param) bool { return phrase != "" && p.Phrase && p.accepts(phrase) }
	if meant := Meant(req.Args.words, c.params...); len(meant) > 0 {
		req.Args.words = meant
	} else if i := slices.IndexFunc(c.params, takesAll); i >= 0 {
		req.Args = Named(map[string]string{c.params[i].Name: phrase})
	}
	typed := req.Args.words
	for i, f := range c.Forms {
		if !f.bind(req) {
			continue
		}
		if meant := c.missingSecondArg(f, typed); meant != nil && req.MightModerate() {
			return meant, &InputError{Problem: SayWith("input.incomplete", Values{"param": meant[0].Params[1].Label()})}
		}
		return c.Forms[i : i+1], f.checkChoices(req.Args.byName)
	}
	return c.Forms, &InputError{Problem: c.wrongCount(req.Args)}
}

// retyped returns the only named argument as typed words if it is one of a Phrase parameter and
// another parameter accepts one of the words, such as a period in the place of an amount. It
// returns other args unchanged.
func (c *Command) retyped(args Args) Args {
	for _, p := range c.params {
		words := strings.Fields(args.byName[p.Name])
		if p.Phrase && len(args.byName) == 1 && len(Meant(words, c.params...)) > 0 {
			return Typed(words...)
		}
	}
	return args
}

// missingArgs is the problem of a command whose arguments were left out.
const missingArgs = "input.missing"

// wrongCount says why no form takes so many arguments.
func (c *Command) wrongCount(args Args) Text {
	given, most := args.Len(), 0
	for _, f := range c.Forms {
		most = max(most, len(f.Params))
	}
	switch {
	case given == 0:
		return Say(missingArgs)
	case most == 0:
		return SayWith("input.none", Values{"command": CommandLink("/" + c.Name)})
	case len(args.words) > most:
		return Say("input.too_much")
	case given > most:
		return Say("input.together")
	}
	return Say("input.mismatch")
}

// missingSecondArg returns the (person, X) form if only a user ID was typed and f would
// read it as X. Otherwise it returns nil.
func (c *Command) missingSecondArg(f Form, typed []string) []Form {
	if len(typed) != 1 || f.Params[0].Person || !personWord.MatchString(typed[0]) {
		return nil
	}
	for i, other := range c.Forms {
		if len(other.Params) == 2 && other.Params[0].Person {
			return c.Forms[i : i+1]
		}
	}
	return nil
}

// bind names the Args of req if f takes them all, and reports whether it does. The
// Target, if there is one, is the argument of the parameter with Person.
func (f Form) bind(req *Request) (ok bool) {
	words := f.inOrder(req.Args.words)
	named := req.Args.byName != nil
	values, used := map[string]string{}, 0
	target, name := (*User)(nil), ""
	for _, p := range f.Params {
		if p.Person && req.Target != nil {
			target, name = req.Target, req.TargetName
			continue
		}
		value, given := req.Args.byName[p.Name]
		if used < len(words) {
			value, given = words[used], true
		}
		switch {
		case !given, p.Person && len(f.Params) > 1 && !p.accepts(value):
			return false
		case p.Person:
			target = &User{Platform: req.From.Platform, ID: value}
		default:
			values[p.Name] = p.meantBy(value)
		}
		used++
	}
	ignoresTarget := req.Target != nil && target == nil
	if used != len(words)+len(req.Args.byName) || ignoresTarget && (named || used == 0) {
		return false
	}
	req.Args = Named(values)
	req.Target = target
	req.TargetName = name
	return true
}

// meantBy returns the one word of a value that the parameter takes, because a named argument may
// have others around it. It returns the value if there is not one such word.
func (p Param) meantBy(value string) string {
	if words := Meant(strings.Fields(value), p); len(words) == 1 {
		return words[0]
	}
	return value
}

// inOrder returns the words in the order of the parameters. Two words are swapped if the
// parameters accept them only so. Several words for one choice become one wrong choice,
// so that the sender is told the choices.
func (f Form) inOrder(words []string) []string {
	switch {
	case len(words) > 1 && len(f.Params) == 1 && f.Params[0].Choices != nil:
		return []string{strings.Join(words, " ")}
	case len(words) != 2 || len(f.Params) != 2:
		return words
	}
	accept := func(a, b string) bool { return f.Params[0].accepts(a) && f.Params[1].accepts(b) }
	if a, b := words[0], words[1]; !accept(a, b) && accept(b, a) {
		return []string{b, a}
	}
	return words
}

// checkChoices replaces each choice by its spelling in Param.Choices. It returns an
// InputError if there is no such choice.
func (f Form) checkChoices(values map[string]string) error {
	for _, p := range f.Params {
		if p.Choices == nil {
			continue
		}
		typed := values[p.Name]
		if values[p.Name] = p.choice(typed); values[p.Name] == "" {
			return &InputError{Title: p.Check, Problem: p.wrongChoice(typed)}
		}
	}
	return nil
}
