package chat

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Visibility is who may read a command's answer. The Router refuses a Command with the zero value.
type Visibility int

// The visibilities.
const (
	// Public answers are shown in the chat of the request.
	Public Visibility = iota + 1
	// Private answers are shown only to the sender, and so are errors.
	Private
)

// Command is one command of the bot, such as /price.
type Command struct {
	Name string // [a-z][a-z0-9]{0,31}
	// Aliases are other names, which menus do not list. Each has the arguments that it stands for if none are typed: "24h"
	// for /chart, an alias of /price.
	Aliases map[string][]string
	Summary Text // at most 100 characters in every language
	// ModeratorSummary replaces the Summary in moderators' menus, if it has a Key.
	ModeratorSummary Text
	// Topic names what the command is about in a list of what the bot knows, such as "price". If it has no Key, the
	// command is not in that list.
	Topic Text
	// PersonMenu is the command's entry in the menu of a person, if the platform has such menus. If it has no Key, there
	// is no entry.
	PersonMenu Text
	// Forms are tried in order; the first that takes the arguments runs. A command without parameters has one Form
	// without Params.
	Forms      []Form
	Visibility Visibility
	// NoDeepLink forbids deep links that run the command, because anybody can hide a link behind harmless words.
	NoDeepLink bool
	// Asks names the services that the command calls. While the first of them fails, the answer is missing or incomplete.
	// Asks is nil if the command answers without any service. Only tests read it, and they verify it.
	Asks []string
}

// Form is one way to write a command, such as /staked <wallet>. It takes exactly one argument for each of its Params.
type Form struct {
	Params []Param
	// Moderators restricts the form to operators and moderators of the chat.
	Moderators bool
	// Unlisted forms are for buttons: menus and help leave them out.
	Unlisted bool
	// NeedsRole makes the Router ask the platform for the sender's role, if it is unknown, before the form runs.
	NeedsRole bool
	// Inline forms also answer inline queries, which users send in chats that the bot is not in. Such a form has at most
	// one parameter, and its command is Public.
	Inline bool
	// Limit is the form's own rate limit. It applies in addition to the limits of all commands. If several forms of a
	// command have a Limit, their uses count together.
	Limit Limit
	Run   Run
}

// Limit is how often one user may use a form. The zero Limit is no limit.
//
// For example, {Uses: 5, Per: time.Hour} allows five uses at once, and then one every twelve minutes.
type Limit struct {
	// Uses is how many uses are allowed at once, and as many again spread over each Per.
	Uses int
	Per  time.Duration
	// Of is the name of a parameter, or empty. If it is set, uses with different arguments of this parameter count
	// separately.
	Of string
	// Counts reports whether a request counts. If it is nil, every request counts.
	Counts func(*Request) bool
}

// Run answers a request of a sender who may use the form. The Args are named by the form's Params. Run must return when
// ctx is done. Its error decides what the sender is shown:
//
//   - If it is nil or a PartialError, the sender is shown the Reply.
//   - If it is an InputError, the sender is shown what is wrong, and how to write the form.
//   - If it is another error, the sender is shown the text that router.Config.Explain returns. Of the Reply, only the
//     About is used, and the Actions, which replace the button "Try again".
type Run func(ctx context.Context, req *Request) (*Reply, error)

// PartialError is returned beside a Reply that lacks a part and tells the sender so. Err is why the part is missing. It
// is logged, and so must not contain personal data.
type PartialError struct{ Err error }

func (e *PartialError) Error() string { return "not the whole answer: " + e.Err.Error() }

func (e *PartialError) Unwrap() error { return e.Err }

// InputError tells the sender what is wrong with what they typed, and does not repeat it.
type InputError struct {
	// Title has a few words. If it has no Key, the sender reads "Check what you typed".
	Title Text
	// Problem has one or two sentences.
	Problem Text
}

func (e *InputError) Error() string { return "input: " + e.Problem.Key }

// Commands is a table of commands.
type Commands []Command

// Topics returns the Topics of the commands, in order.
func (all Commands) Topics() (topics []Text) {
	for _, c := range all {
		if c.Topic.Key != "" {
			topics = append(topics, c.Topic)
		}
	}
	return topics
}

// Find returns the command with this name or alias, which is in lower case. If there is none, it returns an empty
// Command and false. The caller must not change the Command.
func (all Commands) Find(name string) (c *Command, known bool) {
	for i := range all {
		c = &all[i]
		if _, isAlias := c.Aliases[name]; isAlias || c.Name == name {
			return c, true
		}
	}
	return &Command{}, false
}

// Guess returns the name of the command that a text in a private chat means if the text does not name one. For
// "0x5290…", it is the first command with an Inline form that has a parameter for a wallet. If no Inline form has a
// parameter that accepts one of the words, it is "start".
func (all Commands) Guess(text string) (name string) {
	words := strings.Fields(text)
	isMeant := func(f Form) bool { return f.Inline && len(Meant(words, f.Params...)) > 0 }
	for _, c := range all {
		if slices.ContainsFunc(c.Forms, isMeant) {
			return c.Name
		}
	}
	return "start"
}

// Example returns the command as a sender may write it in this form, such as "/exists Telegram 123456789".
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

// Params returns each parameter of the command once. required[name] reports whether all forms have the parameter. Forms
// that are Unlisted do not count, unless all forms are.
func (c *Command) Params() (params []Param, required map[string]bool) {
	forms := c.listed()
	if len(forms) == 0 {
		forms = c.Forms
	}
	formsWith, required := map[string]int{}, map[string]bool{}
	for _, f := range forms {
		for _, p := range f.Params {
			if formsWith[p.Name] == 0 {
				params = append(params, p)
			}
			formsWith[p.Name]++
			required[p.Name] = formsWith[p.Name] == len(forms)
		}
	}
	return params, required
}

// Usage is a Value that shows how a form is typed, such as "/exists <platform> <ID>". It looks like Code.
type Usage struct {
	Command string
	Params  []Text // the labels of the parameters
}

func (Usage) value() {}

// Param is one parameter of a Form.
type Param struct {
	// These fields are shown.

	Name    string // [a-z][a-z0-9_]{0,31}
	Summary Text   // at most 100 characters in every language
	Example string
	// Question asks the sender for the argument, such as "Which wallet?". It is asked if this is a form's only parameter
	// and nothing was typed. If it has no Key, nothing is asked.
	Question Text

	// These fields decide which words are the argument, and which arguments are valid.

	// Person marks a parameter whose argument is a user of the platform. The sender mentions or picks the user, replies to
	// them, or types their ID.
	Person bool
	// Proof marks a parameter whose argument may prove to a group that the sender can join, such as a wallet.
	Proof bool
	// Phrase marks a parameter whose argument may have several words, such as "1 500 HRLD". The typed words are its
	// argument if it accepts them joined by spaces, and no other parameter accepts any of them. The argument of any other
	// parameter is one word.
	Phrase bool
	// Like matches a word that looks like the argument, even if it is not valid. If Like is nil, a word looks like the
	// argument if it is one of Choices, or if there are no Choices.
	Like *regexp.Regexp
	// Tidy rewrites all typed words of a command so that its parameters accept them: it replaces "7" and "days" by "7d",
	// for example. It must not change typed, and must be idempotent. If it is nil, the words stay as typed.
	Tidy func(typed []string) []string
	// Choices are the only valid values, at least two. They may be typed in upper or lower case. If Choices is nil, any
	// value is valid.
	Choices []string

	// These fields word the reply to a wrong value.

	// WrongTitle is the title of the reply, such as "Check the wallet address". If it has no Key, the title is "Check
	// what you typed".
	WrongTitle Text
	// ChoiceProblem says what is wrong with an argument that is not one of Choices. If it is nil, the reply lists the
	// Choices.
	ChoiceProblem func(typed string) Text
}

// Label returns the parameter's name in the reader's language, such as "wallet".
func (p Param) Label() Text { return Say("name." + p.Name) }

// ChoiceLabel returns the name of a choice, such as "7 days" for "7d".
func ChoiceLabel(choice string) Text { return Say("choice." + choice) }

// Choice returns the element of Choices that a word spells, in upper or lower case, or "".
func (p Param) Choice(word string) string {
	for _, choice := range p.Choices {
		if strings.EqualFold(choice, word) {
			return choice
		}
	}
	return ""
}

// WrongChoiceText says what is wrong with an argument that is not one of Choices.
func (p Param) WrongChoiceText(typed string) Text {
	if p.ChoiceProblem != nil {
		return p.ChoiceProblem(typed)
	}
	last := len(p.Choices) - 1
	return SayWith("input.choices", Values{
		"choices": Plain(strings.Join(p.Choices[:last], ", ")),
		"last":    Plain(p.Choices[last]),
	})
}

// Accepts reports whether a word looks like the argument.
func (p Param) Accepts(word string) bool {
	if p.Person {
		return NamesPerson(word)
	}
	if p.Like != nil {
		return p.Like.MatchString(word)
	}
	return p.Choices == nil || p.Choice(word) != ""
}

// NamesPerson reports whether a word can name a user: it is "@" and a name, or an ID.
func NamesPerson(word string) bool { return personWord.MatchString(word) }

var personWord = regexp.MustCompile(`^(@.+|[0-9]{1,20})$`)

// Tidied returns the words as rewritten by the Tidy of each parameter, one after the other.
func Tidied(words []string, params []Param) []string {
	for _, p := range params {
		if p.Tidy != nil {
			words = p.Tidy(words)
		}
	}
	return words
}

// Meant tidies the words, and returns those that one of the parameters accepts. It ignores Phrase parameters, because
// they accept words only together.
func Meant(words []string, params ...Param) []string {
	isMeant := func(word string) bool {
		return slices.ContainsFunc(params, func(p Param) bool { return !p.Phrase && p.Accepts(word) })
	}
	return slices.DeleteFunc(slices.Clone(Tidied(words, params)), func(word string) bool { return !isMeant(word) })
}
