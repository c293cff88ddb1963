package commands_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/words"
)

var update = flag.Bool("update", false, "write the golden transcripts anew")

// TestLanguages has all of every answer in every language, before any platform
// shows it.
func TestLanguages(t *testing.T) {
	commandstest.Languages(t, *update, func(c commandstest.Case) string { return shown(words.Print(c.Reply)) + unshown(c.Reply) })
}

// Apps wrap a line at an ordinary space.
func TestNoLineCanBreakBehindADot(t *testing.T) {
	for _, l := range chat.Languages() {
		commandstest.Cases(t, l, func(c commandstest.Case) {
			card := words.Print(c.Reply)
			card.Buttons = nil
			for line := range strings.Lines(shown(card)) {
				if strings.Contains(line, "· ") || strings.Contains(line, "·\n") {
					t.Errorf("%s, %s: %q", l, c.Line, line)
				}
			}
		})
	}
}

// unshown is what decides when a reply replaces another one, if it says any of that.
func unshown(r *chat.Reply) (line string) {
	if !r.Source.AsOf.Time.IsZero() {
		line += r.Source.AsOf.Time.UTC().Format(" as of 15:04:05")
	}
	if !r.Source.FreshUntil.IsZero() {
		line += r.Source.FreshUntil.UTC().Format(" fresh until 15:04:05")
	}
	if r.About != "" {
		line += " about " + r.About
	}
	if r.Source.Stale {
		line += " stale"
	}
	if line == "" {
		return ""
	}
	return "\n{" + line[1:] + "}"
}

// What a command asks decides in which scenes and under which faults it is tried.
func TestACommandAsksTheServicesThatItNames(t *testing.T) {
	asked := map[string][]string{}
	commandstest.Cases(t, chat.English, func(c commandstest.Case) {
		name, _, _ := strings.Cut(c.Line[1:], " ")
		asked[name] = append(asked[name], c.Asked...)
	})
	w := commandstest.Healthy()
	w.Options.JoinChats = map[string]chat.Requirement{"": {}} // adds /join
	for _, c := range commands.All(w.Sources(), w.Options) {
		got := slices.Compact(slices.Sorted(slices.Values(asked[c.Name])))
		if want := slices.Sorted(slices.Values(c.Asks)); !slices.Equal(got, want) {
			t.Errorf("/%s asks %q: make that its Asks, which are %q", c.Name, got, want)
		}
		if listed := slices.ContainsFunc(c.Forms, func(f chat.Form) bool { return !f.Unlisted }); listed != (c.Summary.Key != "") {
			t.Errorf("/%s is in menus: %t", c.Name, listed)
		}
	}
}

// shown is all of a card.
func shown(c words.Card) string {
	lines := []string{fmt.Sprintf("[%d] %s", c.Tone, marked(words.Join(c.Title, c.Subtitle)))}
	add := func(format string, line words.Line) {
		if !line.Empty() {
			lines = append(lines, fmt.Sprintf(format, marked(line)))
		}
	}
	add("%s", c.Text)
	for _, s := range c.Sections {
		add("== %s", s.Heading)
		for _, f := range s.Fields {
			lines = append(lines, marked(f.Name)+" | "+marked(f.Value))
		}
	}
	for _, f := range c.FullValues {
		lines = append(lines, "… "+marked(f.Name)+" | "+marked(f.Value))
	}
	for _, n := range append(c.Notes, c.Footer) {
		add("(%s)", n)
	}
	if c.Image != nil {
		lines = append(lines, fmt.Sprintf("picture %s: %s", c.Image.Name, c.Image.Alt))
	}
	for _, b := range c.Buttons {
		next := map[bool]string{true: " (next step)"}[b.NextStep]
		lines = append(lines, fmt.Sprintf("[ %s ] %s%s", b.Label, b.State+b.URL+b.Copy, next))
	}
	if c.Ask != nil {
		lines = append(lines, fmt.Sprintf("asks for /%s: %s", c.Ask.Command, c.Ask.Question))
	}
	return strings.Join(lines, "\n")
}

// marked is a line with marks around what is not plain text.
func marked(l words.Line) string {
	var b strings.Builder
	for _, s := range l {
		switch {
		case s.URL != "":
			fmt.Fprintf(&b, "[%s](%s)", s.Text, s.URL)
		case s.Person != nil:
			fmt.Fprintf(&b, "<person %s>", s.Person.ID)
		case s.Style == words.Code:
			fmt.Fprintf(&b, "`%s`", s.Text)
		case s.Style == words.Untrusted:
			fmt.Fprintf(&b, "«%s»", s.Text)
		default:
			b.WriteString(s.Text)
		}
	}
	return b.String()
}
