package chat

import (
	"slices"
	"strings"
)

// Args are what was given with a command: words typed in order, or values that
// the platform named. Its zero value is no words.
type Args struct {
	named  bool
	words  []string
	byName map[string]string
}

// Typed are arguments in the order in which they were typed.
func Typed(words ...string) Args { return Args{words: words} }

// Named are arguments by the names of their parameters.
func Named(values map[string]string) Args { return Args{named: true, byName: values} }

// Value is the argument of a named parameter. The Args of a Request that
// reaches a Form's Run are named.
func (a Args) Value(param string) string { return a.byName[param] }

// Len counts the arguments.
func (a Args) Len() int { return len(a.words) + len(a.byName) }

// bind chooses the form that req was written in and names its Args. With an
// error, the forms are those the asker may have meant.
func (c Command) bind(req *Request) ([]Form, error) {
	params, _ := c.Params()
	takesPerson := slices.ContainsFunc(params, func(p Param) bool { return p.Kind == Person })
	if !takesPerson || req.Target != nil && *req.Target == req.From && req.From.ID != "" {
		req.Target, req.TargetName = nil, ""
	}
	for _, f := range c.Forms {
		if bound, ok := f.bind(*req); ok {
			*req = bound
			return []Form{f}, f.checkChoices(req.Args.byName)
		}
	}
	return c.Forms, c.mismatch(req.Args.Len())
}

// bind is req with its arguments named, and its Target found among them, if f
// is the form it was written in. A person who was picked or replied to stands
// in for the argument that names one.
func (f Form) bind(req Request) (bound Request, ok bool) {
	var open []Param
	for _, p := range f.Params {
		if p.Kind != Person || req.Target == nil {
			open = append(open, p)
		}
	}
	targetUnused := req.Target != nil && len(open) == len(f.Params)
	if targetUnused && (req.Args.named || len(open) == 0) || len(open) != req.Args.Len() {
		return req, false
	}
	values := map[string]string{}
	for i, p := range open {
		value, given := req.Args.byName[p.Name]
		if !req.Args.named {
			value, given = req.Args.words[i], true
		}
		switch {
		case !given:
			return req, false
		case p.Kind == Person:
			req.Target, req.TargetName = &User{Platform: req.From.Platform, ID: value}, ""
		default:
			values[p.Name] = value
		}
	}
	if targetUnused {
		req.Target, req.TargetName = nil, ""
	}
	req.Args = Named(values)
	return req, true
}

// errMissing is the error of bind where something was left out.
var errMissing = &InputError{Problem: Say("input.missing")}

// mismatch says why no form fits so many arguments.
func (c Command) mismatch(given int) error {
	longest, shortest := 0, len(c.Forms[0].Params)
	for _, f := range c.Forms {
		longest, shortest = max(longest, len(f.Params)), min(shortest, len(f.Params))
	}
	switch {
	case longest == 0:
		return &InputError{Problem: Say("input.none")}
	case given < shortest:
		return errMissing
	case given > longest:
		return &InputError{Problem: Say("input.too_much")}
	default:
		return &InputError{Problem: Say("input.mismatch")}
	}
}

// checkChoices brings every choice into its own spelling.
func (f Form) checkChoices(values map[string]string) error {
	for _, p := range f.Params {
		if len(p.Choices) == 0 {
			continue
		}
		i := slices.IndexFunc(p.Choices, func(choice string) bool { return strings.EqualFold(choice, values[p.Name]) })
		if i < 0 {
			return &InputError{Title: p.Check, Problem: SayWith("input.choices",
				Values{"param": Plain(p.Name), "choices": Plain(strings.Join(p.Choices, ", "))})}
		}
		values[p.Name] = p.Choices[i]
	}
	return nil
}
