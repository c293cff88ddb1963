// Package config fills structs of settings from the environment, an env file and files
// that hold secrets, and reports everything that is wrong with them at once.
//
// Each package declares its own settings in a table, and internal/app joins the tables.
// Package config contacts nothing: an accepted setting has the right form, but may not work.
// No error repeats a value, because it may be a misplaced secret.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Setting is one row of a table of settings. The row decides how the setting is read, what
// its errors say, and how config.example.env shows it.
type Setting struct {
	Name string
	// Default is the value if none is given; empty: no default.
	Default  string
	Required bool
	// Secret allows NAME_FILE, the path of a file with the value.
	Secret bool
	// Needs names the settings that must be set and not Off if this one is given.
	Needs []string
	// NeedsOneOf names settings of the table. At least one of them must be set if this one is
	// given.
	NeedsOneOf []string
	// Example is an invented value of the right form; empty: the Default is the example.
	Example string
	// Heading begins a group in config.example.env. Comment explains the setting there.
	Heading, Comment string
	// Set stores a value that is not empty. Field returns a Set. The error is printed after
	// the setting's name, as in "is not a number". Each of its lines is one mistake.
	Set func(value string) error
}

func (s Setting) example() string { return cmp.Or(s.Example, s.Default) }

// Off is the value that turns off a setting.
const Off = "off"

// fileSuffix follows the name of a secret that is given as the path of a file.
const fileSuffix = "_FILE"

// Errors holds a line for each mistake in the settings. The line begins with the place of a
// mistake in the env file, as in "herald.env:7: ".
type Errors []string

func (e Errors) Error() string { return strings.Join(e, "\n") }

// Given holds the values from the environment and the env file, by name.
type Given map[string]value

// Collect returns the values in environ, which has the form of os.Environ, and in the file
// named envFile, if any. Environ wins. An empty value counts as none. The Errors are about
// the file. If it cannot be read or is no env file, Given is nil.
func Collect(environ []string, envFile string) (Given, Errors) {
	inEnviron, inFile := Given{}, Given{}
	for _, variable := range environ {
		name, raw, _ := strings.Cut(variable, "=")
		if v := readValue(raw); v.isSet() {
			inEnviron[name] = v
		}
	}
	if envFile == "" {
		return inEnviron, nil
	}
	content, err := ReadFile(envFile, 1<<20)
	if err != nil {
		advice := ""
		switch {
		case errors.Is(err, fs.ErrNotExist):
			advice = "; make one with `install -m 0600 config.example.env herald.env`, fill it in, " +
				"and give it as --env-file herald.env"
		case errors.Is(err, fs.ErrPermission):
			advice = "; let the user that runs bot read it"
		}
		return nil, Errors{fmt.Sprintf("--env-file: the file %v%s", err, advice)}
	}
	if other := otherFormat(content); other != "" {
		const advice = "write one setting a line, for example LOG_LEVEL=info, as in config.example.env"
		return nil, Errors{fmt.Sprintf("--env-file: the file %s; %s", other, advice)}
	}
	wrong := inFile.parse(envFile, content)
	maps.DeleteFunc(inFile, func(name string, _ value) bool { return inEnviron.Has(strings.TrimSuffix(name, fileSuffix)) })
	maps.Copy(inFile, inEnviron)
	return inFile, wrong
}

// Has reports whether a value is given for the setting with this name, even a wrong one.
func (g Given) Has(name string) bool { return g[name].isSet() || g[name+fileSuffix].isSet() }

// Place returns where the setting with this name is given, to begin an error with: "herald.env:7: ", or "" for the
// environment.
func (g Given) Place(name string) string { return cmp.Or(g[name].place, g[name+fileSuffix].place) }

// Fill sets every setting of the table, in order, to its given value or its default. It
// returns all mistakes, including given names that are not in the table.
func (g Given) Fill(table []Setting) Errors {
	wrong := g.unknown(table)
	for _, s := range table {
		wrong = append(wrong, g.fill(s, table)...)
	}
	return wrong
}

// fill sets one setting of the table, and returns all mistakes about it.
func (g Given) fill(s Setting, table []Setting) (wrong Errors) {
	v, needed := g.value(s), g.neededBy(s.Name, table)
	tell := func(err error, example Setting) {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			told := fmt.Sprintf("%s%s: %s; for example %s=%s", v.place, s.Name, line, example.Name, example.example())
			wrong = append(wrong, told)
		}
	}
	switch {
	case v.err != nil: // there is no value to set
		tell(v.err, s)
	case v.text == "" && s.Required:
		tell(errors.New("is required but not set"), s)
	case (v.text == "" || v.text == Off) && needed != nil:
		if !g.Has(s.Name) {
			v.place = cmp.Or(v.place, g.Place(needed[0]))
		}
		tell(fmt.Errorf("is needed by %s but %s", strings.Join(needed, " and "), cmp.Or(v.text, "not set")), s)
	case v.text != "":
		if s.NeedsOneOf != nil && !slices.ContainsFunc(s.NeedsOneOf, g.Has) {
			first := slices.IndexFunc(table, func(other Setting) bool { return other.Name == s.NeedsOneOf[0] })
			tell(fmt.Errorf("needs %s, and neither is set", strings.Join(s.NeedsOneOf, " or ")), table[first])
		}
		if err := s.Set(v.text); err != nil {
			tell(ungrouped(v.text, err), s)
		}
	}
	return wrong
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

// value returns the value given for s or in its file, or else the default.
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
	text := Trim(content)
	if err == nil && text == "" {
		err = errors.New("is empty")
	}
	if err != nil {
		err = fmt.Errorf("the file named by %s%s %w", s.Name, fileSuffix, err)
	}
	return value{text: text, err: err, place: path.place}
}

// retired holds the names of former settings, each with what holds instead. A name in the env
// file is a mistake, unless "" holds instead: then nothing changes without it.
var retired = map[string]string{
	"CACHE_MAX_ITEMS":        "the cache keeps 100,000 answers",
	"CHART_THEME":            "charts are dark",
	"DISCORD_APPLICATION_ID": "",
	"DISCORD_GUILD_ID":       "commands are registered in every server",
	"PRICE_TOKEN_SLUG":       "PRICE_TOKEN_ID names the token",
}

// unknown returns a mistake for each given name that is not in the table.
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
		if examples[name] != "" {
			continue
		}
		if problem := g.problem(name, examples); problem != "" {
			wrong = append(wrong, g[name].place+shown(name)+": "+problem)
		}
	}
	return wrong
}

// problem returns what is wrong with a given name that is none of the examples' names, or "". A
// name from the environment may be another program's, and is wrong only if it is mistyped.
func (g Given) problem(name string, examples map[string]string) string {
	inFile := g[name].line > 0
	instead, former := retired[name]
	meant := Nearest(strings.ToUpper(name), slices.Sorted(maps.Keys(examples)))
	switch {
	case !inFile && !g.mistyped(name, meant), former && instead == "":
		return ""
	case former:
		return fmt.Sprintf("is not a setting any more: %s; remove the line, or make it a comment, for example #%s=",
			instead, name)
	case meant == "":
		return "is not a setting; remove it, or look up its right name in config.example.env, such as LOG_LEVEL=info"
	}
	where := ""
	if !inFile {
		where = " (in the environment)"
	}
	return fmt.Sprintf("is not a setting%s; did you mean %s? For example %[2]s=%s", where, meant, examples[meant])
}

// minMistyped is the shortest name in bytes, and maxSlips the largest distance, with which a
// name in the environment is mistyped. Looser bounds would report LOGLEVEL and REDIS_PORT,
// which are other programs' names.
const minMistyped, maxSlips = 10, 3

// mistyped reports whether name is long and close to meant, and the setting meant is not given.
func (g Given) mistyped(name, meant string) bool {
	return min(len(name), len(meant)) >= minMistyped && distance(strings.ToUpper(name), meant) <= maxSlips &&
		!g.Has(strings.TrimSuffix(meant, fileSuffix))
}

var settingName = regexp.MustCompile(`^[A-Z0-9_]{1,60}$`)

// shown returns name if it has the form of a setting's name, and otherwise a text without it,
// because it may be a misplaced token.
func shown(name string) string {
	if settingName.MatchString(name) {
		return name
	}
	return "the name before = (not shown, since it may be a secret; a setting's name is at most 60 of A-Z, 0-9 and _)"
}

// Nearest returns the known name with the smallest distance from name, or "" if that distance
// is above two thirds of name's length.
func Nearest(name string, known []string) string {
	meant, slips := "", len(name)*2/3+1
	for _, candidate := range known {
		if n := distance(name, candidate); n < slips {
			meant, slips = candidate, n
		}
	}
	return meant
}

// distance returns the cost of turning meant into name: 1 for each letter left out, because
// whole words often are, and 2 for each letter added or replaced and for two that changed places.
func distance(name, meant string) int {
	row := make([]int, len(meant)+1) // the distance of name so far from each prefix of meant
	var before []int                 // row, two letters of name ago
	for j := range row {
		row[j] = j
	}
	for i := range len(name) {
		above := slices.Clone(row)
		row[0] += 2
		for j := range len(meant) {
			replaced := above[j]
			if name[i] != meant[j] {
				replaced += 2
			}
			row[j+1] = min(replaced, row[j]+1, above[j+1]+2)
			if i > 0 && j > 0 && name[i] == meant[j-1] && name[i-1] == meant[j] {
				row[j+1] = min(row[j+1], before[j-1]+2)
			}
		}
		before = above
	}
	return row[len(meant)]
}

// WrongError reports that a setting of the right form does not work, such as the address of
// another chain's node.
type WrongError struct {
	Problem string
	// Settings names what the operator should correct; empty: Problem names it.
	Settings string
}

func (e *WrongError) Error() string { return e.Problem }
