package chat

import (
	"time"
)

// Tone is the drift of a Reply, for its colour or sign.
type Tone int

// The tones.
const (
	Neutral Tone = iota
	// Positive is a yes.
	Positive
	// Negative is a no that was checked.
	Negative
	// Warning is an answer that could not be given, or not in full.
	Warning
	// Rising and Falling are a price's change over the period shown.
	Rising
	Falling
)

// Reply is an answer, free of its platform and of its language. Package words
// prints it as a card, which an adapter renders.
type Reply struct {
	// Language is set by the Router.
	Language Language
	Tone     Tone
	// Title is the answer itself: a push notification shows little more.
	Title Text
	// Beside stands beside the title and is less prominent.
	Beside   Value
	Text     Text
	Sections []Section
	// Exact are whole values of what is shown short above. A value that is not
	// shortened there is not shown again.
	Exact []Field
	// Folded is shown after Exact where a platform folds that away, and else left out.
	Folded []Field
	// Notes are small print, a line each.
	Notes []Text
	// Footer is the last line: what was asked, and Checked, which is when.
	Footer  Parts
	Checked time.Time
	// Image is shown above or below the text; nil shows no picture.
	Image *Image
	// Actions are buttons, in the order in which they are shown.
	Actions []Action
	// Ask has the sender write what is missing; nil asks for nothing.
	Ask *Ask
	// About is what the answer is about, in one form, where a command answers about more
	// than one thing: a wallet, and not the period that is shown of the one price.
	About string
	// AsOf is when the content was learned, or when its source says that it was true;
	// zero where that means nothing. A refresh that finds the same time changes nothing.
	AsOf time.Time
	// FreshUntil is how long the same question has the same answer; zero is not
	// at all.
	FreshUntil time.Time
	// Stale is set if an old answer stands in for a service that fails, which the
	// Reply says.
	Stale bool
	// Ephemeral marks a reply that matters only to the sender: wrong input, a refusal, a
	// limit. Platforms that can show it only to them do so.
	Ephemeral bool
	// Repeated marks a refusal that its sender was told in this chat within the
	// last minute. A platform on which every answer is a message leaves it out.
	Repeated bool
}

// Section is a list of fields under an optional heading.
type Section struct {
	Heading Text
	// Row puts all fields on one line.
	Row    bool
	Fields []Field
}

// Field is one value of a Section. Name is a Text or what a service named. Either
// part may be nil.
type Field struct {
	Name, Value Value
}

// Image is a picture.
type Image struct {
	// Name is the file's, such as "price-7d.png".
	Name string
	PNG  []byte
	// Spark is the line of the picture in a few points, for a chat without pictures;
	// NaN is a gap. It may be empty.
	Spark []float64
	// Alt describes the picture to those who do not see it.
	Alt Value
}

// Ask is a question for the last argument of a command. What is written next is
// that argument, and the command is asked with it.
type Ask struct {
	Command string
	// Question is shown where the answer is written, such as "Which wallet?".
	Question Text
	// Example shows the form expected.
	Example string
}

// What people read when a command does not come to its answer. Package words has
// the messages.

// warning is for nobody but the sender. The key names its title and its text.
func warning(key string) Reply {
	return Reply{Tone: Warning, Ephemeral: true, Title: Say(key + ".title"), Text: Say(key + ".text")}
}

// Busy is the reply to a command for which there is no room.
func Busy() Reply { return warning("busy") }

// OldButton is the reply to a press on a button of another version.
func OldButton() Reply { return warning("button.old") }

// SomethingWentWrong is the reply when this program failed. The reference is the
// Request's ID, which the log has too.
func SomethingWentWrong(reference string) Reply {
	return Reply{Tone: Warning, Ephemeral: true, Title: Say("wrong.title"), Text: referenceText(reference)}
}

// noAnswer is the key of the title of a reply that says why there is no answer.
const noAnswer = "unchecked.title"

// NoAnswer is the title of a reply that says why a command has no answer.
func NoAnswer(command string) Text {
	return SayWith(noAnswer, Values{"what": Say("unchecked." + command)})
}

// TryAgain is a button that puts the answer in place of a reply without one.
func TryAgain(command string, args ...string) Action {
	return Action{Label: Say("button.again"), Command: command, Args: args, Edit: true}
}

// couldNotBeChecked says what has no answer and why, to a command asked in form f.
// A moderators' form has no button: the reply may stand in a private chat, where nobody
// is a moderator.
func couldNotBeChecked(req Request, what string, f Form, why Text) Reply {
	reply := Reply{Tone: Warning, Title: NoAnswer(what), Text: why, Notes: []Text{referenceText(req.ID)}}
	var args []string
	for _, p := range f.Params {
		args = append(args, req.Args.Value(p.Name))
	}
	if !f.Moderators {
		reply.Actions = []Action{TryAgain(req.Command, args...)}
	}
	return reply
}

// Unchanged is said instead of r to a refresh that finds nothing newer in it, with the
// minutes until there may be something newer, if they are two at least.
func (r Reply) Unchanged() Reply {
	said := Say("current")
	if minutes := time.Until(r.FreshUntil).Round(time.Minute) / time.Minute; minutes > 1 {
		said = SayWith("current.next", Values{"n": Count(minutes)})
	}
	return Reply{Title: said, Ephemeral: true}
}

// Unanswered reports whether r says why there is no answer. A platform must not
// put it in place of an answer that others see.
func (r Reply) Unanswered() bool { return r.Ephemeral || r.Title.Key == noAnswer }

func referenceText(reference string) Text {
	return SayWith("reference", Values{"reference": Plain(reference)})
}

// badInput says what is wrong with the arguments, and shows the forms that the
// sender may have meant and use. Where one more argument makes it right, it asks for that,
// but not about a target: whoever answers the question points at nobody any more. Where
// others read along, a wrong argument is not asked for again.
func badInput(problem *InputError, c Command, forms []Form, req Request) Reply {
	leftOut := problem.Problem.Key == missing
	mayAsk := req.Target == nil && (leftOut || req.Direct || c.Visibility == Private)
	reply := Reply{Tone: Warning, Ephemeral: true, Title: problem.Title, Text: problem.Problem}
	if reply.Title.Key == "" {
		reply.Title = Say("input.title")
	}
	var fields []Field
	for _, f := range forms {
		if f.Unlisted || f.Moderators && !req.MayModerate {
			continue
		}
		fields = append(fields, Field{Name: Say("input.write"), Value: Usage{Command: c.Name, Params: f.Params}})
		if len(f.Params) == 0 {
			continue
		}
		fields = append(fields, Field{Name: Say("input.example"), Value: Code(c.Example(f))})
		if p := f.Params[0]; len(f.Params) == 1 && mayAsk && p.Question.Key != "" && reply.Ask == nil {
			reply.Ask = &Ask{Command: c.Name, Question: p.Question, Example: p.Example}
		}
	}
	if ask := reply.Ask; ask != nil && leftOut {
		text := SayWith("ask.text", Values{"example": Code(ask.Example)})
		return Reply{Ephemeral: true, Title: ask.Question, Text: text, Ask: ask}
	}
	reply.Sections = []Section{{Fields: fields}}
	return reply
}
