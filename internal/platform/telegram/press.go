package telegram

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/pace"
	"herald/internal/words"
)

// Whoever presses a button waits, with a spinner on it, until the press is
// answered. Telegram publishes no limit for that; pressLasts is below where
// answers are refused.
const (
	pressLasts = 10 * time.Second
	// spinnerLasts is how long the spinner turns while an answer waits for its
	// turn or is sent.
	spinnerLasts = 2 * time.Second
)

// maxAlert is in characters, https://core.telegram.org/bots/api#answercallbackquery.
const maxAlert = 200

// press is a button pressed, as a command.
type press struct {
	commandMessage
	chat.Press
	// message holds the button; without a Date it is not shown to the bot.
	message *message
}

// parsePress reads the state of the button, below a message of a chat with the
// bot. Anybody can press with any state.
func parsePress(q *callbackQuery, commands chat.Commands) (p press, ok bool) {
	state, err := chat.ParseState(q.Data)
	m := q.Message
	if err != nil || m == nil || !m.Chat.private() && !m.Chat.group() {
		return press{}, false
	}
	command, _ := commands.Find(state.Command)
	c := commandMessage{
		request: requestIn(m.Chat, q.From.ID, q.From.Language),
		typed:   strings.Join(append([]string{state.Command}, state.Args...), " "),
		private: command.Visibility == chat.Private,
		asked:   destinationOf(m),
		sender:  q.From.ID,
	}
	c.request.Command, c.request.Args = state.Command, chat.Typed(state.Args...)
	c.request.CanReplyEphemerally = true
	c.linkable = c.private && len(state.Args) == 0
	c.ephemeral = ephemeralOf(m, q.From.ID)
	c.ephemeral.callback, c.ephemeral.replaced = q.ID, state.Edit
	c.private = c.private || c.ephemeral.arrived()
	return press{c, state, m}, true
}

// answerPress answers one press: in the message with the button, by another
// message, or to the presser alone. Like answer, it returns false if the update
// must not be acknowledged.
func (s *session) answerPress(id string, q *callbackQuery) (settled bool) {
	deadline := time.Now().Add(s.CommandTimeout)
	tell := s.tellOnce(q.ID)
	defer tell(botapi.CallbackAnswer{})
	own := s.work.Handler.Language(chat.Request{Locale: q.From.Language}, true)
	tooOld := chat.OldButton()
	tooOld.Language = own
	p, ok := parsePress(q, s.work.Handler.Commands())
	if !ok {
		tell(alert(tooOld))
		return true
	}
	p.request.ID = id
	p.asked.language = s.work.Handler.Language(p.request, false)
	if p.private && p.asked.group {
		return s.recordOutcome(id, s.answerPrivately(p.commandMessage, deadline, func(n notice) error {
			if n == pressStart {
				tell(botapi.CallbackAnswer{URL: s.startLink(p.commandMessage)})
			} else {
				tell(botapi.CallbackAnswer{Text: words.Say(own, chat.Say(string(n)))})
			}
			return nil
		}, func(r chat.Reply) { tell(botapi.CallbackAnswer{Text: brief(r)}) }))
	}
	var reply chat.Reply
	var shown richText
	s.work.Handle(p.request, func(r chat.Reply) { reply, shown = r, s.render(r, p.asked) })
	switch {
	case reply.Repeated:
		tell(botapi.CallbackAnswer{Text: brief(reply)})
		return true
	case reply.Ask != nil && p.request.Direct:
		// It is sent: an alert has no place to write.
	case reply.Unanswered():
		tell(alert(reply))
		return true
	case p.upToDate(reply):
		tell(botapi.CallbackAnswer{Text: words.Say(own, chat.Say("telegram.current"))})
		return true
	}
	defer s.work.AfterFunc(spinnerLasts, id, func() { tell(botapi.CallbackAnswer{}) }).Stop()
	if !p.editable(reply, shown) {
		return s.recordOutcome(id, s.deliver(p.commandMessage, reply, shown, deadline))
	}
	edited := p.commandMessage
	edited.asked.edits = p.message.ID
	err := s.editInTurn(edited, edit{p.typed, reply.AsOf, shown}, deadline)
	switch {
	case err != nil && p.ofAnotherKind(shown, botapi.ErrorOf(err)):
		err = s.deliver(p.commandMessage, reply, shown, deadline)
	case errors.Is(err, pace.ErrNoRoom):
		busy := chat.Busy()
		busy.Language = own
		tell(alert(busy))
	case err != nil && botapi.ErrorOf(err).Kind == botapi.Refused:
		tell(alert(tooOld))
	}
	return s.recordOutcome(id, err)
}

// upToDate reports whether an edit would bring nothing new, or something older.
func (p press) upToDate(r chat.Reply) bool {
	return p.Edit && !r.AsOf.IsZero() && r.AsOf.Unix() <= p.AsOf.Unix()
}

// editable reports whether the answer can take the place of the message. A
// message with a picture always keeps one, and an edited one cannot ask for a
// reply.
func (p press) editable(r chat.Reply, shown richText) bool {
	losesPicture := p.message.Photo != nil && shown.picture == nil
	return p.Edit && p.message.Date != 0 && !losesPicture && r.Ask == nil
}

// ofAnotherKind reports whether the edit is refused because it would have turned
// a text into a picture, or because another press has done that meanwhile.
func (p press) ofAnotherKind(shown richText, err *botapi.Error) bool {
	refused := err.Kind == botapi.Refused || err.Kind == botapi.Forbidden
	getsPicture := p.message.Photo == nil && shown.picture != nil
	return refused && getsPicture || err.NoText()
}

// alert shows r to the presser alone until they close it.
func alert(r chat.Reply) botapi.CallbackAnswer {
	return botapi.CallbackAnswer{Text: brief(r), Alert: true}
}

// brief is as many whole lines of r as an alert has room for.
func brief(r chat.Reply) string {
	c := words.Print(r)
	lines := []words.Line{c.Title, c.Text}
	for _, section := range c.Sections {
		lines = append(lines, section.Heading)
		for _, f := range section.Fields {
			parts := fieldLine(f)
			lines = append(lines, slices.Concat(parts[:]...))
		}
	}
	text := signs[c.Tone]
	room := maxAlert - utf8.RuneCountInString(text)
	separator := ""
	for _, l := range append(lines, c.Notes...) {
		line := l.String()
		if separator == "" {
			line = cut(line, room) // Something must be said.
		}
		if size := utf8.RuneCountInString(separator + line); line != "" && size <= room {
			text += separator + line
			room -= size
			separator = "\n"
		}
	}
	return text
}

// tellOnce ends the wait of a presser, when it is called first.
func (s *session) tellOnce(query string) func(botapi.CallbackAnswer) {
	var once sync.Once
	return func(a botapi.CallbackAnswer) {
		once.Do(func() {
			a.ID = query
			s.answerQuery(time.Now().Add(pressLasts), "press_unanswered", nil, func(ctx context.Context) error {
				return s.api.AnswerCallbackQuery(ctx, a)
			})
		})
	}
}
