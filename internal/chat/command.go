package chat

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Visibility says who may read a command's answer. Its zero value is refused,
// so that nobody forgets to choose.
type Visibility int

// The two visibilities.
const (
	// Public answers stand in the chat where they were asked for.
	Public Visibility = iota + 1
	// Private answers reach the asker alone, errors included.
	Private
)

// Kind is the type of a parameter.
type Kind int

// The kinds.
const (
	Text Kind = iota
	// Person is a user of the platform: mentioned, picked, replied to, or by ID.
	Person
)

// Param is one parameter of a Form.
type Param struct {
	Name    string // [a-z][a-z0-9_]{0,31}
	Summary string // at most 100 characters
	Example string
	Kind    Kind
	// Choices are the only values, where there are few; matched in any case.
	Choices []string
}

// Form is one way of writing a command: all of its parameters are given.
type Form struct {
	Params []Param
	// Moderators keeps the form to moderators of the chat and operators.
	Moderators bool
}

// Command is what can be asked.
type Command struct {
	Name    string // [a-z][a-z0-9_]{0,31}
	Aliases []string
	Summary string // at most 100 characters
	// Forms are the ways of writing it, told apart by how many arguments
	// stand there. A command without parameters has one empty Form.
	Forms      []Form
	Visibility Visibility
	// Run answers a request whose Args are bound and whose sender may use the
	// form. It must return when ctx is done. An InputError is told to the
	// asker with the form's example; every other error is put into words by
	// the Router's Explain.
	Run func(ctx context.Context, req Request) (Reply, error)
}

// Usage is the form as a person would type it: "/exists <platform> <uid>".
func (c Command) Usage(f Form) string {
	return c.line(f, func(p Param) string { return "<" + p.Name + ">" })
}

// Example is the form filled in: "/exists Telegram 123456789".
func (c Command) Example(f Form) string { return c.line(f, func(p Param) string { return p.Example }) }

func (c Command) line(f Form, word func(Param) string) string {
	words := []string{"/" + c.Name}
	for _, p := range f.Params {
		words = append(words, word(p))
	}
	return strings.Join(words, " ")
}

// Params are the parameters of all forms, each once, and whether every form
// has it.
func (c Command) Params() (params []Param, required map[string]bool) {
	count := map[string]int{}
	for _, f := range c.Forms {
		for _, p := range f.Params {
			if count[p.Name] == 0 {
				params = append(params, p)
			}
			count[p.Name]++
		}
	}
	required = map[string]bool{}
	for name, n := range count {
		required[name] = n == len(c.Forms)
	}
	return params, required
}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// check tells what no platform would accept.
func (c Command) check() error {
	if !namePattern.MatchString(c.Name) {
		return fmt.Errorf("command %q: the name must match %s", c.Name, namePattern)
	}
	if c.Visibility != Public && c.Visibility != Private {
		return fmt.Errorf("command %q: no visibility chosen", c.Name)
	}
	if c.Run == nil || len(c.Forms) == 0 {
		return fmt.Errorf("command %q: Run and at least one Form are needed", c.Name)
	}
	summaries := []string{c.Summary}
	params, _ := c.Params()
	for _, p := range params {
		if !namePattern.MatchString(p.Name) {
			return fmt.Errorf("command %q: parameter %q must match %s", c.Name, p.Name, namePattern)
		}
		summaries = append(summaries, p.Summary)
	}
	for _, s := range summaries {
		if n := utf8.RuneCountInString(s); n == 0 || n > 100 {
			return fmt.Errorf("command %q: a summary of %d characters, not 1 to 100: %q", c.Name, n, s)
		}
	}
	return nil
}

// InputError says what is wrong with what a person typed. Problem is a whole
// sentence and never repeats the input.
type InputError struct{ Problem string }

func (e *InputError) Error() string { return "input: " + e.Problem }

// bind chooses the form that req was written in and fills in its Args. With an
// error, the forms are those the asker may have meant.
func (c Command) bind(req *Request) ([]Form, error) {
	if req.Target != nil && *req.Target == req.From && req.From.ID != "" {
		req.Target = nil
	}
	params, _ := c.Params()
	if !slices.ContainsFunc(params, func(p Param) bool { return p.Kind == Person }) {
		req.Target = nil
	}
	for _, f := range c.Forms {
		if args, ok := f.args(*req); ok {
			req.Args = args
			return []Form{f}, f.checkChoices(args)
		}
	}
	return c.Forms, &InputError{c.mismatch(*req)}
}

// mismatch words why no form fits.
func (c Command) mismatch(req Request) string {
	given := len(req.Words) + len(req.Args)
	longest, shortest := 0, len(c.Forms[0].Params)
	for _, f := range c.Forms {
		longest, shortest = max(longest, len(f.Params)), min(shortest, len(f.Params))
	}
	switch {
	case longest == 0:
		return "This command takes no arguments."
	case given < shortest:
		return "Something is missing after the command."
	case given > longest:
		return "There is too much after the command."
	default:
		return "The arguments do not fit together."
	}
}

// checkChoices brings every choice into its own spelling.
func (f Form) checkChoices(args map[string]string) error {
	for _, p := range f.Params {
		if len(p.Choices) == 0 {
			continue
		}
		i := slices.IndexFunc(p.Choices, func(choice string) bool { return strings.EqualFold(choice, args[p.Name]) })
		if i < 0 {
			return &InputError{fmt.Sprintf("The %s must be one of: %s.", p.Name, strings.Join(p.Choices, ", "))}
		}
		args[p.Name] = p.Choices[i]
	}
	return nil
}

// args are req's arguments by name if this is the form it was written in.
func (f Form) args(req Request) (map[string]string, bool) {
	var open []Param
	for _, p := range f.Params {
		if p.Kind != Person || req.Target == nil {
			open = append(open, p)
		}
	}
	named := req.Args != nil
	targetUnused := req.Target != nil && len(open) == len(f.Params)
	if targetUnused && (named || len(open) == 0) {
		return nil, false
	}
	if len(open) != len(req.Words)+len(req.Args) {
		return nil, false
	}
	args := map[string]string{}
	for i, p := range open {
		if !named {
			args[p.Name] = req.Words[i]
			continue
		}
		value, given := req.Args[p.Name]
		if !given {
			return nil, false
		}
		args[p.Name] = value
	}
	return args, true
}
