package chat

// Args are a command's arguments: words in order, or values by the names of their parameters. The zero value has none.
type Args struct {
	words  []string
	byName map[string]string
}

// Typed returns Args of words in the order of typing.
func Typed(words ...string) Args { return Args{words: words} }

// Named returns Args of values by the names of their parameters. The map must not be nil.
func Named(values map[string]string) Args { return Args{byName: values} }

// Words returns the words that were typed, or nil if the Args are named. The caller must not change them.
func (a Args) Words() []string { return a.words }

// ByName returns the values by the names of their parameters, or nil if the Args were typed. The caller must not change
// the map.
func (a Args) ByName() map[string]string { return a.byName }

// Value returns the argument of a parameter, or "". It returns "" if the Args were typed. While a Form runs, they are
// named: the Router has named typed Args.
func (a Args) Value(param string) string { return a.byName[param] }

// First returns the first of the words that were typed, or "".
func (a Args) First() string {
	if len(a.words) == 0 {
		return ""
	}
	return a.words[0]
}

// Len returns the number of arguments.
func (a Args) Len() int { return len(a.words) + len(a.byName) }
