package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/shopspring/decimal"
)

// Entry is one item of a setting that gives communities a role, a tag or a requirement, such as
// telegram:-1001234567890:Staker:1000.
type Entry struct {
	Platform  string
	Community string          // the ID of a server or group
	Value     string          // a role's ID, a tag, or the name of a requirement
	Amount    decimal.Decimal // the minimum stake in tokens; 0: any stake
}

// Entries returns a reader of a list. split separates the entries. Each entry must match the regular expression form as
// a whole; otherwise the error is the number of the entry, "must be" and the description. Colons separate the four
// parts of an entry, as in Entry. Missing parts are empty. Everything after the third colon is the amount.
func Entries(split func(string) []string, form, description string) func(string) ([]Entry, error) {
	matching := Matching(form, description)
	read := listOf(split, func(text string) (Entry, error) {
		text = Trim(text)
		if _, err := matching(text); err != nil {
			return Entry{}, err
		}
		return parseEntry(text)
	})
	return func(value string) ([]Entry, error) {
		// split would divide such an amount.
		if err := rejectGrouped(split, value); err != nil {
			return nil, err
		}
		return read(value)
	}
}

// parseEntry parses an entry without surrounding space. It fails if the entry has a third colon without a valid amount.
func parseEntry(text string) (e Entry, err error) {
	platform, rest, _ := strings.Cut(text, ":")
	community, rest, _ := strings.Cut(rest, ":")
	value, amount, hasAmount := strings.Cut(rest, ":")
	e = Entry{Platform: platform, Community: community, Value: Trim(value)}
	if hasAmount {
		e.Amount, err = parseAmount(Trim(amount))
	}
	return e, err
}

// rejectGrouped returns an error if an amount in the list value is grouped in thousands, such as 1,000.
func rejectGrouped(split func(string) []string, value string) error {
	at := groupedAmount.FindStringIndex(value)
	if at == nil {
		return nil
	}
	start := at[0]
	number := len(split(value[:start])) + 1 // the entries before it, plus 1
	return groupedAmountError(number)
}

// groupedAmountError says that the amount of an entry is grouped in thousands. number counts entries from 1.
func groupedAmountError(number int) error {
	return fmt.Errorf("entry %d %w", number, withAdvice("1,000", errAmount))
}

// groupedAmount matches an entry whose amount is grouped in thousands by commas.
var groupedAmount = regexp.MustCompile(`[^\s,:]+:[^,:]+:[^,:]+:\s*[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?(\s|,|$)`)

// errAmount is returned for an amount that does not match amountForm, and for 0.
var errAmount = errors.New("must have after its third colon an amount of tokens above 0, such as 1000 or 0.5")

// amountForm allows 77 decimals, because that is the maximum of TOKEN_DECIMALS.
var amountForm = regexp.MustCompile(`^[0-9]{1,30}(\.[0-9]{1,77})?$`)

// parseAmount parses an amount that matches amountForm and is above 0.
func parseAmount(value string) (decimal.Decimal, error) {
	if amountForm.MatchString(value) {
		if amount, err := decimal.NewFromString(value); err == nil && amount.IsPositive() {
			return amount, nil
		}
	}
	return decimal.Zero, withAdvice(value, errAmount)
}
