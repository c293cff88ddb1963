package chat

import (
	"time"
)

// Tone is what a Reply says in a word, for its colour or sign.
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
	// Subtitle is shown on the title's line, less prominent.
	Subtitle Value
	Text     Text
	Sections []Section
	// FullValues are the unshortened forms of values above. A value that is shown in
	// full above is left out.
	FullValues []Field
	// Folded is shown after FullValues on platforms that can fold it away, and only there.
	Folded []Field
	// Notes are small print, a line each.
	Notes []Text
	// Footer is the last line: the source. Checked, when the source was asked, ends it.
	Footer  Parts
	Checked time.Time
	// Image is shown above or below the text; nil shows no picture.
	Image *Image
	// Actions are buttons, in the order in which they are shown.
	Actions []Action
	// Ask asks the sender for a missing argument; nil asks for nothing.
	Ask *Ask
	// About identifies the subject among those of one command, such as a wallet. It is
	// "" where the command has one subject: the periods of /price show one price.
	About string
	// AsOf is when the content was true by its source, or else when it was fetched. It
	// is zero where neither is known. A refresh that finds the same AsOf changes nothing.
	AsOf time.Time
	// FreshUntil is until when the same question has the same answer; zero: it may
	// change at once.
	FreshUntil time.Time
	// Stale marks an old answer in place of one that a failing service did not give. The
	// Reply says so.
	Stale bool
	// Ephemeral marks a reply that matters only to the sender: wrong input, a refusal, a
	// limit. Platforms that can show it to the sender alone do so.
	Ephemeral bool
	// Repeated marks a refusal that the sender got in this chat already within the last
	// minute. Platforms that would need a message for it leave it out.
	Repeated bool
}

// Section is a list of fields under an optional heading.
type Section struct {
	Heading Text
	// Row puts all fields on one line.
	Row    bool
	Fields []Field
}

// Field is one value of a Section. Name and Value may each be nil.
type Field struct {
	Name, Value Value
}

// Image is a picture.
type Image struct {
	// Name is the file name, such as "price-7d.png".
	Name string
	PNG  []byte
	// Spark is the picture's line as a few points, for a chat without pictures. NaN is a
	// gap. It may be empty.
	Spark []float64
	// Alt describes the picture to people who do not see it.
	Alt Value
}

// Ask asks for the only argument of Command. The sender's next words are that argument.
type Ask struct {
	Command string
	// Question is shown where the sender writes, such as "Which wallet?".
	Question Text
}

// warning returns an Ephemeral reply with the messages key.title and key.text.
func warning(key string) Reply {
	return Reply{Tone: Warning, Ephemeral: true, Title: Say(key + ".title"), Text: Say(key + ".text")}
}

// Busy returns the reply to a command that is refused because too many wait.
func Busy() Reply { return warning("busy") }

// OldButton returns the reply to a press on a button of another version.
func OldButton() Reply { return warning("button.old") }

// SomethingWentWrong returns the reply to a command that panicked. The reference is the
// Request's ID, which the log has too.
func SomethingWentWrong(reference string) Reply {
	return Reply{Tone: Warning, Ephemeral: true, Title: Say("wrong.title"), Text: referenceText(reference)}
}

// noAnswer is the Key of NoAnswer.
const noAnswer = "unchecked.title"

// NoAnswer returns the title of a reply that says why a command has no answer.
func NoAnswer(command string) Text {
	return SayWith(noAnswer, Values{"what": Say("unchecked." + command)})
}

// TryAgain returns a button that asks once more and edits the reply.
func TryAgain(command string, args ...string) Action {
	return Action{Label: Say("button.again"), Command: command, Args: args, Edit: true}
}

// couldNotBeChecked returns a reply that says what has no answer, and why. It has a button
// that asks form f again, but not for a moderators' form: the reply may be in a private
// chat, where nobody is a moderator.
func couldNotBeChecked(req *Request, what string, f Form, why Text) Reply {
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

// Unchanged returns the reply to a refresh that finds r as it is shown. It says in how many
// minutes r may change, if that is at least two.
func (r Reply) Unchanged() Reply {
	said := Say("current")
	if minutes := time.Until(r.FreshUntil).Round(time.Minute) / time.Minute; minutes > 1 {
		said = SayWith("current.next", Values{"n": Count(minutes)})
	}
	return Reply{Title: said, Ephemeral: true}
}

// Unanswered reports whether r says why there is no answer. A platform must not replace an
// answer in a chat by it.
func (r Reply) Unanswered() bool { return r.Ephemeral || r.Title.Key == noAnswer }

func referenceText(reference string) Text {
	return SayWith("reference", Values{"reference": Plain(reference)})
}

// badInput returns a reply that says what is wrong with the arguments. It shows those of
// the forms that the sender may use. If one more argument makes one of them right, it asks
// for that argument.
//
// It does not ask about a target, since the answer would have none. Where others read
// along, it does not ask for a wrong argument again.
func badInput(input *InputError, c *Command, forms []Form, req *Request) Reply {
	leftOut := input.Problem.Key == missingArgs
	mayAsk := req.Target == nil && (leftOut || req.Direct || c.Visibility == Private)
	reply := Reply{Tone: Warning, Ephemeral: true, Title: input.Title, Text: input.Problem}
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
		p := f.Params[0]
		if len(f.Params) > 1 || !mayAsk || p.Question.Key == "" {
			continue
		}
		reply.Ask = &Ask{Command: c.Name, Question: p.Question}
		if leftOut {
			text := SayWith("ask.text", Values{"example": Code(p.Example)})
			return Reply{Ephemeral: true, Title: p.Question, Text: text, Ask: reply.Ask}
		}
	}
	reply.Sections = []Section{{Fields: fields}}
	return reply
}
