package telegram

import (
	"context"
	"sync"
	"time"

	"github.com/go-telegram/bot"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
)

const (
	// queryLasts is how long an answer to a press or an inline query is worth
	// sending. Telegram publishes no limit; this is below where answers are refused.
	queryLasts = 10 * time.Second
	// spinnerLasts is how long a pressed button shows a spinner while an answer waits
	// for its slot or is sent.
	spinnerLasts = 2 * time.Second
)

// press is a pressed button, which shows a spinner until the press is answered.
type press struct {
	s    *session
	id   string // of the callback query
	once sync.Once
}

// answer answers the callback query once. Later calls, and calls of a nil press, return
// false.
func (p *press) answer(a bot.AnswerCallbackQueryParams) (first bool) {
	if p == nil {
		return false
	}
	p.once.Do(func() {
		a.CallbackQueryID, first = p.id, true
		p.s.answerQuery(time.Now(), "press_unanswered", func(ctx context.Context) error {
			return p.s.a.api.AnswerCallbackQuery(ctx, &a)
		})
	})
	return first
}

// tell shows a reply only to the person who pressed, in their language: for a moment, or
// as an alert until they close it. It returns false if there is no press to answer.
func (t *task) tell(r chat.Reply, alert bool) bool {
	r.Language = t.s.tasks.Handler.Language(t.cmd.request, true)
	return t.press.answer(bot.AnswerCallbackQueryParams{Text: renderAlert(r), ShowAlert: alert})
}

// answerQuery makes the call that answers an inline query or a press, and counts the
// event if that fails.
func (s *session) answerQuery(arrived time.Time, event string, call func(context.Context) error, contents ...*botapi.Content) {
	if s.out.Answer(s.tasks.Sends, arrived.Add(queryLasts), call, contents...) != nil {
		s.a.Count(event)
	}
}
