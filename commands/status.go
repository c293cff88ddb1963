package commands

import (
	"context"
	"errors"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
)

// askAgain is how long after a call that failed /status has a service asked again.
const askAgain = 15 * time.Second

// status says of each service whether it works. A call that failed counts, also
// if it was made for another command and an answer from before is still fresh.
//
// Nobody can use it to have a service asked often: of the price and the supply it
// tells how the calls went that others caused, and asks only if there were none
// yet, or the last one failed a while ago. The pools and the registration have
// questions of their own, with answers that everybody shares.
func status(from Sources) chat.Command {
	return chat.Command{
		Name:       "status",
		Summary:    chat.Say("command.status"),
		Visibility: chat.Public,
		Forms: []chat.Form{{Run: func(ctx context.Context, _ chat.Request) (chat.Reply, error) {
			found := make([]finding, len(from.Status.Health()))
			var looking sync.WaitGroup
			for i := range found {
				looking.Go(func() { found[i] = from.look(ctx, i) })
			}
			looking.Wait()
			return statusReply(found, from.Status.Health())
		}}},
	}
}

// finding is what was found out about one service.
type finding struct {
	service string
	verdict verdict
	said    chat.Text
	notes   []chat.Text
	// err is why that is not all there is to say, for the log.
	err error
}

// verdict is whether a service works.
type verdict int

const (
	works verdict = iota
	unsure
	broken
)

// look finds out about the service that stands at i in Health.
func (from Sources) look(ctx context.Context, i int) finding {
	health := from.Status.Health()[i]
	f := finding{service: health.Service.Name}
	switch f.service {
	case "price":
		f.said, f.err = lastAnswer(ctx, from.Price, health)
	case "supply":
		f.said, f.err = lastAnswer(ctx, from.Supply, health)
	case "chain":
		pools, err := from.Status.Pools.Get(ctx, struct{}{})
		if err == nil && !pools.Value.Complete() {
			notes := stakeNotes(pools.Value)
			return finding{f.service, broken, notes[0], notes[1:], unread(pools.Value.Unread())}
		}
		f.said, f.err = chat.SayWith("status.fine_block", chat.Values{"block": newest(pools.Value)}), err
	case "partner":
		registration, err := from.Status.Registration.Get(ctx, struct{}{})
		f.said, f.err = fine(registration.At), err
	default:
		f.err = errors.New("nothing is known of this service")
	}
	health = from.Status.Health()[i]
	failing := !health.FailingSince.IsZero()
	if f.err == nil && !failing {
		return f
	}
	if f.err == nil {
		f.err = errFailed
	}
	f.verdict, f.said, f.notes = unsure, chat.Say("status.unknown"), []chat.Text{Explain(f.err)}
	if failing {
		f.verdict, f.notes = broken, []chat.Text{Explain(health.Service.Fail(health.Reason, f.err))}
		f.said = chat.SayWith("status.failing", chat.Values{
			"since": chat.Moment{Time: health.FailingSince}, "last": chat.Moment{Time: health.Asked},
		})
	}
	return f
}

var errFailed = errors.New("it failed when it was last asked")

// lastAnswer says when a service with one question was last asked, and fails if
// it is failing. It has it asked if it never was, or failed a while ago.
func lastAnswer[V any](ctx context.Context, source core.Source[struct{}, V], h core.Health) (chat.Text, error) {
	switch {
	case !h.FailingSince.IsZero() && time.Since(h.Asked) < askAgain:
		return chat.Text{}, h.Service.Fail(h.Reason, errFailed)
	case h.FailingSince.IsZero() && !h.Asked.IsZero():
		return fine(h.Answered), nil
	}
	s, err := source.Get(ctx, struct{}{})
	if err == nil && s.Stale {
		err = h.Service.Fail(core.SlowAnswer, errors.New("there is only an old answer"))
	}
	return fine(s.At), err
}

func fine(asked time.Time) chat.Text {
	return chat.SayWith("status.fine", chat.Values{"when": chat.Moment{Time: asked}})
}

func statusReply(found []finding, healths []core.Health) (chat.Reply, error) {
	reply := chat.Reply{Tone: chat.Warning, Actions: []chat.Action{refresh("status")}}
	var fields []chat.Field
	var errs []error
	worst := works
	for _, f := range found {
		fields = append(fields, chat.Field{Name: chat.Say("status." + f.service), Value: f.said})
		reply.Notes = append(reply.Notes, f.notes...)
		errs = append(errs, f.err)
		worst = max(worst, f.verdict)
	}
	reply.Sections = []chat.Section{{Fields: fields}}
	switch worst {
	case works:
		reply.Tone, reply.Title = chat.Positive, chat.Say("status.all")
		for _, h := range healths {
			if h.Asked.After(reply.AsOf) {
				reply.AsOf = h.Asked
			}
		}
		return reply, nil
	case unsure:
		reply.Title = chat.Say("status.unsure")
	case broken:
		reply.Title = chat.Say("status.some")
	}
	return reply, &chat.PartialError{Err: errors.Join(errs...)}
}
