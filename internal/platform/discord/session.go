package discord

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/claim"
	"herald/internal/platform"
	"herald/internal/platform/discord/api"
)

const (
	// maxInFlight is the maximum number of interactions in flight, at some 20 KiB each. More are dropped and counted.
	maxInFlight = 10_000
	// maxByHTTP is the maximum by HTTP, where each interaction holds a connection until its answer is delivered. Of
	// the server's 8,000 connections, it leaves some for /healthz and other webhooks.
	maxByHTTP = 7000
)

// session is one Run of the adapter: it receives interactions and answers them. Its fields are set by newSession.
type session struct {
	work      *platform.Work
	api       *api.Client
	dedup     claim.Claims
	publicKey ed25519.PublicKey
	log       *slog.Logger
	count     func(event string)
	// botName returns the bot's name, or "" while it is unknown.
	botName   func() string
	commandID commandIDs
	// stakerRoles are the roles of the settings.
	stakerRoles []chat.Badge
	// shown orders the answers that replace messages with buttons.
	shown    *platform.Shown
	inFlight *atomic.Int64  // interactions
	due      chan *deferral // the deferrals to send
	// lateness is how long after its creation the latest interaction arrived: our clock minus Discord's. Replayed
	// interactions do not set it. It is nil before the first.
	lateness atomic.Pointer[time.Duration]
}

// newSession returns a session of a, which sends deferrals until its work is drained. The caller must drain it.
func (a *Adapter) newSession(ctx context.Context, h platform.Handler) *session {
	s := &session{
		work:        platform.NewWork(ctx, h, a.Log, a.Count),
		api:         a.api,
		dedup:       a.Dedup,
		publicKey:   a.PublicKey,
		log:         a.Log,
		count:       a.Count,
		botName:     func() string { return *a.botName.Load() },
		commandID:   a.commandID,
		stakerRoles: a.StakerRoles,
		shown:       &a.shown,
		inFlight:    &a.inFlight,
		due:         make(chan *deferral, maxInFlight),
	}
	for range api.MaxFirst {
		go s.sendDeferrals()
	}
	return s
}

// receive starts answering an interaction of the gateway. It does not block. An interaction that can no longer be
// answered is dropped and counted.
func (s *session) receive(data json.RawMessage, replayed bool) {
	now := time.Now()
	s.admit(maxInFlight, s.work.Go, func(reference string) {
		i, forUs := decode(data)
		data = nil // It is large, and would be kept while the command runs.
		if !forUs {
			s.count("ignored")
			return
		}
		i.reference = reference
		i.Arrived = s.arrival(i, now, replayed)
		if time.Since(i.Arrived) >= api.FirstResponse {
			s.count("too_late")
			return
		}
		s.handle(i)
	})
}

// arrival returns when an interaction counts as arrived: now or, if it is replayed, at its creation plus lateness,
// which includes the difference between the two clocks. While lateness is nil, a replayed one counts as arrived now.
func (s *session) arrival(i *interaction, now time.Time, replayed bool) time.Time {
	created, _ := discordgo.SnowflakeTimestamp(i.ID) // which decode has checked
	lateness := now.Sub(created)
	if !replayed {
		s.lateness.Store(&lateness)
		return now
	}
	usual := s.lateness.Load()
	if usual == nil || lateness <= *usual {
		return now
	}
	return created.Add(*usual)
}

// admit counts an interaction as in flight and passes do to run, which is Work.Do (blocks until do returns) or Work.Go.
// If more than bound would be in flight, or the session ends, admit drops the interaction.
func (s *session) admit(bound int64, run func(func(id string)) bool, do func(id string)) {
	s.count("interaction")
	admitted := s.inFlight.Add(1) <= bound && run(func(id string) {
		defer s.inFlight.Add(-1)
		do(id)
	})
	if !admitted {
		s.inFlight.Add(-1)
		s.count("dropped")
	}
}

// handle claims an interaction and answers it. It returns false if the interaction was seen before.
func (s *session) handle(i *interaction) (isNew bool) {
	req, press, malformed := parse(i, s.work.Handler.Commands())
	i.claimKey = "discord:interaction:" + i.ID
	if s.work.Claim(s.dedup, i.claimKey, req) != claim.New {
		s.count("duplicate")
		return false
	}
	defer s.endClaim(i)
	var err error
	switch {
	case malformed != nil:
		err = s.tellOldButton(i, req)
	case i.Data.Type == entryPoint: // whatever its name
		err = s.respond(i, response{Type: launchActivity})
	default:
		err = s.answer(i, req, press)
	}
	s.record(i, err)
	return true
}

// answer runs a command and delivers its answer. It blocks meanwhile. A picture is always deferred, because its upload
// takes long and may fail.
func (s *session) answer(i *interaction, req *chat.Request, press *chat.Press) error {
	s.seeRoles(i, req)
	if name := s.botName(); name != "" {
		req.BotName = name
		req.BotHandle = "@" + name
	}
	i.target = targetOf(i, s.work.Handler.Visibility(req.Command), press)
	d := s.deferLater(i)
	defer d.cancel() // also after a panic
	a := s.run(req, &i.target)

	first, err := d.overtake()
	if first == theAnswer && a.picture != nil {
		first = theDeferral
		err = s.sendDeferral(i, a.reader)
	}
	if err != nil && !errors.Is(err, api.ErrOutcomeUnknown) {
		// Without a deferral, Discord takes no answer later, and it is too late for a first response.
		s.shown.Forget(i.target.message, i.target.subject, a.asOf)
		return err
	}
	// After an unknown outcome, the calls below fail unless Discord has the deferral.
	return s.deliver(i, a, firstDelivery(first, i.target.place, a.place))
}

// run runs a command and returns its answer, rendered. If the message with the button shows that answer already, or a
// newer one, the answer to the press says so instead.
func (s *session) run(req *chat.Request, to *target) *answer {
	a := &answer{}
	s.work.Answer(req, func(reply *chat.Reply) {
		a.asOf = reply.Source.AsOf
		a.message = chat.RenderOnce(Platform, reply, s.render)
		if to.keepsMessage(s.shown, reply, a.message) {
			reply = reply.Unchanged().In(s.work.Handler.Language(req, chat.Private))
			a.message = s.render(reply)
		}
		a.place, a.reader = to.forReply(reply)
	})
	return a
}

func (s *session) render(reply *chat.Reply) *message { return render(reply, s.commandID) }

// tellOldButton responds to a press of a button that this version does not know.
func (s *session) tellOldButton(i *interaction, req *chat.Request) error {
	old := chat.OldButton().In(s.work.Handler.Language(req, chat.Private))
	return s.respond(i, newMessage(s.render(old), userAlone))
}

// markDone marks the claim to answer i as done: Discord has an answer or a deferral, or may have it. It is remembered
// for as long as i could be answered.
func (s *session) markDone(i *interaction) {
	if !i.isDone {
		i.isDone = true
		s.dedup.MarkDone(i.claimKey, api.TokenLife)
	}
}

// endClaim releases the claim to answer i unless it is marked as done.
func (s *session) endClaim(i *interaction) {
	if !i.isDone {
		s.dedup.Release(i.claimKey)
	}
}

// record counts what became of the answer to i, whose delivery ended with err, and logs it if it is not certain that
// Discord has the answer. An answer of unknown outcome counts as given.
func (s *session) record(i *interaction, err error) {
	switch {
	case err == nil:
		s.markDone(i)
		s.count("answered")
	case errors.Is(err, api.ErrOutcomeUnknown):
		s.markDone(i)
		s.count("answer_outcome_unknown")
		s.log.Log(s.work.Sends, s.work.Rarely(slog.LevelWarn, "outcome_unknown"),
			"an answer may or may not be out", "id", i.reference, "err", err)
	case api.Expired(err):
		s.count("answer_expired")
		s.log.Log(s.work.Sends, s.work.Rarely(slog.LevelWarn, "expired"),
			"an answer came too late", "id", i.reference, "err", err)
	default:
		s.count("answer_failed")
		s.log.Log(s.work.Sends, s.work.Rarely(slog.LevelError, "failed"),
			"an answer was not delivered", "id", i.reference, "err", err)
	}
}
