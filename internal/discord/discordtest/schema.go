package discordtest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf16"
)

//go:generate sh -c "go run reduce.go $DISCORD_OPENAPI > spec.json"

//go:embed spec.json
var specJSON []byte

var spec = func() map[string]*schema {
	var s map[string]*schema
	if err := json.Unmarshal(specJSON, &s); err != nil {
		panic(err)
	}
	return s
}()

// schema is the part of JSON Schema that spec.json uses.
type schema struct {
	Type       any // a name or a list of names
	Enum       []any
	MinLength  *int
	MaxLength  *int
	MinItems   *int
	MaxItems   *int
	Minimum    *float64
	Maximum    *float64
	Required   []string
	Properties map[string]*schema
	Items      *schema
	OneOf      []*schema
}

// check tells the first thing in v that Discord would refuse, at its path.
func (s *schema) check(path string, v any) error {
	if len(s.OneOf) > 0 {
		var first error
		for _, choice := range s.OneOf {
			err := choice.check(path, v)
			if err == nil {
				return nil
			}
			if first == nil || choice.Type != "null" {
				first = err
			}
		}
		return first
	}
	if !s.typed(v) {
		return fmt.Errorf("%s: is a %T, not a %v", path, v, s.Type)
	}
	if v != nil && len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		return fmt.Errorf("%s: is none of %v", path, s.Enum)
	}
	switch v := v.(type) {
	case string:
		return within(path+": length", float64(len(utf16.Encode([]rune(v)))), bound(s.MinLength), bound(s.MaxLength))
	case float64:
		return within(path, v, s.Minimum, s.Maximum)
	case []any:
		return s.checkList(path, v)
	case map[string]any:
		return s.checkObject(path, v)
	}
	return nil
}

func (s *schema) checkList(path string, list []any) error {
	if err := within(path+": items", float64(len(list)), bound(s.MinItems), bound(s.MaxItems)); err != nil {
		return err
	}
	for i, item := range list {
		if s.Items == nil {
			break
		}
		if err := s.Items.check(path+"["+strconv.Itoa(i)+"]", item); err != nil {
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
	return nil
}

func (s *schema) typed(v any) bool {
	names, _ := s.Type.([]any)
	if name, ok := s.Type.(string); ok {
		names = []any{name}
	}
	if len(names) == 0 {
		return true
	}
	return slices.ContainsFunc(names, func(name any) bool {
		switch v := v.(type) {
		case nil:
			return name == "null"
		case bool:
			return name == "boolean"
		case float64:
			return name == "number" || name == "integer" && v == math.Trunc(v)
		case string:
			// Discord writes large integers as strings and takes them so.
			_, err := strconv.ParseInt(v, 10, 64)
			return name == "string" || name == "integer" && err == nil
		case []any:
			return name == "array"
		default:
			return name == "object"
		}
	})
}

func bound(n *int) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

func within(what string, n float64, low, high *float64) error {
	if low != nil && n < *low || high != nil && n > *high {
		return fmt.Errorf("%s: %v is out of bounds", what, n)
	}
	return nil
}

// maxEmbed bounds the text of all embeds of a message together.
// https://discord.com/developers/docs/resources/message#embed-object-embed-limits
const maxEmbed = 6000

// checkMessage holds the rules for messages that the schema does not. That
// mentions must be forbidden is this project's rule, not Discord's.
func checkMessage(message map[string]any, deferral bool) error {
	mentions, _ := message["allowed_mentions"].(map[string]any)
	if parse, ok := mentions["parse"].([]any); !ok || len(parse) != 0 {
		return fmt.Errorf("allowed_mentions: does not forbid all mentions")
	}
	if deferral {
		return nil
	}
	embeds, _ := message["embeds"].([]any)
	content, _ := message["content"].(string)
	total := 0
	for _, e := range embeds {
		n := textLength(e)
		if n == 0 {
			return fmt.Errorf("embeds: one is empty")
		}
		total += n
	}
	if total == 0 && content == "" {
		return fmt.Errorf("the message is empty")
	}
	if total > maxEmbed {
		return fmt.Errorf("embeds: %d characters in all", total)
	}
	return nil
}

// textLength counts the text in an embed.
func textLength(v any) int {
	n := 0
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += textLength(item)
		}
	case map[string]any:
		for name, item := range v {
			if text, ok := item.(string); ok && slices.Contains([]string{"title", "description", "name", "value", "text"}, name) {
				n += len(utf16.Encode([]rune(text)))
			} else {
				n += textLength(item)
			}
		}
	}
	return n
}

// slashName is the form of a slash command's and an option's name.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object-application-command-naming
var slashName = regexp.MustCompile(`^[-_\p{Ll}\p{Lo}\p{N}]{1,32}$`)

// checkCommands holds the rules for commands that the schema does not.
func checkCommands(commands []any) error {
	seen := map[string]bool{}
	for n, item := range commands {
		path := fmt.Sprintf("commands[%d]", n)
		if err := spec["command"].check(path, item); err != nil {
			return err
		}
		command := item.(map[string]any)
		key := fmt.Sprint(command["type"], command["name"])
		if seen[key] {
			return fmt.Errorf("%s.name: is taken", path)
		}
		seen[key] = true
		if err := checkCommand(path, command); err != nil {
			return err
		}
	}
	return nil
}

func checkCommand(path string, command map[string]any) error {
	options, _ := command["options"].([]any)
	description, _ := command["description"].(string)
	if kind := command["type"]; kind != nil && kind != 1.0 {
		if description != "" || len(options) > 0 {
			return fmt.Errorf("%s: a context menu command has neither description nor options", path)
		}
		return nil
	}
	if !slashName.MatchString(command["name"].(string)) {
		return fmt.Errorf("%s.name: is no name for a slash command", path)
	}
	if description == "" {
		return fmt.Errorf("%s.description: is required", path)
	}
	optional, seen := false, map[any]bool{}
	for n, o := range options {
		option := o.(map[string]any)
		path := fmt.Sprintf("%s.options[%d]", path, n)
		switch required := option["required"] == true; {
		case !slashName.MatchString(option["name"].(string)), seen[option["name"]]:
			return fmt.Errorf("%s.name: is taken or has a wrong form", path)
		case required && optional:
			return fmt.Errorf("%s: required options come first", path)
		case !required:
			optional = true
		}
		seen[option["name"]] = true
	}
	return nil
}
