// Package schema checks the data that a program sends to a chat platform against the platform's own
// description of its API. The fakes of the platforms share it.
package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
)

// Schemas maps names to the schemas of one platform.
type Schemas map[string]*Schema

// Schema has the keywords of JSON Schema that the descriptions use (https://json-schema.org). Null satisfies every
// schema.
type Schema struct {
	Ref                  string // if set, the name of the schema to use instead of this one
	AnyOf                []*Schema
	Type                 string
	Enum                 []any
	MinLength, MaxLength *float64 // in UTF-16 code units
	MinItems, MaxItems   *float64
	Minimum, Maximum     *float64
	Required             []string
	Properties           map[string]*Schema
	AdditionalProperties *Schema
	// Closed refuses members that are not in Properties, and null as the value of a Required member. It
	// is not a keyword of JSON Schema.
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

// Check checks v, which was decoded from JSON, against the schema with this name. Its error begins with the
// path of the first value that violates the schema. path is the path of v.
func (all Schemas) Check(path, name string, v any) error {
	return all.CheckSchema(path, all[name], v)
}

// CheckSchema is like Check, for a schema that need not have a name.
func (all Schemas) CheckSchema(path string, s *Schema, v any) error {
	if s.Ref != "" {
		s = all[s.Ref]
	}
	if v == nil {
		return nil
	}
	if len(s.AnyOf) > 0 {
		return all.checkAnyOf(path, s.AnyOf, v)
	}
	if !hasType(v, s.Type) {
		return fmt.Errorf("%s: is a %s, not a %s", path, typeOf(v), s.Type)
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		return fmt.Errorf("%s: is not one of %v", path, s.Enum)
	}
	switch v := v.(type) {
	case string:
		return checkRange(path+": length", float64(len(utf16.Encode([]rune(v)))), s.MinLength, s.MaxLength)
	case float64:
		return checkRange(path, v, s.Minimum, s.Maximum)
	case []any:
		return all.checkList(path, s, v)
	case map[string]any:
		return all.checkObject(path, s, v)
	}
	return nil
}

// checkAnyOf returns nil if v satisfies any of the schemas. Otherwise it returns the error of the last one.
func (all Schemas) checkAnyOf(path string, schemas []*Schema, v any) (err error) {
	for _, s := range schemas {
		err = all.CheckSchema(path, s, v)
		if err == nil {
			return nil
		}
	}
	return err
}

func (all Schemas) checkList(path string, s *Schema, list []any) error {
	for i, item := range list {
		if err := all.CheckSchema(fmt.Sprintf("%s[%d]", path, i), s.Items, item); err != nil {
			return err
		}
	}
	return checkRange(path+": items", float64(len(list)), s.MinItems, s.MaxItems)
}

func (all Schemas) checkObject(path string, s *Schema, object map[string]any) error {
	for _, name := range s.Required {
		v, present := object[name]
		if !present || s.Closed && v == nil {
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
		if err := all.CheckSchema(path+"."+name, property, v); err != nil {
			return err
		}
	}
	return nil
}

// hasType reports whether v has a type of JSON Schema. Every value has the type "".
func hasType(v any, wanted string) bool {
	switch wanted {
	case "", typeOf(v):
		return true
	case "integer":
		return isInteger(v)
	}
	return false
}

// typeOf returns the JSON type of v.
func typeOf(v any) string {
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

// isInteger reports whether v is an integer, or a string with one. Platforms accept both.
func isInteger(v any) bool {
	if number, isNumber := v.(float64); isNumber {
		return number == math.Trunc(number)
	}
	text, _ := v.(string)
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// checkRange returns an error that begins with name unless n is between low and high. Either may be nil, for
// no limit.
func checkRange(name string, n float64, low, high *float64) error {
	if low != nil && n < *low || high != nil && n > *high {
		return fmt.Errorf("%s: %v is out of bounds", name, n)
	}
	return nil
}
