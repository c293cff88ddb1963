// Package config fills structs of settings from the environment, an env file and files that contain secrets, and
// reports all mistakes in them at once.
//
// Each package declares its own settings in a table, and internal/app joins the tables. Package config makes no calls:
// an accepted setting has the right form, but may not work. No error repeats a value, because the value may be a
// misplaced secret.
//
// The files, in reading order:
//
//	config.go    tables of settings, and how they are filled
//	value.go     a value as it is given: files, lines of an env file, quotes and comments
//	read.go      how the text of one setting is parsed
//	entry.go     how a list of entries such as telegram:-1:Staker:1000 is parsed
//	mistyped.go  names that are not settings, and the settings that they resemble
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Setting is one row of a table of settings. The row decides how the setting is read, how
// its errors are worded, and how config.example.env shows it.
type Setting struct {
	Name string
	// Default is the value if none is given. If it is empty, there is no default.
	Default  string
	Required bool
	// Secret marks a setting that may also be given as NAME_FILE, the path of a file with the value.
	Secret bool
	// Needs names other settings of the table. If this one is given, all of them must be set and not Off.
	Needs []string
	// NeedsOneOf names other settings of the table. If this one is given, at least one of them must be given, too.
	NeedsOneOf []string
	// Example is an invented value of the right form. If it is empty, the Default is shown.
	Example string
	// Heading begins a group in config.example.env, unless it is empty.
	Heading string
	// Comment explains the setting in config.example.env.
	Comment string
	// Set parses a value that is not empty, and stores it. Field returns such a function. Each line of its error is one
	// mistake, and is printed after the setting's name, as in "is not a number".
	Set func(value string) error
}

func (s Setting) example() string { return cmp.Or(s.Example, s.Default) }

// mistakes returns a mistake for each line of err, an error about s. place is where s is given, such as
// "herald.env:7: ". Each mistake ends with the example of toSet, the setting that the operator should set or correct.
func (s Setting) mistakes(place string, err error, toSet Setting) (mistakes Errors) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		mistakes = append(mistakes,
			fmt.Sprintf("%s%s: %s; for example %s=%s", place, s.Name, line, toSet.Name, toSet.example()))
	}
	return mistakes
}

// Off is the value that turns off a setting.
const Off = "off"

const (
	// maxEnvFile is the maximum size of an env file in bytes.
	maxEnvFile = 1 << 20
	// maxSecretFile is the maximum size in bytes of a file that NAME_FILE names.
	maxSecretFile = 64 << 10
)

// fileSuffix is added to the name of a secret setting to give the path of a file instead.
const fileSuffix = "_FILE"

// Errors holds a line for each mistake in the settings. If the mistake is in the env file, the line begins with its
// place there, as in "herald.env:7: PRICE_TTL: must be a duration".
type Errors []string

func (e Errors) Error() string { return strings.Join(e, "\n") }

// Given holds the values from the environment and the env file, by name.
type Given map[string]value

// Collect returns the values in environ, which has the form of os.Environ, and in the file envFile, unless that is "".
// If both have a value for a setting, Collect returns the value in environ. It ignores empty values in environ. The
// Errors are about the file. If the file cannot be read or is not an env file, Given is nil.
func Collect(environ []string, envFile string) (Given, Errors) {
	inEnviron := Given{}
	for _, variable := range environ {
		name, raw, _ := strings.Cut(variable, "=")
		if v := readValue(raw); v.isSet() {
			inEnviron[name] = v
		}
	}
	if envFile == "" {
		return inEnviron, nil
	}
	content, err := ReadFile(envFile, maxEnvFile)
	if err != nil {
		return nil, Errors{fmt.Sprintf("--env-file: the file %v%s", err, adviceFor(err))}
	}
	if other := otherFormat(content); other != "" {
		const advice = "write one setting a line, for example LOG_LEVEL=info, as in config.example.env"
		return nil, Errors{fmt.Sprintf("--env-file: the file %s; %s", other, advice)}
	}
	inFile := Given{}
	mistakes := inFile.parse(envFile, content)
	// KEY or KEY_FILE in the environment overrides both KEY and KEY_FILE in the file.
	isOverridden := func(name string, _ value) bool { return inEnviron.Has(strings.TrimSuffix(name, fileSuffix)) }
	maps.DeleteFunc(inFile, isOverridden)
	maps.Copy(inFile, inEnviron)
	return inFile, mistakes
}

// adviceFor returns what the operator can do about an env file that cannot be read. It begins with a semicolon, or is
// "".
func adviceFor(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "; make one with `install -m 0600 config.example.env herald.env`, fill it in, " +
			"and give it as --env-file herald.env"
	case errors.Is(err, fs.ErrPermission):
		return "; let the user that runs bot read it"
	}
	return ""
}

// Has reports whether a value is given for the setting with this name. The value need not be valid.
func (g Given) Has(name string) bool { return g[name].isSet() || g[name+fileSuffix].isSet() }

// Place returns the place of the setting with this name as the beginning of an error, such as "herald.env:7: ". It
// returns "" if the setting is given in the environment, or not given.
func (g Given) Place(name string) string { return cmp.Or(g[name].place, g[name+fileSuffix].place) }

// Fill sets every setting of the table, in order, to its given value or its default. It
// returns all mistakes, including given names that are not in the table.
func (g Given) Fill(table []Setting) Errors {
	mistakes := g.unknown(table)
	for _, s := range table {
		mistakes = append(mistakes, g.fill(s, table)...)
	}
	return mistakes
}

// fill sets one setting of the table, and returns all mistakes about it. It does not call Set if the setting has no
// value, or if the setting is Off although another one needs it.
func (g Given) fill(s Setting, table []Setting) Errors {
	v := g.value(s)
	if v.err != nil {
		return s.mistakes(v.place, v.err, s)
	}
	if v.text == "" || v.text == Off {
		if mistakes := g.checkNeeded(s, v, table); mistakes != nil {
			return mistakes
		}
	}
	if v.text == "" {
		return nil
	}
	mistakes := g.checkNeedsOneOf(s, v, table)
	if err := s.Set(v.text); err != nil {
		mistakes = append(mistakes, s.mistakes(v.place, withGroupingAdvice(v.text, err), s)...)
	}
	return mistakes
}

// checkNeeded returns a mistake if s is required or another setting needs it. v is the value of s, which is empty or
// Off. A required setting may be Off, unless another setting needs it.
func (g Given) checkNeeded(s Setting, v value, table []Setting) Errors {
	if v.text == "" && s.Required {
		return s.mistakes(v.place, errors.New("is required but not set"), s)
	}
	needing := g.neededBy(s.Name, table)
	if needing == nil {
		return nil
	}
	state := cmp.Or(v.text, "not set")
	problem := fmt.Errorf("is needed by %s but %s", strings.Join(needing, " and "), state)
	place := v.place // Even if s is not set, it has a place if a line such as KEY= names it.
	if !g.Has(s.Name) {
		place = cmp.Or(place, g.Place(needing[0]))
	}
	return s.mistakes(place, problem, s)
}

// neededBy returns the names of the given settings in the table that need the named one.
func (g Given) neededBy(name string, table []Setting) (needing []string) {
	for _, s := range table {
		if g.Has(s.Name) && slices.Contains(s.Needs, name) {
			needing = append(needing, s.Name)
		}
	}
	return needing
}

// checkNeedsOneOf returns a mistake if s has a NeedsOneOf, and none of these settings is given. v is the value of s.
func (g Given) checkNeedsOneOf(s Setting, v value, table []Setting) Errors {
	if s.NeedsOneOf == nil || slices.ContainsFunc(s.NeedsOneOf, g.Has) {
		return nil
	}
	first := slices.IndexFunc(table, func(other Setting) bool { return other.Name == s.NeedsOneOf[0] })
	problem := fmt.Errorf("needs %s, and neither is set", strings.Join(s.NeedsOneOf, " or "))
	return s.mistakes(v.place, problem, table[first])
}

// value returns the value of s: the given value, the content of the given secret file, or the default. Its err is set
// if both a value and a file are given, or if the file cannot be read or is empty.
func (g Given) value(s Setting) value {
	v := g[s.Name]
	path := g[s.Name+fileSuffix]
	hasSecretFile := s.Secret && path.isSet()
	if !hasSecretFile {
		if !v.isSet() {
			v.text = s.Default
		}
		return v
	}
	if v.isSet() {
		return value{place: v.place, err: fmt.Errorf("is set, and so is %s%s; keep one of the two", s.Name, fileSuffix)}
	}
	content, err := ReadFile(path.text, maxSecretFile)
	text := Trim(content)
	if err == nil && text == "" {
		err = errors.New("is empty")
	}
	if err != nil {
		err = fmt.Errorf("the file named by %s%s %w", s.Name, fileSuffix, err)
	}
	return value{text: text, err: err, place: path.place}
}

// WrongError reports that a setting of the right form does not work, such as the address of
// another chain's node.
type WrongError struct {
	Problem string
	// Settings names the settings that the operator should correct. If it is empty, Problem names
	// them.
	Settings string
}

func (e *WrongError) Error() string { return e.Problem }
