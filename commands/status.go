package commands

import (
	"context"
	"slices"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
)

// Service is a service as /status sees it. *core.Upstream implements it.
type Service interface {
	Ping(ctx context.Context) (core.Snapshot[any], error)
	Health() core.Health
}

// statusCommand answers /status. The last call to a service decides, whichever command made
// it, even if an earlier answer is still fresh. Pings are cached, so that nobody can make
// /status call a service often.
type statusCommand inputs

func status(from Sources, options Options) chat.Command {
	return chat.Command{
		Name:       "status",
		Summary:    chat.Say("command.status"),
		Visibility: chat.Public,
		Forms:      []chat.Form{{Run: statusCommand{from, options}.answer}},
	}
}

// answer says of each service whether it works. What concerns the chat is behind a button for
// its moderators.
func (c statusCommand) answer(ctx context.Context, req chat.Request) (chat.Reply, error) {
	pinged := make([]core.Answer[any], len(c.Services))
	var asking sync.WaitGroup
	for i, s := range c.Services {
		asking.Go(func() { pinged[i].Snapshot, pinged[i].Err = s.Ping(ctx) })
	}
	asking.Wait()
	var all []serviceStatus
	for i, s := range c.Services {
		all = append(all, statusOf(pinged[i], s.Health()))
	}
	reply := statusReply(all)
	if req.Community != "" {
		reply.Actions = append(reply.Actions, chat.Action{Label: chat.Say("button.details"), Command: detailsName})
	}
	return reply, nil
}

// serviceStatus is what is known of one service.
type serviceStatus struct {
	core.Health
	// headline names the failure; without a Key the service works.
	headline chat.Text
	state    chat.Value
	notes    []chat.Text
}

// failingStates has what is said of a service that fails for a reason. With any other reason it
// is "status.broken".
var failingStates = map[core.Reason]string{
	core.Unreachable: "status.silent", core.SlowAnswer: "status.silent", core.Behind: "status.behind",
	core.Limited: "status.limited", core.UsedUp: "status.used_up", core.NoData: "status.no_data",
}

// statusOf goes by the last call to a service, then by what a ping answered.
func statusOf(pinged core.Answer[any], h core.Health) serviceStatus {
	stake, isStake := pinged.Value.(core.Stake)
	quote, isQuote := pinged.Value.(core.Quote)
	err := pinged.Err
	if err == nil && pinged.Stale && pinged.Why != nil && !isQuote { // Of an old price its age is said.
		err = pinged.Why
	}
	s := serviceStatus{state: chat.Say("status.fine")}
	switch {
	case !h.FailingSince.IsZero():
		s = failingStatus(h, err)
	case err != nil:
		what := chat.Values{"what": chat.Say("status." + h.Service.Name)}
		s = serviceStatus{headline: chat.SayWith("status.unchecked", what), state: chat.Say("status.unknown"), notes: []chat.Text{Explain(err)}}
	case isStake:
		s = stakeStatus(stakeText{Stake: stake})
	case isQuote:
		s = quoteStatus(core.Snapshot[core.Quote]{Value: quote, At: pinged.At, Stale: pinged.Stale, Why: pinged.Why})
	}
	if isQuote && quote.V1Gone {
		s.notes = append(s.notes, chat.Say("status.v1_gone"))
	}
	s.Health = h
	return s
}

// failingStatus says that a service is down, and for how long. err is that of the ping.
func failingStatus(h core.Health, err error) serviceStatus {
	s := serviceStatus{headline: chat.Say("status.down." + h.Service.Name)}
	key, known := failingStates[h.Reason]
	if !known {
		key, s.notes = "status.broken", []chat.Text{Explain(h.Service.Fail(h.Reason, err))}
	}
	s.state = chat.SayWith(key, chat.Values{"lasts": lasting(time.Since(h.FailingSince))})
	return s
}

// stakeStatus says how many pools were read.
func stakeStatus(s stakeText) serviceStatus {
	if s.Complete() {
		return serviceStatus{state: chat.Parts{chat.Say("status.fine"), s.poolsRead()}}
	}
	return serviceStatus{headline: chat.Say("status.partly"), state: s.poolsRead(), notes: s.notes()}
}

// quoteStatus says of an old price when it was updated.
func quoteStatus(s core.Snapshot[core.Quote]) serviceStatus {
	price := dated(s)
	if !price.Old() {
		return serviceStatus{state: chat.Say("status.fine")}
	}
	old := serviceStatus{
		headline: chat.Say("status.old"), state: chat.SayWith("status.from", chat.Values{"when": chat.Moment{Time: price.LastUpdated}}),
	}
	if s.Why != nil {
		old.notes = []chat.Text{Explain(s.Why)}
	}
	return old
}

// lasting says how long something lasts: in minutes, or from two hours on in hours.
func lasting(d time.Duration) chat.Text {
	if d >= 2*time.Hour {
		return chat.SayWith("lasts.hours", chat.Values{"n": chat.Count(d / time.Hour)})
	}
	return chat.SayWith("lasts.minutes", chat.Values{"n": chat.Count(max(d/time.Minute, 1))})
}

func statusReply(all []serviceStatus) chat.Reply {
	reply := chat.Reply{Tone: chat.Warning, Actions: []chat.Action{refresh("status")}}
	var fields []chat.Field
	var headlines chat.Parts
	for _, s := range all {
		fields = append(fields, chat.Field{Value: chat.Parts{chat.Say("status." + s.Service.Name), s.state}})
		reply.Notes = append(reply.Notes, s.notes...)
		if s.headline.Key != "" {
			headlines = append(headlines, s.headline)
		}
	}
	reply.Sections = []chat.Section{{Fields: fields}}
	reply.Title = chat.SayWith("status.title", chat.Values{"what": headlines})
	if headlines == nil {
		asked := slices.MinFunc(all, func(a, b serviceStatus) int { return a.LastCall.Compare(b.LastCall) }).LastCall
		reply.Tone, reply.Title, reply.Checked, reply.AsOf = chat.Positive, chat.Say("status.all"), asked, asked
	}
	return reply
}
