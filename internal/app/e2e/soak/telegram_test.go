//go:build soak

package soak

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	"herald/internal/telegram/telegramtest"
)

// What a group is told about a private command.
const (
	pointer    = "I have answered you privately."
	anonymity  = "I can answer that only privately, and you are anonymous here. Please ask me in our private chat."
	pressStart = "I can only answer that privately, and I can't write to you yet. Open our private chat and press Start. If no answer comes, ask again there."
)

// marks are the entities that an answer may have.
var marks = []string{"bold", "italic", "code", "expandable_blockquote", "date_time", "text_mention"}

// telegramSide asks in Telegram and finds each answer's question: by the
// message it replies to or, for a private answer to a group's question, by the
// person, who has one such question open at most.
type telegramSide struct {
	fake     *telegramtest.Server
	generate *generator
	tally    *tally
	leaks    *leaks

	mu      sync.Mutex
	open    map[[2]int64]*message // by chat and message, for a while after the end
	private map[int64]*message    // by user, until its end
	breaks  int                   // sends that may or may not have arrived
}

// message is a question in Telegram. Aside from its answer there is a pointer to
// one that was given elsewhere, or the answer to somebody who cannot be reached,
// whose group is told so instead.
type message struct {
	*question
	chat, user, id, update int64
	answer, aside          delivery
	over, ended            time.Time
}

// mostUnclear is how often the adapter sends a message of which it cannot tell
// whether it is out.
const mostUnclear = 3

// delivery is one message, as the fake saw it being sent.
type delivery struct {
	unclear  int  // sends that may or may not have arrived, as the adapter sees it
	finished bool // it is not sent again
	messages int  // how often it is there
	text     string
}

// sending notes one call.
func (d *delivery) sending(f telegramtest.Fault) {
	switch {
	case f.Unclear():
		d.unclear++
		d.finished = d.unclear == mostUnclear
	case f == telegramtest.Fault{}:
		d.finished = true
	}
}

// arrived notes one message, and reports whether it may be there: once more
// than clearly only for each unclear send, and the same each time.
func (d *delivery) arrived(text string) (allowed bool) {
	d.messages++
	same := d.messages == 1 || d.text == text
	d.text = text
	return same && d.messages <= min(1+d.unclear, mostUnclear)
}

func (d *delivery) givenUp() bool { return d.unclear == mostUnclear }

func (d *delivery) over() bool { return d.finished && (d.messages > 0 || d.givenUp()) }

// elsewhere reports whether the answer comes in the asker's private chat.
func (m *message) elsewhere() bool { return m.question.private && m.group && !m.asker.anonymous }

// isOver reports whether nothing more is to come.
func (m *message) isOver() bool {
	switch {
	case !m.elsewhere():
		return m.answer.over()
	case m.asker.unreachable:
		return m.answer.over() || m.aside.givenUp()
	}
	return m.answer.over() && (m.answer.givenUp() || m.aside.over())
}

// delivery is that of a message to the group, or privately.
func (m *message) delivery(toGroup bool) *delivery {
	if m.elsewhere() && toGroup != m.asker.unreachable {
		return &m.aside
	}
	return &m.answer
}

func newTelegramSide(fake *telegramtest.Server, from *generator, t *tally, l *leaks) *telegramSide {
	s := &telegramSide{fake: fake, generate: from, tally: t, leaks: l, open: map[[2]int64]*message{}, private: map[int64]*message{}}
	for _, a := range from.askers {
		user, _ := strconv.ParseInt(a.uid, 10, 64)
		if !a.unreachable && !a.anonymous {
			fake.Start(user)
		}
		for i := range int64(groups) {
			if a.moderator {
				fake.Promote(moderatedGroups-i, user, "administrator")
			}
		}
	}
	return s
}

const (
	groups          = 3
	plainGroups     = -1001
	moderatedGroups = -2001
)

// ask puts one random question, or garbage that is no question.
func (s *telegramSide) ask() {
	if s.generate.IntN(40) == 0 {
		garbage := []string{`"poll":{"id":5}`, `"message":{"chat":"x"}`, `"message":{"text":"/price","chat":{"id":-1001,"type":"supergroup"}}`, `"message":null`}
		s.fake.PushRaw(garbage[s.generate.IntN(len(garbage))])
		return
	}
	q := s.generate.next()
	m := &message{question: q}
	m.user, _ = strconv.ParseInt(q.asker.uid, 10, 64)
	m.chat = m.user
	if q.group {
		m.chat = plainGroups - s.generate.Int64N(groups)
		if q.moderated {
			m.chat = moderatedGroups - s.generate.Int64N(groups)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.elsewhere() && s.private[m.user] != nil {
		return
	}
	q.asked = time.Now()
	m.update, m.id = s.fake.Push(s.text(m))
	s.open[[2]int64{m.chat, m.id}] = m
	if m.elsewhere() {
		s.private[m.user] = m
	}
	s.tally.ask("Telegram")
}

// text is the message as Telegram passes it on.
func (s *telegramSide) text(m *message) telegramtest.Message {
	command := "/" + m.command
	if m.group && (s.generate.IntN(2) == 0 || slices.Contains(m.refusals, titleUnknown)) {
		command += "@Herald_Bot"
	}
	if s.generate.IntN(4) == 0 {
		command = strings.ToUpper(command)
	}
	place := telegramtest.Private(m.chat)
	if m.group {
		place = telegramtest.Group(m.chat)
	}
	text := telegramtest.Text(place, telegramtest.Person(m.user), strings.Join(append([]string{command}, m.words...), " "))
	if m.asker.anonymous {
		text["sender_chat"] = place
		text["from"] = telegramtest.User{ID: 1087968824, IsBot: true, FirstName: "Group"}
	}
	if m.target != "" {
		target, _ := strconv.ParseInt(m.target, 10, 64)
		text["reply_to_message"] = telegramtest.Message{"message_id": 1, "chat": place, "from": telegramtest.Person(target), "text": "hi"}
	}
	return text
}

// collect takes what was sent since the last time.
func (s *telegramSide) collect() {
	s.fake.WaitSent(1, 100*time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	sent, calls := s.fake.Take()
	for _, c := range calls {
		if c.Method == "sendMessage" {
			s.call(c)
		}
	}
	for _, m := range sent {
		s.answer(m)
	}
	s.tidy()
}

// call notes how a message was sent, and markup that no send may ask for.
func (s *telegramSide) call(c telegramtest.Call) {
	if c.Params["parse_mode"] != nil {
		s.tally.leak("a message is sent as markup")
	}
	if c.Fault.Unclear() {
		s.breaks++
	}
	var chat int64
	var reply struct {
		ID int64 `json:"message_id"`
	}
	_ = json.Unmarshal(c.Params["chat_id"], &chat)
	if raw := c.Params["reply_parameters"]; raw != nil {
		_ = json.Unmarshal(raw, &reply)
	}
	m := s.asked(chat, reply.ID)
	if m == nil {
		s.tally.double(fmt.Sprintf("a message to %d that answers nothing", chat))
		return
	}
	m.delivery(chat < 0).sending(c.Fault)
}

// asked is the question that a message answers, if it is open.
func (s *telegramSide) asked(chat, replyTo int64) *message {
	if replyTo == 0 {
		return s.private[chat]
	}
	return s.open[[2]int64{chat, replyTo}]
}

func (s *telegramSide) answer(sent telegramtest.Sent) {
	m := s.asked(sent.Chat, sent.ReplyTo)
	if m == nil {
		s.tally.double(fmt.Sprintf("a message to %d that answers nothing open: %q", sent.Chat, sent.Text))
		return
	}
	for _, e := range sent.Entities {
		// A question holds its command in a link of the bot's own.
		if !slices.Contains(marks, e.Type) && !(e.Type == "text_link" && strings.HasPrefix(e.URL, "https://t.me/"+telegramtest.Username+"?")) {
			s.tally.leak("an answer has a " + e.Type + " " + e.URL)
		}
	}
	public := sent.Chat < 0
	d := m.delivery(public)
	if !d.arrived(sent.Text) {
		s.tally.double(m)
		return
	}
	switch {
	case d == &m.aside && sent.Text != pointer:
		s.tally.leak(fmt.Sprintf("%v: the group is told %q", m, sent.Text))
	case d == &m.aside:
	case d.messages > 1:
		s.tally.repeat(m)
	default:
		s.judge(m, sent, public)
	}
}

func (s *telegramSide) judge(m *message, sent telegramtest.Sent, public bool) {
	if public && m.question.private {
		notice := m.asker.anonymous && sent.Text == anonymity || m.asker.unreachable && sent.Text == pressStart
		if !notice {
			s.tally.leak(fmt.Sprintf("%v: the group is told %q", m, sent.Text))
		}
		s.tally.answer(&question{refusals: []string{titleForbidden}}, []string{titleForbidden})
		return
	}
	s.leaks.answer(sent.Text, public)
	s.leaks.pings(withoutCode(sent))
	s.tally.answer(m.question, lines(sent.Text))
}

// withoutCode is a message's text without what is in code.
func withoutCode(sent telegramtest.Sent) string {
	units := utf16.Encode([]rune(sent.Text))
	for _, e := range sent.Entities {
		if e.Type == "code" {
			for i := range e.Length {
				units[e.Offset+i] = ' '
			}
		}
	}
	return string(utf16.Decode(units))
}

// Within patienceLost an answer must be there, however Telegram failed
// meanwhile. A message may be seen a moment after the call that sent it, within
// lag; for afterwards, one too many would be noticed.
const (
	patienceLost = 3 * time.Minute
	lag          = time.Second
	afterwards   = 30 * time.Second
)

func (s *telegramSide) tidy() {
	for key, m := range s.open {
		if m.over.IsZero() && m.isOver() {
			m.over = time.Now()
		}
		lost := m.over.IsZero() && time.Since(m.asked) > patienceLost
		if lost {
			s.tally.lose(fmt.Sprintf("%v: %+v, %+v", m, m.answer, m.aside))
		}
		if m.ended.IsZero() && (lost || !m.over.IsZero() && time.Since(m.over) > lag) {
			s.end(m)
		}
		if !m.ended.IsZero() && time.Since(m.ended) > afterwards {
			delete(s.open, key)
			s.fake.Delete(m.chat, m.id)
		}
	}
}

func (s *telegramSide) end(m *message) {
	m.ended = time.Now()
	if m.answer.messages == 0 {
		s.tally.unsure(m)
	}
	if s.private[m.user] == m {
		delete(s.private, m.user)
	}
}

// waiting counts the questions without an answer.
func (s *telegramSide) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, m := range s.open {
		if m.ended.IsZero() {
			n++
		}
	}
	return n
}

// left looks at the end whether each question is answered or else still in
// Telegram's queue, for the next start to answer, and never both.
func (s *telegramSide) left() {
	s.collect()
	s.mu.Lock()
	defer s.mu.Unlock()
	queued := map[int64]bool{}
	for _, id := range s.fake.Pending() {
		queued[id] = true
	}
	for _, m := range s.open {
		switch {
		case m.answer.messages > 0 && m.answer.unclear == 0 && queued[m.update]:
			s.tally.double(fmt.Sprintf("%v: answered and yet in the queue at the end", m))
		case !m.isOver() && !queued[m.update]:
			s.tally.lose(fmt.Sprintf("%v: at the end", m))
		}
	}
}
