package chat

import "time"

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

// Reply is an answer as values, without words or anything of its platform. Package words prints a Reply as a card, and
// an adapter renders the card. Whoever changes a Reply that others may read changes a copy.
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
	// Checked is printed at the end of the Footer: when the source was asked, or the time of the block read.
	Checked time.Time
	// Image is shown above or below the text; nil: no picture.
	Image *Image
	// Actions are the buttons, in order.
	Actions []Action
	// Ask asks the sender for a missing argument; nil: no question.
	Ask *Ask

	// Audience says who is shown the Reply.
	Audience Audience
	// About identifies the subject of the Reply within its command, such as a wallet. It is "" if the command has only
	// one subject. A newer Reply about the same subject may replace this one.
	About string
	// Source says how current the Reply is.
	Source Source
	// Join is what the Reply means for the sender's request to join a group.
	Join Join
	// Rendered stores what RenderOnce makes of a Reply that everybody gets alike; nil: nothing is stored. It must be
	// nil in a Reply that prints an age, and in a changed copy.
	Rendered *Rendered `json:"-"`
}

// Audience is who is shown a Reply.
type Audience int

// The audiences.
const (
	// TheChat: whoever may read an answer to the command.
	TheChat Audience = iota
	// SenderAlone: only the sender is meant, as with wrong input or a refusal. A platform shows it to the sender alone
	// if it can.
	SenderAlone
	// SenderAgain: a refusal that the sender was already shown in this chat within the last minute. A platform need not
	// send it as a message.
	SenderAgain
)

// Source says how current a Reply is.
type Source struct {
	// AsOf is the source's time of the content or else the time of the fetch, or the block read. It is zero if it is
	// not known, and in a Reply that prints an age, because that changes while the content stays.
	AsOf Version
	// FreshUntil is the time before which a refresh finds the same answer; zero: unknown.
	FreshUntil time.Time
	// Stale marks an old answer, given because the service fails. The Reply must say so.
	Stale bool
	// Why says why there is no newer answer; the zero Text: nothing is wrong.
	Why Text
}

// Join is what a Reply means for the sender's request to join a group.
type Join struct {
	// Admit lets the sender into the group; nil: there is nothing to approve. The Reply says that they may join, and is
	// shown until the outcome is known.
	Admit *Admission
	// WhyLeftOut says why the request stays open. It is not shown to the sender, but to moderators. Without a Key they
	// read that the sender could not be checked.
	WhyLeftOut Text
}

// Undecided reports whether the request stays open because the sender could not be checked.
func (j Join) Undecided() bool { return j.Admit == nil && j.WhyLeftOut.Key == "" }

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

// Refusal returns a warning for the sender alone, of two messages.
func Refusal(title, text string) *Reply {
	return &Reply{Tone: Warning, Audience: SenderAlone, Title: Say(title), Text: Say(text)}
}

// OldButton returns the reply to a press on a button of another version.
func OldButton() *Reply { return Refusal("button.old.title", "button.old.text") }

// SomethingWentWrong returns the reply to a command that panicked. It shows the ID of the Request, by which an operator
// finds the panic in the log.
func SomethingWentWrong(requestID string) *Reply {
	return &Reply{Tone: Warning, Audience: SenderAlone, Title: Say("wrong.title"), Text: Reference(requestID)}
}

// Reference names the ID of a Request, for the sender to quote.
func Reference(requestID string) Text {
	return SayWith("reference", Values{"reference": Plain(requestID)})
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

// Unchanged returns the reply to a refresh that would show r again. It says why there is no newer answer or, if
// FreshUntil is at least 90 seconds away, in about how many minutes r may change.
func (r *Reply) Unchanged() *Reply {
	title := Say("current")
	minutes := time.Until(r.Source.FreshUntil).Round(time.Minute) / time.Minute
	if minutes > 1 && r.Source.Why.Key == "" {
		title = SayWith("current.next", Values{"n": Count(minutes)})
	}
	return &Reply{Title: title, Text: r.Source.Why, Audience: SenderAlone}
}

// LineFrom says from when on a chart will have a line: a day, or a time within a day.
func LineFrom(t time.Time) Text {
	var from Value = Plain(t.UTC().Format("15:04 UTC"))
	if t.Equal(t.Truncate(24 * time.Hour)) {
		from = Day{Time: t}
	}
	return SayWith("chart.none", Values{"from": from})
}

// In returns a copy of r that is printed in a language.
func (r *Reply) In(l Language) *Reply {
	copied := *r
	copied.Language = l
	return &copied
}

// ForSender reports whether only the sender is meant.
func (r *Reply) ForSender() bool { return r.Audience != TheChat }

// Unanswered reports whether r is for the sender alone, or has the title NoAnswer. A platform must not replace an
// earlier answer in a chat with such a reply.
func (r *Reply) Unanswered() bool { return r.ForSender() || r.Title.Key == noAnswerKey }

// Question returns a reply that asks for the argument of a command's only parameter.
func Question(command string, p Param) *Reply {
	return &Reply{
		Audience: SenderAlone,
		Title:    p.Question,
		Text:     SayWith("ask.text", Values{"example": Code(p.Example)}),
		Ask:      &Ask{Command: command, Question: p.Question},
	}
}
