package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/shopspring/decimal"
)

// maxDepth bounds how deep JSON may nest. The services' own answers have at
// most six levels.
const maxDepth = 32

// ErrNotJSON is what Parse fails with for text of another form.
var ErrNotJSON = errors.New("not JSON, or not one JSON value")

var (
	errHTML      = errors.New("HTML or XML instead of JSON")
	errDuplicate = errors.New("JSON with two members of one name")
	errDepth     = errors.New("JSON nested too deep")
)

// Parse reads one JSON value: nil, bool, string, json.Number, []any or
// map[string]any. Names of members keep their case. Anything after the value,
// and two members of one name, of which either might be meant, are errors;
// errors hold nothing of the text. The tokens are encoding/json's; its own
// values would silently keep the last of two such members.
func Parse(body []byte) (any, error) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		return nil, errHTML
	}
	if !json.Valid(body) {
		return nil, ErrNotJSON
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return value(d, maxDepth)
}

func value(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, ErrNotJSON
	}
	delim, compound := token.(json.Delim)
	if !compound {
		return token, nil
	}
	if depth == 0 {
		return nil, errDepth
	}
	var v any
	if delim == '{' {
		v, err = object(d, depth-1)
	} else {
		v, err = list(d, depth-1)
	}
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != nil {
		return nil, ErrNotJSON
	}
	return v, nil
}

func object(d *json.Decoder, depth int) (map[string]any, error) {
	members := map[string]any{}
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, ErrNotJSON
		}
		if _, twice := members[name]; twice {
			return nil, errDuplicate
		}
		if members[name], err = value(d, depth); err != nil {
			return nil, err
		}
	}
	return members, nil
}

func list(d *json.Decoder, depth int) ([]any, error) {
	entries := []any{}
	for d.More() {
		v, err := value(d, depth)
		if err != nil {
			return nil, err
		}
		entries = append(entries, v)
	}
	return entries, nil
}

// number is JSON's own grammar with an exponent of at most two digits, which
// is plenty for money, and too little for a number that would fill memory.
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

// Decimal reads a number, or a string that is one, exactly. Thousands
// separators make it none: whether "1,234" has a fraction depends on who wrote
// it.
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
	const most = 2 * maxDigits // 99 digits after the point, and E-99
	return d.NumDigits() <= most && -most <= d.Exponent() && d.Exponent() <= most
}
