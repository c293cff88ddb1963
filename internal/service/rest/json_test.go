package rest_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"herald/internal/service/rest"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]any{
		" 98765432.1\r\n":      json.Number("98765432.1"),
		`"text"`:               "text",
		`null`:                 nil,
		`{"a":[true,{"b":1}]}`: map[string]any{"a": []any{true, map[string]any{"b": json.Number("1")}}},
		`{"code":0,"Code":5}`:  map[string]any{"code": json.Number("0"), "Code": json.Number("5")},
	} {
		got, err := rest.Parse([]byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Parse(%s) = %#v, %v; want %#v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "<html></html>", "Error calculating total supply", "1 2", `{"a":1}}`, `{"a":[1,`, "NaN", "98,765,432", "007",
		`{"a":1,"a":1}`, `{"a":1,"\u0061":1}`, `[{"a":{"b":1,"b":2}}]`,
		strings.Repeat("[", 300_000),
	} {
		if v, err := rest.Parse([]byte(text)); err == nil {
			t.Errorf("%.50s: got %#v, want an error", text, v)
		}
	}
}

func TestDecimal(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string // "" for none
	}{
		{json.Number("0.1"), "0.1"},
		{json.Number("123456789012345678901234567890.123456789"), "123456789012345678901234567890.123456789"},
		{json.Number("1e+21"), "1000000000000000000000"},
		{json.Number("-2.5E-7"), "-0.00000025"},
		{" 5 ", "5"},
		{json.Number("1e400"), ""},
		{json.Number("1e-999999999"), ""},
		{json.Number(strings.Repeat("9", 101)), ""},
		{"", ""}, {"NaN", ""}, {"Infinity", ""}, {"0x10", ""}, {"1_000", ""}, {"1,000", ""}, {"+5", ""}, {".5", ""}, {"5.", ""}, {"−5", ""}, {"٣", ""},
		{nil, ""}, {true, ""}, {[]any{}, ""}, {map[string]any{}, ""},
	} {
		got, ok := rest.Decimal(c.v)
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("Decimal(%#v) = %v, %v; want %q", c.v, got, ok, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"b",null,{}]}`, `1e400`, `<html>`, `{"a":1,"a":2}`, `[[[]]]`, "\"\xff\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := rest.Parse(body)
		if err != nil {
			return
		}
		var standard any
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		if d.Decode(&standard) != nil || !reflect.DeepEqual(v, standard) {
			t.Fatalf("Parse reads %q as %#v, encoding/json as %#v", body, v, standard)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := rest.Parse(text)
		if err != nil || !reflect.DeepEqual(v, again) {
			t.Fatalf("%q became %#v, then %#v, %v", body, v, again, err)
		}
	})
}
