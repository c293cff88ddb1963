package config

import (
	"errors"
	"regexp"
	"strings"

	"github.com/shopspring/decimal"
)

// Entry is an entry of a list of communities, such as telegram:-1001234567890:Staker:1000.
type Entry struct {
	Platform, Community string
	What                string          // a role, a tag, or what the community requires
	Amount              decimal.Decimal // the least stake in tokens; 0: any stake
}

// Entries reads what split makes of a value. Each entry must match the whole regular
// expression form, with two or three colons. The error is the one of ListOf. If form does not
// match, it is "must be" and the description.
func Entries(split func(string) []string, form, description string) func(string) ([]Entry, error) {
	matching := Matching(form, description)
	return listOf(split, func(text string) (e Entry, err error) {
		if _, err = matching(text); err != nil {
			return e, err
		}
		parts := strings.SplitN(text, ":", 4)
		e.Platform, e.Community, e.What = parts[0], parts[1], trim(parts[2])
		if len(parts) == 4 {
			e.Amount, err = parseAmount(trim(parts[3]))
		}
		return e, err
	})
}

// amountForm has as many decimals as TOKEN_DECIMALS may have.
var amountForm = regexp.MustCompile(`^[0-9]{1,30}(\.[0-9]{1,77})?$`)

// parseAmount reads an amount above 0, without a sign or an exponent.
func parseAmount(value string) (decimal.Decimal, error) {
	if amountForm.MatchString(value) {
		if amount, err := decimal.NewFromString(value); err == nil && amount.IsPositive() {
			return amount, nil
		}
	}
	return decimal.Zero, errors.New("must have after its third colon an amount of tokens above 0, such as 1000 or 0.5")
}
