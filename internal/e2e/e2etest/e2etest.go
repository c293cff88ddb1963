// Package e2etest helps to test the whole bot. A Platform is a fake of Telegram or Discord, which sends commands
// to a bot in one of four Ways. A Bot runs in the test, on fakes of services that can fail, and a Process runs
// the built program. Secrets looks for secrets in texts.
package e2etest

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/app"
	"herald/internal/chat"
	"herald/internal/e2e/fault"
	"herald/internal/platform/platformtest"
	"herald/internal/words"
)

// Patience is how long an answer may take on a busy machine.
const Patience = time.Minute

// Price is the fake provider's price, as every answer to /price shows it.
const Price = "$0.04173"

// Plain returns the text of an answer without markup and special spaces.
func Plain(text string) string {
	return strings.NewReplacer("\u00a0", " ", "\u2060", "", "**", "", "`", "", `\`, "").Replace(text)
}

// MinuteForm is the format of times in answers on Telegram.
const MinuteForm = "2006-01-02 15:04 MST"

// Minute formats a time in MinuteForm.
func Minute(t time.Time) string { return t.UTC().Format(MinuteForm) }

// Say returns the message of package words with this key, in English.
func Say(key string, args chat.Values) string {
	return Lines(&chat.Reply{Title: chat.SayWith(key, args)})[0]
}

// Lines returns the parts of a reply as text, without empty ones. Values that the reply shows in short
// form are followed by their exact values.
func Lines(r *chat.Reply) []string {
	card := words.Print(r)
	lines := []string{strings.TrimSpace(spoken(card.Title) + " " + spoken(card.Subtitle)), spoken(card.Text)}
	for _, s := range append(card.Sections, words.Section{Fields: card.FullValues}) {
		lines = append(lines, spoken(s.Heading))
		for _, f := range s.Fields {
			lines = append(lines, strings.TrimSpace(spoken(f.Name)+" "+spoken(f.Value)))
		}
	}
	for _, n := range append(card.Notes, card.Footer) {
		lines = append(lines, spoken(n))
	}
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// spoken returns a line as plain text, with single spaces and with times in MinuteForm.
func spoken(line words.Line) string {
	var b strings.Builder
	for _, span := range line {
		if span.Moment != nil {
			span.Text = Minute(span.Moment.Time)
		}
		b.WriteString(span.Text)
	}
	return strings.Join(strings.Fields(Plain(b.String())), " ")
}

// Settings returns the settings of a bot that uses the fakes, followed by more. If a setting is given twice, the
// last value counts.
func Settings(fakes *fault.Fakes, more ...string) []string {
	return append(app.DemoSettings(fakes.Fakes), more...)
}

// Metrics returns the page /metrics of a bot, given the URL of its HTTP server.
func Metrics(t testing.TB, base string) string {
	t.Helper()
	status, text := get(base + "/metrics")
	if status != http.StatusOK {
		t.Fatalf("/metrics: status %d", status)
	}
	return text
}

// get requests a URL. The status is 0 if there is no response.
func get(url string) (status int, text string) {
	resp, err := http.Get(url)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// Eventually waits until done returns true. It ends the test after Patience.
func Eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	platformtest.WaitUntil(t, what, done)
}
