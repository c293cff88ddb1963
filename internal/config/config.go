// Package config fills structs of settings from the environment, an env file
// and files that hold secrets, and reports everything that is wrong with them
// at once.
//
// It is the mechanism alone: each package declares its own settings in a table,
// and internal/app puts the tables together. It contacts nothing, so what it
// accepts is right in form, not known to work. Nothing it reports repeats a
// value, since a secret may have been put in the wrong place.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Setting is one row of a table of settings: all there is to know about one.
// Reading, mistakes and config.example.env derive from the table.
type Setting struct {
	Name string
	// Default is the value when none is given; empty is none.
	Default  string
	Required bool
	// Secret settings can also be given by a file, whose path is in NAME_FILE.
	Secret bool
	// Needs names the settings without which a value of this one is useless.
	Needs []string
	// Example is a value of the right form, but not a real one; empty is the
	// Default.
	Example string
	// Heading begins a group in config.example.env, Comment explains the
	// setting there.
	Heading, Comment string
	// Set stores a value that is not empty; Field makes one. Its error
	// continues a sentence that begins with the setting's name, and does not
	// repeat the value.
	Set func(value string) error
}

// example is a value of the right form.
func (s Setting) example() string { return cmp.Or(s.Example, s.Default) }

// Off is the value that turns off a setting with a default.
const Off = "off"

// fileSuffix makes the name under which a secret is given by a file.
const fileSuffix = "_FILE"

// Errors are all that is wrong with the settings, a line each with the
// setting's name and an example. No line repeats a value.
type Errors []string

func (m Errors) Error() string { return strings.Join(m, "\n") }

// mistakes are a line for each of the joined errors.
func mistakes(prefix string, joined error) (m Errors) {
	for _, err := range splitJoined(joined) {
		m = append(m, prefix+err.Error())
	}
	return m
}

// Given are values as they were given, by name. An empty value counts as none.
type Given struct{ environment, file map[string]value }

// Collect gathers the values in environ, which has the form of os.Environ, and
// in the file envFile unless that is empty. The environment wins. The Errors
// are about lines of the file. The error, if it cannot be read, says what to do
// about it.
func Collect(environ []string, envFile string) (Given, Errors, error) {
	given := Given{environment: parseEnviron(environ)}
	if envFile == "" {
		return given, nil, nil
	}
	var wrong, err error
	given.file, wrong, err = readEnvFile(envFile)
	return given, mistakes("--env-file: ", wrong), err
}

// sources are where a value is looked up, in that order.
func (g Given) sources() []map[string]value { return []map[string]value{g.environment, g.file} }

// Has reports whether a value is given for the setting called name, whatever
// its form.
func (g Given) Has(name string) bool {
	return slices.ContainsFunc(g.sources(), func(source map[string]value) bool {
		return source[name].isSet() || source[name+fileSuffix].isSet()
	})
}

// Fill sets every setting of the table, in its order, to its given value or its
// default. The Errors are in the same order.
func (g Given) Fill(table []Setting) Errors {
	neededBy := map[string][]string{}
	for _, s := range table {
		if !g.Has(s.Name) {
			continue
		}
		for _, name := range s.Needs {
			neededBy[name] = append(neededBy[name], s.Name)
		}
	}
	var mistakes Errors
	for _, s := range table {
		for _, err := range splitJoined(g.fill(s, listed(neededBy[s.Name]))) {
			mistakes = append(mistakes, fmt.Sprintf("%s: %v; for example %[1]s=%[3]s", s.Name, err, s.example()))
		}
	}
	return mistakes
}

// listed is "A, B and C".
func listed(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// fill sets s. neededBy names the given settings that need it.
func (g Given) fill(s Setting, neededBy string) error {
	v := g.value(s)
	if !v.isSet() {
		v.text, v.whole = s.Default, s.Default
	}
	switch {
	case v.err != nil:
		return v.err
	case v.text == "" && s.Required:
		return errors.New("is required and not set")
	case v.text == "" && neededBy != "":
		return fmt.Errorf("is needed by %s and not set", neededBy)
	case v.text == Off && neededBy != "":
		return fmt.Errorf("is off, but needed by %s", neededBy)
	case v.text == "":
		return nil
	case v.text != v.whole && s.Set(v.whole) == nil: // it could be either
		return errors.New("has a # after white space; put the value in quotes if that is a part of it, or take the comment out")
	}
	err := s.Set(v.text)
	where := odd(v.text)
	if err == nil || where == "" {
		return err
	}
	wrong := splitJoined(err)
	for i := range wrong {
		wrong[i] = fmt.Errorf("%w; the value has %s", wrong[i], where)
	}
	return errors.Join(wrong...)
}

// value returns what is given for s; one that is not set if nothing is.
func (g Given) value(s Setting) value {
	for _, source := range g.sources() {
		v, path := source[s.Name], value{}
		if s.Secret {
			path = source[s.Name+fileSuffix]
		}
		switch {
		case v.isSet() && path.isSet():
			return value{err: fmt.Errorf("is set and so is %s%s; only one of them may be", s.Name, fileSuffix)}
		case v.isSet():
			return v
		case path.err != nil:
			return value{err: fmt.Errorf("is to be read from a file, but %s%s %w", s.Name, fileSuffix, path.err)}
		case path.isSet():
			text, err := readSecretFile(s.Name+fileSuffix, path.text)
			return value{text: text, whole: text, err: err}
		}
	}
	return value{}
}

// WrongError is the error of a check that finds a setting wrong which is right
// in form.
type WrongError struct {
	Problem string
	// Settings are those to look at; empty if Problem names them.
	Settings string
}

func (e *WrongError) Error() string { return e.Problem }
