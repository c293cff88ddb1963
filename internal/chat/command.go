package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Visibility says who may read a command's answer. Its zero value is refused, so
// that nobody forgets to choose.
type Visibility int

// The visibilities.
const (
	// Public answers stand in the chat where they were asked for.
	Public Visibility = iota + 1
	// Private answers reach the sender alone, errors included.
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
	// Question asks for the argument if it was left out and the form takes it
	// alone. Without a Key it is not asked for.
	Question Text
	// Check heads the reply to a wrong value, such as "Check the wallet address".
	// Without a Key that is "Check what you typed".
	Check Text
	// Choices are the only values, where there are few. Case does not matter.
	Choices []string
}

// Form is one way of writing a command: with all of these parameters. Each has a
// function of its own, so that a command knows which form was used.
type Form struct {
	Params []Param
	// Moderators keeps the form to moderators of the chat and operators.
	Moderators bool
	// Unlisted forms are for buttons: no menu and no help shows them.
	Unlisted bool
	// Inline forms also answer inline queries, in chats that the bot is not in.
	// They are Public and take one argument at most.
	Inline bool
	Run    Run
}

// Run answers a request whose Args are bound to the Params of its Form and whose
// sender may use it. It must return when ctx is done. An InputError is shown to
// the sender with the form's example. With a PartialError the Reply is shown.
// Config.Explain words any other error.
type Run func(ctx context.Context, req Request) (Reply, error)

// PartialError says that the Reply returned with it is not the whole answer, which
// the Reply itself tells. Err is what went wrong, for the log: it holds nothing
// personal.
type PartialError struct{ Err error }

func (e *PartialError) Error() string { return "not the whole answer: " + e.Err.Error() }

// Command is what can be asked.
type Command struct {
	Name    string // [a-z][a-z0-9_]{0,31}
	Aliases []string
	Summary Text // at most 100 characters in every language
	// ModeratorSummary is the Summary for moderators, if theirs is another.
	ModeratorSummary Text
	// PersonMenu is the command's entry in the menu of a person, on platforms that
	// have one. Without a Key there is no entry.
	PersonMenu Text
	// Forms are the ways of writing it. The first that fits the number of
	// arguments is meant. A command without parameters has one Form without Params.
	Forms      []Form
	Visibility Visibility
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

// Params returns the parameters of all listed forms, each once, and whether every
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

// check refuses what could show an answer to the wrong people.
func (c Command) check() error {
	if c.Visibility != Public && c.Visibility != Private {
		return fmt.Errorf("command %q: no visibility chosen", c.Name)
	}
	for _, f := range c.Forms {
		if f.Inline && (c.Visibility != Public || f.Moderators || len(f.Params) > 1) {
			return fmt.Errorf("command %q: an Inline form must be public, for everybody, and take one argument at most", c.Name)
		}
	}
	return nil
}

// InputError says what is wrong with what a person typed. It never repeats the
// input.
type InputError struct {
	// Title names the problem in a few words. Without a Key it is "Check what you
	// typed".
	Title Text
	// Problem is a whole sentence or two.
	Problem Text
}

func (e *InputError) Error() string { return "input: " + e.Problem.Key }
