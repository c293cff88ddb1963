package chat

import (
	"errors"
	"regexp"

	"github.com/shopspring/decimal"
)

// amountForm has as many decimals as TOKEN_DECIMALS may have.
var amountForm = regexp.MustCompile(`^[0-9]{1,30}(\.[0-9]{1,77})?$`)

// ParseAmount returns a least amount of tokens: a decimal number above 0, without a sign or an
// exponent. The error continues a sentence that begins with the value's place.
func ParseAmount(value string) (decimal.Decimal, error) {
	if amountForm.MatchString(value) {
		if amount, err := decimal.NewFromString(value); err == nil && amount.IsPositive() {
			return amount, nil
		}
	}
	return decimal.Zero, errors.New("must have an amount of tokens above 0, such as 1000 or 0.5, without an exponent")
}
