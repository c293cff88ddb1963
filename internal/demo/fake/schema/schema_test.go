package schema

import (
	"encoding/json"
	"testing"
)

// schemas has two schemas. An object that satisfies "open" may have other members; one that satisfies "closed" may not.
const schemas = `{
	"open": {
		"type": "object",
		"required": ["a"],
		"properties": {
			"a": {"type": "string", "minLength": 1, "maxLength": 2},
			"n": {"type": "integer", "minimum": 0, "maximum": 9},
			"all": {"type": "array", "maxItems": 1, "items": {"ref": "closed"}},
			"one": {"anyOf": [{"type": "boolean"}, {"enum": ["x"]}]}
		},
		"additionalProperties": {"type": "string"}
	},
	"closed": {
		"type": "object",
		"closed": true,
		"required": ["a"],
		"properties": {"a": {"type": "string"}}
	}
}`

// check returns the error of Check for a value and the schema "open", or "".
func check(t *testing.T, value string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(value), &v); err != nil {
		t.Fatal(err)
	}
	if err := Parse([]byte(schemas)).Check("open", "open", v); err != nil {
		return err.Error()
	}
	return ""
}

func TestCheckAcceptsValuesThatSatisfyTheSchema(t *testing.T) {
	for _, value := range []string{
		`{"a":"x","n":9,"all":[{"a":"y"}],"one":"x","b":"z"}`,
		`{"a":"😀","n":"7","one":true,"all":null}`,
		`{"a":null}`,
	} {
		if got := check(t, value); got != "" {
			t.Errorf("%s: %s", value, got)
		}
	}
}

func TestCheckNamesTheValueThatViolatesTheSchema(t *testing.T) {
	for value, want := range map[string]string{
		`{}`:                                    "open.a: is required",
		`{"a":""}`:                              "open.a: length: 0 is out of bounds",
		`{"a":"😀x"}`:                            "open.a: length: 3 is out of bounds",
		`{"a":1}`:                               "open.a: is a number, not a string",
		`{"a":"x","n":10}`:                      "open.n: 10 is out of bounds",
		`{"a":"x","n":-1}`:                      "open.n: -1 is out of bounds",
		`{"a":"x","n":1.5}`:                     "open.n: is a number, not a integer",
		`{"a":"x","one":"y"}`:                   "open.one: is not one of [x]",
		`{"a":"x","b":2}`:                       "open.b: is a number, not a string",
		`{"a":"x","all":{}}`:                    "open.all: is a object, not a array",
		`{"a":"x","all":[{"a":"y"},{"a":"y"}]}`: "open.all: items: 2 is out of bounds",
		`{"a":"x","all":[{"a":null}]}`:          "open.all[0].a: is required",
		`{"a":"x","all":[{"a":"","b":1}]}`:      "open.all[0].b: is not known",
	} {
		if got := check(t, value); got != want {
			t.Errorf("%s: got %q, want %q", value, got, want)
		}
	}
}
