//go:build ignore

// Reduce writes spec.json: of Discord's OpenAPI description, given as the
// first argument, the schemas of the payloads that an adapter sends, by name.
//
//	go run reduce.go openapi.json > spec.json
package main

import (
	"encoding/json"
	"log"
	"os"
	"regexp"
	"slices"
	"strings"
)

type object = map[string]any

// roots are the schemas of the payloads that are checked; what they refer to is
// taken along. AvailableLocalesEnum is what localizations are keyed by.
var roots = []string{
	"CreateMessageInteractionCallbackRequest",
	"UpdateMessageInteractionCallbackRequest",
	"ApplicationCommandAutocompleteCallbackRequest",
	"ModalInteractionCallbackRequest",
	"IncomingWebhookRequestPartial",
	"IncomingWebhookUpdateRequestPartial",
	"ApplicationCommandUpdateRequest",
	"AvailableLocalesEnum",
}

// unused are members that no adapter here sends.
var unused = []string{
	"poll", "author", "thumbnail", "provider", "video", "handler", "tts", "username", "avatar_url", "thread_name",
	"applied_tags", "sku_id", "duration_secs", "waveform", "is_spoiler", "is_remix", "placeholder_version", "is_animated",
}

// unusedChoices are the kinds of components, of options and of choices that no
// adapter here sends.
var unusedChoices = regexp.MustCompile(`^(Container|File|MediaGallery|Section|Separator|TextDisplay|Checkbox|RadioGroup)` +
	`|Select|(Attachment|Boolean|Channel|Integer|Mentionable|Number|Role|Subcommand|SubcommandGroup)Option$|Callback(Integer|Number)Data$`)

// facts are the keywords that are copied as they are.
var facts = []string{
	"type", "enum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "maxProperties",
	"minimum", "maximum", "required",
}

// schemas are Discord's own; reduced are those that are written.
var schemas, reduced = object{}, object{}

func main() {
	log.SetFlags(0)
	raw, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var document struct {
		Components struct{ Schemas object }
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		log.Fatal(err)
	}
	schemas = document.Components.Schemas
	for _, name := range roots {
		keep(name)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(reduced); err != nil {
		log.Fatal(err)
	}
}

// keep reduces the schema of a name, once.
func keep(name string) {
	if reduced[name] == nil {
		reduced[name] = true // so that one that refers to itself ends
		reduced[name] = reduce(schemas[name].(object))
	}
}

func reduce(schema object) object {
	if ref, ok := schema["$ref"].(string); ok {
		name := refName(ref)
		keep(name)
		return object{"ref": name}
	}
	out := object{}
	for _, fact := range facts {
		if v, ok := schema[fact]; ok {
			out[fact] = v
		}
	}
	if properties, ok := schema["properties"].(object); ok {
		kept := object{}
		for name, p := range properties {
			if !slices.Contains(unused, name) {
				kept[name] = reduce(p.(object))
			}
		}
		out["properties"] = kept
	}
	for _, nested := range []string{"items", "additionalProperties"} {
		if inner, ok := schema[nested].(object); ok {
			out[nested] = reduce(inner)
		}
	}
	for _, union := range []string{"oneOf", "anyOf"} {
		if choices, ok := schema[union].([]any); ok {
			alternatives(out, choices)
		}
	}
	return out
}

func refName(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// alternatives reduces a union: constants to an enum, schemas to those of them
// that are used.
func alternatives(out object, choices []any) {
	var constants, kept []any
	for _, c := range choices {
		choice := c.(object)
		ref, _ := choice["$ref"].(string)
		switch {
		case choice["const"] != nil:
			constants = append(constants, choice["const"])
		case unusedChoices.MatchString(refName(ref)):
		default:
			kept = append(kept, reduce(choice))
		}
	}
	if constants != nil {
		out["enum"] = constants
	}
	if kept != nil {
		out["oneOf"] = kept
	}
}
