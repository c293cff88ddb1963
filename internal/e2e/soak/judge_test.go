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

// verdict is how a question ended: a truth.Outcome of its answer, or one of the following. Verdicts are
// only counted and printed.
type verdict string

const (
	refused      verdict = "refused"       // with the refusal that the question must get
	nothingNewer verdict = "nothing newer" // a notice says that the card shows the latest answer
	unchanged    verdict = "as it stood"   // the card was not edited, because it shows the right answer
	cut          verdict = "cut"           // the answer is a notice that was too long, so it is not judged
	expired      verdict = "expired"       // the press got no notice, which the adapter counts
	late         verdict = "late"          // the process was stalled when Discord waited for the response
	unanswered   verdict = "unanswered"
	wrong        verdict = "wrong"
)

// readCalls counts the calls of the Bot API since the last call of readCalls.
func (s *soak) readCalls() {
	for _, c := range s.telegram.Telegram.Take(patience / 2) {
		if slices.Contains(showing, c.Method) && c.Fault.Unclear() {
			s.count(unclearSends, 1)
		}
		if c.Method == "getUpdates" {
			s.polls.Add(1)
		}
		if c.Params["parse_mode"] != nil {
			s.Errorf("a message is sent as markup: %s", c.Params)
		}
	}
}

// dispatchEvents passes what Telegram has shown to the people who asked for it. It fails the test if a
// message or a notice is for nobody.
func (s *soak) dispatchEvents() {
	for len(s.events) > 0 {
		e := <-s.events
		if e.Message != nil && e.Message.Deleted {
			continue // The bot deletes a pointer that is no longer needed.
		}
		s.mu.Lock()
		p := s.readerOf(e)
		s.mu.Unlock()
		isPointer := e.Message != nil && e.Message.Text == pointer
		switch {
		case p != nil:
			p.inbox <- e
		case e.Inline != nil:
			s.judgeInline(*e.Inline)
		case e.Notice != nil, e.Message != nil && !isPointer:
			s.Errorf("nobody has asked for %+v, %+v", e.Message, e.Notice)
		}
	}
}

// pointer is the message in a group that a private command was answered elsewhere.
var pointer = e2etest.Say("telegram.answered", nil)

// readerOf returns the person whose question an event belongs to, or nil. A message in a group belongs to
// the question that it replies to, or whose card it edits; readerOf then adds it to the owners. The caller
// must hold s.mu.
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

// shown is a text that a person was shown.
type shown struct {
	lines    []string
	isPublic bool              // everybody in the group can read it
	isEdit   bool              // it replaces an answer in the same message
	card     faketelegram.Sent // the message, on Telegram
}

// see judges an event that is for the person.
func (p *person) see(e faketelegram.Event) {
	if e.Notice != nil {
		p.judgeNotice(*e.Notice)
		return
	}
	m := e.Message
	isPublic := m.Chat < 0 && m.Ephemeral == 0
	if isPublic && m.Text == pointer {
		return
	}
	isEdit := m.Edits > 0
	mayAnswer := func(q *question) bool {
		if isEdit {
			return q.editsCard && q.pressedCard.Chat == m.Chat && q.pressedCard.ID == m.ID
		}
		return m.ReplyTo == 0 || m.ReplyTo == q.Message || q.isPress
	}
	p.judge(shown{lines: lines(m.Text), isPublic: isPublic, isEdit: isEdit, card: *m}, mayAnswer)
}

// judge finds the question that a text answers, among those for which mayAnswer returns true, the latest
// first. If it is the first answer, the question ends. If there is no such question, judge fails the test.
func (p *person) judge(text shown, mayAnswer func(*question) bool) {
	var errs []error
	for _, q := range slices.Backward(p.asked) {
		if !mayAnswer(q) {
			continue
		}
		v, err := p.verdictOn(q, text)
		if err == nil {
			p.accept(q, text, v)
			return
		}
		errs = append(errs, err)
	}
	p.count(wrongAnswers, 1)
	p.Errorf("%q answers none of %v: %v", text.lines, p.asked, errors.Join(errs...))
}

// verdictOn returns the verdict on a text as the answer to q, or an error if it cannot be that answer. An
// edit must not be a refusal or an excuse, because it would replace an answer.
func (p *person) verdictOn(q *question, text shown) (verdict, error) {
	v, isExcuse, err := p.check(q, text.lines)
	if text.isEdit && isExcuse {
		err = errors.Join(err, errors.New("an excuse replaces an answer"))
	}
	return v, err
}

// accept takes a text as an answer to q.
func (p *person) accept(q *question, text shown, v verdict) {
	joined := strings.Join(text.lines, "\n")
	p.checkLeaks(q, joined, text.isPublic)
	if strings.Contains(joined, " old") {
		p.count(markedOld, 1)
	}
	if !q.isEnded() {
		p.end(q, v)
		q.answerCard = text.card
	} else if !text.isEdit {
		p.count(doubledAnswers, 1)
	}
}

// end ends a question and counts the verdict on it.
func (p *person) end(q *question, v verdict) {
	q.endedAt = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.verdicts[v]++
}

// judgeNotice judges the notice that Telegram shows to the person after a press. A notice without a text
// only ends the press: the answer is a message.
func (p *person) judgeNotice(n faketelegram.Notice) {
	p.mu.Lock()
	q := p.presses[n.ID]
	delete(p.presses, n.ID)
	p.mu.Unlock()
	if q == nil {
		p.Errorf("a press is answered again, or was never made: %+v", n)
		return
	}
	q.noticedAt = time.Now()
	p.checkLeaks(q, n.Text, false)
	const maxNotice = 200 // characters; the bot cuts a longer text
	switch {
	case n.Text == "", q.isEnded(), lines(n.Text)[0] == pointer && q.isPrivate:
		// The answer is elsewhere.
	case utf8.RuneCountInString(n.Text) >= maxNotice-1:
		p.end(q, cut)
	default:
		isThisPress := func(other *question) bool { return other == q }
		p.judge(shown{lines: lines(n.Text), card: q.pressedCard}, isThisPress)
	}
}

// acceptUnchangedCard ends a press whose button stopped waiting 5 seconds ago, if the card has not changed
// because it already shows the right answer.
func (p *person) acceptUnchangedCard(q *question) {
	if q.isEnded() || !q.editsCard || q.noticedAt.IsZero() || time.Since(q.noticedAt) < 5*time.Second {
		return
	}
	_, isExcuse, err := p.check(q, lines(q.pressedCard.Text))
	if err == nil && !isExcuse {
		p.end(q, unchanged)
		q.answerCard = q.pressedCard
	}
}

// judgeOnDiscord judges the answer to q on Discord, if it is complete.
func (p *person) judgeOnDiscord(q *question) {
	answer, states := q.Pending.Answer(), q.Pending.Shown()
	if answer.Final == 0 || len(states) == 0 {
		return
	}
	for _, m := range states {
		p.checkLeaks(q, m.Everything(), !m.Ephemeral)
	}
	latest := states[len(states)-1]
	text := shown{
		lines:    lines(latest.Text()),
		isPublic: !latest.Ephemeral,
		isEdit:   q.isPress && latest.Edited > 0,
	}
	isThisQuestion := func(other *question) bool { return other == q }
	p.judge(text, isThisQuestion)
	if !q.isEnded() {
		p.end(q, wrong)
	}
}

// checkLeaks fails the test if a text that was shown in answer to q contains a secret, or if everybody can
// read private data in it.
func (s *soak) checkLeaks(q *question, text string, isPublic bool) {
	w := s.fakes.World
	secrets := []string{w.Registered.DID, w.Newcomer.DID, badWord, s.fakes.SecretKey, s.fakes.PriceKey}
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			s.Errorf("%v: an answer has %s: %q", q, secret, text)
		}
	}
	if isPublic && (q.isPrivate || strings.Contains(text, w.Logins[0].Dapp)) {
		s.Errorf("%v: everybody is told %q", q, text)
	}
}

// check returns the verdict on lines as the answer to q, and whether they are only an excuse: a refusal, or
// a reason why there is no answer. It returns an error if they are false.
func (s *soak) check(q *question, lines []string) (v verdict, isExcuse bool, err error) {
	if q.refusal != "" {
		if lines[0] != q.refusal {
			err = fmt.Errorf("want %q", q.refusal)
		}
		return refused, true, err
	}
	// The notice after a press that would show an older answer, or the same, begins so.
	if q.editsCard && strings.HasPrefix(lines[0], "Nothing newer yet") {
		return nothingNewer, true, nil
	}
	outcomes, err := s.checker.Check(q.about, lines)
	v = verdict(truth.Right)
	for _, o := range outcomes {
		if o != truth.Right {
			v = verdict(o)
		}
	}
	isReason := strings.HasPrefix(string(v), "reason.") || v == verdict(truth.Undecided)
	isExcuse = len(outcomes) == 1 && isReason
	return v, isExcuse, err
}

// judgeInline judges the results of an inline query. Everybody may read a result once it is sent. A
// result may be missing only if its service is unavailable; if all are missing, a button names that
// service.
func (s *soak) judgeInline(a faketelegram.InlineAnswer) {
	s.mu.Lock()
	query, asked := s.queries[a.QueryID]
	delete(s.queries, a.QueryID)
	s.mu.Unlock()
	questions := questionsOf(query)
	fail := func(why any) { s.Errorf("inline %q is answered by %+v: %v", query, a, why) }
	if !asked {
		fail("it is answered twice")
	}
	for _, result := range a.Results {
		about, isWanted := questions[result.ID]
		if !isWanted {
			fail("a result that was not asked for")
			continue
		}
		command := e2etest.Command{Name: result.ID, Argument: query}
		q := &question{Asked: &e2etest.Asked{Command: command}, about: about}
		s.checkLeaks(q, a.Button+result.Content.Text+result.Title+result.Description, true)
		if _, isExcuse, err := s.check(q, lines(result.Content.Text)); err != nil || isExcuse {
			fail(err)
		}
	}
	const maxFailureCache = 5 // seconds that Telegram may cache a failure
	isUnavailable := func(command string) bool { return truth.Unavailable(command) == a.Button }
	commands := slices.Collect(maps.Keys(questions))
	missing := len(questions) - len(a.Results)
	switch {
	case len(questions) == 0 && (a.Button == "" || a.Personal):
		fail("a query that asks for nothing needs a button that all may see")
	case missing > 0 && (!a.Personal || a.CacheTime > maxFailureCache):
		fail("Telegram caches a failure")
	case missing > 0 && len(a.Results) == 0 && !slices.ContainsFunc(commands, isUnavailable):
		fail("the button is no reason")
	}
}

// questionsOf returns the questions that an inline query may ask, by command. A query is the first letters
// of a command, or a whole wallet: "p" asks for the price, and "" for the price and the supply.
func questionsOf(query string) map[string]truth.Question {
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

var (
	// trendDots are the marks that show on Telegram whether a price rises.
	trendDots = strings.NewReplacer("🟢", "", "🔴", "")
	// discordTime matches a time that Discord shows in the reader's time zone.
	discordTime = regexp.MustCompile(`<t:(\d+):R>`)
	// discordCommand matches a command that can be tapped on Discord.
	discordCommand = regexp.MustCompile(`<(/\w+):\d+>`)
)

// lines returns the lines of an answer without emoji and markup, with single spaces, and with times to
// the minute. It returns at least one line.
func lines(text string) (all []string) {
	// On Telegram, an invisible character that holds a question's command may come first.
	for _, mark := range []string{"\u200b", "✅ ", "❌ ", "⚠️ "} {
		text = strings.TrimPrefix(text, mark)
	}
	text = discordTime.ReplaceAllStringFunc(text, func(mark string) string {
		seconds, _ := strconv.ParseInt(discordTime.FindStringSubmatch(mark)[1], 10, 64)
		return e2etest.Minute(time.Unix(seconds, 0))
	})
	text = discordCommand.ReplaceAllString(text, "$1")
	for line := range strings.Lines(e2etest.Plain(text)) {
		line = strings.Join(strings.Fields(trendDots.Replace(line)), " ")
		if line != "" {
			all = append(all, line)
		}
	}
	if len(all) == 0 {
		return []string{""}
	}
	return all
}
