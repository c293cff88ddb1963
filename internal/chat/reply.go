package chat

import (
	"slices"
	"time"
)

// Tone selects the colour or the sign of a Reply.
type Tone int

// The tones.
const (
	Neutral Tone = iota
	// Positive is a yes.
	Positive
	// Negative is a no that was checked.
	Negative
	// Warning marks a missing, incomplete or old answer.
	Warning
	// Rising and Falling are the direction of the price over the period shown.
	Rising
	Falling
)

// Reply is an answer as values, without words or anything of its platform. Package words
// prints a Reply as a card, and an adapter renders the card.
type Reply struct {
	// Language is the language to print in. The Router sets it.
	Language Language

	// What is shown, from top to bottom.

	Tone Tone
	// Title holds the answer itself, because a push notification shows little more.
	Title Text
	// Subtitle is shown after the Title, on the same line and less prominent.
	Subtitle Value
	Text     Text
	Sections []Section
	// FullValues holds in full the values that are shortened above.
	FullValues []Field
	// Folded is shown folded after FullValues. Platforms that cannot fold leave it out.
	Folded []Field
	// Notes are small print, a line each.
	Notes []Text
	// Footer is the last line, such as the source.
	Footer Parts
	// Checked is printed at the end of the Footer: when the source was asked, or the time of
	// the block read.
	Checked time.Time
	// Image is shown above or below the text; nil: no picture.
	Image *Image
	// Actions are the buttons, in order.
	Actions []Action

	// What the adapter does besides.

	// Ask asks the sender for a missing argument; nil: no question.
	Ask *Ask
	// Admit lets the sender into a group; nil: there is nothing to approve. The Reply says
	// that they may join, and is shown until the outcome is known.
	Admit *Admission
	// LeftOut says why the sender's request to join a group stays open. It is not shown to the
	// sender, but to moderators. Without a Key they read that the sender could not be checked.
	LeftOut Text
	// Ephemeral marks a reply for the sender only, such as wrong input or a refusal. A
	// platform shows it to the sender alone if it can.
	Ephemeral bool
	// Repeated marks a refusal that the sender was already shown in this chat within the
	// last minute. A platform need not send it as a message.
	Repeated bool
	// Rendered stores what RenderOnce makes of a Reply that everybody gets alike; nil: nothing
	// is stored. It must be nil in a Reply that prints an age, and in a changed copy.
	Rendered *Rendered `json:"-"`

	// What decides whether a newer Reply is shown in place of this one.

	// About identifies the subject of the reply within its command, such as a wallet. It is
	// "" if the command has only one subject.
	About string
	// AsOf is the source's time of the content, or else the time of the fetch; zero:
	// unknown.
	AsOf time.Time
	// Block is the block that the content was read at; zero: none. It orders Replies in place of AsOf.
	Block Block
	// FreshUntil is the time before which a refresh finds the same answer; zero: unknown.
	FreshUntil time.Time
	// Stale marks an old answer, given because the service fails. The Reply must say so.
	Stale bool
	// Why says why there is no newer answer; the zero Text: nothing is wrong.
	Why Text
}

// Section is a list of fields under an optional heading.
type Section struct {
	Heading Text
	// Row shows all fields on one line.
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
	// Spark holds the picture's line as a few points, for a chat without pictures. NaN is
	// a gap. It is empty without a line.
	Spark []float64
	// Caption describes the picture in words. For a screen reader, the reply's Subtitle
	// follows.
	Caption Value
}

// Ask asks for the last argument of Command. The sender's answer is that argument.
type Ask struct {
	Command string
	// Args are the arguments before it.
	Args []string
	// Question is shown in the input field, such as "Which wallet?".
	Question Text
}

// warning returns an Ephemeral reply of two messages.
func warning(title, text string) Reply {
	return Reply{Tone: Warning, Ephemeral: true, Title: Say(title), Text: Say(text)}
}

// Busy returns the reply to a command that is refused because too many are in flight.
func Busy() Reply { return warning("busy.title", "busy.text") }

// OldButton returns the reply to a press on a button of another version.
func OldButton() Reply { return warning("button.old.title", "button.old.text") }

// SomethingWentWrong returns the reply to a command that panicked. It shows the ID of the
// Request, by which an operator finds the panic in the log.
func SomethingWentWrong(requestID string) Reply {
	return Reply{Tone: Warning, Ephemeral: true, Title: Say("wrong.title"), Text: referenceText(requestID)}
}

// noAnswerKey is the Key of NoAnswer.
const noAnswerKey = "unchecked.title"

// NoAnswer returns the title of a reply without an answer, such as "Price unavailable".
func NoAnswer(command string) Text {
	return SayWith(noAnswerKey, Values{"what": Say("unchecked." + command)})
}

// TryAgain returns a button that runs the command again and edits the reply.
func TryAgain(command string, args ...string) Action {
	return Action{Label: Say("button.again"), Command: command, Args: args, Edit: true, NextStep: true}
}

// unavailable returns a reply with the title NoAnswer(what) and the text why. It has a button
// that runs form f again, unless f is a moderators' form: the reply may be in a private chat,
// where nobody is a moderator.
func unavailable(req *Request, what string, f Form, why Text) Reply {
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

// Aged returns the AsOf of a Reply that prints the age of its content, from a minute on. at is
// the time of the content. AsOf is a second later than at, and one more for each age printed so
// far: those in minutes, then in hours, then in days. So AsOf changes with the printed age, and
// it is before the AsOf, at the same moment, of content that is newer by at least 2 seconds.
func Aged(at time.Time) time.Time {
	const day = 24 * time.Hour
	age := max(time.Since(at), 0)
	ages := 1 + min(age/time.Minute, 59) + min(age/time.Hour, 23) + age/day
	return at.Add(ages * time.Second)
}

// Unchanged returns the reply to a refresh that would show r again. It says Why or, if
// FreshUntil is at least 90 seconds away, in about how many minutes r may change.
func (r Reply) Unchanged() Reply {
	title := Say("current")
	if minutes := time.Until(r.FreshUntil).Round(time.Minute) / time.Minute; minutes > 1 && r.Why.Key == "" {
		title = SayWith("current.next", Values{"n": Count(minutes)})
	}
	return Reply{Title: title, Text: r.Why, Ephemeral: true}
}

// LineFrom says from when on a chart will have a line: a day, or a time within a day.
func LineFrom(t time.Time) Text {
	var from Value = Plain(t.UTC().Format("15:04 UTC"))
	if t.Equal(t.Truncate(24 * time.Hour)) {
		from = Day{Time: t}
	}
	return SayWith("chart.none", Values{"from": from})
}

// Unanswered reports whether r is Ephemeral or has the title NoAnswer. A platform must not
// replace an earlier answer in a chat with such a reply.
func (r Reply) Unanswered() bool { return r.Ephemeral || r.Title.Key == noAnswerKey }

// referenceText names the ID of a Request, for the sender to quote.
func referenceText(requestID string) Text {
	return SayWith("reference", Values{"reference": Plain(requestID)})
}

// badInput returns a reply that says what is wrong with the arguments, and how to write the
// forms that the sender may use. It also asks the Question of one of these forms, if the answer
// can stay between the sender and the bot. Without any argument it is the Question alone.
func badInput(input *InputError, c *Command, forms []Form, req *Request) Reply {
	isHidden := func(f Form) bool { return f.Unlisted || f.Moderators && !req.MayModerate }
	forms = slices.DeleteFunc(slices.Clone(forms), isHidden)
	reply := Reply{
		Tone:      Warning,
		Ephemeral: true,
		Title:     input.Title,
		Text:      input.Problem,
		Sections:  []Section{{Fields: usageFields(c, forms)}},
	}
	if reply.Title.Key == "" {
		reply.Title = Say("input.title")
	}
	i := slices.IndexFunc(forms, Form.hasQuestion)
	if i < 0 || req.Target != nil { // The answer to a Question has no Target.
		return reply
	}
	p := forms[i].Params[0]
	if input.Problem.Key == missingArgs {
		return Question(c.Name, p)
	}
	if req.Direct || c.Visibility == Private {
		reply.Ask = &Ask{Command: c.Name, Question: p.Question}
	}
	return reply
}

// usageFields returns how to write each form, with an example.
func usageFields(c *Command, forms []Form) (fields []Field) {
	for _, f := range forms {
		usage := Usage{Command: c.Name}
		for _, p := range f.Params {
			usage.Params = append(usage.Params, p.Label())
		}
		fields = append(fields, Field{Name: Say("input.write"), Value: usage})
		if len(f.Params) > 0 {
			fields = append(fields, Field{Name: Say("input.example"), Value: Code(c.Example(f))})
		}
	}
	return fields
}

// Question returns a reply that asks for the argument of a command's only parameter.
func Question(command string, p Param) Reply {
	return Reply{
		Ephemeral: true,
		Title:     p.Question,
		Text:      SayWith("ask.text", Values{"example": Code(p.Example)}),
		Ask:       &Ask{Command: command, Question: p.Question},
	}
}

// hasQuestion reports whether the only parameter of f has a Question.
func (f Form) hasQuestion() bool { return len(f.Params) == 1 && f.Params[0].Question.Key != "" }
