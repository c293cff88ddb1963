package discord

import (
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform/discord/api"
)

const (
	// deferAfter is how long after its arrival an interaction is deferred: Discord waits
	// 3 seconds for a first response, and a command may take longer.
	deferAfter = 2 * time.Second
	// pictureTime is for how long a picture is tried before the answer goes
	// without.
	pictureTime = 30 * time.Second
	// maxInFlight bounds the interactions in flight, and each takes some 20
	// KiB while it waits for a service. Beyond it they are dropped and counted.
	maxInFlight = 10_000
)

// session is one Run of the adapter: it takes an interaction from its arrival to
// the message that answers it.
type session struct {
	*Adapter
	tasks *chat.Tasks
	// lateness is the time from the creation of the last interaction that was not
	// replayed, by Discord's clock, to its arrival, by ours; nil before the first.
	lateness atomic.Pointer[time.Duration]
}

// receive starts answering an interaction of the gateway. It does not block.
//
// The age of a replayed one counts from when it would have arrived. That is
// reckoned from the others' lateness, so that a clock which is ahead of Discord's
// makes nothing too old; before there is another, it counts from now.
func (s *session) receive(data json.RawMessage, replayed bool) {
	now := time.Now()
	s.start(s.tasks.Go, func(id string) {
		i, forUs := decode(data)
		if !forUs {
			s.Count("ignored")
			return
		}
		i.reference, i.Arrived = id, now
		created, _ := discordgo.SnowflakeTimestamp(i.ID) // which decode has checked
		lateness := now.Sub(created)
		if !replayed {
			s.lateness.Store(&lateness)
		} else if usual := s.lateness.Load(); usual != nil && lateness > *usual {
			i.Arrived = created.Add(*usual)
		}
		if time.Since(i.Arrived) >= api.FirstResponse {
			s.Count("too_late")
			return
		}
		s.handle(i)
	})
}

// start runs work by begin, which is Do or Go of the tasks. If too many are in flight
// or the session ends, it counts the interaction as dropped.
func (s *session) start(begin func(func(id string)) bool, work func(id string)) {
	s.Count("interaction")
	begun := s.inFlight.Add(1) <= maxInFlight && begin(func(id string) {
		defer s.inFlight.Add(-1)
		work(id)
	})
	if !begun {
		s.inFlight.Add(-1)
		s.Count("dropped")
	}
}

// handle answers i unless it was seen before, and remembers i if it was answered or
// may have been. It reports whether i was new.
func (s *session) handle(i *interaction) bool {
	key := "discord:interaction:" + i.ID
	if s.Dedup.Claim(s.tasks.Sends, key) != chat.New {
		s.Count("duplicate")
		return false
	}
	answered := false
	defer func() { s.Dedup.Release(s.tasks.Sends, key, answered, api.TokenLife) }()
	err := s.answer(i)
	switch {
	case err == nil:
		answered = true
		s.Count("answered")
	case errors.Is(err, api.ErrOutcomeUnknown):
		answered = true
		s.Count("answer_outcome_unknown")
		s.Log.Log(s.tasks.Sends, s.tasks.Rarely(slog.LevelWarn, "outcome_unknown"), "an answer may or may not be out", "id", i.reference, "err", err)
	case api.Expired(err):
		s.Count("answer_expired")
		s.Log.Log(s.tasks.Sends, s.tasks.Rarely(slog.LevelWarn, "expired"), "an answer came too late", "id", i.reference, "err", err)
	default:
		s.Count("answer_failed")
		s.Log.Log(s.tasks.Sends, s.tasks.Rarely(slog.LevelError, "failed"), "an answer was not delivered", "id", i.reference, "err", err)
	}
	return true
}

// answer runs a command and sends its reply: as the first response or, if it takes
// too long, in place of a deferral. A picture is always deferred: it takes long to
// send, and may have to be left out.
func (s *session) answer(i *interaction) error {
	commands := s.tasks.Handler.Commands()
	req, press, err := parse(i, commands)
	if err != nil {
		old := chat.OldButton()
		old.Language = s.tasks.Handler.Language(req, true)
		return s.respond(i, newMessage(render(old, s.commandID), true))
	}
	req.BotName, _ = s.name.Load().(string)
	command, _ := commands.Find(req.Command)
	to := targetOf(i, *command, press)
	deferral := func() error {
		s.Count("deferred")
		return s.respond(i, to.deferral())
	}
	// Either the answer is the first response or, after deferAfter, a deferral, which
	// promises it; never both.
	deferred := make(chan error, 1)
	timer := s.tasks.AfterFunc(time.Until(i.Arrived.Add(deferAfter)), i.reference, func() {
		defer close(deferred) // also after a panic
		deferred <- deferral()
	})
	var m message
	var alone bool // nobody but the user is to see m
	s.tasks.Handle(req, func(reply chat.Reply) {
		if upToDate := to.replaces && !to.asOf.IsZero() && reply.AsOf.Unix() == to.asOf.Unix(); upToDate && !reply.Unanswered() {
			reply = reply.Unchanged()
			reply.Language = s.tasks.Handler.Language(req, true)
		}
		alone = reply.Ephemeral || to.replaces && reply.Unanswered()
		m = render(reply, s.commandID)
	})
	switch inTime := timer.Stop(); {
	case !inTime:
		err = <-deferred
	case m.picture != nil:
		to.private = to.private || alone
		err = deferral()
	case to.replaces && !alone:
		err = s.respond(i, response{Type: discordgo.InteractionResponseUpdateMessage, Data: m})
		if !api.Unacceptable(err) {
			return err
		}
		fallthrough
	default:
		return s.respond(i, newMessage(m, to.private || alone))
	}
	// What follows shows whether a deferral of unknown outcome is out.
	if err != nil && !errors.Is(err, api.ErrOutcomeUnknown) {
		return err
	}
	if !to.replaces || !alone {
		if err = s.edit(i, m); !api.Unacceptable(err) {
			return err
		}
	}
	return s.followUp(i, m, to.private || alone)
}

// respond gives the first response.
func (s *session) respond(i *interaction, r response) error {
	if i.w != nil {
		return r.write(i.w)
	}
	return s.api.Respond(s.tasks.Sends, i.Interaction, r)
}

// edit replaces the deferred message by m, trying until the token expires. A
// picture that cannot be sent within pictureTime is left out.
func (s *session) edit(i *interaction, m message) error {
	if m.picture != nil {
		picture := api.Message{Body: m, Name: m.Attachments[0].Filename, PNG: m.picture}
		err := s.api.Edit(s.tasks.Sends, i.Interaction, picture, time.Now().Add(pictureTime))
		if err == nil || api.Expired(err) {
			return err
		}
		s.Count("picture_failed")
		m = m.withoutPicture()
	}
	return s.api.Edit(s.tasks.Sends, i.Interaction, api.Message{Body: m}, i.Arrived.Add(api.TokenLife))
}

// followUp sends m as a message of its own, without its picture. It must not send
// a private one straight after a public deferral.
func (s *session) followUp(i *interaction, m message, private bool) error {
	m = m.withoutPicture()
	if private {
		m.Flags = discordgo.MessageFlagsEphemeral
	}
	return s.api.FollowUp(s.tasks.Sends, i.Interaction, api.Message{Body: m}, i.Arrived.Add(api.TokenLife))
}

// response is the first response to an interaction.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object
type response struct {
	Type discordgo.InteractionResponseType `json:"type"`
	Data any                               `json:"data,omitempty"`
}

// newMessage responds with a message, for everybody or, if private, for the user
// alone.
func newMessage(m message, private bool) response {
	if private {
		m.Flags = discordgo.MessageFlagsEphemeral
	}
	return response{Type: discordgo.InteractionResponseChannelMessageWithSource, Data: m}
}

// target is where an answer goes.
type target struct {
	// replaces is true for an answer that replaces the message with the button.
	replaces bool
	// private is true for a new message that the user alone is to see.
	private bool
	// asOf is the AsOf of the answer that a button refreshes, or zero.
	asOf time.Time
}

// targetOf returns where the command's answer goes. The command decides who sees
// it, and not the button, which can be forged or of an earlier version: the answer
// of a private or unknown command never replaces a message that others see.
func targetOf(i *interaction, command chat.Command, press chat.Press) target {
	private := command.Visibility != chat.Public
	seen := i.Message != nil && i.Message.Flags&discordgo.MessageFlagsEphemeral == 0
	return target{replaces: press.Edit && i.Message != nil && !(private && seen), private: private, asOf: press.AsOf}
}

// deferral promises an answer. Its flags decide who will see a new message.
func (to target) deferral() response {
	if to.replaces {
		return response{Type: discordgo.InteractionResponseDeferredMessageUpdate}
	}
	data := map[string]discordgo.MessageFlags{}
	if to.private {
		data["flags"] = discordgo.MessageFlagsEphemeral
	}
	return response{Type: discordgo.InteractionResponseDeferredChannelMessageWithSource, Data: data}
}
