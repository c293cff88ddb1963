package commands_test

import (
	"slices"
	"strings"
	"testing"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/words"
)

// TestLanguages compares every answer in every language with its golden file, before any platform shows it.
func TestLanguages(t *testing.T) {
	commandstest.Languages(t, *update, func(c commandstest.Case) string {
		return texts(c.Reply) + unshown(c.Reply)
	})
}

// Apps wrap a line at an ordinary space, so the space behind a dot is a no-break space. They do not wrap buttons.
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

// unshown returns the parts of a reply that decide whether it replaces another one, or "" if it has none.
func unshown(r *chat.Reply) string {
	var parts []string
	if !r.Source.AsOf.Time.IsZero() {
		parts = append(parts, r.Source.AsOf.Time.UTC().Format("as of 15:04:05"))
	}
	if !r.Source.FreshUntil.IsZero() {
		parts = append(parts, r.Source.FreshUntil.UTC().Format("fresh until 15:04:05"))
	}
	if r.About != "" {
		parts = append(parts, "about "+r.About)
	}
	if r.Source.Stale {
		parts = append(parts, "stale")
	}
	if parts == nil {
		return ""
	}
	return "\n{" + strings.Join(parts, " ") + "}"
}

// The services in Asks decide in which scenes and under which faults a command is tested.
func TestACommandAsksTheServicesThatItNames(t *testing.T) {
	asked := map[string][]string{}
	commandstest.Cases(t, chat.English, func(c commandstest.Case) {
		name, _, _ := strings.Cut(c.Line[1:], " ")
		asked[name] = append(asked[name], c.Asked...)
	})
	for _, c := range allCommands(withJoin()) {
		got := slices.Compact(slices.Sorted(slices.Values(asked[c.Name])))
		want := slices.Sorted(slices.Values(c.Asks))
		if !slices.Equal(got, want) {
			t.Errorf("/%s asks %q: make that its Asks, which are %q", c.Name, got, want)
		}
	}
}

func TestACommandWithASummaryIsInMenus(t *testing.T) {
	for _, c := range allCommands(withJoin()) {
		listed := slices.ContainsFunc(c.Forms, func(f chat.Form) bool { return !f.Unlisted })
		if listed != (c.Summary.Key != "") {
			t.Errorf("/%s is in menus: %t, and its summary is %q", c.Name, listed, c.Summary.Key)
		}
	}
}
