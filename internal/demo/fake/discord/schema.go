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

// specJSON is the schemas of the payloads that an adapter sends, reduced from
// Discord's OpenAPI description, https://github.com/discord/discord-api-spec: types,
// bounds, enums, and which members are required.
//
//go:embed spec.json
var specJSON []byte

// spec is read when it is first asked for: a bot that runs has no use for it.
var spec = sync.OnceValue(func() map[string]*schema {
	var s map[string]*schema
	if err := json.Unmarshal(specJSON, &s); err != nil {
		panic(err)
	}
	return s
})

// schema is the part of JSON Schema that spec.json uses.
type schema struct {
	Ref                  string // the name of another one, which holds instead
	Type                 any    // a name or a list of names
	Enum                 []any
	MinLength            *float64
	MaxLength            *float64
	MinItems             *float64
	MaxItems             *float64
	UniqueItems          bool
	MaxProperties        *float64
	Minimum              *float64
	Maximum              *float64
	Required             []string
	Properties           map[string]*schema
	AdditionalProperties *schema
	Items                *schema
	OneOf                []*schema
}

// check tells the first thing in v that Discord would refuse, at its path.
func (s *schema) check(path string, v any) error {
	s = s.resolved()
	if len(s.OneOf) > 0 {
		return s.checkChoices(path, v)
	}
	if !s.typed(v) {
		return fmt.Errorf("%s: is a %T, not a %v", path, v, s.Type)
	}
	if v != nil && len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		return fmt.Errorf("%s: is not one of %v", path, s.Enum)
	}
	switch v := v.(type) {
	case string:
		return within(path+": length", float64(len(utf16.Encode([]rune(v)))), s.MinLength, s.MaxLength)
	case float64:
		return within(path, v, s.Minimum, s.Maximum)
	case []any:
		return s.checkList(path, v)
	case map[string]any:
		return s.checkObject(path, v)
	}
	return nil
}

// resolved is what s refers to, if it does.
func (s *schema) resolved() *schema {
	if s.Ref != "" {
		return spec()[s.Ref]
	}
	return s
}

// checkChoices checks v against the choices for its kind: objects tell theirs in
// their member "type".
func (s *schema) checkChoices(path string, v any) error {
	err := fmt.Errorf("%s: is of no kind that is known here", path)
	object, _ := v.(map[string]any)
	for _, choice := range s.OneOf {
		choice = choice.resolved()
		kind := choice.Properties["type"]
		otherKind := object != nil && kind != nil && len(kind.Enum) > 0 && !slices.Contains(kind.Enum, object["type"])
		if (v == nil) != (choice.Type == "null") || otherKind {
			continue
		}
		if err = choice.check(path, v); err == nil {
			return nil
		}
	}
	return err
}

func (s *schema) checkList(path string, list []any) error {
	if err := within(path+": items", float64(len(list)), s.MinItems, s.MaxItems); err != nil {
		return err
	}
	for i, item := range list {
		if s.UniqueItems && slices.Contains(list[:i], item) {
			return fmt.Errorf("%s[%d]: is there twice", path, i)
		}
		if err := s.Items.check(fmt.Sprintf("%s[%d]", path, i), item); err != nil {
			return err
		}
	}
	return nil
}

func (s *schema) checkObject(path string, object map[string]any) error {
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			return fmt.Errorf("%s.%s: is required", path, name)
		}
	}
	for name, property := range s.Properties {
		if v, ok := object[name]; ok {
			if err := property.check(path+"."+name, v); err != nil {
				return err
			}
		}
	}
	for name, v := range object {
		if s.AdditionalProperties == nil {
			break
		}
		if err := s.AdditionalProperties.check(path+"."+name, v); err != nil {
			return err
		}
	}
	return within(path+": members", float64(len(object)), nil, s.MaxProperties)
}

func (s *schema) typed(v any) bool {
	var names []string
	switch v := v.(type) {
	case nil:
		names = []string{"null"}
	case bool:
		names = []string{"boolean"}
	case float64:
		names = []string{"number"}
		if v == math.Trunc(v) {
			names = append(names, "integer")
		}
	case string:
		names = []string{"string"}
		// Discord writes large integers as strings and takes them so.
		if _, err := strconv.ParseInt(v, 10, 64); err == nil {
			names = append(names, "integer")
		}
	case []any:
		names = []string{"array"}
	default:
		names = []string{"object"}
	}
	list, isList := s.Type.([]any)
	if !isList {
		list = []any{s.Type}
	}
	return s.Type == nil || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(list, any(name)) })
}

func within(what string, n float64, low, high *float64) error {
	if low != nil && n < *low || high != nil && n > *high {
		return fmt.Errorf("%s: %v is out of bounds", what, n)
	}
	return nil
}
