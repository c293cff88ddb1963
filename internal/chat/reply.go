package chat

import "time"

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
)

// Reply is an answer, free of its platform and of its language. Package words
// prints it as a card, which an adapter renders.
type Reply struct {
	// Language is set by the Router.
	Language Language
	Tone     Tone
	Title    Text
	Text     Text
	Sections []Section
	// Notes are small print, a line each.
	Notes []Text
	// Image is shown above or below the text; nil shows no picture.
	Image *Image
	// Actions are buttons, in the order in which they are shown.
	Actions []Action
	// Ask has the sender write what is missing; nil asks for nothing.
	Ask *Ask
	// AsOf is when the content was learned; zero where that means nothing. A
	// refresh that finds the same time changes nothing.
	AsOf time.Time
	// FreshUntil is how long the same question has the same answer; zero is not
	// at all.
	FreshUntil time.Time
	// Stale is set if an old answer stands in for a service that fails, which the
	// Reply says.
	Stale bool
	// Ephemeral marks what concerns nobody but the sender: wrong input, a
	// refusal, a limit. It is shown to them alone where the platform can.
	Ephemeral bool
	// Repeated marks a refusal that its sender was told in this chat within the
	// last minute. A platform on which every answer is a message leaves it out.
	Repeated bool
}

// Section is a list of fields under an optional heading.
type Section struct {
	Heading Text
	Fields  []Field
}

// Field is one line of a Section. Name is a Text or what a service named. Either
// part may be nil.
type Field struct{ Name, Value Value }

// Image is a picture.
type Image struct {
	// Name is the file's, such as "price-7d.png".
	Name string
	PNG  []byte
	// Alt describes the picture to those who do not see it.
	Alt Text
}

// Ask is a question for the last argument of a command. What is written next is
// that argument, and the command is asked with it.
type Ask struct {
	Command string
	// Param names the argument.
	Param string
	// Question is shown where the answer is written, such as "Which wallet?".
	Question Text
	// Example shows the form expected.
	Example string
}
