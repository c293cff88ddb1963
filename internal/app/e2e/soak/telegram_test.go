//go:build soak

package soak

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"herald/internal/telegram/telegramtest"
)

// What a group is told about a private command.
const (
	pointer   = "I have answered you privately."
	anonymity = "I can answer that only privately, and you are anonymous here. Please ask me in our private chat."
)

var pressStart = regexp.MustCompile(`^I can answer that only privately, and may not write to you yet\. Open https://t\.me/herald_bot\?start=(start|mylogins|exists) and press Start; if no answer comes there, ask again\.$`)

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

// message is a question in Telegram.
type message struct {
	*question
	chat, user, id, update int64
	answers, pointers      int
	// answerBroke and pointerBroke are sends that broke off unclearly.
	answerBroke, pointerBroke bool
	ended                     time.Time
}

// elsewhere reports whether the answer comes in the asker's private chat.
func (m *message) elsewhere() bool { return m.question.private && m.group && !m.asker.anonymous }

// over reports whether nothing more is to come.
func (m *message) over() bool {
	pointed := !m.elsewhere() || m.asker.unreachable || m.pointers > 0 || m.pointerBroke
	return m.answerBroke || m.answers > 0 && pointed
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

// call notes a send that broke off, and markup that no send may ask for.
func (s *telegramSide) call(c telegramtest.Call) {
	if c.Params["parse_mode"] != nil {
		s.tally.leak("a message is sent as markup")
	}
	if !c.Fault.Unclear() {
		return
	}
	s.breaks++
	var chat int64
	var reply struct {
		ID int64 `json:"message_id"`
	}
	_ = json.Unmarshal(c.Params["chat_id"], &chat)
	if raw := c.Params["reply_parameters"]; raw != nil {
		_ = json.Unmarshal(raw, &reply)
	}
	m := s.open[[2]int64{chat, reply.ID}]
	if reply.ID == 0 {
		m = s.private[chat]
	}
	switch {
	case m == nil:
		s.tally.double(fmt.Sprintf("a message to %d that answers nothing", chat))
	case m.elsewhere() && reply.ID != 0 && !m.asker.unreachable:
		m.pointerBroke = true
	default:
		m.answerBroke = true
		s.tally.unsure(m)
	}
	s.end(m)
}

func (s *telegramSide) answer(sent telegramtest.Sent) {
	m := s.open[[2]int64{sent.Chat, sent.ReplyTo}]
	if sent.ReplyTo == 0 {
		m = s.private[sent.Chat]
	}
	if m == nil {
		s.tally.double(fmt.Sprintf("a message to %d that answers nothing open: %q", sent.Chat, sent.Text))
		return
	}
	for _, e := range sent.Entities {
		if e.Type != "bold" && e.Type != "italic" {
			s.tally.leak("an answer has a " + e.Type)
		}
	}
	public := sent.Chat < 0
	switch {
	case public && m.elsewhere() && !m.asker.unreachable:
		if sent.Text != pointer {
			s.tally.leak(fmt.Sprintf("%v: the group is told %q", m, sent.Text))
		}
		if m.pointers++; m.pointers > 1 || m.pointerBroke {
			s.tally.double(m)
		}
	default:
		if m.answers++; m.answers > 1 || m.answerBroke {
			s.tally.double(m)
			break
		}
		s.judge(m, sent, public)
	}
	s.end(m)
}

func (s *telegramSide) judge(m *message, sent telegramtest.Sent, public bool) {
	if public && m.question.private {
		notice := m.asker.anonymous && sent.Text == anonymity || m.asker.unreachable && pressStart.MatchString(sent.Text)
		if !notice {
			s.tally.leak(fmt.Sprintf("%v: the group is told %q", m, sent.Text))
		}
		s.tally.answer(&question{refusals: []string{titleForbidden}}, []string{titleForbidden})
		return
	}
	s.leaks.answer(sent.Text, public)
	s.tally.answer(m.question, lines(sent.Text))
}

func (s *telegramSide) end(m *message) {
	if m == nil || !m.over() || !m.ended.IsZero() {
		return
	}
	m.ended = time.Now()
	if s.private[m.user] == m {
		delete(s.private, m.user)
	}
}

// Within patienceLost an answer must be there, however Telegram failed
// meanwhile; for afterwards, a second one would be noticed.
const (
	patienceLost = 3 * time.Minute
	afterwards   = 30 * time.Second
)

func (s *telegramSide) tidy() {
	for key, m := range s.open {
		switch {
		case !m.ended.IsZero() && time.Since(m.ended) > afterwards:
		case m.ended.IsZero() && time.Since(m.asked) > patienceLost:
			s.tally.lose(fmt.Sprintf("%v: %d answers, %d pointers", m, m.answers, m.pointers))
			m.answerBroke = true
			s.end(m)
		default:
			continue
		}
		delete(s.open, key)
		s.fake.Delete(m.chat, m.id)
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
		case m.answers > 0 && queued[m.update]:
			s.tally.double(fmt.Sprintf("%v: answered and yet in the queue at the end", m))
		case !m.over() && !queued[m.update]:
			s.tally.lose(fmt.Sprintf("%v: at the end", m))
		}
	}
}
