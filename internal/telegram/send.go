package telegram

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
)

// deliveryLimit bounds how long a message is repeated that Telegram answers
// with 429 or with trouble of its own.
const deliveryLimit = 5 * time.Minute

// errNotOut is a message that certainly was not sent and may be tried again
// as if it had never been made.
var errNotOut = errors.New("certainly not sent")

const busyText = "I am busy in this chat. Please try again in a minute."

// takeTurn waits until a message may go to a place and returns what to call
// once its call has ended.
type takeTurn func(to place) (ended func(), err error)

// deliver sends an answer. Errors are errShed, errNotOut, or an apiError that
// no repetition can mend; nil is a message that Telegram has.
func (s *session) deliver(j *job, to place, t text) error {
	err := s.say(to, t, s.inTime(j))
	if errors.Is(err, errShed) {
		s.Count("send_shed")
		s.sayBusy(to)
	}
	return err
}

// inTime takes a turn that does not come later than the command's time.
func (s *session) inTime(j *job) takeTurn {
	deadline := j.arrived.Add(s.CommandTimeout)
	return func(to place) (func(), error) {
		j.wait(time.Now())
		defer j.wait(time.Time{})
		return s.pace.wait(s.sendsCtx, to, deadline, j.shed)
	}
}

// sayBusy tells a chat once a minute that there is no room.
func (s *session) sayBusy(to place) {
	to.replyTo = 0
	err := s.say(to, text{body: busyText}, func(to place) (func(), error) {
		return s.pace.claimNotice(s.sendsCtx, to)
	})
	if err == nil {
		s.Count("busy_said")
	}
}

// say sends one message and repeats it for as long as it certainly is not out.
func (s *session) say(to place, t text, turn takeTurn) error {
	giveUp := time.Now().Add(deliveryLimit)
	for failures := 0; ; failures++ {
		ended, err := turn(to)
		if errors.Is(err, errShed) {
			return err
		}
		if err != nil || s.sendsCtx.Err() != nil {
			if err == nil {
				ended()
			}
			return errNotOut
		}
		err = s.send(to, t)
		ended()
		wait := backoff(failures, err)
		switch s.tell(err); kindOf(err) {
		case migrated:
			var e *apiError
			if errors.As(err, &e) && failures < 3 {
				to.chat, wait = e.newChat, 0
				break
			}
			return err
		case unauthorized:
			s.fatal(err)
			return fmt.Errorf("%w: %w", errNotOut, err)
		case tooMany, unavailable:
			if time.Now().Add(wait).After(giveUp) {
				s.Count("send_given_up")
				return fmt.Errorf("%w: %w", errNotOut, err)
			}
		case neverSent:
		default:
			return err
		}
		if !pause(s.sendsCtx, nil, wait) {
			return errNotOut
		}
		s.Count("send_repeated")
		turn = func(to place) (func(), error) {
			return s.pace.wait(s.sendsCtx, to, time.Time{}, nil)
		}
	}
}

// tell counts what came of one call.
func (s *session) tell(err error) {
	if err == nil {
		return
	}
	switch kindOf(err) {
	case tooMany:
		s.Count("rate_limited")
	case unclear:
		s.Count("send_unclear")
	case refused, forbidden, conflict:
		s.Count("send_refused")
	}
}

// send makes one sendMessage call.
func (s *session) send(to place, t text) error {
	params := &bot.SendMessageParams{
		ChatID:             to.chat,
		MessageThreadID:    int(to.thread),
		Text:               t.body,
		Entities:           t.entities,
		LinkPreviewOptions: &models.LinkPreviewOptions{IsDisabled: bot.True()},
	}
	if to.replyTo != 0 {
		params.ReplyParameters = &models.ReplyParameters{MessageID: int(to.replyTo), AllowSendingWithoutReply: true}
	}
	_, err := s.api.SendMessage(s.sendsCtx, params)
	return clarify("sendMessage", err)
}

// typing shows "typing…" in a chat once an answer takes long; the function it
// returns ends that. It is shown as a courtesy: its failures change nothing.
func (s *session) typing(to place) (stop func()) {
	ctx, cancel := context.WithCancel(s.commandsCtx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for wait := typingAfter; pause(ctx, nil, wait); wait = typingLasts {
			_, err := s.api.SendChatAction(ctx, &bot.SendChatActionParams{
				ChatID: to.chat, MessageThreadID: int(to.thread), Action: models.ChatActionTyping,
			})
			if err := clarify("sendChatAction", err); err != nil && s.fatal(err) {
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// Telegram shows a chat action for 5 seconds,
// https://core.telegram.org/bots/api#sendchataction.
const (
	typingAfter = 1500 * time.Millisecond
	typingLasts = 4500 * time.Millisecond
)

// Role asks Telegram whether a user administers a chat.
func (a *Adapter) Role(ctx context.Context, user chat.User, chatID string) (chat.Role, error) {
	id, err := strconv.ParseInt(user.ID, 10, 64)
	if err != nil {
		return chat.Member, nil
	}
	member, err := a.api.GetChatMember(ctx, &bot.GetChatMemberParams{ChatID: chatID, UserID: id})
	if err := clarify("getChatMember", err); err != nil {
		return chat.Member, err
	}
	if member.Type == models.ChatMemberTypeOwner || member.Type == models.ChatMemberTypeAdministrator {
		return chat.Moderator, nil
	}
	return chat.Member, nil
}
