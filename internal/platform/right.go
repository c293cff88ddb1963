package platform

import "herald/internal/chat"

// Entry is an entry of a setting that asks for no right in a community, only that the bot is there.
type Entry struct {
	Setting string // such as "MODERATOR_CHATS"
	ID      string // the community's
}

// Right is whether the bot may do in a community what an entry of a setting asks for.
type Right struct {
	Setting string
	// Entry is the entry as bot check prints it, with IDs.
	Entry string
	// Community is the server's or group's name. Name is what a log prints: the name of a role or a tag, or else the ID of
	// the group or server. Each is "" if it is not known.
	Community, Name chat.Untrusted
	// May says what the bot may do, Problem why it may not, and Advice what an operator should change although it may:
	// sentences for an operator. One of May and Problem is empty.
	May, Problem string
	Advice       []string
	// Temporary is true if the Problem is that the platform could not be asked, and may be later.
	Temporary bool
}

// Lines returns the sentences for an operator.
func (r Right) Lines() (lines []string) {
	entry := r.Setting + ", " + r.Entry
	if r.Community != "" {
		entry += " (" + string(r.Community) + ")"
	}
	for _, text := range append([]string{r.May + r.Problem}, r.Advice...) {
		lines = append(lines, entry+": "+text)
	}
	return lines
}
