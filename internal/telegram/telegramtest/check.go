package telegramtest

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
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
		files = map[string][]byte{}
		for name, parts := range fileParts(r.MultipartForm) {
			if files[name], err = content(parts[0]); err != nil {
				return nil, nil, fmt.Errorf("%s: read the file %q: %w", method, name, err)
			}
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

func fileParts(form *multipart.Form) map[string][]*multipart.FileHeader {
	if form == nil {
		return nil
	}
	return form.File
}

func content(part *multipart.FileHeader) ([]byte, error) {
	f, err := part.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
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
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil || list == nil {
			return fmt.Errorf("not an array")
		}
		for _, v := range list {
			if err := fits(element, v); err != nil {
				return err
			}
		}
		return nil
	}
	switch t {
	case "Integer":
		_, err := strconv.ParseInt(string(value), 10, 64)
		return err
	case "Float", "Float number":
		_, err := strconv.ParseFloat(string(value), 64)
		return err
	case "Boolean", "True":
		if s := string(value); s != "true" && s != "false" {
			return fmt.Errorf("not a boolean")
		}
		return nil
	case "String":
		var s *string
		if json.Unmarshal(value, &s) != nil || s == nil {
			return fmt.Errorf("not a string")
		}
		return nil
	}
	if variants := botAPI().Variants[t]; variants != nil {
		return fitsAny(variants, value)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) != nil || object == nil {
		return fmt.Errorf("not an object of type %s", t)
	}
	if members := botAPI().Types[t]; len(members) > 0 {
		return check(members, object)
	}
	return nil
}
