package chat

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"
)

// Value is what a field or a sentence shows. It holds no words and no format:
// package words prints it in a language, and an adapter renders that.
type Value interface{ value() }

// Text is a message of package words. Its zero value is no text.
type Text struct {
	// Key names the message, such as "price.title".
	Key string
	// Args replace the message's placeholders. The Count named n chooses the
	// plural form.
	Args Values
}

// Values are a Text's arguments by the names of their placeholders.
type Values map[string]Value

// Say makes a Text without arguments.
func Say(key string) Text { return Text{Key: key} }

// SayWith makes a Text with arguments.
func SayWith(key string, args Values) Text { return Text{Key: key, Args: args} }

type (
	// Parts stand on one line with a dot between them.
	Parts []Value
	// Plain is harmless and the same in every language: a symbol, a number of
	// ours, a name from a setting.
	Plain string
	// Code is to be copied letter by letter: a command, an address, a setting.
	Code string
	// Count is a whole number.
	Count int
	// Price is what one token costs in USD, to four significant digits.
	Price struct{ decimal.Decimal }
	// Money is a sum in USD; a large one is shown short.
	Money struct{ decimal.Decimal }
	// Amount is a number of tokens.
	Amount struct {
		decimal.Decimal
		Symbol string
		Digits Digits
	}
	// Change is a change in per cent.
	Change struct{ decimal.Decimal }
	// Share is a part of a whole in per cent, from 0 to 100.
	Share struct{ decimal.Decimal }
	// Moment is a point in time, shown by how long ago it was.
	Moment struct{ time.Time }
	// Age is a point in time, shown by how old it makes what is from then, in plain
	// text on every platform.
	Age struct{ time.Time }
	// Day is a point in time, shown as a day in UTC without its year.
	Day struct{ time.Time }
	// Address is a wallet or a contract. It is shown short unless it is Whole, and
	// linked to URL unless that is empty.
	Address struct {
		Hex, URL string
		Whole    bool
	}
	// CommandLink is a command that can be tapped, such as "/price".
	CommandLink string
	// Mention names a user of the platform on which the answer is read, without
	// notifying them. Name is what they call themself; it may be empty.
	Mention struct {
		User
		Name Untrusted
	}
)

// Digits is how much of an Amount is shown.
type Digits int

// The digits.
const (
	// Short has a unit or a few decimals.
	Short Digits = iota
	// Whole has no decimals.
	Whole
	// Exact has all.
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
func (Mention) value()     {}
func (Untrusted) value()   {}

// Untrusted is text of a service or a user, made harmless by NewUntrusted. An
// adapter must still escape it and keep its platform from making links of it.
type Untrusted string

// NewUntrusted makes text harmless on any platform: one clean line of at most limit
// characters, without mentions or links that have a scheme. Every such text passes
// through it on its way into a Reply.
func NewUntrusted(s string, limit int) Untrusted {
	// A character has at most four bytes.
	s = OneLine(strings.ReplaceAll(s[:min(len(s), 8*limit)], wordJoiner, ""))
	if runes := []rune(s); len(runes) > limit {
		s = string(runes[:limit-1]) + "…"
	}
	return Untrusted(sanitizer.Replace(s))
}

// wordJoiner is invisible, and ends what a platform would read as a mention or a
// link.
const wordJoiner = "\u2060"

// sanitizer breaks what every platform would make a mention or a link of.
var sanitizer = strings.NewReplacer("@", "@"+wordJoiner, "://", ":"+wordJoiner+"//")

// OneLine returns s as one line of valid UTF-8, with single spaces between words
// and without control characters or marks that turn the direction of writing.
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
