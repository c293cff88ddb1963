package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/shopspring/decimal"
)

// errNotJSON is returned by Parse for a text that is not JSON.
var errNotJSON = errors.New("not JSON, or not one JSON value")

// Parse reads one JSON value: nil, bool, string, json.Number, []any or map[string]any. Members keep the case of their
// names. Parse fails if there is text after the value, and if an object has two members with the same name. The text of
// an error contains nothing of body.
func Parse(body []byte) (v any, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		return nil, errors.New("HTML or XML instead of JSON")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if !json.Valid(body) || d.Decode(&v) != nil {
		return nil, errNotJSON
	}
	if hasDuplicateNames(json.NewDecoder(bytes.NewReader(body))) {
		return nil, errors.New("JSON with two members of one name")
	}
	return v, nil
}

// hasDuplicateNames reads the next value of d, which must be valid, and reports whether an object in it has two members
// with the same name. If it returns false, it has read the whole value.
func hasDuplicateNames(d *json.Decoder) bool {
	begin, _ := d.Token()
	isObject := begin == json.Delim('{')
	isList := begin == json.Delim('[')
	if !isObject && !isList {
		return false
	}
	names := map[json.Token]bool{}
	for d.More() {
		if isObject {
			name, _ := d.Token()
			if names[name] {
				return true
			}
			names[name] = true
		}
		if hasDuplicateNames(d) {
			return true
		}
	}
	_, _ = d.Token() // the end
	return false
}

// number matches a JSON number with an exponent of at most two digits. A larger exponent would fill the memory.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$`)

// maxDigits is the maximum length of a number's text, in bytes. 2^256 has 78 digits.
const maxDigits = 100

// Text returns a string, or a number as it was written. It returns "" if v is neither.
func Text(v any) string {
	switch v := v.(type) {
	case json.Number:
		return v.String()
	case string:
		return v
	}
	return ""
}

// Decimal returns the exact value of a number, or of a string with a number, and false for anything else. It does not
// accept thousands separators, because "1,234" may be a fraction.
func Decimal(v any) (decimal.Decimal, bool) {
	text := strings.TrimSpace(Text(v))
	if len(text) > maxDigits || !number.MatchString(text) {
		return decimal.Decimal{}, false
	}
	d, err := decimal.NewFromString(text)
	return d, err == nil
}

// IsBounded reports whether d is short enough to be compared and printed. All numbers that Decimal returns are bounded.
func IsBounded(d decimal.Decimal) bool {
	// A number of maxDigits bytes may be 0.…1E-99 with 94 digits after the point, which has the exponent -193.
	const limit = 2 * maxDigits
	return d.NumDigits() <= limit && -limit <= d.Exponent() && d.Exponent() <= limit
}

// figure returns the number in a response: the body, or its only member if that has one of these names (Client.Figure).
func (r *Response) figure(names []string) (decimal.Decimal, error) {
	v, err := Parse(r.Body)
	if errors.Is(err, errNotJSON) {
		err = errors.New("neither a plain number nor JSON")
	}
	if err != nil {
		return decimal.Decimal{}, err
	}
	if object, isObject := v.(map[string]any); isObject && len(object) == 1 {
		for _, name := range names {
			if member, exists := object[name]; exists {
				v = member
			}
		}
	}
	figure, isNumber := Decimal(v)
	if !isNumber {
		return decimal.Decimal{}, errors.New("not a number")
	}
	return figure, CheckFigure(figure)
}

// CheckFigure returns an error unless the figure is above zero and IsBounded.
func CheckFigure(figure decimal.Decimal) error {
	if !IsBounded(figure) || !figure.IsPositive() {
		return errors.New("not above zero")
	}
	return nil
}
