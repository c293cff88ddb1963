// Package config fills structs of settings from the environment, an env file and files that contain secrets, and
// reports all mistakes in them at once.
//
// Each package declares its own settings in a table, and internal/app joins the tables. Package config makes no calls:
// an accepted setting has the right form, but may not work. No error repeats a value, because the value may be a
// misplaced secret.
//
// The files, in reading order: config.go (tables of settings, and how they are filled), value.go (lines of an env
// file), read.go and entry.go (how the text of one setting is parsed).
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
	// Set stores a value that is not empty. Field returns such a function. The error is printed
	// after the setting's name, as in "is not a number". Each of its lines is one mistake.
	Set func(value string) error
}

func (s Setting) example() string { return cmp.Or(s.Example, s.Default) }

// mistakes returns a line for each line of err, an error about s, which is given at place. Each line ends with the
// example of toSet, the setting that the operator should set or correct.
func (s Setting) mistakes(place string, err error, toSet Setting) (wrong Errors) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		wrong = append(wrong,
			fmt.Sprintf("%s%s: %s; for example %s=%s", place, s.Name, line, toSet.Name, toSet.example()))
	}
	return wrong
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

// Errors holds a line for each mistake in the settings. If the mistake is in the env file, the
// line begins with its place there, as in "herald.env:7: ".
type Errors []string

func (e Errors) Error() string { return strings.Join(e, "\n") }

// Given holds the values from the environment and the env file, by name.
type Given map[string]value

// Collect returns the values in environ, which has the form of os.Environ, and in the file envFile, unless that is "".
// If both have a value for a setting, Collect returns the one in environ. It ignores empty values in environ. The
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
	wrong := inFile.parse(envFile, content)
	// KEY or KEY_FILE in the environment overrides both KEY and KEY_FILE in the file.
	isOverridden := func(name string, _ value) bool { return inEnviron.Has(strings.TrimSuffix(name, fileSuffix)) }
	maps.DeleteFunc(inFile, isOverridden)
	maps.Copy(inFile, inEnviron)
	return inFile, wrong
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
	wrong := g.unknown(table)
	for _, s := range table {
		wrong = append(wrong, g.fill(s, table)...)
	}
	return wrong
}

// fill sets one setting of the table, and returns all mistakes about it. It does not call Set if the setting has no
// value, or if the setting is Off although another one needs it.
func (g Given) fill(s Setting, table []Setting) Errors {
	v := g.value(s)
	if v.err != nil {
		return s.mistakes(v.place, v.err, s)
	}
	if v.text == "" || v.text == Off {
		if wrong := g.missing(s, v, table); wrong != nil {
			return wrong
		}
	}
	if v.text == "" {
		return nil
	}
	wrong := g.lacking(s, v, table)
	if err := s.Set(v.text); err != nil {
		wrong = append(wrong, s.mistakes(v.place, withAdvice(v.text, err), s)...)
	}
	return wrong
}

// missing returns the mistake that s is required or needed by another setting, or nil if it is neither. v is the value
// of s: unset, or Off. A setting that is Off is only missing if another one needs it.
func (g Given) missing(s Setting, v value, table []Setting) Errors {
	if v.text == "" && s.Required {
		return s.mistakes(v.place, errors.New("is required but not set"), s)
	}
	needing := g.neededBy(s.Name, table)
	if needing == nil {
		return nil
	}
	state := cmp.Or(v.text, "not set")
	problem := fmt.Errorf("is needed by %s but %s", strings.Join(needing, " and "), state)
	return s.mistakes(g.placeOfMissing(s, v, needing[0]), problem, s)
}

// placeOfMissing returns the place at which the operator is told that s, whose value is v, is missing. An unset setting
// is reported where it is left empty, or else where the one that needs it is.
func (g Given) placeOfMissing(s Setting, v value, needing string) string {
	if g.Has(s.Name) || v.place != "" {
		return v.place
	}
	return g.Place(needing)
}

// lacking returns the mistake that none of the NeedsOneOf of s is given, or nil if one is, or if s needs none. v is the
// value of s.
func (g Given) lacking(s Setting, v value, table []Setting) Errors {
	if s.NeedsOneOf == nil || slices.ContainsFunc(s.NeedsOneOf, g.Has) {
		return nil
	}
	first := slices.IndexFunc(table, func(other Setting) bool { return other.Name == s.NeedsOneOf[0] })
	problem := fmt.Errorf("needs %s, and neither is set", strings.Join(s.NeedsOneOf, " or "))
	return s.mistakes(v.place, problem, table[first])
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

// value returns the value of s: the given value, the content of the given file, or the default. Its err is set if a
// value and a file are given, or if the file cannot be read or is empty.
func (g Given) value(s Setting) value {
	v, path := g[s.Name], g[s.Name+fileSuffix]
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

// unknown returns a mistake for each given name that is not in the table, in the order of lines.
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

// problem returns what is wrong with a given name that is not a key of examples, or "". A name in the environment may
// be of another program, so it is wrong only if it is mistyped.
func (g Given) problem(name string, examples map[string]string) string {
	isInEnvFile := g[name].line > 0
	meant := Nearest(strings.ToUpper(name), slices.Sorted(maps.Keys(examples)))
	if !isInEnvFile && !g.isMistyped(name, meant) {
		return ""
	}
	if meant == "" {
		return "is not a setting; remove it, or look up its right name in config.example.env, such as LOG_LEVEL=info"
	}
	where := ""
	if !isInEnvFile {
		where = " (in the environment)"
	}
	return fmt.Sprintf("is not a setting%s; did you mean %s? For example %[2]s=%s", where, meant, examples[meant])
}

// A name in the environment counts as mistyped if it and the setting that it resembles are at
// least minMistyped bytes long, and at most maxSlips apart, as distance counts. Looser limits would
// report LOGLEVEL and REDIS_PORT, which belong to other programs.
const (
	minMistyped = 10
	maxSlips    = 3
)

// isMistyped reports whether name is probably a mistyped meant. It is not if meant is given, too.
func (g Given) isMistyped(name, meant string) bool {
	isMeantGiven := g.Has(strings.TrimSuffix(meant, fileSuffix))
	isLong := min(len(name), len(meant)) >= minMistyped
	return isLong && !isMeantGiven && distance(strings.ToUpper(name), meant) <= maxSlips
}

var settingName = regexp.MustCompile(`^[A-Z0-9_]{1,60}$`)

// shown returns name if it has the form of a setting's name. Otherwise name may be a misplaced
// token, and shown returns words that do not contain it.
func shown(name string) string {
	if settingName.MatchString(name) {
		return name
	}
	return "the name before = (not shown, since it may be a secret; a setting's name is at most 60 of A-Z, 0-9 and _)"
}

// Nearest returns the known name with the smallest distance from name, or "" if that distance
// is above two thirds of name's length. For a name of 9 letters it is at most 6.
func Nearest(name string, known []string) string {
	nearest := ""
	smallest := len(name)*2/3 + 1
	for _, candidate := range known {
		n := distance(name, candidate)
		if n < smallest {
			nearest = candidate
			smallest = n
		}
	}
	return nearest
}

// distance returns what it costs to turn meant into name. A letter left out costs 1, because
// people leave out whole words. A letter added, a letter replaced and two neighbours exchanged
// cost 2 each. For example:
//
//	distance("RPC_URL", "EVM_RPC_URL") = 4    four letters are left out
//	distance("LOGS_LEVEL", "LOG_LEVEL") = 2   one letter is added
//	distance("HLEP", "HELP") = 2              two letters are exchanged
func distance(name, meant string) int {
	const leftOut, added, replaced, exchanged = 1, 2, 2, 2
	// row[j] is the distance between the letters of name so far and the first j letters of meant.
	// oneAgo and twoAgo are the rows one and two letters of name ago.
	var oneAgo, twoAgo []int
	row := make([]int, len(meant)+1)
	for j := range row {
		row[j] = j * leftOut
	}
	for i := range len(name) {
		twoAgo, oneAgo, row = oneAgo, row, make([]int, len(meant)+1)
		row[0] = oneAgo[0] + added
		for j := range len(meant) {
			diagonal := oneAgo[j]
			if name[i] != meant[j] {
				diagonal += replaced
			}
			row[j+1] = min(diagonal, row[j]+leftOut, oneAgo[j+1]+added)
			if i > 0 && j > 0 && name[i] == meant[j-1] && name[i-1] == meant[j] {
				row[j+1] = min(row[j+1], twoAgo[j-1]+exchanged)
			}
		}
	}
	return row[len(meant)]
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
