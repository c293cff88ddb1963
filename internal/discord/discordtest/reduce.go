//go:build ignore

// Reduce writes spec.json: of Discord's OpenAPI description, given as the
// first argument, the limits of the payloads that an adapter sends.
//
//	go run reduce.go openapi.json > spec.json
package main

import (
	"encoding/json"
	"log"
	"os"
	"slices"
	"strings"
)

type object = map[string]any

// bodies are the routes whose payloads are checked, and the schema of each.
var bodies = map[string]string{
	"callback": "CreateMessageInteractionCallbackRequest",
	"edit":     "IncomingWebhookUpdateRequestPartial",
	"command":  "ApplicationCommandUpdateRequest",
}

// unused are members that no adapter here sends.
var unused = []string{
	"components", "attachments", "poll", "author", "image", "thumbnail", "provider", "video",
	"handler", "name_localizations", "description_localizations",
}

// facts are the keywords that are copied as they are.
var facts = []string{"type", "enum", "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "required"}

var schemas object

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
	out := object{}
	for route, name := range bodies {
		out[route] = reduce(schemas[name].(object))
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(out); err != nil {
		log.Fatal(err)
	}
}

func reduce(schema object) object {
	if ref, ok := schema["$ref"].(string); ok {
		return reduce(schemas[ref[strings.LastIndex(ref, "/")+1:]].(object))
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
	if items, ok := schema["items"].(object); ok {
		out["items"] = reduce(items)
	}
	if choices, ok := schema["oneOf"].([]any); ok {
		alternatives(out, choices)
	}
	return out
}

// alternatives reduces oneOf: constants to an enum, a schema or null to a
// schema that takes null, several schemas to those that are used.
func alternatives(out object, choices []any) {
	var constants, kept []any
	for _, c := range choices {
		choice := c.(object)
		ref, _ := choice["$ref"].(string)
		switch {
		case choice["const"] != nil:
			constants = append(constants, choice["const"])
		case strings.HasPrefix(ref, "#/components/schemas/ApplicationCommand") && strings.HasSuffix(ref, "Option") &&
			!strings.HasSuffix(ref, "CommandStringOption") && !strings.HasSuffix(ref, "CommandUserOption"):
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
