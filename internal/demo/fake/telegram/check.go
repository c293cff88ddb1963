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
var botAPIJSON []byte

// botAPI returns the schemas of the Bot API's methods and types. It decodes them when it is first called.
var botAPI = sync.OnceValue(func() schema.Schemas { return schema.Parse(botAPIJSON) })

// maxForm is the maximum size of a form in memory, in bytes. Telegram accepts pictures of 10 MB.
const maxForm = 16 << 20

// attached begins the value of a parameter that refers to an uploaded file. The file's name follows.
const attached = "attach://"

// readCall returns the parameters of a call and its uploaded files by name. It returns an error if they violate the
// Bot API's description.
func readCall(r *http.Request, method string) (p params, files map[string][]byte, err error) {
	known := botAPI()[method]
	if known == nil {
		return nil, nil, fmt.Errorf("no method %q", method)
	}
	p = params{}
	files = map[string][]byte{}
	isForm := r.ContentLength != 0 && len(known.Properties) > 0 // ContentLength is -1 if the form is streamed.
	switch {
	case r.Header.Get("Content-Type") == "application/json":
		err = json.NewDecoder(r.Body).Decode(&p)
	case isForm:
		err = readForm(r, known.Properties, p, files)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: the parameters cannot be read: %w", method, err)
	}
	given := map[string]any{}
	for name, raw := range p {
		var v any
		_ = json.Unmarshal(raw, &v) // cannot fail
		given[name] = v
	}
	if err := botAPI().Check(method, method, given); err != nil {
		return nil, nil, err
	}
	if method == "setChatMemberTag" && !isTag(arg[string](p, "tag")) {
		return nil, nil, fmt.Errorf("%s: a tag has no emoji", method)
	}
	return p, files, nil
}

// readForm adds the fields of a form to p and its files to files. known has the schemas of the method's parameters.
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
		files[name], err = io.ReadAll(f)
		if err != nil {
			return err
		}
		_, isParameter := known[name]
		if isParameter && p[name] == nil {
			p[name], _ = json.Marshal(attached + name)
		}
	}
	return nil
}

// formValue returns the JSON value of a field of a form. If the text is JSON that satisfies the parameter's schema, it
// is that value, and otherwise the text as a string.
func formValue(known *schema.Schema, text string) json.RawMessage {
	var v any
	isText := known == nil || known.Type == "string"
	if !isText && json.Unmarshal([]byte(text), &v) == nil && botAPI().CheckSchema("", known, v) == nil {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text)
	return quoted
}
