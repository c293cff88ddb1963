package terminal

import (
	"slices"
	"strings"
)

// parse reads one line, which may hold any bytes, as a command and the words
// after it. A command's name may carry the bot's, as in /price@herald, and is
// given in lower case. Text that is no command is words alone; a blank line is
// nothing.
func parse(line string) (command string, words []string) {
	words = strings.Fields(strings.ToValidUTF8(line, "\uFFFD"))
	if len(words) == 0 {
		return "", nil
	}
	name, isCommand := strings.CutPrefix(words[0], "/")
	name, _, _ = strings.Cut(strings.ToLower(name), "@")
	if !isCommand || name == "" {
		return "", words
	}
	return name, words[1:]
}

// leaving are the lines that end the chat.
var leaving = []string{"exit", "quit"}

// leaves reports whether line is one of leaving, in any case, with a slash or
// without.
func leaves(line string) bool {
	return slices.Contains(leaving, strings.TrimPrefix(strings.ToLower(strings.TrimSpace(line)), "/"))
}
