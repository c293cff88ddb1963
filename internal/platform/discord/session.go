package discord

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/claim"
	"herald/internal/platform"
	"herald/internal/platform/discord/api"
)

const (
	// deferAfter is how long after its arrival an interaction is deferred. Discord waits 3
	// seconds for a first response, and a command may take longer.
	deferAfter = 2 * time.Second
	// pictureTime is how long a picture is retried before the answer is sent without it.
	pictureTime = 30 * time.Second
	// maxInFlight bounds the interactions in flight, at some 20 KiB each. More are dropped
	// and counted.
	maxInFlight = 10_000
	// maxByHTTP is the same bound by HTTP, where each interaction holds a connection until its
	// answer is out. Of the server's 8,000, it leaves some for /healthz and other webhooks.
	maxByHTTP = 7000
)

// session is one Run of the adapter. It takes interactions and answers them.
type session struct {
	*Adapter
	work      *platform.Work
	deferrals deferrals
	// lateness is the arrival of the last interaction, by our clock, less its creation, by
	// Discord's. Replayed interactions do not set it. It is nil before the first.
	lateness atomic.Pointer[time.Duration]
}

// receive starts answering an interaction of the gateway. It does not block.
//
// A replayed interaction counts as arrived at its creation plus lateness, which includes
// the difference between the two clocks. It counts as arrived now while lateness is nil.
func (s *session) receive(data json.RawMessage, replayed bool) {
	now := time.Now()
	s.start(maxInFlight, s.work.Go, func(id string) {
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

// start passes work to run, which is work.Do (blocks until work returns) or work.Go. It
// counts the interaction, and a dropped one if bound are in flight or the session ends.
func (s *session) start(bound int64, run func(func(id string)) bool, work func(id string)) {
	s.Count("interaction")
	started := s.inFlight.Add(1) <= bound && run(func(id string) {
		defer s.inFlight.Add(-1)
		work(id)
	})
	if !started {
		s.inFlight.Add(-1)
		s.Count("dropped")
	}
}

// handle answers i unless i was seen before, and reports whether i was new. An answer of
// unknown outcome counts as given.
func (s *session) handle(i *interaction) bool {
	req, press, err := parse(i, s.work.Handler.Commands())
	key := "discord:interaction:" + i.ID
	if s.work.Claim(s.Dedup, key, req) != claim.New {
		s.Count("duplicate")
		return false
	}
	answered := false
	defer func() {
		if answered {
			s.Dedup.MarkDone(key, api.TokenLife)
		} else {
			s.Dedup.Release(key)
		}
	}()
	switch {
	case err != nil:
		err = s.tellOldButton(i, req)
	case i.Data.Type == entryPoint: // whatever its name
		err = s.respond(i, response{Type: launchActivity})
	default:
		err = s.answer(i, req, press)
	}
	switch {
	case err == nil:
		answered = true
		s.Count("answered")
	case errors.Is(err, api.ErrOutcomeUnknown):
		answered = true
		s.Count("answer_outcome_unknown")
		s.Log.Log(s.work.Sends, s.work.Rarely(slog.LevelWarn, "outcome_unknown"),
			"an answer may or may not be out", "id", i.reference, "err", err)
	case api.Expired(err):
		s.Count("answer_expired")
		s.Log.Log(s.work.Sends, s.work.Rarely(slog.LevelWarn, "expired"),
			"an answer came too late", "id", i.reference, "err", err)
	default:
		s.Count("answer_failed")
		s.Log.Log(s.work.Sends, s.work.Rarely(slog.LevelError, "failed"),
			"an answer was not delivered", "id", i.reference, "err", err)
	}
	return true
}

// answer runs a command and delivers its reply. A picture is always deferred: it takes
// long to send, and may have to be left out.
func (s *session) answer(i *interaction, req *chat.Request, press chat.Press) error {
	s.seeRoles(i, req)
	if name := *s.botName.Load(); name != "" {
		req.BotName, req.BotHandle = name, "@"+name
	}
	to := targetOf(i, s.work.Handler.Visibility(req.Command), press)
	pending := s.deferLater(i, to)
	m, ephemeral := s.run(req, to)
	deferred, err := pending.cancel()
	private := to.private || ephemeral
	if !deferred && m.picture != nil {
		deferred, err = true, s.sendDeferral(i, to.promise(private))
	}
	if err != nil && !errors.Is(err, api.ErrOutcomeUnknown) {
		return err
	}
	// If the deferral's outcome is unknown, these calls fail unless Discord has it.
	for _, d := range to.deliveries(ephemeral, deferred) {
		if err = s.deliver(d, i, m, private); !api.Unacceptable(err) {
			break
		}
	}
	if err != nil {
		s.shown.Forget(to.message)
	}
	return err
}

// tellOldButton responds to a press of a button that this version does not know.
func (s *session) tellOldButton(i *interaction, req *chat.Request) error {
	old := chat.OldButton().In(s.work.Handler.Language(req, chat.Private))
	return s.respond(i, newMessage(render(old, s.commandID), true))
}

// run runs the command and returns its rendered reply. ephemeral is true if only the user
// should see m.
func (s *session) run(req *chat.Request, to target) (m message, ephemeral bool) {
	s.work.Answer(req, func(reply *chat.Reply) {
		m = chat.RenderOnce(Platform, reply, func(r *chat.Reply) message { return render(r, s.commandID) })
		if s.staysAsItIs(to, reply, m) {
			reply = reply.Unchanged().In(s.work.Handler.Language(req, chat.Private))
			m = render(reply, s.commandID)
		}
		ephemeral = reply.ForSender() || to.replaces && reply.Unanswered()
	})
	return m, ephemeral
}

func (s *session) sendDeferral(i *interaction, promise response) error {
	s.Count("deferred")
	return s.respond(i, promise)
}

// delivery is a call that delivers an answer.
type delivery int

const (
	asResponse delivery = iota // the first response is a new message
	asUpdate                   // the first response replaces the message with the button
	asEdit                     // an edit replaces what was deferred
	asFollowUp                 // a new message after a deferral
)

// deliver makes the call d. private hides a new message from all but the user. A
// follow-up has no picture. Straight after the deferral of a new message, private has no
// effect on a follow-up (see api.Client.FollowUp).
func (s *session) deliver(d delivery, i *interaction, m message, private bool) error {
	switch d {
	case asUpdate:
		return s.respond(i, response{Type: discordgo.InteractionResponseUpdateMessage, Data: m})
	case asEdit:
		return s.edit(i, m)
	case asFollowUp:
		followUp := api.Message{Body: m.withoutPicture().forUser(private)}
		return s.api.FollowUp(s.work.Sends, i.Interaction, followUp, i.Arrived.Add(api.TokenLife))
	default:
		return s.respond(i, newMessage(m, private))
	}
}

// respond sends the first response.
func (s *session) respond(i *interaction, r response) error {
	if i.w != nil {
		return r.write(i.w)
	}
	return s.api.Respond(s.work.Sends, i.Interaction, r)
}

// edit replaces the deferred message by m, and is retried until the token expires. A
// picture that cannot be sent within pictureTime is left out.
func (s *session) edit(i *interaction, m message) error {
	if m.picture != nil {
		picture := api.Message{Body: m, Name: m.Attachments[0].Filename, PNG: m.picture}
		err := s.api.Edit(s.work.Sends, i.Interaction, picture, time.Now().Add(pictureTime))
		if err == nil || api.Expired(err) {
			return err
		}
		s.Count("picture_failed")
		m = m.withoutPicture()
	}
	return s.api.Edit(s.work.Sends, i.Interaction, api.Message{Body: m}, i.Arrived.Add(api.TokenLife))
}

// response is the first response to an interaction.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object
type response struct {
	Type discordgo.InteractionResponseType `json:"type"`
	Data any                               `json:"data,omitempty"`
}

// launchActivity is the type of the response that opens the application's Activity.
const launchActivity discordgo.InteractionResponseType = 12

// newMessage returns the response that shows m as a new message.
func newMessage(m message, private bool) response {
	return response{Type: discordgo.InteractionResponseChannelMessageWithSource, Data: m.forUser(private)}
}

// forUser returns m as a new message, for the user alone if private.
func (m message) forUser(private bool) message {
	if private {
		m.Flags = discordgo.MessageFlagsEphemeral
	}
	return m
}

// target is where an answer goes.
type target struct {
	// replaces is true for an answer that replaces the message with the button.
	replaces bool
	// private hides a new message from all but the user.
	private bool
	// message and text are the ID and the text of the message with the button, if replaces is true. The
	// message shows an answer to subject, a command with its arguments, as of asOf.
	message, text, subject string
	asOf                   chat.Version
}

// targetOf returns where the command's answer goes. The command decides who sees the
// answer. The button does not: a button can be forged or of an earlier version. The
// answer of a private or unknown command never replaces a message that others see.
func targetOf(i *interaction, visibility chat.Visibility, press chat.Press) target {
	private := visibility != chat.Public
	public := i.Message != nil && i.Message.Flags&discordgo.MessageFlagsEphemeral == 0
	to := target{replaces: press.Edit && i.Message != nil && !(private && public), private: private, asOf: press.AsOf}
	if to.replaces {
		to.message, to.text = i.Message.ID, textOf(i.Message.Content, i.Message.Embeds)
		to.subject = strings.Join(append([]string{press.Command}, press.Args...), " ")
	}
	return to
}

// textOf returns the text of a message and its embeds.
func textOf(content string, embeds []embed) string {
	for _, e := range embeds {
		// Discord writes the time zone and fractions of a second in another form.
		content += "\n" + e.Description + "\n" + e.Timestamp[:min(len(time.DateTime), len(e.Timestamp))]
	}
	return content
}

// staysAsItIs reports whether the message with the button already shows reply, which is rendered as m,
// or a newer one.
func (s *session) staysAsItIs(to target, reply *chat.Reply, m message) bool {
	if !to.replaces || reply.Unanswered() {
		return false
	}
	switch s.shown.Judge(to.message, to.subject, to.asOf, reply.Source.AsOf) {
	case platform.Keep:
		return true
	case platform.Replace:
		return false
	}
	isRefresh := !to.asOf.IsZero()
	return isRefresh && to.text == textOf(m.Content, m.Embeds) && m.picture == nil
}

// deliveries returns how an answer can be delivered. Each delivery is for when Discord
// does not accept the one before. ephemeral is as run returns it, and deferred says that
// a deferral was sent.
func (to target) deliveries(ephemeral, deferred bool) []delivery {
	switch {
	case !deferred && to.replaces && !ephemeral:
		return []delivery{asUpdate, asResponse}
	case !deferred:
		return []delivery{asResponse}
	case to.replaces && ephemeral: // The message with the button stays as it is.
		return []delivery{asFollowUp}
	default:
		return []delivery{asEdit, asFollowUp}
	}
}

// promise returns the first response that defers the answer. private hides a new message
// from all but the user, and cannot be changed later.
func (to target) promise(private bool) response {
	if to.replaces {
		return response{Type: discordgo.InteractionResponseDeferredMessageUpdate}
	}
	data := map[string]discordgo.MessageFlags{}
	if private {
		data["flags"] = discordgo.MessageFlagsEphemeral
	}
	return response{Type: discordgo.InteractionResponseDeferredChannelMessageWithSource, Data: data}
}
