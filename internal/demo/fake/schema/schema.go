// Package schema checks what a program sends to a chat platform by the platform's own
// description of its API. It is shared by the stand-ins of the platforms.
package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
)

// Schemas are the schemas of one platform by their names.
type Schemas map[string]*Schema

// Schema has the keywords of JSON Schema that the descriptions use. Null passes for
// everything.
type Schema struct {
	Ref                  string // the name of another one, which holds instead
	AnyOf                []*Schema
	Type                 string
	Enum                 []any
	MinLength, MaxLength *float64 // in UTF-16 units
	MinItems, MaxItems   *float64
	Minimum, Maximum     *float64
	Required             []string
	Properties           map[string]*Schema
	AdditionalProperties *Schema
	// Closed refuses members that are not among Properties, and null for a required one.
	Closed bool
	Items  *Schema
}

// Parse returns the schemas in a JSON object. It panics if it cannot read them.
func Parse(text []byte) (all Schemas) {
	if err := json.Unmarshal(text, &all); err != nil {
		panic("schema: " + err.Error())
	}
	return all
}

// Check returns an error with the path of the first value in v, decoded from JSON, that does
// not fit the schema of a name.
func (all Schemas) Check(path, name string, v any) error {
	return all.Fits(path, all[name], v)
}

// Fits is Check of a schema that need not be one of all.
func (all Schemas) Fits(path string, s *Schema, v any) error {
	if s.Ref != "" {
		s = all[s.Ref]
	}
	if v == nil {
		return nil
	}
	if len(s.AnyOf) > 0 {
		return all.fitsOneOf(path, s.AnyOf, v)
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
		return all.list(path, s, v)
	case map[string]any:
		return all.object(path, s, v)
	}
	return nil
}

// fitsOneOf returns nil if v fits one of several schemas, or else the error of the last.
func (all Schemas) fitsOneOf(path string, several []*Schema, v any) (err error) {
	for _, one := range several {
		if err = all.Fits(path, one, v); err == nil {
			return nil
		}
	}
	return err
}

func (all Schemas) list(path string, s *Schema, list []any) error {
	for i, item := range list {
		if err := all.Fits(fmt.Sprintf("%s[%d]", path, i), s.Items, item); err != nil {
			return err
		}
	}
	return within(path+": items", float64(len(list)), s.MinItems, s.MaxItems)
}

func (all Schemas) object(path string, s *Schema, object map[string]any) error {
	for _, name := range s.Required {
		if v, ok := object[name]; !ok || s.Closed && v == nil {
			return fmt.Errorf("%s.%s: is required", path, name)
		}
	}
	for name, v := range object {
		property := s.Properties[name]
		if property == nil {
			property = s.AdditionalProperties
		}
		switch {
		case property == nil && s.Closed:
			return fmt.Errorf("%s.%s: is not known", path, name)
		case property == nil:
			continue
		}
		if err := all.Fits(path+"."+name, property, v); err != nil {
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

// isInteger reports whether v is an integer. Platforms also take integers as strings.
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
