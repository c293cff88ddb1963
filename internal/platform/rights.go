package platform

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"herald/internal/chat"
)

// Right is whether the bot may do in a community what an entry of a setting asks for.
type Right struct {
	Setting string
	// Entry is the entry as bot check prints it, with IDs.
	Entry string
	// Community is the server's or group's name. Name is what a log prints: the name of a role or a
	// tag, or the ID of a group of JOIN_CHATS. It is "" for MODERATOR_CHATS, which are not logged.
	// Each is "" if it is not known.
	Community, Name chat.Untrusted
	// May says what the bot may do, Problem why it may not, and Advice what an operator should
	// change although it may: sentences for an operator. One of May and Problem is empty.
	May, Problem string
	Advice       []string
	// Passing is true if the Problem is that the platform could not be asked, and may be later.
	Passing bool
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

// RightsEvery is how often WatchRights calls rights.
const RightsEvery = time.Hour

// WatchRights calls rights at the start and then every RightsEvery, and logs each Right that begins
// to have a Problem or Advice. If a Problem is Passing, it calls rights again after a minute, and logs
// one if there is one again. It blocks until ctx is done, or rights returns none.
func WatchRights(ctx context.Context, log *slog.Logger, rights func(context.Context) []Right) {
	warned, names := map[string]bool{}, map[string]chat.Untrusted{}
	unread := 0 // calls in a row with a Passing Problem
	for found := rights(ctx); len(found) > 0 && ctx.Err() == nil; found = rights(ctx) {
		pause, passing := RightsEvery, Right{}
		for _, r := range found {
			entry := r.Setting + r.Entry
			names[entry] = cmp.Or(r.Name, names[entry]) // of a role that was deleted
			why := cmp.Or(r.Problem, strings.Join(r.Advice, "; "))
			switch {
			case r.Passing:
				pause, passing = time.Minute, r
				continue
			case why != "" && !warned[entry]:
				log.Warn("a setting does not work as it should", "setting", r.Setting, "name", names[entry], "why", why)
			}
			warned[entry] = why != ""
		}
		unread++
		if !passing.Passing {
			unread = 0
		}
		if unread == 2 {
			log.Warn("a setting cannot be checked, trying again", "setting", passing.Setting, "why", passing.Problem)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}
