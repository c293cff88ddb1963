package terminal

import "strings"

// kind is what a line asks for.
type kind int

const (
	nothing  kind = iota // a blank line
	talk                 // text that is no command
	switchTo             // /as
	ask                  // a command for the Handler
)

// input is one line, parsed.
type input struct {
	kind    kind
	command string
	words   []string
}

// parse reads one line, which may hold any bytes. A command's name may carry
// the bot's, as in /price@herald, and is told in lower case.
func parse(line string) input {
	words := strings.Fields(strings.ToValidUTF8(line, "\uFFFD"))
	if len(words) == 0 {
		return input{kind: nothing}
	}
	name, isCommand := strings.CutPrefix(words[0], "/")
	name, _, _ = strings.Cut(strings.ToLower(name), "@")
	switch {
	case !isCommand || name == "":
		return input{kind: talk}
	case name == "as":
		return input{kind: switchTo, words: words[1:]}
	}
	return input{kind: ask, command: name, words: words[1:]}
}
