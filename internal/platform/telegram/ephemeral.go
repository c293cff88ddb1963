package telegram

import (
	"context"
	"errors"
	"slices"
	"time"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/transport"
)

// ephemeralLasts is how long Telegram takes an ephemeral answer.
const ephemeralLasts = 15 * time.Second

// ephemeral is a command that its sender alone sees in a group, or the press of a
// button below an answer that they alone see. It can be answered in the same way.
// The zero value is what everybody sees. Nothing else says that a server knows
// ephemeral messages, and one that does not would make the answer public.
type ephemeral struct {
	message botapi.EphemeralMessage
	// callback is the ID of the press; "" is a command.
	callback string
	// replaced has the message with the button go when there is an answer.
	replaced bool
}

func ephemeralOf(m *message, user int64) ephemeral {
	return ephemeral{message: botapi.NewEphemeralMessage(m.Chat.ID, user, m.EphemeralID)}
}

func (e ephemeral) arrived() bool { return e.message != botapi.EphemeralMessage{} }

var errNotEphemeral = errors.New("the command did not arrive as ephemeral")

// answerEphemerally answers a command that arrived as ephemeral where it was
// asked. If it fails, the answer belongs into the asker's private chat, and may be
// out all the same: it was sent so many times without knowing.
func (s *session) answerEphemerally(c commandMessage, r chat.Reply, until time.Time) (unclear int, err error) {
	if !c.ephemeral.arrived() {
		return 0, errNotEphemeral
	}
	if r.Ask != nil {
		// What is written in a group in reply to a question may be read by all.
		open := chat.Action{Label: chat.Say("telegram.open"), URL: deepLink(s.me.Username, r.Ask.Command)}
		r.Actions, r.Ask = append(slices.Clip(r.Actions), open), nil
	}
	unclear, err = s.sendEphemerally(c, s.render(r, c.asked), until)
	if err == nil && c.ephemeral.replaced && !r.Unanswered() {
		// A courtesy, as delete is.
		_ = s.api.DeleteEphemeral(s.work.Sends, c.ephemeral.message)
	}
	return unclear, err
}

// sendEphemerally sends a message to the sender of an ephemeral one, in turn and
// until a time at most. If it is unclear whether it is out, it is sent once more.
func (s *session) sendEphemerally(c commandMessage, t richText, until time.Time) (unclear int, err error) {
	ctx, cancel := context.WithDeadline(s.work.Sends, until)
	defer cancel()
	again := func(err error) (bool, time.Duration) {
		e, called := errors.AsType[*botapi.Error](err)
		switch {
		case !called || e.Kind == botapi.Migrated:
			return false, 0
		case e.Kind == botapi.Refused:
			return makePlain(e, &t.Content), 0
		case e.Kind == botapi.OutcomeUnknown:
			unclear++
			return unclear == 1, unclearWaits[0]
		}
		return certainlyNotOut(e.Kind), e.RetryAfter
	}
	attempts := 0
	err = transport.Policy{Backoff: backoff, Until: until, Again: again}.Do(ctx, func(ctx context.Context) error {
		if err := s.pace.Wait(ctx, c.asked.chat, c.asked.group, until); err != nil {
			return err
		}
		if attempts++; attempts > 1 {
			s.Count("send_repeated")
		}
		err := s.api.SendEphemeral(ctx, c.ephemeral.message, c.ephemeral.callback, t.Content)
		s.sendFailed(err)
		return err
	})
	return unclear, err
}
