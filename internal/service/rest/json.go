package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/shopspring/decimal"
)

// ErrNotJSON is what Parse fails with for text of another form.
var ErrNotJSON = errors.New("not JSON, or not one JSON value")

// Parse reads one JSON value: nil, bool, string, json.Number, []any or
// map[string]any. Names of members keep their case. Anything after the value is an
// error, and so are two members of one name: either might be meant. Errors hold
// nothing of the text.
func Parse(body []byte) (v any, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		return nil, errors.New("HTML or XML instead of JSON")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if !json.Valid(body) || d.Decode(&v) != nil {
		return nil, ErrNotJSON
	}
	if hasTwins(json.NewDecoder(bytes.NewReader(body))) {
		return nil, errors.New("JSON with two members of one name")
	}
	return v, nil
}

// hasTwins reports whether an object in the next value of d has two members of one
// name. The value is valid.
func hasTwins(d *json.Decoder) bool {
	token, _ := d.Token()
	if token != json.Delim('{') && token != json.Delim('[') {
		return false
	}
	names := map[json.Token]bool{}
	for d.More() {
		if token == json.Delim('{') {
			name, _ := d.Token()
			if names[name] {
				return true
			}
			names[name] = true
		}
		if hasTwins(d) {
			return true
		}
	}
	_, _ = d.Token() // the end
	return false
}

// number is JSON's own grammar with an exponent of at most two digits: plenty for
// money, and too little to fill the memory.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$`)

// maxDigits bounds a number's text. 2^256 has 78 digits.
const maxDigits = 100

// Text is a string, or a number as it is written; "" if v is neither.
func Text(v any) string {
	switch v := v.(type) {
	case json.Number:
		return v.String()
	case string:
		return v
	}
	return ""
}

// Decimal reads a number, or a string with one, exactly. It refuses thousands
// separators: whether "1,234" has a fraction depends on who wrote it.
func Decimal(v any) (decimal.Decimal, bool) {
	text := strings.TrimSpace(Text(v))
	if len(text) > maxDigits || !number.MatchString(text) {
		return decimal.Decimal{}, false
	}
	d, err := decimal.NewFromString(text)
	return d, err == nil
}

// IsBounded reports whether d has no more digits and no further exponent than
// what Decimal reads, so that it may be compared and printed.
func IsBounded(d decimal.Decimal) bool {
	const limit = 2 * maxDigits // 99 digits after the point, and E-99
	return d.NumDigits() <= limit && -limit <= d.Exponent() && d.Exponent() <= limit
}
