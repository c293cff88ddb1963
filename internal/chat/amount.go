package chat

import (
	"errors"
	"regexp"

	"github.com/shopspring/decimal"
)

var amountForm = regexp.MustCompile(`^[0-9]{1,30}(\.[0-9]{1,30})?$`)

// ParseAmount reads an amount of tokens above 0, such as 1000 or 0.5. It takes digits and at
// most one point, with at most 30 digits on either side.
func ParseAmount(value string) (decimal.Decimal, error) {
	if amountForm.MatchString(value) {
		if amount, err := decimal.NewFromString(value); err == nil && amount.IsPositive() {
			return amount, nil
		}
	}
	return decimal.Decimal{}, errors.New("must be an amount of tokens above 0, such as 1000 or 0.5")
}
