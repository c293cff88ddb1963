package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/shopspring/decimal"
)

// Entry is an entry of a list of communities, such as telegram:-1001234567890:Staker:1000.
type Entry struct {
	Platform  string
	Community string          // the ID of a server or group
	What      string          // a role, a tag, or what the community requires
	Amount    decimal.Decimal // the least stake in tokens; 0: any stake
}

// Entries returns a reader of a list. split separates its entries. Each entry must match the
// whole regular expression form, or the error is "must be" and the description, after the number
// of the entry. Colons separate the parts of an entry; a part that is missing is empty. Only
// the amount may hold further colons, and is then refused.
func Entries(split func(string) []string, form, description string) func(string) ([]Entry, error) {
	matching := Matching(form, description)
	read := listOf(split, func(text string) (e Entry, err error) {
		text = Trim(text)
		if _, err = matching(text); err != nil {
			return e, err
		}
		platform, rest, _ := strings.Cut(text, ":")
		community, rest, _ := strings.Cut(rest, ":")
		what, amount, hasAmount := strings.Cut(rest, ":")
		e = Entry{Platform: platform, Community: community, What: Trim(what)}
		if hasAmount {
			e.Amount, err = parseAmount(Trim(amount))
		}
		return e, err
	})
	return func(value string) ([]Entry, error) {
		if at := groupedAmount.FindStringIndex(value); at != nil { // split would divide it
			return nil, fmt.Errorf("entry %d %w", len(split(value[:at[0]]))+1, ungrouped("1,000", errAmount))
		}
		return read(value)
	}
}

// groupedAmount matches an entry whose amount is grouped in thousands by commas.
var groupedAmount = regexp.MustCompile(`[^\s,:]+:[^,:]+:[^,:]+:\s*[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?(\s|,|$)`)

// errAmount is the error of an amount of another form.
var errAmount = errors.New("must have after its third colon an amount of tokens above 0, such as 1000 or 0.5")

// amountForm allows 77 decimals, which is also the most that TOKEN_DECIMALS may be.
var amountForm = regexp.MustCompile(`^[0-9]{1,30}(\.[0-9]{1,77})?$`)

// parseAmount returns the amount that value is. It fails unless value has amountForm and is
// above 0.
func parseAmount(value string) (decimal.Decimal, error) {
	if amountForm.MatchString(value) {
		if amount, err := decimal.NewFromString(value); err == nil && amount.IsPositive() {
			return amount, nil
		}
	}
	return decimal.Zero, ungrouped(value, errAmount)
}
