package platform

import (
	"cmp"

	"herald/internal/chat"
)

// Entry is an entry of a setting that names a community where the bot must be. The bot needs no rights there.
type Entry struct {
	Setting string // such as "MODERATOR_CHATS"
	ID      string // the community's
}

// Right reports whether the bot may do what an entry of a setting requires in a community.
type Right struct {
	Setting string
	// Entry is the entry as bot check prints it, with IDs.
	Entry string
	// Community is the name of the server or group, or "" if it is unknown.
	Community chat.Untrusted
	// Name is what the log calls the entry: the name of a role or a tag, or else the ID of the server or group. It is ""
	// if it is unknown.
	Name chat.Untrusted
	// May and Problem are sentences for an operator. Exactly one is empty: May says what the bot may do, and Problem why
	// it may not.
	May, Problem string
	// Advice holds sentences for an operator: what to change even if there is no Problem.
	Advice []string
	// Temporary is true if the Problem is that the platform could not be asked now. It may answer later.
	Temporary bool
}

// Lines returns a line for each sentence for an operator. Each line begins with the setting and the entry.
func (r Right) Lines() (lines []string) {
	entry := r.Setting + ", " + r.Entry
	if r.Community != "" {
		entry += " (" + string(r.Community) + ")"
	}
	verdict := cmp.Or(r.Problem, r.May)
	for _, sentence := range append([]string{verdict}, r.Advice...) {
		lines = append(lines, entry+": "+sentence)
	}
	return lines
}
