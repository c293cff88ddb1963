package telegram

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
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
	// Variants are the types of which one may stand for a type.
	Variants map[string][]string `json:"variants"`
}

// botAPI is read when it is first asked for: a bot that runs has no use for it.
var botAPI = sync.OnceValue(func() (d botDescription) {
	if err := json.Unmarshal(description, &d); err != nil {
		panic("telegramtest: botapi.json: " + err.Error())
	}
	newer(&d)
	return d
})

// maxForm bounds what is kept of a form; Telegram takes 10 MB of a picture.
const maxForm = 16 << 20

// attached begins the value of a parameter that names an uploaded file.
const attached = "attach://"

// read takes the parameters of a call, in any of the four ways that the Bot
// API reads them, each as JSON, and checks them against its description. An
// uploaded file is the value "attach://" and its name.
func read(r *http.Request, method string) (params map[string]json.RawMessage, files map[string][]byte, err error) {
	known, ok := botAPI().Methods[method]
	if !ok {
		return nil, nil, fmt.Errorf("no method %q", method)
	}
	params = map[string]json.RawMessage{}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "application/json" {
		if err := json.NewDecoder(r.Body).Decode(&params); err != nil {
			return nil, nil, fmt.Errorf("%s: the body is not JSON", method)
		}
	} else {
		// A body is optional; without one only the query counts.
		if err := r.ParseMultipartForm(maxForm); err != nil && !errors.Is(err, http.ErrNotMultipart) && r.ContentLength > 0 && len(known) > 0 {
			return nil, nil, fmt.Errorf("%s: the form cannot be read: %w", method, err)
		}
		for name, values := range r.Form {
			params[name] = formValue(known[name], values[0])
		}
		if files, err = uploads(r.MultipartForm); err != nil {
			return nil, nil, fmt.Errorf("%s: read a file: %w", method, err)
		}
	}
	for name := range files {
		if _, parameter := known[name]; parameter && params[name] == nil {
			params[name], _ = json.Marshal(attached + name)
		}
	}
	if err := check(known, params); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", method, err)
	}
	return params, files, nil
}

// uploads are the files of a form, which may be nil.
func uploads(form *multipart.Form) (map[string][]byte, error) {
	files := map[string][]byte{}
	if form == nil {
		return files, nil
	}
	for name, parts := range form.File {
		f, err := parts[0].Open()
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if files[name], err = io.ReadAll(f); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// formValue is a form's text as JSON of the type that the parameter has.
func formValue(f field, value string) json.RawMessage {
	raw := json.RawMessage(value)
	for _, t := range f.Types {
		if t != "String" && json.Valid(raw) && fits(t, raw) == nil {
			return raw
		}
	}
	quoted, _ := json.Marshal(value)
	return quoted
}

func check(known map[string]field, given map[string]json.RawMessage) error {
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

func fitsAny(types []string, value json.RawMessage) (err error) {
	for _, t := range types {
		if err = fits(t, value); err == nil {
			return nil
		}
	}
	return err
}

// fits tells why a value is not of a type of the description.
func fits(t string, value json.RawMessage) error {
	if element, isArray := strings.CutPrefix(t, "Array of "); isArray {
		list, err := decode[[]json.RawMessage](t, value)
		for _, v := range list {
			if err := fits(element, v); err != nil {
				return err
			}
		}
		return err
	}
	var err error
	switch t {
	case "Integer":
		_, err = decode[int64](t, value)
	case "Float", "Float number":
		_, err = decode[float64](t, value)
	case "Boolean", "True":
		_, err = decode[bool](t, value)
	case "String":
		_, err = decode[string](t, value)
	default:
		if variants := botAPI().Variants[t]; variants != nil {
			return fitsAny(variants, value)
		}
		object, err := decode[map[string]json.RawMessage](t, value)
		if members := botAPI().Types[t]; err == nil && len(members) > 0 {
			return check(members, object)
		}
		return err
	}
	return err
}

// decode reads a value of a type, which null is not.
func decode[T any](t string, value json.RawMessage) (v T, err error) {
	var given *T
	if json.Unmarshal(value, &given) != nil || given == nil {
		return v, fmt.Errorf("not of type %s", t)
	}
	return *given, nil
}
