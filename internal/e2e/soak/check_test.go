//go:build soak

package soak

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/e2etest/truth"
)

// answer checks one answer to q.
func (s *soak) answer(q *question, lines []string, public bool) {
	verdict, _, err := s.verdict(q, lines)
	if q.messages == 0 && err != nil {
		s.wrong++
		s.Errorf("%v: %q: %v", q, lines, err)
	}
	s.accept(q, verdict, lines, public)
}

// accept counts an answer that was checked. A repeated one must be the same.
func (s *soak) accept(q *question, verdict string, lines []string, public bool) {
	if q.messages++; q.messages > 1 {
		if s.doubled++; q.text != strings.Join(lines, "\n") {
			s.Errorf("%v is answered twice, and differently: %q, %q", q, q.text, lines)
		}
		return
	}
	q.ended, q.text = time.Now(), strings.Join(lines, "\n")
	s.mustNotLeak(q, q.text, public)
	s.verdicts[verdict]++
}

// mustNotLeak fails if an answer has a secret, or if a public one has private data.
func (s *soak) mustNotLeak(q *question, text string, public bool) {
	w := s.fakes.World
	for _, secret := range []string{w.Registered.DID, w.Newcomer.DID, badWord, s.fakes.SecretKey, s.fakes.PriceKey} {
		if strings.Contains(text, secret) {
			s.Errorf("%v: an answer has %s: %q", q, secret, text)
		}
	}
	if public && (q.private || strings.Contains(text, w.Logins[0].Dapp)) {
		s.Errorf("%v: everybody is told %q", q, text)
	}
}

// verdict returns what an answer says, and whether it is only an excuse. It returns an error
// if the answer is not honest.
func (s *soak) verdict(q *question, lines []string) (verdict string, excuse bool, err error) {
	switch {
	case q.refusal != "" && lines[0] != q.refusal:
		return "refused", true, fmt.Errorf("want %q", q.refusal)
	case q.refusal != "":
		return "refused", true, nil
	case q.press != nil && q.press.refreshes && strings.HasPrefix(lines[0], nothingNewer):
		return "nothing newer", true, nil
	}
	got, err := s.checker.Check(q.about, lines)
	verdict = string(truth.Right)
	for _, o := range got {
		if o != truth.Right {
			verdict = string(o)
		}
	}
	return verdict, len(got) == 1 && (strings.HasPrefix(verdict, "reason.") || verdict == string(truth.Undecided)), err
}

// dots tell Telegram's readers whether a price rises.
var dots = strings.NewReplacer("🟢", "", "🔴", "")

// discordTime is a time that Discord shows in its reader's way, discordCommand a
// command that can be tapped there.
var discordTime, discordCommand = regexp.MustCompile(`<t:(\d+):R>`), regexp.MustCompile(`<(/\w+):\d+>`)

// lines returns the lines of an answer without emoji and markup, with single spaces, and
// with times to the minute. It returns at least one.
func lines(text string) (all []string) {
	for _, mark := range []string{"\u200b", "✅ ", "❌ ", "⚠️ "} { // the first holds a question's command
		text = strings.TrimPrefix(text, mark)
	}
	text = discordTime.ReplaceAllStringFunc(text, func(mark string) string {
		seconds, _ := strconv.ParseInt(discordTime.FindStringSubmatch(mark)[1], 10, 64)
		return e2etest.Minute(time.Unix(seconds, 0))
	})
	text = discordCommand.ReplaceAllString(text, "$1")
	for line := range strings.Lines(e2etest.Plain(text)) {
		if line = strings.Join(strings.Fields(dots.Replace(line)), " "); line != "" {
			all = append(all, line)
		}
	}
	return append(all, make([]string, max(0, 1-len(all)))...)
}
