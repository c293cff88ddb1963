package discord

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
)

// exchange is one interaction and the way its first response goes.
type exchange struct {
	interaction
	arrived time.Time
	respond func(context.Context, *discordgo.InteractionResponse) error
	// byHTTP tells that the first response is the body of an HTTP response,
	// which an edit can overtake.
	byHTTP bool
	// done is called when nothing more will be answered; nil is nobody.
	done func()
}

// overtaking is how long an edit may come before what it edits.
const overtaking = 5 * time.Second

// callbackTry bounds one try of the first response, so that a lost one leaves
// time for another.
const callbackTry = 1500 * time.Millisecond

// dedupTime bounds the look at Dedup, which stands before the deferral.
const dedupTime = time.Second

// take starts answering x and tells whether somebody will; it does not block.
func (a *Adapter) take(x exchange) bool {
	a.Count("interaction")
	if !x.forUs() {
		a.Count("ignored")
		return false
	}
	if !a.enter() {
		a.Count("dropped")
		return false
	}
	select {
	case a.slots <- struct{}{}:
		go a.work(x, a.slots, a.answerOnce)
		return true
	default:
	}
	select {
	case a.refusals <- struct{}{}:
		a.Count("busy")
		go a.work(x, a.refusals, a.refuse)
		return true
	default:
		a.Count("dropped")
		a.inHand.Done()
		return false
	}
}

func (a *Adapter) work(x exchange, slot chan struct{}, do func(exchange)) {
	defer a.inHand.Done()
	defer func() { <-slot }()
	if x.done != nil {
		defer x.done()
	}
	defer func() {
		if v := recover(); v != nil {
			a.logPanic("", v)
		}
	}()
	do(x)
}

// refuse tells one whose command found no slot.
func (a *Adapter) refuse(x exchange) {
	busy := render(chat.Reply{Tone: chat.Warning, Title: "Busy", Text: "Too many commands at once. Try again in a moment."})
	a.settle(x.respond(a.send, first(busy, discordgo.MessageFlagsEphemeral)))
}

// answerOnce answers x unless it was seen before.
func (a *Adapter) answerOnce(x exchange) {
	key := "discord:interaction:" + x.ID
	ctx, cancel := context.WithTimeout(a.send, dedupTime)
	delivery := a.Dedup.Begin(ctx, key)
	cancel()
	if delivery != chat.Fresh {
		a.Count("duplicate")
		return
	}
	answered := false
	defer func() { a.Dedup.End(a.send, key, answered) }()
	answered = a.answer(x)
}

// answer runs the command beside a timer: Discord takes the first response
// within 3 seconds, and the whole answer later if it was told so.
func (a *Adapter) answer(x exchange) bool {
	flags := a.flags(x.command())
	ctx, cancel := context.WithTimeout(a.handle, a.CommandTimeout)
	defer cancel()
	embeds := make(chan *discordgo.MessageEmbed, 1)
	go func() { embeds <- a.compose(ctx, x.interaction) }()

	timer := time.NewTimer(time.Until(x.arrived.Add(a.pace.deferAfter)))
	defer timer.Stop()
	select {
	case embed := <-embeds:
		return a.settle(x.respond(a.send, first(embed, flags)))
	case <-timer.C:
	}
	a.Count("deferred")
	if err := x.respond(a.send, deferral(flags)); err != nil && !passing(err) {
		return a.settle(err)
	}
	// A deferral whose fate is unknown may have landed: the edit shows it.
	select {
	case embed := <-embeds:
		return a.settle(a.edit(x, embed))
	case <-a.send.Done():
		return a.settle(a.send.Err())
	}
}

// compose runs parse, the command and render. It never panics.
func (a *Adapter) compose(ctx context.Context, i interaction) (embed *discordgo.MessageEmbed) {
	reference := ""
	defer func() {
		if v := recover(); v != nil {
			a.logPanic(reference, v)
			embed = &discordgo.MessageEmbed{
				Title: "Something went wrong", Description: "Reference " + reference + ".", Color: colours[chat.Warning],
			}
		}
	}()
	req := parse(i)
	reference = req.ID
	return render(a.Handler.Handle(ctx, req))
}

// logPanic is the one log line of a panic.
func (a *Adapter) logPanic(reference string, v any) {
	a.Count("panic")
	a.Log.Error("panic in a command", "platform", Platform, "id", reference, "err", fmt.Sprintf("panic with a %T", v))
}

// flags make the answer of a private or unknown command ephemeral.
func (a *Adapter) flags(command string) discordgo.MessageFlags {
	for _, c := range a.Handler.Commands() {
		if (c.Name == command || slices.Contains(c.Aliases, command)) && c.Visibility == chat.Public {
			return 0
		}
	}
	return discordgo.MessageFlagsEphemeral
}

// settle counts how an answer ended and tells whether it is out.
func (a *Adapter) settle(err error) bool {
	switch {
	case err == nil:
		a.Count("answered")
		return true
	case expired(err):
		a.Count("answer_expired")
		a.Log.Warn("an answer came too late", "platform", Platform, "err", err)
	default:
		a.Count("answer_failed")
		a.Log.Error("an answer was not delivered", "platform", Platform, "err", err)
	}
	return false
}

// expired tells whether the interaction can no longer be answered.
func expired(err error) bool {
	var r *refusal
	return errors.As(err, &r) && (r.Status == http.StatusNotFound || r.Code == discordgo.ErrCodeInvalidWebhookTokenProvided)
}

// callback posts the first response. Repeating it is harmless: Discord refuses
// a second one, which proves that the first has landed.
func (a *Adapter) callback(ctx context.Context, x exchange, response *discordgo.InteractionResponse) error {
	endpoint := discordgo.EndpointInteractionResponse(url.PathEscape(x.ID), url.PathEscape(x.Token))
	err := a.persist(ctx, x.arrived.Add(a.pace.callback), func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, callbackTry)
		defer cancel()
		err := a.call(ctx, http.MethodPost, endpoint, x.bucket(), response, nil)
		var r *refusal
		if errors.As(err, &r) && r.Code == discordgo.ErrCodeInteractionHasAlreadyBeenAcknowledged {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("answer an interaction: %w", err)
	}
	return nil
}

// edit replaces the deferral by the answer, for as long as Discord would take
// it. Repeating it changes nothing.
func (a *Adapter) edit(x exchange, embed *discordgo.MessageEmbed) error {
	endpoint := discordgo.EndpointWebhookMessage(url.PathEscape(x.ApplicationID), url.PathEscape(x.Token), "@original")
	grace := time.Now().Add(overtaking)
	err := a.persist(a.send, x.arrived.Add(tokenLife), func(ctx context.Context) error {
		err := a.call(ctx, http.MethodPatch, endpoint, x.bucket(), edit(embed), nil)
		var r *refusal
		if x.byHTTP && errors.As(err, &r) && r.Status == http.StatusNotFound && time.Now().Before(grace) {
			return errOvertaken
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("edit an answer: %w", err)
	}
	return nil
}

// errOvertaken is passing: the deferral is still on its way to Discord.
var errOvertaken = errors.New("the edit came before what it edits")

// buckets bounds the keys in discordgo's limiter, which never forgets one and
// lets one call a key through at a time.
const buckets = 1024

func (x exchange) bucket() string {
	h := fnv.New32a()
	h.Write([]byte(x.ID))
	return fmt.Sprintf("interaction %d", h.Sum32()%buckets)
}
