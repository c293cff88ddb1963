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
	// maxInFlight is the maximum number of interactions in flight, at some 20 KiB each. Further ones are dropped and
	// counted.
	maxInFlight = 10_000
	// maxByHTTP is the maximum if interactions arrive by HTTP. Each interaction then holds a connection until its answer
	// is delivered. The server has 8,000 connections; some are left for /healthz and other webhooks.
	maxByHTTP = 7000
)

// session is one Run of the adapter. It receives interactions and answers them.
type session struct {
	work      *platform.Work
	api       *api.Client
	dedup     claim.Claims
	publicKey ed25519.PublicKey
	log       *slog.Logger
	count     func(event string)
	// botName returns the bot's name, or "" while it is unknown.
	botName   func() string
	commandID func(name string) string // see renderer
	// stakerRoles are the roles that the settings name.
	stakerRoles []chat.Badge
	// shown decides which answers replace messages with buttons.
	shown    *platform.Shown
	inFlight *atomic.Int64  // interactions
	due      chan *deferral // the deferrals to send now
	// delay is how long the latest interaction took to arrive: the time from its creation, by Discord's clock, to its
	// arrival, by ours. Replayed interactions do not count. delay is nil before the first interaction.
	delay atomic.Pointer[time.Duration]
}

// newSession returns a session of a, and starts the goroutines that send its deferrals. They end when the session's
// work is drained, which the caller must do.
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

// receive starts answering an interaction of the gateway. It does not block. replayed is true if the bot was not
// connected when the interaction was created, so that Discord sends it late. If it is too late to answer the
// interaction, it is dropped and counted.
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

// arrival returns when an interaction counts as arrived. Discord's time limits for the answer begin then.
//
// An interaction that was not replayed arrives now, and sets the session's delay. A replayed interaction counts as
// arrived when it would have arrived with that delay. For example, if the delay is 0.2 seconds, a replayed interaction
// that was created 2 seconds ago counts as arrived 1.8 seconds ago. The delay includes the difference between the two
// clocks, so that clock errors cancel out. While the delay is unknown, a replayed interaction arrives now.
func (s *session) arrival(i *interaction, now time.Time, replayed bool) time.Time {
	created, _ := discordgo.SnowflakeTimestamp(i.ID) // decode has checked the ID.
	delay := now.Sub(created)
	if !replayed {
		s.delay.Store(&delay)
		return now
	}
	usual := s.delay.Load()
	if usual == nil || delay <= *usual {
		return now
	}
	return created.Add(*usual)
}

// admit counts an interaction as in flight while do runs. It calls do by run, which is Work.Go or, if admit is to block
// until do has returned, Work.Do. If more than maximum would be in flight, or the session ends, admit drops the
// interaction and does not call do.
func (s *session) admit(maximum int64, run func(func(id string)) bool, do func(id string)) {
	s.count("interaction")
	admitted := s.inFlight.Add(1) <= maximum && run(func(id string) {
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
	req, press, unknownButton := parse(i, s.work.Handler.Commands())
	i.claimKey = "discord:interaction:" + i.ID
	if s.work.Claim(s.dedup, i.claimKey, req) != claim.New {
		s.count("duplicate")
		return false
	}
	defer s.endClaim(i)
	var err error
	switch {
	case unknownButton != nil:
		err = s.tellOldButton(i, req)
	case i.Data.Type == entryPoint:
		err = s.respond(i, response{Type: launchActivity})
	default:
		err = s.answer(i, req, press)
	}
	s.record(i, err)
	return true
}

// answer runs a command and delivers its answer. It blocks meanwhile.
//
// If the command takes longer than deferAfter, the first response is a deferral. Otherwise, it is the answer itself. An
// answer with a picture always follows a deferral, because the upload takes long and may fail.
func (s *session) answer(i *interaction, req *chat.Request, press *chat.Press) error {
	s.seeRoles(i, req)
	if name := s.botName(); name != "" {
		req.BotName = name
		req.BotHandle = "@" + name
	}
	i.target = targetOf(i, s.work.Handler.Visibility(req.Command), press)
	d := s.deferLater(i)
	defer d.cancel() // It matters only after a panic. Otherwise, overtake has already ended the deferral.
	a := s.runCommand(req, &i.target)

	first, err := d.overtake()
	if first == theAnswer && a.picture != nil {
		first = theDeferral
		err = s.sendDeferral(i, a.reader)
	}
	if err != nil && !errors.Is(err, api.ErrOutcomeUnknown) {
		// Discord does not have the deferral. It therefore accepts neither an edit nor a follow-up, and it is too late for
		// another first response.
		s.forgetShown(i, a)
		return err
	}
	// If the outcome of the deferral is unknown, deliver finds out: it fails unless Discord has the deferral.
	return s.deliver(i, a, firstDelivery(first, i.target.destination, a.destination))
}

// runCommand runs a command and returns its answer, rendered. If the message with the button shows that answer already,
// or a newer one, that message stays, and the answer says so in a new message.
func (s *session) runCommand(req *chat.Request, to *target) *answer {
	a := &answer{}
	s.work.Answer(req, func(reply *chat.Reply) {
		a.version = reply.Source.AsOf
		a.message = chat.RenderOnce(Platform, reply, s.render)
		if to.keepsPressed(s.shown, reply, a.message) {
			reply = reply.Unchanged().In(s.work.Handler.Language(req, chat.Private))
			a.message = s.render(reply)
		}
		a.destination, a.reader = to.forReply(reply)
	})
	return a
}

// forgetShown takes back what runCommand noted in shown about an answer that could not be shown.
func (s *session) forgetShown(i *interaction, a *answer) {
	s.shown.Forget(i.target.pressed.id, i.target.pressed.subject, a.version)
}

func (s *session) render(reply *chat.Reply) *message { return render(reply, s.commandID) }

// tellOldButton responds to a press of a button that this version does not know.
func (s *session) tellOldButton(i *interaction, req *chat.Request) error {
	old := chat.OldButton().In(s.work.Handler.Language(req, chat.Private))
	return s.respond(i, newMessage(s.render(old), userAlone))
}

// markDone marks the claim of i as done, because Discord has an answer or a deferral, or may have one. The claims
// remember that for as long as i could be answered.
func (s *session) markDone(i *interaction) {
	if !i.isClaimDone {
		i.isClaimDone = true
		s.dedup.MarkDone(i.claimKey, api.TokenLife)
	}
}

// endClaim releases the claim of i unless it is marked as done.
func (s *session) endClaim(i *interaction) {
	if !i.isClaimDone {
		s.dedup.Release(i.claimKey)
	}
}

// record counts and logs how the delivery of the answer to i ended. err is nil if it succeeded, which is not logged. If
// the outcome is unknown, the claim is marked as done, as after a success.
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
