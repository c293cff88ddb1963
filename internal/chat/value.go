package chat

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"
)

// Value is a number, a name, a time or a Text in a Reply. Package words prints it in the reader's language.
type Value interface{ value() }

// Text is a message of package words. Its zero value is printed as nothing.
type Text struct {
	// Key names the message, such as "price.title".
	Key string
	// Args replace the message's placeholders. A Count named n chooses the plural form.
	Args Values
}

// Values are the arguments of a Text by the names of their placeholders.
type Values map[string]Value

// Say returns a Text without arguments.
func Say(key string) Text { return Text{Key: key} }

// SayWith returns a Text with arguments.
func SayWith(key string, args Values) Text { return Text{Key: key, Args: args} }

// List returns the items as a sentence lists them: "price, supply and stakes". It returns the zero Text for no items.
func List(items []Text) (list Text) {
	last := len(items) - 1
	for i, item := range items {
		switch i {
		case 0:
			list = item
		case last:
			list = SayWith("list.last", Values{"first": list, "next": item})
		default:
			list = SayWith("list.next", Values{"first": list, "next": item})
		}
	}
	return list
}

// The types of values, besides Text, Usage and Untrusted.
type (
	// Parts are shown on one line with a dot between them.
	Parts []Value
	// Strong is a value that stands out on its line.
	Strong struct{ Value }

	// Plain is trusted text that is the same in every language: a symbol, a reference, a name from a setting.
	Plain string
	// Code is text that people copy exactly: a command, an address, a setting.
	Code string
	// CommandLink is a command that can be tapped, such as "/price".
	CommandLink string

	// Count is a whole number.
	Count int
	// Price is what one token costs in USD. It is shown with four significant digits.
	Price struct{ decimal.Decimal }
	// Money is a sum in USD. A large sum is shortened, unless Exact is set.
	Money struct {
		decimal.Decimal
		Exact bool
	}
	// Amount is a number of tokens. It is followed by their Symbol, which may be empty.
	Amount struct {
		decimal.Decimal
		Symbol string
		Digits Digits
	}
	// Change is a change in per cent. If Dot is set, a green or red dot precedes a rise or a fall.
	Change struct {
		decimal.Decimal
		Dot bool
	}
	// Share is a fraction in per cent, from 0 to 100. It is shown with one decimal. Only exactly 0 is shown as 0, and only
	// exactly 100 as 100.
	Share struct{ decimal.Decimal }

	// Moment is a point in time, shown as "2 min ago". A platform that formats times itself may show it in another way.
	Moment struct{ time.Time }
	// Age is the time at which something began, shown as how old that is: "3 days old".
	Age struct{ time.Time }
	// Day is a point in time, shown as a day in UTC without its year.
	Day struct{ time.Time }

	// Address is a wallet or a contract. It is shortened, unless Full is set. It links to URL, unless that is empty.
	Address struct {
		Hex, URL string
		Full     bool
	}
	// Mention names a user of the reader's platform without notifying them. Name is their display name, or empty.
	Mention struct {
		User
		Name Untrusted
	}
)

// Tone returns the direction of the change: Rising, Falling, or Neutral if the change is shown as 0.00.
func (c Change) Tone() Tone {
	switch c.Round(2).Sign() {
	case 1:
		return Rising
	case -1:
		return Falling
	}
	return Neutral
}

// Digits is how precisely an Amount is shown.
type Digits int

// The precisions.
const (
	// Short shortens a large amount, for example to 1.23M, and shows a small one with a few decimals.
	Short Digits = iota
	// Whole shows no decimals.
	Whole
	// Exact shows all decimals.
	Exact
)

func (Text) value()        {}
func (Parts) value()       {}
func (Plain) value()       {}
func (Code) value()        {}
func (Count) value()       {}
func (Price) value()       {}
func (Money) value()       {}
func (Amount) value()      {}
func (Change) value()      {}
func (Share) value()       {}
func (Moment) value()      {}
func (Age) value()         {}
func (Day) value()         {}
func (Address) value()     {}
func (CommandLink) value() {}
func (Strong) value()      {}
func (Mention) value()     {}
func (Untrusted) value()   {}

// Untrusted is text of a service or a user that NewUntrusted has made harmless. An adapter must still escape the text,
// and must keep its platform from turning parts of it into links.
type Untrusted string

// NewUntrusted returns text as one line of at most limit characters, without mentions and without links that have a
// scheme. All text of services and users must pass through it.
func NewUntrusted(s string, limit int) Untrusted {
	// limit characters have at most 4*limit bytes. Keep twice as many, because OneLine may drop some, and cut the rest, so
	// that a long text does not take long.
	s = OneLine(strings.ReplaceAll(s[:min(len(s), 8*limit)], wordJoiner, ""))
	if runes := []rune(s); len(runes) > limit {
		s = string(runes[:limit-1]) + "…"
	}
	return Untrusted(sanitizer.Replace(s))
}

// wordJoiner is invisible, and breaks up mentions and links.
const wordJoiner = "\u2060"

// sanitizer breaks up the mentions and links that every platform knows.
var sanitizer = strings.NewReplacer("@", "@"+wordJoiner, "://", ":"+wordJoiner+"//")

// OneLine returns s as one line of valid UTF-8 with single spaces. It drops control
// characters and marks that change the direction of text.
func OneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case string(r) == wordJoiner:
			return r
		case r == utf8.RuneError, !unicode.IsGraphic(r):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}
