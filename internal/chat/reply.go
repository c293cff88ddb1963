package chat

import "time"

// Tone selects the color or the sign of a Reply.
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

// Reply is an answer as values. It is in no language and in no platform's form: package words prints it as a card in a
// language, and an adapter renders the card on its platform. Several goroutines may read a Reply, so code that received
// one changes only a copy.
type Reply struct {
	// Language is the language in which the Reply is printed. The Router sets it.
	Language Language

	// These fields are shown, from top to bottom.

	Tone Tone
	// Title holds the answer itself, because a push notification shows little more.
	Title Text
	// Subtitle is shown after the Title, on the same line and less prominent.
	Subtitle Value
	Text     Text
	Sections []Section
	// FullValues has the full form of values that are shortened above.
	FullValues []Field
	// Folded follows FullValues. The reader has to open it. Platforms that cannot fold text leave it out.
	Folded []Field
	// Notes are lines of small print.
	Notes []Text
	// Footer is the last line, such as the name of the source.
	Footer Parts
	// Checked is when the source was asked, or the time of the block that was read. Its age is printed at the end of the
	// Footer, unless it is zero.
	Checked time.Time
	// Image is shown above or below the text. It is nil if there is no picture.
	Image *Image
	// Actions are the buttons, in order.
	Actions []Action
	// Ask asks the sender for a missing argument. It is nil if nothing is asked.
	Ask *Ask

	// These fields decide what becomes of the Reply.

	// Audience says who is shown the Reply.
	Audience Audience
	// About identifies the subject of the Reply within its command, such as a wallet. It is "" if the command has only
	// one subject. A newer Reply about the same subject may replace this one.
	About string
	// Source says how current the Reply is.
	Source Source
	// Join is what the Reply means for the sender's request to join a group.
	Join Join
	// Rendered caches what RenderOnce makes of a Reply that many people get. If it is nil, nothing is cached. It must be
	// nil if the Reply prints an age, which changes, and in a changed copy of a Reply.
	Rendered *Rendered `json:"-"`
}

// In returns a copy of r that is printed in a language.
func (r *Reply) In(l Language) *Reply {
	copied := *r
	copied.Language = l
	return &copied
}

// ForSender reports whether the Reply is meant only for the sender.
func (r *Reply) ForSender() bool { return r.Audience != TheChat }

// Unanswered reports whether r is meant only for the sender, or has the title NoAnswer. Such a reply must not replace
// an earlier answer in a chat.
func (r *Reply) Unanswered() bool { return r.ForSender() || r.Title.Key == noAnswerKey }

// Audience is who is shown a Reply.
type Audience int

// The audiences.
const (
	// TheChat: everybody who may read an answer to the command (Visibility).
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
	// AsOf is the version of the content: the block that was read, or the source's time, or else the time of the fetch. It
	// is zero if it is unknown, and if the Reply prints an age, which changes although the content does not.
	AsOf Version
	// FreshUntil is the time until which a refresh finds the same answer, or zero if it is unknown.
	FreshUntil time.Time
	// Stale marks an old answer, which is shown because the service fails. The Reply must tell the reader so.
	Stale bool
	// Why says why there is no newer answer. It has no Key if nothing is wrong.
	Why Text
}

// Join is what a Reply means for the sender's request to join a group.
type Join struct {
	// Admit lets the sender into the group. The Reply says that they may join, and is shown until the result of the
	// approval is known. Admit is nil if there is nothing to approve.
	Admit *Admission
	// WhyLeftOut says why the request stays open, for moderators. The sender does not see it. If it has no Key, moderators
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
	// Caption describes the picture in words, for a screen reader. The reply's Subtitle follows it.
	Caption Value
}

// Ask asks the sender for the last argument of Command, and runs Command with the answer.
type Ask struct {
	Command string
	// Args are the arguments before the last one.
	Args []string
	// Question is shown in the input field, such as "Which wallet?".
	Question Text
}

// Refusal returns a warning that is meant only for the sender. Its parameters are the keys of two messages.
func Refusal(titleKey, textKey string) *Reply {
	return &Reply{Tone: Warning, Audience: SenderAlone, Title: Say(titleKey), Text: Say(textKey)}
}

// OldButton returns the reply to a press on a button of another version.
func OldButton() *Reply { return Refusal("button.old.title", "button.old.text") }

// SomethingWentWrong returns the reply to a command that panicked. It shows the ID of the Request. An operator can find
// the panic in the log by this ID.
func SomethingWentWrong(requestID string) *Reply {
	return &Reply{Tone: Warning, Audience: SenderAlone, Title: Say("wrong.title"), Text: Reference(requestID)}
}

// Reference shows the ID of a Request, so that the sender can quote it.
func Reference(requestID string) Text {
	return SayWith("reference", Values{"reference": Plain(requestID)})
}

// noAnswerKey is the Key of NoAnswer.
const noAnswerKey = "unchecked.title"

// NoAnswer returns the title of a reply to a command that has no answer, such as "Price unavailable".
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

// LineFrom says that a chart will have a line from t on. It shows a day if t begins one, and otherwise a time of day.
func LineFrom(t time.Time) Text {
	var from Value = Plain(t.UTC().Format("15:04 UTC"))
	if t.Equal(t.Truncate(24 * time.Hour)) {
		from = Day{Time: t}
	}
	return SayWith("chart.none", Values{"from": from})
}

// Question returns a reply that asks for the argument of p, which is the only parameter of a command's form.
func Question(command string, p Param) *Reply {
	return &Reply{
		Audience: SenderAlone,
		Title:    p.Question,
		Text:     SayWith("ask.text", Values{"example": Code(p.Example)}),
		Ask:      &Ask{Command: command, Question: p.Question},
	}
}
