package telegram

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/pace"
	"herald/internal/transport"
)

// deliveryLimit bounds how long a message is repeated that Telegram refuses to
// take for now.
const deliveryLimit = 5 * time.Minute

// unclearWaits are the waits before each repetition of a message that may
// already be out, and so bound how many there are: long enough for a proxy to
// recover, short enough to be read as a repetition.
var unclearWaits = [...]time.Duration{2 * time.Second, 5 * time.Second}

// Telegram shows a chat action for 5 seconds,
// https://core.telegram.org/bots/api#sendchataction.
const (
	typingAfter = 1500 * time.Millisecond
	typingLasts = 4500 * time.Millisecond
)

// sendAnswer sends an answer, or tells the chat that there is no room for it
// before deadline; the error is pace.ErrNoRoom then.
func (s *session) sendAnswer(to destination, t richText, deadline time.Time) error {
	_, err := s.sendInTurn(to, t, deadline)
	if errors.Is(err, pace.ErrNoRoom) {
		s.sendBusy(to)
	}
	return err
}

// sendBusy tells a chat, about once a minute at most, that there is no room for
// an answer.
func (s *session) sendBusy(to destination) {
	to.replyTo = 0
	if s.pace.WaitNotice(s.work.Sends, to.chat, to.group) != nil {
		return
	}
	busy := chat.Busy()
	busy.Language = to.language
	if _, err := s.sendWithRetry(to, s.render(busy, to)); err == nil {
		s.Count("busy_said")
	}
}

// sendInTurn sends a message and returns its ID, or fails with pace.ErrNoRoom if
// its chat has no turn for it before deadline.
func (s *session) sendInTurn(to destination, t richText, deadline time.Time) (id int64, err error) {
	if err := s.pace.Wait(s.work.Sends, to.chat, to.group, deadline); err != nil {
		return 0, err
	}
	return s.sendWithRetry(to, t)
}

// sendWithRetry sends a message whose turn has come, and again for as long as
// that is worth it. It fails with a *botapi.Error, or at the end of the drain.
func (s *session) sendWithRetry(to destination, t richText) (id int64, err error) {
	giveUp := time.Now().Add(deliveryLimit)
	unclear := to.unclear
	full := t.Content
	dropPicture := func() (dropped bool) {
		dropped = t.picture != nil && to.edits == 0
		if dropped {
			t = richText{Content: full}
		}
		return dropped
	}
	again := func(err error) (bool, time.Duration) {
		e, called := errors.AsType[*botapi.Error](err)
		switch {
		case !called:
			return false, 0
		case e.Kind == botapi.Refused:
			return makePlain(e, &t.Content) || dropPicture(), 0
		case e.Kind == botapi.Forbidden:
			// A chat may allow texts alone.
			return dropPicture(), 0
		case e.Kind == botapi.OutcomeUnknown:
			if unclear++; unclear > len(unclearWaits) {
				s.Count("send_given_up")
				return false, 0
			}
			if unclear == len(unclearWaits) {
				// It may be the picture that the server cannot take.
				dropPicture()
			}
			return true, unclearWaits[unclear-1]
		case !certainlyNotOut(e.Kind):
			return false, 0
		case e.Kind != botapi.NotSent && time.Now().Add(e.RetryAfter).After(giveUp):
			s.Count("send_given_up")
			return false, 0
		case e.Kind == botapi.Migrated:
			to.chat = e.NewChat
		}
		return true, e.RetryAfter
	}
	attempts := 0
	err = transport.Policy{Backoff: backoff, Again: again}.Do(s.work.Sends, func(ctx context.Context) (err error) {
		if attempts++; attempts > 1 {
			if s.pace.Wait(ctx, to.chat, to.group, time.Time{}) != nil {
				// Its turn comes after the drain, in the next process.
				<-ctx.Done()
				return ctx.Err()
			}
			s.Count("send_repeated")
		}
		id, err = s.send(ctx, to, t)
		s.sendFailed(err)
		return err
	})
	return id, err
}

// certainlyNotOut reports whether a message that failed like this did not go
// out, and may be taken later. Its update is not acknowledged before it is out.
func certainlyNotOut(k botapi.Kind) bool {
	return k == botapi.NotSent || k == botapi.TooManyRequests || k == botapi.Migrated
}

// send makes the one call that shows a message, and returns the message's ID.
// Nobody's telephone rings in a group.
func (s *session) send(ctx context.Context, to destination, t richText) (id int64, err error) {
	there := botapi.Destination{Chat: to.chat, Thread: to.thread, ReplyTo: to.replyTo, Silent: to.group}
	edited := botapi.MessageRef{Chat: to.chat, MessageID: to.edits}
	switch {
	case to.edits != 0 && t.picture != nil:
		return to.edits, s.api.EditMessageMedia(ctx, edited, t.picture, t.Content)
	case to.edits != 0:
		return to.edits, s.api.EditMessageText(ctx, edited, t.Content)
	case t.picture != nil:
		return s.api.SendPhoto(ctx, there, t.picture, t.Content)
	}
	return s.api.SendMessage(ctx, there, t.Content)
}

// sendFailed counts why a message was not sent, or may not be; nil is no failure.
func (s *session) sendFailed(err error) {
	if err == nil || s.tokenRefused(err) {
		return
	}
	switch botapi.ErrorOf(err).Kind {
	case botapi.TooManyRequests:
		s.Count("rate_limited")
	case botapi.OutcomeUnknown:
		s.Count("send_unclear")
	case botapi.Refused, botapi.Forbidden, botapi.Conflict:
		s.Count("send_refused")
	}
}

// recordOutcome counts what became of an answer, logs one that is not out or may
// not be, and returns whether its update is done with all the same. A chat that is told that there
// is no room is.
func (s *session) recordOutcome(id string, err error) (settled bool) {
	if err == nil {
		s.Count("answered")
		return true
	}
	if errors.Is(err, pace.ErrNoRoom) {
		s.Count("send_shed")
		return true
	}
	s.Count("answer_failed")
	s.logUndelivered(id, err)
	e, called := errors.AsType[*botapi.Error](err)
	switch {
	case !called:
		return false // The drain ended first.
	case e.Kind == botapi.OutcomeUnknown:
		// What the drain cut short is repeated by whoever is given the update
		// next: silence would be worse than one answer too many.
		return s.work.Sends.Err() == nil
	}
	return !certainlyNotOut(e.Kind) && e.Kind != botapi.Unauthorized
}

func (s *session) logUndelivered(id string, err error) {
	s.Log.LogAttrs(s.work.Sends, slog.LevelWarn, "telegram: an answer was not delivered",
		slog.String("id", id), slog.Any("err", err))
}

// typing shows "typing…" in a chat once an answer takes long, until stop is
// called. It is a courtesy: its failures change nothing.
func (s *session) typing(to destination) (stop func()) {
	ctx, cancel := context.WithCancel(s.work.Commands)
	var typing sync.WaitGroup
	typing.Go(func() {
		for wait := typingAfter; transport.Sleep(ctx, wait); wait = typingLasts {
			_ = s.api.SendChatAction(ctx, &bot.SendChatActionParams{
				ChatID: to.chat, MessageThreadID: int(to.thread), Action: models.ChatActionTyping,
			})
		}
	})
	return func() {
		cancel()
		typing.Wait()
	}
}
