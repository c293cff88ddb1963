package chat

import (
	"cmp"
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
	// Person is set for a user of the platform: mentioned, picked, replied to, or by ID.
	// Any other argument is one word.
	Person bool
	// Like matches a word that may be meant as the argument, right or wrong. nil
	// matches every word.
	Like *regexp.Regexp
	// Question asks for the argument if it was left out and the form takes it
	// alone. Without a Key it is not asked for.
	Question Text
	// Check heads the reply to a wrong value, such as "Check the wallet address".
	// Without a Key that is "Check what you typed".
	Check Text
	// Choices are the only values, where there are few, and Synonyms, in lower case,
	// are what else may be written for one. Case does not matter.
	Choices  []string
	Synonyms map[string]string
}

// Label is what the parameter is called in the reader's language, such as "wallet".
func (p Param) Label() Text { return Say("name." + p.Name) }

// ChoiceLabel is what a choice is called, such as "7 days". One without such a message
// is called as it is.
func ChoiceLabel(choice string) Text { return Say("choice." + choice) }

// choice returns the choice that a word means, or "".
func (p Param) choice(word string) string {
	word = cmp.Or(p.Synonyms[strings.ToLower(word)], word)
	if i := slices.IndexFunc(p.Choices, func(choice string) bool { return strings.EqualFold(choice, word) }); i >= 0 {
		return p.Choices[i]
	}
	return ""
}

var userID = regexp.MustCompile(`^(@.+|[0-9]{1,20})$`)

// fits reports whether a word may be meant for the parameter.
func (p Param) fits(word string) bool {
	if p.Person {
		return userID.MatchString(word)
	}
	return (p.Choices == nil || p.choice(word) != "") && (p.Like == nil || p.Like.MatchString(word))
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
// Config.Explain words any other error, in a Reply about the same.
type Run func(ctx context.Context, req Request) (Reply, error)

// PartialError says that the Reply returned with it is not the whole answer, which
// the Reply itself tells. Err is what went wrong, for the log: it holds nothing
// personal.
type PartialError struct{ Err error }

func (e *PartialError) Error() string { return "not the whole answer: " + e.Err.Error() }

func (e *PartialError) Unwrap() error { return e.Err }

// Command is what can be asked.
type Command struct {
	Name string // [a-z][a-z0-9_]{0,31}
	// Aliases are other names, which menus do not list, with the arguments that each
	// stands for if none are given.
	Aliases map[string][]string
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
		if _, alias := c.Aliases[name]; alias || c.Name == name {
			return c, true
		}
	}
	return Command{}, false
}

// Guess is the command that is meant by text without one, where only the bot reads
// it: the one with an Inline form for a word like this, such as a wallet, or else start.
func (all Commands) Guess(text string) (name string) {
	words := strings.Fields(text)
	for _, c := range all {
		meant := func(f Form) bool { return f.Inline && len(f.Params) == 1 && f.Params[0].fits(words[0]) }
		if len(words) == 1 && slices.ContainsFunc(c.Forms, meant) {
			return c.Name
		}
	}
	return "start"
}

// Usage is a form of a command as a person would type it: "/exists <platform> <ID>",
// with the parameters' names in the reader's language. It is shown like Code.
type Usage struct {
	Command string
	Params  []Param
}

func (Usage) value() {}

// Example is the form filled in: "/exists Telegram 123456789".
func (c Command) Example(f Form) string {
	words := []string{"/" + c.Name}
	for _, p := range f.Params {
		words = append(words, p.Example)
	}
	return strings.Join(words, " ")
}

// Params returns the parameters of all listed forms, each once, and whether every
// such form has it.
func (c Command) Params() (params []Param, required map[string]bool) {
	listed := slices.DeleteFunc(slices.Clone(c.Forms), func(f Form) bool { return f.Unlisted })
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

// Meant returns the words that are like an argument for one of the parameters.
func Meant(words []string, params ...Param) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		return !slices.ContainsFunc(params, func(p Param) bool { return p.fits(word) })
	})
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

// bind chooses the form in which req was written, and names its Args. Words like no
// argument, such as "please", count only where no word is like one. On an error bind
// returns the forms that the sender may have meant.
func (c Command) bind(req *Request) ([]Form, error) {
	params, _ := c.Params()
	takesPerson := slices.ContainsFunc(params, func(p Param) bool { return p.Person })
	if !takesPerson || req.Target != nil && *req.Target == req.From && req.From.ID != "" {
		req.Target, req.TargetName = nil, ""
	}
	if meant := Meant(req.Args.words, params...); len(meant) > 0 {
		req.Args.words = meant
	}
	typed := req.Args.words
	for _, f := range c.Forms {
		if !f.bind(req) {
			continue
		}
		if meant := c.aboutPerson(f, typed); meant != nil && req.MayModerate {
			return meant, &InputError{Problem: SayWith("input.incomplete", Values{"param": meant[0].Params[1].Label()})}
		}
		return []Form{f}, f.checkChoices(req.Args.byName)
	}
	return c.Forms, &InputError{Problem: c.misfit(req.Args.Len())}
}

// misfit says why no form takes so many arguments.
func (c Command) misfit(given int) Text {
	longest := slices.MaxFunc(c.Forms, func(a, b Form) int { return len(a.Params) - len(b.Params) })
	most := len(longest.Params)
	switch {
	case given == 0:
		return Say(missing)
	case most == 0:
		return SayWith("input.none", Values{"command": CommandLink("/" + c.Name)})
	case given > most:
		return Say("input.too_much")
	}
	return Say("input.mismatch")
}

// aboutPerson returns the form of a person and something else. It returns nil unless only
// a user's ID was typed and f would read that ID as something else.
func (c Command) aboutPerson(f Form, typed []string) []Form {
	about := func(f Form) bool { return len(f.Params) == 2 && f.Params[0].Person && !f.Unlisted }
	i := slices.IndexFunc(c.Forms, about)
	if i < 0 || len(typed) != 1 || f.Params[0].Person || !userID.MatchString(typed[0]) {
		return nil
	}
	return c.Forms[i : i+1]
}

// missing is the problem of a command whose arguments were left out.
const missing = "input.missing"

// bind names req's arguments if it was written in this form. A person who was
// picked or replied to stands in for the argument that names one. Two words may come
// in either order if it is clear which is which.
func (f Form) bind(req *Request) (ok bool) {
	values, used, named := map[string]string{}, 0, req.Args.byName != nil
	words := req.Args.words
	fit := func(a, b string) bool { return f.Params[0].fits(a) && f.Params[1].fits(b) }
	if len(words) == 2 && len(f.Params) == 2 && !fit(words[0], words[1]) && fit(words[1], words[0]) {
		words = []string{words[1], words[0]}
	}
	if len(words) > 1 && len(f.Params) == 1 && f.Params[0].Choices != nil {
		words = []string{""} // It is told what the choices are.
	}
	target, name := (*User)(nil), ""
	for _, p := range f.Params {
		value, given := req.Args.byName[p.Name]
		if used < len(words) {
			value, given = words[used], true
		}
		switch {
		case p.Person && req.Target != nil:
			target, name = req.Target, req.TargetName
			continue
		case !given, p.Person && len(f.Params) > 1 && !p.fits(value):
			return false
		case p.Person:
			target = &User{Platform: req.From.Platform, ID: value}
		default:
			if words := Meant(strings.Fields(value), p); len(words) == 1 {
				value = words[0] // A named argument may have others around it.
			}
			values[p.Name] = value
		}
		used++
	}
	if used != len(words)+len(req.Args.byName) || req.Target != nil && target == nil && (named || used == 0) {
		return false
	}
	req.Args, req.Target, req.TargetName = Named(values), target, name
	return true
}

// checkChoices replaces each choice by the spelling of the command's table.
func (f Form) checkChoices(values map[string]string) error {
	for _, p := range f.Params {
		if p.Choices == nil {
			continue
		}
		if values[p.Name] = p.choice(values[p.Name]); values[p.Name] == "" {
			last := len(p.Choices) - 1
			choices := Values{"choices": Plain(strings.Join(p.Choices[:last], ", ")), "last": Plain(p.Choices[last])}
			return &InputError{Title: p.Check, Problem: SayWith("input.choices", choices)}
		}
	}
	return nil
}
