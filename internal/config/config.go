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

// Off is the value that turns off a setting with a default.
const Off = "off"

// fileSuffix makes the name under which a secret is given by a file.
const fileSuffix = "_FILE"

// Mistakes are all that is wrong with the settings, a line each with the
// setting's name and an example. No line repeats a value.
type Mistakes []string

func (m Mistakes) Error() string { return strings.Join(m, "\n") }

// Given are values as they were given, by name. An empty value counts as none.
type Given struct {
	environment map[string]string
	file        map[string]string
}

// Collect gathers the values in environ, which has the form of os.Environ, and
// in the file envFile unless that is empty. The environment wins. The Mistakes
// are those in the file.
func Collect(environ []string, envFile string) (Given, Mistakes) {
	given := Given{environment: parseEnviron(environ)}
	if envFile == "" {
		return given, nil
	}
	var err error
	given.file, err = readEnvFile(envFile)
	var mistakes Mistakes
	for _, e := range splitJoined(err) {
		mistakes = append(mistakes, fmt.Sprintf("--env-file: %v; for example LOG_LEVEL=info", e))
	}
	return given, mistakes
}

// Has reports whether a value is given for the setting called name, whatever
// its form.
func (g Given) Has(name string) bool {
	for _, source := range []map[string]string{g.environment, g.file} {
		if source[name] != "" || source[name+fileSuffix] != "" {
			return true
		}
	}
	return false
}

// Fill sets every setting of the table, in its order, to its given value or its
// default. The Mistakes are in the same order.
func (g Given) Fill(table []Setting) Mistakes {
	neededBy := map[string][]string{}
	for _, s := range table {
		if !g.Has(s.Name) {
			continue
		}
		for _, name := range s.Needs {
			neededBy[name] = append(neededBy[name], s.Name)
		}
	}
	var mistakes Mistakes
	for _, s := range table {
		for _, err := range splitJoined(g.fill(s, strings.Join(neededBy[s.Name], " and "))) {
			mistakes = append(mistakes, fmt.Sprintf("%s: %v; for example %[1]s=%[3]s", s.Name, err, cmp.Or(s.Example, s.Default)))
		}
	}
	return mistakes
}

// fill sets s. neededBy names the given settings that need it.
func (g Given) fill(s Setting, neededBy string) error {
	value, err := g.value(s)
	if err != nil {
		return err
	}
	if value == "" {
		value = s.Default
	}
	switch {
	case value == "" && s.Required:
		return errors.New("is required and not set")
	case value == "" && neededBy != "":
		return fmt.Errorf("is needed by %s and not set", neededBy)
	case value == Off && neededBy != "":
		return fmt.Errorf("is off, but needed by %s", neededBy)
	case value == "":
		return nil
	}
	return s.Set(value)
}

// value returns what is given for s; empty if nothing is.
func (g Given) value(s Setting) (string, error) {
	for _, source := range []map[string]string{g.environment, g.file} {
		value, path := source[s.Name], ""
		if s.Secret {
			path = source[s.Name+fileSuffix]
		}
		switch {
		case value != "" && path != "":
			return "", fmt.Errorf("is set and so is %s%s; only one of them may be", s.Name, fileSuffix)
		case value != "":
			return value, nil
		case path != "":
			return readSecretFile(s.Name+fileSuffix, path)
		}
	}
	return "", nil
}
