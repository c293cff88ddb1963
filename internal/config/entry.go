package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/shopspring/decimal"
)

// Entry is one item of a setting that gives communities a role, a tag or a requirement. For example,
// telegram:-1001234567890:Staker:1000 gives the tag Staker in a group to members who stake at least 1000 tokens.
type Entry struct {
	Platform  string
	Community string          // the ID of a server or group
	Value     string          // a role's ID, a tag, or the name of a requirement
	Amount    decimal.Decimal // the minimum stake in tokens; 0: any stake
}

// Entries returns a reader of a list. split separates the entries. Each entry must match the regular expression form as
// a whole; otherwise the error is the number of the entry, "must be" and the description. Colons separate the parts of
// an entry, in the order of the fields of Entry. Missing parts are empty. Everything after the third colon is the
// amount.
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
		// This error comes first: split would make two entries of telegram:-1:Staker:1,000, and blame the second.
		if err := rejectGroupedAmount(split, value); err != nil {
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

// parseAmount parses an amount, which must match amountForm and be above 0.
func parseAmount(value string) (decimal.Decimal, error) {
	if amountForm.MatchString(value) {
		if amount, err := decimal.NewFromString(value); err == nil && amount.IsPositive() {
			return amount, nil
		}
	}
	return decimal.Zero, withGroupingAdvice(value, errAmount)
}

// rejectGroupedAmount returns an error if the list value has an entry whose amount is grouped in thousands by commas.
// split separates the entries.
func rejectGroupedAmount(split func(string) []string, value string) error {
	at := groupedAmount.FindStringIndex(value)
	if at == nil {
		return nil
	}
	entriesBefore := split(value[:at[0]])
	return fmt.Errorf("entry %d %w", len(entriesBefore)+1, withGroupingAdvice("1,000", errAmount))
}

// groupedAmount matches an entry whose amount is grouped in thousands by commas, such as telegram:-1:Staker:1,000.
var groupedAmount = regexp.MustCompile(`[^\s,:]+:[^,:]+:[^,:]+:\s*[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?(\s|,|$)`)

// errAmount is returned for an amount that does not match amountForm, and for 0.
var errAmount = errors.New("must have after its third colon an amount of tokens above 0, such as 1000 or 0.5")

// amountForm allows 77 decimals, because that is the maximum of TOKEN_DECIMALS.
var amountForm = regexp.MustCompile(`^[0-9]{1,30}(\.[0-9]{1,77})?$`)
