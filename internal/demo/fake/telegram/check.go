package telegram

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"

	"herald/internal/demo/fake/schema"
)

//go:embed botapi.json
var description []byte

// botAPI returns the schemas of methods and types. They are decoded when they are first used.
var botAPI = sync.OnceValue(func() schema.Schemas { return schema.Parse(description) })

// maxForm bounds a form in memory, in bytes; Telegram takes pictures of 10 MB.
const maxForm = 16 << 20

// attached begins the value of a parameter that names an uploaded file.
const attached = "attach://"

// read takes the parameters of a call, from JSON or a form, each as JSON, and checks
// them against the Bot API's description. An uploaded file is the value
// "attach://" and its name.
func read(r *http.Request, method string) (p params, files map[string][]byte, err error) {
	known := botAPI()[method]
	if known == nil {
		return nil, nil, fmt.Errorf("no method %q", method)
	}
	p, files = params{}, map[string][]byte{}
	if r.Header.Get("Content-Type") == "application/json" {
		err = json.NewDecoder(r.Body).Decode(&p)
	} else if r.ContentLength != 0 && len(known.Properties) > 0 { // -1 of a form that is streamed
		err = readForm(r, known.Properties, p, files)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: the parameters cannot be read: %w", method, err)
	}
	given := map[string]any{}
	for name, raw := range p {
		var v any
		_ = json.Unmarshal(raw, &v) // it was JSON before
		given[name] = v
	}
	if err := botAPI().Check(method, method, given); err != nil {
		return nil, nil, err
	}
	if tag := arg[string](p, "tag"); method == "setChatMemberTag" && !isTag(tag) {
		return nil, nil, fmt.Errorf("%s: a tag has no emoji", method)
	}
	return p, files, nil
}

func readForm(r *http.Request, known map[string]*schema.Schema, p params, files map[string][]byte) error {
	if err := r.ParseMultipartForm(maxForm); err != nil {
		return err
	}
	for name, values := range r.MultipartForm.Value {
		p[name] = formValue(known[name], values[0])
	}
	for name, parts := range r.MultipartForm.File {
		f, err := parts[0].Open()
		if err != nil {
			return err
		}
		defer f.Close()
		if files[name], err = io.ReadAll(f); err != nil {
			return err
		}
		if _, parameter := known[name]; parameter && p[name] == nil {
			p[name], _ = json.Marshal(attached + name)
		}
	}
	return nil
}

// formValue returns a form's text as JSON that fits the parameter, if it is JSON that does,
// and as a string otherwise.
func formValue(known *schema.Schema, text string) json.RawMessage {
	var v any
	isText := known == nil || known.Type == "string"
	if !isText && json.Unmarshal([]byte(text), &v) == nil && botAPI().CheckSchema("", known, v) == nil {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text)
	return quoted
}
