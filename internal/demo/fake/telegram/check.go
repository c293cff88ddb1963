package telegram

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
)

//go:embed botapi.json
var description []byte

// field is a parameter of a method or a member of a type.
type field struct {
	Types    []string `json:"types"`
	Required bool     `json:"required"`
}

// botDescription is the Bot API's form.
type botDescription struct {
	Methods map[string]map[string]field `json:"methods"`
	Types   map[string]map[string]field `json:"types"`
	// Variants are the types that may be given for a type.
	Variants map[string][]string `json:"variants"`
}

// botAPI parses the description once, when it is first needed.
var botAPI = sync.OnceValue(func() (d botDescription) {
	if err := json.Unmarshal(description, &d); err != nil {
		panic("telegram: botapi.json: " + err.Error())
	}
	newer(&d)
	return d
})

// maxForm bounds a form in memory, in bytes; Telegram takes pictures of 10 MB.
const maxForm = 16 << 20

// attached begins the value of a parameter that names an uploaded file.
const attached = "attach://"

// read takes the parameters of a call, from JSON or a form, each as JSON, and checks
// them against the Bot API's description and turnsAway. An uploaded file is the value
// "attach://" and its name.
func read(r *http.Request, method string) (p params, files map[string][]byte, err error) {
	known, ok := botAPI().Methods[method]
	if !ok {
		return nil, nil, fmt.Errorf("no method %q", method)
	}
	p, files = params{}, map[string][]byte{}
	if r.Header.Get("Content-Type") == "application/json" {
		err = json.NewDecoder(r.Body).Decode(&p)
	} else if r.ContentLength != 0 && len(known) > 0 { // -1 of a form that is streamed
		err = readForm(r, known, p, files)
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
	if err := check(known, given); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", method, err)
	}
	if tag := arg[string](p, "tag"); method == "setChatMemberTag" && !isTag(tag) {
		return nil, nil, fmt.Errorf("%s: a tag has at most 16 characters and no emoji", method)
	}
	if turnsAway(method, p) {
		return nil, nil, fmt.Errorf("%s: only moderators turn people away", method)
	}
	return p, files, nil
}

func readForm(r *http.Request, known map[string]field, p params, files map[string][]byte) error {
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

// formValue returns a form's text as JSON of the type of the parameter.
func formValue(f field, text string) json.RawMessage {
	var v any
	isJSON := json.Unmarshal([]byte(text), &v) == nil
	for _, t := range f.Types {
		if t != "String" && isJSON && fits(t, v) == nil {
			return json.RawMessage(text)
		}
	}
	quoted, _ := json.Marshal(text)
	return quoted
}

func check(known map[string]field, given map[string]any) error {
	for name, value := range given {
		f, ok := known[name]
		if !ok {
			return fmt.Errorf("no parameter %q", name)
		}
		if err := fitsAny(f.Types, value); err != nil {
			return fmt.Errorf("parameter %q: %w", name, err)
		}
	}
	for name, f := range known {
		if f.Required && given[name] == nil {
			return fmt.Errorf("parameter %q is required", name)
		}
	}
	return nil
}

func fitsAny(types []string, value any) (err error) {
	for _, t := range types {
		if err = fits(t, value); err == nil {
			return nil
		}
	}
	return err
}

// fits returns why a value, decoded from JSON, is not of a type of the description.
func fits(t string, value any) error {
	ok := false
	if element, isArray := strings.CutPrefix(t, "Array of "); isArray {
		var list []any
		list, ok = value.([]any)
		for _, v := range list {
			if err := fits(element, v); err != nil {
				return err
			}
		}
	} else if variants := botAPI().Variants[t]; variants != nil {
		return fitsAny(variants, value)
	} else if members := botAPI().Types[t]; members != nil {
		var object map[string]any
		if object, ok = value.(map[string]any); ok && len(members) > 0 {
			return check(members, object)
		}
	} else {
		switch v := value.(type) {
		case float64:
			ok = strings.HasPrefix(t, "Float") || t == "Integer" && v == math.Trunc(v)
		case bool:
			ok = t == "Boolean" || t == "True"
		case string:
			ok = t == "String"
		case map[string]any:
			ok = true // of a type without a description
		}
	}
	if !ok {
		return fmt.Errorf("not of type %s", t)
	}
	return nil
}
