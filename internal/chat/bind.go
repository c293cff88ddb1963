package chat

import (
	"slices"
	"strings"
)

// Args are what was given with a command: words in order, or values by the names
// of their parameters. The zero value is no words.
type Args struct {
	words  []string
	byName map[string]string
}

// Typed makes Args of words in the order in which they were typed.
func Typed(words ...string) Args { return Args{words: words} }

// Named makes Args of values by the names of their parameters. The map is not nil.
func Named(values map[string]string) Args { return Args{byName: values} }

// Value returns the argument of a parameter, or "". Args are named by the time a
// Form runs.
func (a Args) Value(param string) string { return a.byName[param] }

// Len counts the arguments.
func (a Args) Len() int { return len(a.words) + len(a.byName) }

// bind chooses the form in which req was written, and names its Args. On an error
// it returns the forms that the sender may have meant.
func (c Command) bind(req *Request) ([]Form, error) {
	params, _ := c.Params()
	takesPerson := slices.ContainsFunc(params, func(p Param) bool { return p.Kind == Person })
	if !takesPerson || req.Target != nil && *req.Target == req.From && req.From.ID != "" {
		req.Target, req.TargetName = nil, ""
	}
	for _, f := range c.Forms {
		if f.bind(req) {
			return []Form{f}, f.checkChoices(req.Args.byName)
		}
	}
	problem := "input.mismatch"
	if req.Args.Len() == 0 {
		problem = missing
	}
	return c.Forms, &InputError{Problem: Say(problem)}
}

// missing is the problem of a command whose arguments were left out.
const missing = "input.missing"

// bind names req's arguments if it was written in this form. A person who was
// picked or replied to stands in for the argument that names one.
func (f Form) bind(req *Request) (ok bool) {
	values, used, named := map[string]string{}, 0, req.Args.byName != nil
	target, name := (*User)(nil), ""
	for _, p := range f.Params {
		value, given := req.Args.byName[p.Name]
		if used < len(req.Args.words) {
			value, given = req.Args.words[used], true
		}
		switch {
		case p.Kind == Person && req.Target != nil:
			target, name = req.Target, req.TargetName
			continue
		case !given:
			return false
		case p.Kind == Person:
			target = &User{Platform: req.From.Platform, ID: value}
		default:
			values[p.Name] = value
		}
		used++
	}
	if used != req.Args.Len() || req.Target != nil && target == nil && (named || used == 0) {
		return false
	}
	req.Args, req.Target, req.TargetName = Named(values), target, name
	return true
}

// checkChoices replaces each choice by the spelling of the command's table.
func (f Form) checkChoices(values map[string]string) error {
	for _, p := range f.Params {
		i := slices.IndexFunc(p.Choices, func(choice string) bool { return strings.EqualFold(choice, values[p.Name]) })
		if i >= 0 {
			values[p.Name] = p.Choices[i]
		} else if p.Choices != nil {
			choices := Values{"param": Plain(p.Name), "choices": Plain(strings.Join(p.Choices, ", "))}
			return &InputError{Title: p.Check, Problem: SayWith("input.choices", choices)}
		}
	}
	return nil
}
