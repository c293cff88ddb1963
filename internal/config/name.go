package config

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Unknown finds names that are given and are not a setting of the table. In the
// env file each is a mistake. The process environment has names for others, so
// there only one counts that is a slip or two from a setting's, if that is not
// given itself; or the nearest with the same first word, if that is missing.
func (g Given) Unknown(table []Setting, missing ...string) Errors {
	n := namesOf(table)
	var wrong []error
	inFile := slices.SortedFunc(maps.Keys(g.file), func(a, b string) int { return cmp.Compare(g.file[a].line, g.file[b].line) })
	for _, name := range inFile {
		if n.examples[name] == "" {
			wrong = append(wrong, n.unknown(name, fmt.Sprintf("line %d of the env file", g.file[name].line), n.nearest(name)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.environment)) {
		meant := n.nearest(name)
		setting := strings.TrimSuffix(meant, fileSuffix)
		mistaken := n.settingOfFile(name) != "" || mistyped(name, meant) && !g.Has(setting) ||
			slices.Contains(missing, setting) && firstWord(name) == firstWord(meant)
		if n.examples[name] == "" && mistaken {
			wrong = append(wrong, n.unknown(name, "in the environment", meant))
		}
	}
	return mistakes("", Join(wrong))
}

// furthest is how many slips a name may be from the one that was surely meant.
const furthest = 2

// mistyped reports whether name is another by so little that it cannot be
// chance: REDIS_PORT is none of ours, and neither is LOGLEVEL.
func mistyped(name, setting string) bool {
	const shortest = 10
	return min(len(name), len(setting)) >= shortest && distance(strings.ToUpper(name), setting) <= furthest
}

func firstWord(name string) string {
	word, _, _ := strings.Cut(strings.ToUpper(name), "_")
	return word
}

// names are those that may be given.
type names struct {
	ordered  []string
	examples map[string]string // of a value, by name
}

func namesOf(table []Setting) names {
	n := names{examples: map[string]string{}}
	for _, s := range table {
		n.add(s.Name, s.example())
		if s.Secret {
			n.add(s.Name+fileSuffix, "/run/secrets/"+strings.ToLower(s.Name))
		}
	}
	return n
}

func (n *names) add(name, example string) {
	n.ordered = append(n.ordered, name)
	n.examples[name] = example
}

// settingOfFile is the setting that name would give by a file; empty if name is
// not of that form.
func (n names) settingOfFile(name string) string {
	setting, isFile := strings.CutSuffix(strings.ToUpper(name), fileSuffix)
	if !isFile || n.examples[setting] == "" {
		return ""
	}
	return setting
}

func (n names) unknown(name, place, meant string) error {
	advice := "; take it out, or look up its right name in config.example.env, such as LOG_LEVEL=info"
	if setting := n.settingOfFile(name); setting != "" {
		advice = fmt.Sprintf(", as only secrets can be given by a file; for example %s=%s", setting, n.examples[setting])
	} else if meant != "" {
		advice = fmt.Sprintf("; did you mean %s? For example %[1]s=%s", meant, n.examples[meant])
	}
	if meant == "" || distance(strings.ToUpper(name), meant) > furthest {
		name = shown(name)
	}
	return fmt.Errorf("%s: is not a setting (%s)%s", name, place, advice)
}

var settingName = regexp.MustCompile(`^[A-Z0-9_]{1,60}$`)

// shown is a name that was given, if it has the form of a setting's. Anything
// else may be a token that was pasted into the wrong place.
func shown(name string) string {
	if settingName.MatchString(name) {
		return name
	}
	return "a name not shown here"
}

// nearest returns the name that somebody who wrote word may have meant: the first
// with the fewest slips, at most one in three letters. It is empty if no name is that near.
func (n names) nearest(word string) string {
	nearest, fewest := "", len(word)/3+1
	for _, name := range n.ordered {
		if d := distance(strings.ToUpper(word), name); d < fewest {
			nearest, fewest = name, d
		}
	}
	return nearest
}

// distance is how many slips make b of a, in bytes: one left out, one too many or
// a wrong one. https://en.wikipedia.org/wiki/Levenshtein_distance
func distance(a, b string) int {
	row := make([]int, len(b)+1) // for as much of a as was looked at
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
