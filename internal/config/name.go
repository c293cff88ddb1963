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
func (g Given) Unknown(table []Setting, missing ...string) Mistakes {
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
	var mistakes Mistakes
	for _, err := range splitJoined(Join(wrong)) {
		mistakes = append(mistakes, err.Error())
	}
	return mistakes
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

func (n names) nearest(name string) string { return Nearest(strings.ToUpper(name), n.ordered) }

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

// Nearest returns the one of the names that somebody who wrote word may have
// meant: the first of those with the fewest slips, at most one in three letters.
// It is empty if there is none.
func Nearest(word string, names []string) string {
	nearest, fewest := "", len(word)/3+1
	for _, name := range names {
		if d := distance(word, name); d < fewest {
			nearest, fewest = name, d
		}
	}
	return nearest
}

// distance is how many slips make b of a, in bytes: one left out, one too many,
// a wrong one, or two that changed places.
// https://en.wikipedia.org/wiki/Damerau–Levenshtein_distance#Optimal_string_alignment_distance
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
				continue
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
				continue
			}
			rows[i][j] = 1 + min(rows[i-1][j], rows[i][j-1], rows[i-1][j-1])
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], 1+rows[i-2][j-2])
			}
		}
	}
	return rows[len(a)][len(b)]
}
