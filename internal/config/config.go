// Package config fills structs of settings from the environment, an env file and files
// that hold secrets, and reports everything that is wrong with them at once.
//
// It is only the mechanism: each package declares its own settings in a table, and
// internal/app joins the tables. It contacts nothing, so an accepted setting has the right
// form and may still not work. No error repeats a value, which may be a misplaced secret.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Setting is one row of a table of settings. How the setting is read, its errors and its
// part of config.example.env are made from the row.
type Setting struct {
	Name string
	// Default is used when no value is given; empty: no default.
	Default  string
	Required bool
	// Secret says that NAME_FILE may name a file with the value.
	Secret bool
	// Needs names the settings that must be set and not off if this one is given.
	Needs []string
	// Example has the right form and is not real; empty: the Default is the example.
	Example string
	// Heading begins a group in config.example.env. Comment explains the setting there.
	Heading, Comment string
	// Set stores a value, which is not empty; Field makes a Set. Its error continues a
	// sentence that begins with the setting's name, and may have several lines.
	Set func(value string) error
}

func (s Setting) example() string { return cmp.Or(s.Example, s.Default) }

// Off is the value that turns off a setting.
const Off = "off"

// fileSuffix ends the name by which a secret is given as a file.
const fileSuffix = "_FILE"

// Errors holds a line for each mistake in the settings. A mistake in the env file begins
// with its place there, as in "herald.env:7: ".
type Errors []string

func (e Errors) Error() string { return strings.Join(e, "\n") }

// Given holds the values that were given, by name.
type Given map[string]value

// Collect returns the values in environ, of the form of os.Environ, and in the file
// envFile unless that is empty. The environment wins; an empty value counts as none. The
// Errors are about the file. Collect returns nil values if the file cannot be read.
func Collect(environ []string, envFile string) (Given, Errors) {
	given := Given{}
	var wrong Errors
	if envFile != "" {
		content, err := ReadFile(envFile, 1<<20)
		if err != nil {
			return nil, Errors{fmt.Sprintf("--env-file: the file %v; make one with `cp config.example.env herald.env`, "+
				"fill it in, and give it as --env-file herald.env", err)}
		}
		wrong = given.parse(envFile, content)
	}
	for _, variable := range environ {
		name, raw, _ := strings.Cut(variable, "=")
		if v := readValue(raw); v.isSet() {
			setting := strings.TrimSuffix(name, fileSuffix)
			for _, overridden := range []string{setting, setting + fileSuffix} {
				if given[overridden].line > 0 {
					delete(given, overridden)
				}
			}
			given[name] = v
		}
	}
	return given, wrong
}

// Has reports whether a value is given for the setting called name, right or wrong.
func (g Given) Has(name string) bool { return g[name].isSet() || g[name+fileSuffix].isSet() }

// Fill sets every setting of the table, in order, to its given value or its default. It
// returns all mistakes, including given names that are not in the table.
func (g Given) Fill(table []Setting) Errors {
	wrong := g.unknown(table)
	neededBy := map[string][]string{}
	for _, s := range table {
		for _, name := range s.Needs {
			if g.Has(s.Name) {
				neededBy[name] = append(neededBy[name], s.Name)
			}
		}
	}
	for _, s := range table {
		v := g.value(s)
		err, needed := v.err, neededBy[s.Name]
		switch {
		case err != nil:
		case v.text == "" && s.Required:
			err = errors.New("is required and not set")
		case (v.text == "" || v.text == Off) && needed != nil:
			err = fmt.Errorf("is needed by %s and %s", strings.Join(needed, " and "), cmp.Or(v.text, "not set"))
			if !g.Has(s.Name) {
				v.place = cmp.Or(v.place, g[needed[0]].place, g[needed[0]+fileSuffix].place)
			}
		case v.text != "":
			err = s.Set(v.text)
		}
		if err == nil {
			continue
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			wrong = append(wrong, fmt.Sprintf("%s%s: %s; for example %[2]s=%[4]s", v.place, s.Name, line, s.example()))
		}
	}
	return wrong
}

// value returns the value given for s, or its default.
func (g Given) value(s Setting) value {
	v, path := g[s.Name], g[s.Name+fileSuffix]
	if !s.Secret || !path.isSet() {
		if !v.isSet() {
			v.text = s.Default
		}
		return v
	}
	if v.isSet() {
		return value{place: v.place, err: fmt.Errorf("is set, and so is %s%s; keep one of the two", s.Name, fileSuffix)}
	}
	content, err := ReadFile(path.text, 64<<10)
	text := trim(content)
	if err == nil && text == "" {
		err = errors.New("is empty")
	}
	if err != nil {
		err = fmt.Errorf("the file named by %s%s %w", s.Name, fileSuffix, err)
	}
	return value{text: text, err: err, place: path.place}
}

// retired are the names of former settings. They are ignored, so that an env file that
// still has one does not keep the bot from starting.
var retired = []string{"DISCORD_APPLICATION_ID"}

// unknown returns a mistake for each given name that is not in the table. The process
// environment also has other programs' names: there, only a near miss of a long, unset
// setting name is reported.
func (g Given) unknown(table []Setting) (wrong Errors) {
	examples := map[string]string{}
	for _, s := range table {
		examples[s.Name] = s.example()
		if s.Secret {
			examples[s.Name+fileSuffix] = "/run/secrets/" + strings.ToLower(s.Name)
		}
	}
	byLine := func(a, b string) int { return cmp.Or(g[a].line-g[b].line, strings.Compare(a, b)) }
	for _, name := range slices.SortedFunc(maps.Keys(g), byLine) {
		if examples[name] != "" || slices.Contains(retired, name) {
			continue
		}
		meant := Nearest(strings.ToUpper(name), slices.Sorted(maps.Keys(examples)))
		where := ""
		if g[name].line == 0 {
			where = " (in the environment)"
			if min(len(name), len(meant)) < minMistyped || distance(strings.ToUpper(name), meant) > maxSlips || g.Has(strings.TrimSuffix(meant, fileSuffix)) {
				continue
			}
		}
		advice := "remove it, or look up its right name in config.example.env, such as LOG_LEVEL=info"
		if meant != "" {
			advice = fmt.Sprintf("did you mean %s? For example %[1]s=%s", meant, examples[meant])
		}
		wrong = append(wrong, fmt.Sprintf("%s%s: is not a setting%s; %s", g[name].place, shown(name), where, advice))
	}
	return wrong
}

// minMistyped, in bytes, and maxSlips bound the near misses in the environment. REDIS_PORT
// and LOGLEVEL, beyond them, are other programs' names.
const minMistyped, maxSlips = 10, 3

var settingName = regexp.MustCompile(`^[A-Z0-9_]{1,60}$`)

// shown returns name if it has the form of a setting's name. Any other text may be a
// misplaced token.
func shown(name string) string {
	if settingName.MatchString(name) {
		return name
	}
	return "the name before = (not shown, since it may be a secret; a setting's name is at most 60 of A-Z, 0-9 and _)"
}

// Nearest returns the known name with the smallest distance from name; empty if each is
// above two thirds of name's length.
func Nearest(name string, known []string) string {
	meant, slips := "", len(name)*2/3+1
	for _, candidate := range known {
		if n := distance(name, candidate); n < slips {
			meant, slips = candidate, n
		}
	}
	return meant
}

// distance returns the cost of making name from meant: 1 for each letter left out, as
// whole words often are, and 2 for each letter added or replaced.
func distance(name, meant string) int {
	row := make([]int, len(meant)+1) // from the letters of name so far to each prefix of meant
	for j := range row {
		row[j] = j
	}
	for i := range len(name) {
		diagonal := row[0]
		row[0] += 2
		for j := range len(meant) {
			replaced := diagonal
			if name[i] != meant[j] {
				replaced += 2
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+2)
		}
	}
	return row[len(meant)]
}

// WrongError is the error of a check that finds a setting wrong, despite its right form.
type WrongError struct {
	Problem string
	// Settings names the settings to look at; empty if Problem names them.
	Settings string
}

func (e *WrongError) Error() string { return e.Problem }
