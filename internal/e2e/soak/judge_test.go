//go:build soak

package soak

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ethereum/go-ethereum/common"

	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/e2etest/truth"
)

// deliver passes what Telegram has shown since the last call to the people who it is for.
func (s *soak) deliver() {
	for _, c := range s.telegram.Telegram.Take(patience / 2) {
		if slices.Contains(showing, c.Method) && c.Fault.Unclear() {
			s.count("sends of unknown outcome", 1)
		}
		if c.Method == "getUpdates" {
			s.polls.Add(1)
		}
		if c.Params["parse_mode"] != nil {
			s.Errorf("a message is sent as markup: %s", c.Params)
		}
	}
	for len(s.events) > 0 {
		e := <-s.events
		if e.Message != nil && e.Message.Deleted {
			continue // It is a notice that was no longer needed.
		}
		s.mu.Lock()
		p := s.readerOf(e)
		s.mu.Unlock()
		switch {
		case p != nil:
			p.inbox <- e
		case e.Inline != nil:
			s.answeredInline(*e.Inline)
		case e.Message != nil && e.Message.Text != pointer || e.Notice != nil:
			s.Errorf("nobody has asked for %+v, %+v", e.Message, e.Notice)
		}
	}
}

// readerOf returns the person who an event is for, or nil. s.mu is held.
func (s *soak) readerOf(e faketelegram.Event) *person {
	switch m := e.Message; {
	case e.Notice != nil:
		return s.people[e.Notice.User]
	case m == nil:
		return nil
	case m.Reader != 0:
		return s.people[m.Reader]
	default:
		for _, id := range []int64{m.ID, m.ReplyTo} {
			if q := s.owners[messageKey{m.Chat, id}]; q != nil {
				s.owners[messageKey{m.Chat, m.ID}] = q
				return q.person
			}
		}
		return nil
	}
}

// pointer is what a group of Telegram is shown about a private command.
var pointer = e2etest.Say("telegram.answered", nil)

// nothingNewer is how the notice begins if a press would show an older answer, or the same.
const nothingNewer = "Nothing newer yet"

// maxAlert is the maximum length of an alert, in characters.
const maxAlert = 200

// see judges what Telegram shows to p.
func (p *person) see(e faketelegram.Event) {
	if e.Notice != nil {
		p.noticed(*e.Notice)
		return
	}
	m := e.Message
	public := m.Chat < 0 && m.Ephemeral == 0
	if public && m.Text == pointer {
		return
	}
	edit := m.Edits > 0
	p.judge(lines(m.Text), public, edit, *m, func(q *question) bool {
		if edit {
			return q.edits && q.card.Chat == m.Chat && q.card.ID == m.ID
		}
		return m.ReplyTo == 0 || m.ReplyTo == q.Message || q.pressed
	})
}

// judge finds the question that lines answer, among those that fit. It fails the test if there is none.
// An edit must not show a refusal or an excuse, because it would replace an answer.
func (p *person) judge(said []string, public, edit bool, card faketelegram.Sent, fits func(*question) bool) {
	var errs []error
	for _, q := range slices.Backward(p.asked) {
		if !fits(q) {
			continue
		}
		verdict, excuse, err := p.verdict(q, said)
		if edit && excuse {
			err = errors.Join(err, errors.New("an excuse replaces an answer"))
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		p.checkLeaks(q, strings.Join(said, "\n"), public)
		if strings.Contains(strings.Join(said, "\n"), " old") {
			p.count("marked with an age", 1)
		}
		switch {
		case q.ended.IsZero():
			p.end(q, verdict)
			q.answer = card
		case !edit:
			p.count("doubled", 1)
		}
		return
	}
	p.count("wrong", 1)
	p.Errorf("%q answers none of %v: %v", said, p.asked, errors.Join(errs...))
}

// noticed judges what Telegram shows to p after a press.
func (p *person) noticed(n faketelegram.Notice) {
	p.mu.Lock()
	q := p.presses[n.ID]
	delete(p.presses, n.ID)
	p.mu.Unlock()
	if q == nil {
		p.Errorf("a press is answered again, or was never made: %+v", n)
		return
	}
	q.told = time.Now()
	p.checkLeaks(q, n.Text, false)
	switch {
	case n.Text == "", !q.ended.IsZero(), lines(n.Text)[0] == pointer && q.private:
		// The answer is elsewhere.
	case utf8.RuneCountInString(n.Text) >= maxAlert-1: // It is cut.
		p.end(q, "cut")
	default:
		p.judge(lines(n.Text), false, false, q.card, func(other *question) bool { return other == q })
	}
}

// asItStood ends a press whose button stopped waiting 5 seconds ago, if the card has not changed
// because it answers the press already.
func (p *person) asItStood(q *question) {
	if !q.ended.IsZero() || !q.edits || q.told.IsZero() || time.Since(q.told) < 5*time.Second {
		return
	}
	if _, excuse, err := p.verdict(q, lines(q.card.Text)); err == nil && !excuse {
		p.end(q, "as it stood")
		q.answer = q.card
	}
}

// end counts a verdict about a question.
func (p *person) end(q *question, verdict string) {
	q.ended = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.verdicts[verdict]++
}

// checkLeaks fails the test if an answer contains a secret, or if a public answer contains private data.
func (s *soak) checkLeaks(q *question, text string, public bool) {
	w := s.fakes.World
	secrets := []string{w.Registered.DID, w.Newcomer.DID, badWord, s.fakes.SecretKey, s.fakes.PriceKey}
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			s.Errorf("%v: an answer has %s: %q", q, secret, text)
		}
	}
	if public && (q.private || strings.Contains(text, w.Logins[0].Dapp)) {
		s.Errorf("%v: everybody is told %q", q, text)
	}
}

// verdict returns what an answer says, and whether it is only an excuse. It returns an error if the
// answer is false.
func (s *soak) verdict(q *question, lines []string) (verdict string, excuse bool, err error) {
	switch {
	case q.refusal != "" && lines[0] != q.refusal:
		return "refused", true, fmt.Errorf("want %q", q.refusal)
	case q.refusal != "":
		return "refused", true, nil
	case q.edits && strings.HasPrefix(lines[0], nothingNewer):
		return "nothing newer", true, nil
	}
	got, err := s.checker.Check(q.about, lines)
	verdict = string(truth.Right)
	for _, o := range got {
		if o != truth.Right {
			verdict = string(o)
		}
	}
	saysWhyNot := strings.HasPrefix(verdict, "reason.") || verdict == string(truth.Undecided)
	excuse = len(got) == 1 && saysWhyNot
	return verdict, excuse, err
}

// dots removes the marks that show on Telegram whether a price rises.
var dots = strings.NewReplacer("🟢", "", "🔴", "")

var (
	// discordTime matches a time that Discord shows in the reader's time zone.
	discordTime = regexp.MustCompile(`<t:(\d+):R>`)
	// discordCommand matches a command that can be tapped on Discord.
	discordCommand = regexp.MustCompile(`<(/\w+):\d+>`)
)

// lines returns the lines of an answer without emoji and markup, with single spaces, and with times to
// the minute. It returns at least one.
func lines(text string) (all []string) {
	for _, mark := range []string{"\u200b", "✅ ", "❌ ", "⚠️ "} { // The first holds a question's command.
		text = strings.TrimPrefix(text, mark)
	}
	text = discordTime.ReplaceAllStringFunc(text, func(mark string) string {
		seconds, _ := strconv.ParseInt(discordTime.FindStringSubmatch(mark)[1], 10, 64)
		return e2etest.Minute(time.Unix(seconds, 0))
	})
	text = discordCommand.ReplaceAllString(text, "$1")
	for line := range strings.Lines(e2etest.Plain(text)) {
		line = strings.Join(strings.Fields(dots.Replace(line)), " ")
		if line != "" {
			all = append(all, line)
		}
	}
	if len(all) == 0 {
		return []string{""}
	}
	return all
}

// meant returns the questions that an inline query may mean, by command. A query names a command by its
// first letters, or is a whole wallet.
func meant(query string) map[string]truth.Question {
	all := map[string]truth.Question{}
	query = strings.ToLower(strings.TrimPrefix(query, "/"))
	for _, command := range []string{"price", "supply"} {
		if strings.HasPrefix(command, query) {
			all[command] = truth.Question{Command: command}
		}
	}
	wallet := strings.TrimPrefix(query, "staked ")
	if len(wallet) == len(common.Address{}.Hex()) && common.IsHexAddress(wallet) {
		all["staked"] = truth.Question{Command: "staked", Wallet: common.HexToAddress(wallet)}
	}
	return all
}

// maxFailureCache is how long Telegram may cache a failed inline query, in seconds.
const maxFailureCache = 5

// answeredInline judges the results of an inline query. Everybody may read a result once it is sent. A
// result may be missing only if its service is unavailable; if all are missing, a button names that
// service.
func (s *soak) answeredInline(a faketelegram.InlineAnswer) {
	s.mu.Lock()
	query, asked := s.queries[a.QueryID]
	delete(s.queries, a.QueryID)
	s.mu.Unlock()
	want := meant(query)
	wrong := func(why any) { s.Errorf("inline %q is answered by %+v: %v", query, a, why) }
	if !asked {
		wrong("it is answered twice")
	}
	for _, result := range a.Results {
		about, is := want[result.ID]
		if !is {
			wrong("a result that was not asked for")
			continue
		}
		command := e2etest.Command{Name: result.ID, Argument: query}
		q := &question{Asked: &e2etest.Asked{Command: command}, about: about}
		s.checkLeaks(q, a.Button+result.Content.Text+result.Title+result.Description, true)
		if _, excuse, err := s.verdict(q, lines(result.Content.Text)); err != nil || excuse {
			wrong(err)
		}
	}
	unavailable := func(command string) bool { return truth.Unavailable(command) == a.Button }
	switch missing := len(want) - len(a.Results); {
	case len(want) == 0 && (a.Button == "" || a.Personal):
		wrong("a query that asks for nothing needs a button that all may see")
	case missing > 0 && (!a.Personal || a.CacheTime > maxFailureCache):
		wrong("Telegram caches a failure")
	case missing > 0 && len(a.Results) == 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(want)), unavailable):
		wrong("the button is no reason")
	}
}
