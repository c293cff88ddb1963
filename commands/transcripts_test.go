package commands_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"herald/commands/commandstest"
	"herald/internal/words"
)

var update = flag.Bool("update", false, "write the golden transcripts anew")

// TestTranscripts has the answers as cards, before any platform shows them.
func TestTranscripts(t *testing.T) {
	commandstest.Transcripts(t, *update, func(c commandstest.Case) string {
		return shown(words.Print(c.Reply))
	})
}

// TestLanguages has the words of every answer in every language.
func TestLanguages(t *testing.T) {
	commandstest.Languages(t, *update, func(c commandstest.Case) string {
		return said(words.Print(c.Reply))
	})
}

// said is what a card says, as plain text.
func said(c words.Card) string {
	lines := []string{c.Title.String(), c.Text.String()}
	for _, s := range c.Sections {
		lines = append(lines, s.Heading.String())
		for _, f := range s.Fields {
			lines = append(lines, f.Name.String()+"  "+f.Value.String())
		}
	}
	for _, n := range c.Notes {
		lines = append(lines, n.String())
	}
	if c.Image != nil {
		lines = append(lines, c.Image.Alt)
	}
	for _, b := range c.Buttons {
		lines = append(lines, "[ "+b.Label+" ]")
	}
	if c.Ask != nil {
		lines = append(lines, c.Ask.Question)
	}
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), "\n")
}

// shown is all of a card.
func shown(c words.Card) string {
	lines := []string{fmt.Sprintf("[%d] %s", c.Tone, c.Title)}
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
	for _, f := range c.Details {
		lines = append(lines, "… "+marked(f.Name)+" | "+marked(f.Value))
	}
	for _, n := range c.Notes {
		add("(%s)", n)
	}
	if c.Image != nil {
		lines = append(lines, fmt.Sprintf("picture %s: %s", c.Image.Name, c.Image.Alt))
	}
	for _, b := range c.Buttons {
		lines = append(lines, fmt.Sprintf("[ %s ] %s", b.Label, b.State+b.URL+b.Copy))
	}
	if c.Ask != nil {
		lines = append(lines, fmt.Sprintf("asks for %s of /%s: %s", c.Ask.Param, c.Ask.Command, c.Ask.Question))
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
		case s.Channel != nil:
			fmt.Fprintf(&b, "<chat %s>", s.Text)
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
