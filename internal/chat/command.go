package chat

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
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
	// Word is one word, as it was given.
	Word Kind = iota
	// Person is a user of the platform: mentioned, picked, replied to, or by ID.
	Person
)

// Param is one parameter of a Form.
type Param struct {
	Name    string // [a-z][a-z0-9_]{0,31}
	Summary Text   // at most 100 characters in every language
	Example string
	Kind    Kind
	// Question asks for the argument where it was left out, if a form takes it
	// alone; without a Key it is not asked for.
	Question Text
	// Check heads the answer to a value that is none, as in "Check the wallet
	// address"; without a Key it is "Check what you typed".
	Check Text
	// Choices are the only values, where there are few; matched in any case.
	Choices []string
}

// Form is one way of writing a command: all of its parameters are given. Each
// has a function of its own, so that a command knows by which form it was
// asked.
type Form struct {
	Params []Param
	// Moderators keeps the form to moderators of the chat and operators.
	Moderators bool
	// Unlisted forms are asked by buttons; no menu and no help shows them.
	Unlisted bool
	Run      Run
}

// Run answers a request whose Args are bound to the Params of its Form and whose
// sender may use it. It must return when ctx is done. An InputError is shown to
// the asker with the form's example. Beside a PartialError the Reply is shown.
// The Router's Explain puts every other error into words.
type Run func(ctx context.Context, req Request) (Reply, error)

// PartialError says that the Reply beside it is not the whole answer, which the
// Reply itself tells the asker. Err is what went wrong, for the log: it holds
// nothing personal.
type PartialError struct{ Err error }

func (e *PartialError) Error() string { return "not the whole answer: " + e.Err.Error() }

// Command is what can be asked.
type Command struct {
	Name    string // [a-z][a-z0-9_]{0,31}
	Aliases []string
	Summary Text // at most 100 characters in every language
	// ModeratorSummary is the Summary for moderators, who have forms of their
	// own; without a Key it is the same.
	ModeratorSummary Text
	// PersonMenu names the command in the menu of a person, on platforms that
	// have one; it is asked about them. Without a Key it is not there.
	PersonMenu Text
	// Forms are the ways of writing it, told apart by how many arguments
	// there are; the first that fits is meant. A command without parameters has one Form without Params.
	Forms      []Form
	Visibility Visibility
	// AboutBot marks an answer about the bot itself, which says nothing in a chat
	// that the bot is no member of and is not offered there.
	AboutBot bool
}

// Commands is a table of commands.
type Commands []Command

// Find returns the command with this name or alias, in lower case.
func (all Commands) Find(name string) (c Command, known bool) {
	for _, c := range all {
		if c.Name == name || slices.Contains(c.Aliases, name) {
			return c, true
		}
	}
	return Command{}, false
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

// Params are the parameters of all listed forms, each once, and whether every
// such form has it.
func (c Command) Params() (params []Param, required map[string]bool) {
	count := map[string]int{}
	listed := 0
	for _, f := range c.Forms {
		if f.Unlisted {
			continue
		}
		listed++
		for _, p := range f.Params {
			if count[p.Name] == 0 {
				params = append(params, p)
			}
			count[p.Name]++
		}
	}
	required = map[string]bool{}
	for name, n := range count {
		required[name] = n == listed
	}
	return params, required
}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// check returns an error for what no platform would accept.
func (c Command) check() error {
	if !namePattern.MatchString(c.Name) {
		return fmt.Errorf("command %q: the name must match %s", c.Name, namePattern)
	}
	if c.Visibility != Public && c.Visibility != Private {
		return fmt.Errorf("command %q: no visibility chosen", c.Name)
	}
	if len(c.Forms) == 0 {
		return fmt.Errorf("command %q: at least one Form is needed", c.Name)
	}
	for _, f := range c.Forms {
		if f.Run == nil {
			return fmt.Errorf("command %q: the form %s has no Run", c.Name, c.Usage(f))
		}
	}
	summaries := []Text{c.Summary}
	params, _ := c.Params()
	for _, p := range params {
		if !namePattern.MatchString(p.Name) {
			return fmt.Errorf("command %q: parameter %q must match %s", c.Name, p.Name, namePattern)
		}
		summaries = append(summaries, p.Summary)
	}
	for _, s := range summaries {
		if s.Key == "" {
			return fmt.Errorf("command %q: a summary is missing", c.Name)
		}
	}
	return nil
}

// InputError says what is wrong with what a person typed. It never repeats the
// input.
type InputError struct {
	// Title names the problem in a few words; without a Key it is "Check what
	// you typed".
	Title Text
	// Problem is a whole sentence or two.
	Problem Text
}

func (e *InputError) Error() string { return "input: " + e.Problem.Key }
