package discord

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform/discord/api"
)

const (
	// deferAfter is how long after its arrival an interaction is deferred.
	deferAfter = 2 * time.Second
	// pictureTime is for how long a picture is tried before the answer goes
	// without.
	pictureTime = 30 * time.Second
	// maxInFlight bounds the interactions in flight, each of which takes some 20
	// KiB while it waits for a service. Beyond it they are dropped and counted.
	maxInFlight = 10_000
)

// session is one Run of the adapter: it takes an interaction from its arrival to
// the message that answers it.
type session struct {
	Config
	api      *api.Client
	tasks    *chat.Tasks
	inFlight *atomic.Int64
	// lateness is the time from the creation of the last interaction that was not
	// replayed, by Discord's clock, to its arrival, by ours; in nanoseconds.
	lateness atomic.Int64
}

// pending is an interaction that has not been answered yet.
type pending struct {
	*interaction
	id string // the reference in logs and answers
	// w takes the first response as the body of an HTTP response; nil posts it.
	w http.ResponseWriter
}

// receive starts answering an interaction of the gateway. It does not block.
//
// The age of a replayed one counts from when it would have arrived. That is
// reckoned from the others' lateness, so that a clock which is ahead of Discord's
// makes nothing too old.
func (s *session) receive(data json.RawMessage, replayed bool) {
	now := time.Now()
	s.Count("interaction")
	s.start(s.tasks.Go, func(id string) {
		i, err := decode(data)
		if err != nil {
			s.Count("malformed")
			return
		}
		i.Arrived = now
		created, _ := discordgo.SnowflakeTimestamp(i.ID) // which decode has checked
		if !replayed {
			s.lateness.Store(int64(now.Sub(created)))
		} else if due := created.Add(time.Duration(s.lateness.Load())); due.Before(now) {
			i.Arrived = due
		}
		switch {
		case !i.forUs():
			s.Count("ignored")
		case time.Since(i.Arrived) >= api.FirstResponse:
			s.Count("too_late")
		default:
			s.handle(&pending{interaction: i, id: id})
		}
	})
}

// start runs work by begin, which is Do or Go of the tasks. It returns false, and
// counts the interaction as dropped, if too many are in flight or the session
// ends.
func (s *session) start(begin func(func(id string)) bool, work func(id string)) bool {
	begun := s.inFlight.Add(1) <= maxInFlight && begin(func(id string) {
		defer s.inFlight.Add(-1)
		work(id)
	})
	if !begun {
		s.inFlight.Add(-1)
		s.Count("dropped")
	}
	return begun
}

// handle answers p unless it was seen before, and remembers p if it was answered.
// It reports whether p was new.
func (s *session) handle(p *pending) bool {
	if p.Type == discordgo.InteractionApplicationCommandAutocomplete {
		// It is asked with every key, and to answer it twice does no harm.
		choices := map[string]any{"choices": choicesFor(p.interaction, s.tasks.Handler.Commands())}
		s.record(p, s.respond(p, response{Type: discordgo.InteractionApplicationCommandAutocompleteResult, Data: choices}))
		return true
	}
	key := "discord:interaction:" + p.ID
	if s.Dedup.Claim(s.tasks.Sends, key) != chat.New {
		s.Count("duplicate")
		return false
	}
	answered := false
	defer func() { s.Dedup.Release(s.tasks.Sends, key, answered) }()
	answered = s.record(p, s.answer(p))
	return true
}

// record counts how an answer ended and reports whether it is out.
func (s *session) record(p *pending, err error) bool {
	switch {
	case err == nil:
		s.Count("answered")
	case api.Expired(err):
		s.Count("answer_expired")
		s.Log.Warn("an answer came too late", "id", p.id, "err", err)
	default:
		s.Count("answer_failed")
		s.Log.Error("an answer was not delivered", "id", p.id, "err", err)
	}
	return err == nil
}

// answer runs a command. A button that asks a question opens a modal instead, and
// one that this version did not make is called too old.
func (s *session) answer(p *pending) error {
	commands := s.tasks.Handler.Commands()
	req, press, err := parse(p.interaction, p.id, commands)
	language := s.tasks.Handler.Language(req, true)
	if err == nil && press.Asks != "" && p.Type == discordgo.InteractionMessageComponent {
		if param := paramOf(commands, press.Command, press.Asks); param.Question.Key != "" {
			return s.respond(p, response{Type: discordgo.InteractionResponseModal, Data: modalFor(param, p.Data.CustomID, language)})
		}
		err = chat.ErrOldButton
	}
	if err != nil {
		old := chat.OldButton()
		old.Language = language
		return s.respond(p, newMessage(render(old), true))
	}
	command, _ := commands.Find(req.Command)
	return s.run(p, req, targetOf(p.interaction, command, press))
}

// run runs the command and sends its reply: as the first response or, if it takes
// too long, in place of a deferral. A picture is always deferred: it takes long to
// send, and may have to be left out.
func (s *session) run(p *pending, req chat.Request, to target) error {
	deferral := func() error {
		s.Count("deferred")
		return s.respond(p, to.deferral())
	}
	first := deferAt(s.tasks, p.id, p.Arrived.Add(deferAfter), deferral)
	var m message
	var alone bool // nobody but the user is to see m
	s.tasks.Handle(req, func(reply chat.Reply) {
		if !reply.Unanswered() && to.shows(reply) {
			reply = upToDate(s.tasks.Handler.Language(req, true))
		}
		alone = reply.Ephemeral || to.replaces && reply.Unanswered()
		m = render(reply)
	})
	wins, err := first.answer()
	switch {
	case wins && m.picture != nil:
		to.private = to.private || alone
		err = deferral()
	case wins && to.replaces && !alone:
		err = s.respond(p, response{Type: discordgo.InteractionResponseUpdateMessage, Data: m})
		if !api.Unacceptable(err) {
			return err
		}
		return s.respond(p, newMessage(m, to.private))
	case wins:
		return s.respond(p, newMessage(m, to.private || alone))
	}
	if again, _ := api.Retryable(err); err != nil && !again {
		return err
	}
	// Whether a deferral that failed is out is unknown; what follows will show it.
	if to.replaces && alone {
		return s.followUp(p, m, true)
	}
	if err = s.edit(p, m); api.Unacceptable(err) {
		err = s.followUp(p, m, to.private || alone)
	}
	return err
}

// upToDate is the reply to a refresh that changes nothing.
func upToDate(l chat.Language) chat.Reply {
	return chat.Reply{Language: l, Title: chat.Say("discord.current"), Ephemeral: true}
}

// edit replaces the deferred message by m, trying until the token expires. A
// picture that cannot be sent within pictureTime is left out.
func (s *session) edit(p *pending, m message) error {
	if m.picture != nil {
		picture := api.Message{Body: m, Name: m.Attachments[0].Filename, PNG: m.picture}
		err := s.api.Edit(s.tasks.Sends, p.Interaction, picture, time.Now().Add(pictureTime))
		if err == nil || api.Expired(err) {
			return err
		}
		s.Count("picture_failed")
		m = m.withoutPicture()
	}
	return s.api.Edit(s.tasks.Sends, p.Interaction, api.Message{Body: m}, p.Arrived.Add(api.TokenLife))
}

// followUp sends m as a message of its own, without its picture. It must not send
// a private one straight after a public deferral.
func (s *session) followUp(p *pending, m message, private bool) error {
	text := api.Message{Body: m.withoutPicture().seenBy(private)}
	return s.api.FollowUp(s.tasks.Sends, p.Interaction, text, p.Arrived.Add(api.TokenLife))
}

// respond gives the first response.
func (s *session) respond(p *pending, r response) error {
	if p.w != nil {
		return r.write(p.w)
	}
	return s.api.Respond(s.tasks.Sends, p.Interaction, r)
}
