package discord

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf16"
)

// specJSON holds the schemas of the payloads that an adapter sends: types, bounds, enums,
// and required members. They are from Discord's OpenAPI description,
// https://github.com/discord/discord-api-spec. Null passes for everything.
//
//go:embed spec.json
var specJSON []byte

// spec returns specJSON decoded. It is decoded when it is first used.
var spec = sync.OnceValue(func() map[string]*schema {
	var s map[string]*schema
	if err := json.Unmarshal(specJSON, &s); err != nil {
		panic(err)
	}
	return s
})

// schema has the keywords of JSON Schema that spec.json uses.
type schema struct {
	Ref                  string // the name of another one, which holds instead
	Type                 string
	Enum                 []any
	MinLength, MaxLength *float64
	MinItems, MaxItems   *float64
	Minimum, Maximum     *float64
	Required             []string
	Properties           map[string]*schema
	AdditionalProperties *schema
	Items                *schema
}

// check returns an error with the path of the first value in v that Discord refuses.
func (s *schema) check(path string, v any) error {
	if s.Ref != "" {
		s = spec()[s.Ref]
	}
	if v == nil {
		return nil
	}
	if kind := kindOf(v); s.Type != "" && s.Type != kind && (s.Type != "integer" || !isInteger(v)) {
		return fmt.Errorf("%s: is a %s, not a %s", path, kind, s.Type)
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		return fmt.Errorf("%s: is not one of %v", path, s.Enum)
	}
	switch v := v.(type) {
	case string:
		return within(path+": length", float64(len(utf16.Encode([]rune(v)))), s.MinLength, s.MaxLength)
	case float64:
		return within(path, v, s.Minimum, s.Maximum)
	case []any:
		for i, item := range v {
			if err := s.Items.check(fmt.Sprintf("%s[%d]", path, i), item); err != nil {
				return err
			}
		}
		return within(path+": items", float64(len(v)), s.MinItems, s.MaxItems)
	case map[string]any:
		return s.checkObject(path, v)
	}
	return nil
}

func (s *schema) checkObject(path string, object map[string]any) error {
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			return fmt.Errorf("%s.%s: is required", path, name)
		}
	}
	for name, v := range object {
		property := s.Properties[name]
		if property == nil {
			property = s.AdditionalProperties
		}
		if property == nil {
			continue
		}
		if err := property.check(path+"."+name, v); err != nil {
			return err
		}
	}
	return nil
}

func kindOf(v any) string {
	switch v.(type) {
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	default:
		return "object"
	}
}

// isInteger reports whether v is an integer. Discord also takes integers as strings.
func isInteger(v any) bool {
	if n, is := v.(float64); is {
		return n == math.Trunc(n)
	}
	text, _ := v.(string)
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

func within(what string, n float64, low, high *float64) error {
	if low != nil && n < *low || high != nil && n > *high {
		return fmt.Errorf("%s: %v is out of bounds", what, n)
	}
	return nil
}
