package config

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// unknown returns a mistake for each given name that is not in the table, in the order of lines.
func (g Given) unknown(table []Setting) (mistakes Errors) {
	examples := map[string]string{} // by the name of a setting, or of the variable with its secret file
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
		if problem := g.problemWith(name, examples); problem != "" {
			mistakes = append(mistakes, g[name].place+nameForError(name)+": "+problem)
		}
	}
	return mistakes
}

// problemWith returns what is wrong with a given name that is not a key of examples, or "" if nothing is. A name in the
// environment may belong to another program, so it is wrong only if it is mistyped.
func (g Given) problemWith(name string, examples map[string]string) string {
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

// isMistyped reports whether name, a name in the environment, is probably a mistyped meant. If meant is given, too,
// name is not mistyped.
func (g Given) isMistyped(name, meant string) bool {
	// Looser limits would report LOGLEVEL and REDIS_PORT, which belong to other programs.
	const (
		minLength   = 10 // bytes
		maxDistance = 3
	)
	if min(len(name), len(meant)) < minLength || g.Has(strings.TrimSuffix(meant, fileSuffix)) {
		return false
	}
	return distance(strings.ToUpper(name), meant) <= maxDistance
}

var settingName = regexp.MustCompile(`^[A-Z0-9_]{1,60}$`)

// nameForError returns name if it has the form of a setting's name. Otherwise name may be a misplaced token, and
// nameForError returns words that do not contain it.
func nameForError(name string) string {
	if settingName.MatchString(name) {
		return name
	}
	return "the name before = (not shown, since it may be a secret; a setting's name is at most 60 of A-Z, 0-9 and _)"
}

// Nearest returns the known name with the smallest distance from name. It returns "" if that distance is above two
// thirds of name's length, for example above 6 for a name of 9 letters.
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

// distance returns how far a typed name is from the name that was meant: the smallest total cost of the mistakes that
// turn meant into name. A letter left out costs 1, because people leave out whole words. A letter added, a letter
// replaced, and two neighboring letters exchanged cost 2 each. For example:
//
//	distance("RPC_URL", "EVM_RPC_URL") = 4    four letters are left out
//	distance("LOGS_LEVEL", "LOG_LEVEL") = 2   one letter is added
//	distance("HLEP", "HELP") = 2              two letters are exchanged
func distance(name, meant string) int {
	const leftOut, added, replaced, exchanged = 1, 2, 2, 2
	// row[j] is the distance between the letters of name so far and the first j letters of meant. oneAgo and twoAgo are
	// the rows before the last letter of name, and before the last two.
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
			isExchanged := i > 0 && j > 0 && name[i] == meant[j-1] && name[i-1] == meant[j]
			if isExchanged {
				row[j+1] = min(row[j+1], twoAgo[j-1]+exchanged)
			}
		}
	}
	return row[len(meant)]
}
