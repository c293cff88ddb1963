package chat

import (
	"context"
	"fmt"
	"regexp"
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

// Param is one parameter of a Form.
type Param struct {
	Name    string // [a-z][a-z0-9_]{0,31}
	Summary Text   // at most 100 characters in every language
	Example string
	// Person marks a user of the platform: mentioned, picked, replied to, or typed as
	// an ID. Any other argument is one word, except with Phrase.
	Person bool
	// Phrase makes one argument of all that was typed, such as "1 500 HRLD", if Like matches
	// the whole and no other parameter accepts one of the words.
	Phrase bool
	// Like matches every word that may be meant as the argument, right or wrong. nil
	// matches Choices or, without any, all words.
	Like *regexp.Regexp
	// Tidy returns the words of what was typed after the command as its parameters take them,
	// such as "7d" for "7" and "days"; nil: as typed. It may be given what it returned, and
	// must not change typed.
	Tidy func(typed []string) []string
	// Question asks for an argument that was left out of a form with this parameter
	// alone. Without a Key nothing is asked.
	Question Text
	// Check is the title of the reply to a wrong value, such as "Check the wallet
	// address". Without a Key it is "Check what you typed".
	Check Text
	// Choices are the only values, in any case; nil allows any value.
	Choices []string
	// Problem says what is wrong with what was typed, which is none of Choices. nil lists
	// the Choices.
	Problem func(typed string) Text
}

// Label returns the parameter's name in the reader's language, such as "wallet".
func (p Param) Label() Text { return Say("name." + p.Name) }

// ChoiceLabel returns the name of a choice, such as "7 days". Where package words has no
// message for it, the choice itself is shown.
func ChoiceLabel(choice string) Text { return Say("choice." + choice) }

// choice returns the choice for a word, or "".
func (p Param) choice(word string) string {
	if i := slices.IndexFunc(p.Choices, func(choice string) bool { return strings.EqualFold(choice, word) }); i >= 0 {
		return p.Choices[i]
	}
	return ""
}

// wrongChoice says what can be typed instead of what is none of Choices.
func (p Param) wrongChoice(typed string) Text {
	if p.Problem != nil {
		return p.Problem(typed)
	}
	last := len(p.Choices) - 1
	return SayWith("input.choices", Values{"choices": Plain(strings.Join(p.Choices[:last], ", ")), "last": Plain(p.Choices[last])})
}

var userID = regexp.MustCompile(`^(@.+|[0-9]{1,20})$`)

// accepts reports whether a word may be meant for the parameter.
func (p Param) accepts(word string) bool {
	if p.Person {
		return userID.MatchString(word)
	}
	if p.Like != nil {
		return p.Like.MatchString(word)
	}
	return p.Choices == nil || p.choice(word) != ""
}

// Form is one way of writing a command: with all of its Params.
type Form struct {
	Params []Param
	// Moderators restricts the form to operators and moderators of the chat.
	Moderators bool
	// Unlisted forms are for buttons: menus and help leave them out.
	Unlisted bool
	// Inline forms also answer inline queries, in chats that the bot is not in.
	// They are Public and have at most one of Params.
	Inline bool
	// PerMinute returns how many requests like this one a user may make in a minute with the
	// forms of the command, beside the limits of all commands; 0 or nil is no bound.
	PerMinute func(Request) int
	Run       Run
}

// Run answers a request from a sender who may use the form. Args are bound to its
// Params. It must return when ctx is done. An InputError is shown to the sender with the
// form's example. With a PartialError the Reply is shown. Config.Explain words any other
// error; of the Reply only About and Actions are then used, and Actions replace the button
// that tries again.
type Run func(ctx context.Context, req Request) (Reply, error)

// PartialError is returned with a Reply that lacks a part, and says so. Err is the cause,
// for the log. It holds nothing personal.
type PartialError struct{ Err error }

func (e *PartialError) Error() string { return "not the whole answer: " + e.Err.Error() }

func (e *PartialError) Unwrap() error { return e.Err }

// Command is what can be asked.
type Command struct {
	Name string // [a-z][a-z0-9]{0,31}
	// Aliases are names that menus do not list, each with the arguments that it gives
	// if none are typed.
	Aliases map[string][]string
	Summary Text // at most 100 characters in every language
	// ModeratorSummary replaces the Summary in moderators' menus, if it has a Key.
	ModeratorSummary Text
	// PersonMenu is the command's entry in the menu of a person, on platforms that
	// have one. Without a Key there is no entry.
	PersonMenu Text
	// Forms are tried in order; the first that takes the arguments runs. A command
	// without parameters has one Form without Params.
	Forms      []Form
	Visibility Visibility
	// Asks names the services that it may ask; without the first it has no answer, or not the
	// whole one. A command that has an answer whatever services do names none. Tests go by it.
	Asks []string

	params []Param // of Params; NewRouter sets it
}

// Commands is a table of commands.
type Commands []Command

// Find returns the command with this name or alias, in lower case. An unknown one is an
// empty Command. The caller must not change it.
func (all Commands) Find(name string) (c *Command, known bool) {
	for i := range all {
		if _, alias := all[i].Aliases[name]; alias || all[i].Name == name {
			return &all[i], true
		}
	}
	return &Command{}, false
}

// Guess returns the name of the command for text without one, where only the bot reads
// it: the first with an Inline form for which one of the words is Meant, or else "start".
func (all Commands) Guess(text string) (name string) {
	meant := func(f Form) bool { return f.Inline && len(Meant(strings.Fields(text), f.Params...)) > 0 }
	for _, c := range all {
		if slices.ContainsFunc(c.Forms, meant) {
			return c.Name
		}
	}
	return "start"
}

// Usage is how a form is typed, such as "/exists <platform> <ID>", with the labels of its
// parameters. It is shown like Code.
type Usage struct {
	Command string
	Params  []Text
}

func (Usage) value() {}

// Example returns the form with its examples: "/exists Telegram 123456789".
func (c *Command) Example(f Form) string {
	words := []string{"/" + c.Name}
	for _, p := range f.Params {
		words = append(words, p.Example)
	}
	return strings.Join(words, " ")
}

// listed returns the forms that are not Unlisted.
func (c *Command) listed() []Form {
	return slices.DeleteFunc(slices.Clone(c.Forms), func(f Form) bool { return f.Unlisted })
}

// Params returns the parameters of all listed forms, each once, and by their names
// whether every listed form has it. Without a listed form it does so for all forms.
func (c *Command) Params() (params []Param, required map[string]bool) {
	listed := c.listed()
	if len(listed) == 0 {
		listed = c.Forms
	}
	count := map[string]int{}
	required = map[string]bool{}
	for _, f := range listed {
		for _, p := range f.Params {
			if count[p.Name] == 0 {
				params = append(params, p)
			}
			count[p.Name]++
			required[p.Name] = count[p.Name] == len(listed)
		}
	}
	return params, required
}

// tidied returns typed words as the parameters take them.
func tidied(words []string, params []Param) []string {
	for _, p := range params {
		if p.Tidy != nil {
			words = p.Tidy(words)
		}
	}
	return words
}

// Meant returns the words, tidied, that one of the parameters accepts. A Phrase accepts none.
func Meant(words []string, params ...Param) []string {
	return slices.DeleteFunc(slices.Clone(tidied(words, params)), func(word string) bool {
		return !slices.ContainsFunc(params, func(p Param) bool { return !p.Phrase && p.accepts(word) })
	})
}

// check returns an error if an answer could reach the wrong people.
func (c *Command) check() error {
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

// InputError tells what is wrong with a person's input, without repeating the input.
type InputError struct {
	// Title is a few words. Without a Key it is "Check what you typed".
	Title Text
	// Problem is a whole sentence or two.
	Problem Text
}

func (e *InputError) Error() string { return "input: " + e.Problem.Key }
