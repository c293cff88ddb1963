package discord

import (
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
)

// pendingInteraction is an interaction that has not been answered yet.
type pendingInteraction struct {
	*interaction
	// arrived is when it did; for a replayed one, when it was created.
	arrived time.Time
	// respond gives the first response.
	respond func(response) error
	// byHTTP is true where the first response is the body of an HTTP response,
	// which an edit can overtake.
	byHTTP bool
}

// place is where an answer goes: into a new message or, with replaces, into the
// one that holds the button pressed.
type place struct {
	replaces bool
	// private is true for a new message that the asker alone is to see.
	private bool
	// asOf is that of the answer to be refreshed; zero if none is.
	asOf time.Time
}

// unchanged reports whether reply is what is there already.
func (to place) unchanged(reply chat.Reply) bool {
	return to.replaces && !to.asOf.IsZero() && reply.AsOf.Unix() == to.asOf.Unix()
}

// placeOf decides by the command whether others may see its answer: a button can
// be forged, or older than this version. A message that they see is never
// replaced by the answer of a private or unknown command.
func (p *pendingInteraction) placeOf(command chat.Command, press chat.Press) place {
	private := command.Visibility != chat.Public
	seen := p.Message != nil && p.Message.Flags&discordgo.MessageFlagsEphemeral == 0
	return place{replaces: press.Edit && p.Message != nil && !(private && seen), private: private, asOf: press.AsOf}
}

// take answers p unless it was seen before, and remembers whether it is
// answered. It reports whether p was new.
func (a *Adapter) take(work *chat.Tasks, id string, p *pendingInteraction) bool {
	if p.typing() {
		// It is asked with every key, and to answer it twice does no harm.
		a.recordOutcome(p.respond(choicesFor(p.interaction, work.Handler.Commands())))
		return true
	}
	key := "discord:interaction:" + p.ID
	if a.Dedup.Claim(work.Sends, key) != chat.New {
		a.Count("duplicate")
		return false
	}
	answered := false
	defer func() { a.Dedup.Release(work.Sends, key, answered) }()
	answered = a.recordOutcome(a.handle(work, id, p))
	return true
}

// handle answers p: a request by its answer, a button that asks a question by a
// modal with the question, and a button that was not made by this version by
// saying so.
func (a *Adapter) handle(work *chat.Tasks, id string, p *pendingInteraction) error {
	commands := work.Handler.Commands()
	req, press, err := parse(p.interaction, id, commands)
	language := work.Handler.Language(req, true)
	if err == nil && press.Asks != "" && p.Type == discordgo.InteractionMessageComponent {
		if param, ok := asked(commands, press.Command, press.Asks); ok {
			return p.respond(response{Type: discordgo.InteractionResponseModal, Data: modalFor(param, p.Data.CustomID, language)})
		}
		err = chat.ErrOldButton
	}
	if err != nil {
		old := chat.OldButton()
		old.Language = language
		return p.respond(newMessage(render(old), true))
	}
	command, _ := commands.Find(req.Command)
	return a.answer(work, p, req, p.placeOf(command, press))
}

// answer runs the command and gives the answer as the first response. If that
// takes too long, a timer promises an answer meanwhile, and the answer replaces
// the promise: Discord waits 3 seconds for the first response. A picture is
// always promised: it takes long to send, and may have to be left out.
func (a *Adapter) answer(work *chat.Tasks, p *pendingInteraction, req chat.Request, to place) error {
	promise := func() error {
		a.Count("deferred")
		return p.respond(deferral(to))
	}
	promised := make(chan error, 1)
	timer := work.AfterFunc(time.Until(p.arrived.Add(deferAfter)), req.ID, func() {
		defer close(promised)
		promised <- promise()
	})
	var m message
	var alone bool // nobody but the asker is to see m
	work.Handle(req, func(reply chat.Reply) {
		alone = reply.Ephemeral || to.replaces && reply.Unanswered()
		if !alone && to.unchanged(reply) {
			reply, alone = upToDate(work.Handler.Language(req, true)), true
		}
		m = render(reply)
	})
	var err error
	switch inTime := timer.Stop(); {
	case inTime && m.picture != nil:
		to.private = to.private || alone
		err = promise()
	case inTime && to.replaces && !alone:
		return p.respond(response{Type: discordgo.InteractionResponseUpdateMessage, Data: m})
	case inTime:
		return p.respond(newMessage(m, to.private || alone))
	default:
		err = <-promised
	}
	if err != nil {
		if again, _ := retryable(err); !again {
			return err
		}
	}
	// Whether the promise arrived may be unknown; what follows will show it.
	if to.replaces && alone {
		return a.tellAsker(work, p, m)
	}
	return a.edit(work, p, m)
}

// upToDate is told who refreshes what has not changed.
func upToDate(l chat.Language) chat.Reply {
	return chat.Reply{Language: l, Title: chat.Say("discord.current")}
}

// recordOutcome counts how an answer ended and reports whether it is out.
func (a *Adapter) recordOutcome(err error) bool {
	switch {
	case err == nil:
		a.Count("answered")
		return true
	case expired(err):
		a.Count("answer_expired")
		a.Log.Warn("an answer came too late", "err", err)
	default:
		a.Count("answer_failed")
		a.Log.Error("an answer was not delivered", "err", err)
	}
	return false
}

// response is the first response to an interaction.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object
type response struct {
	Type discordgo.InteractionResponseType `json:"type"`
	Data any                               `json:"data,omitempty"`
}

// newMessage shows a message to everybody or, if private, to the asker alone.
func newMessage(m message, private bool) response {
	if private {
		m.Flags = discordgo.MessageFlagsEphemeral
	}
	return response{discordgo.InteractionResponseChannelMessageWithSource, m}
}

// deferral promises an answer. For a new message, its flags decide who will see
// it.
func deferral(to place) response {
	if to.replaces {
		return response{Type: discordgo.InteractionResponseDeferredMessageUpdate}
	}
	promise := struct {
		AllowedMentions mentions               `json:"allowed_mentions"`
		Flags           discordgo.MessageFlags `json:"flags,omitempty"`
	}{}
	if to.private {
		promise.Flags = discordgo.MessageFlagsEphemeral
	}
	return response{discordgo.InteractionResponseDeferredChannelMessageWithSource, promise}
}
