package commands

import (
	"cmp"
	"context"
	"strconv"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/query"
)

// Service is a service as /status sees it. query.HealthCheck implements it.
type Service interface {
	Ping(ctx context.Context) (query.Snapshot[any], error)
	Health() query.Health
	// EndedEndpoints returns the endpoints that the service has ended, as an answer to a ping or its error shows.
	EndedEndpoints(answer any, err error) []query.EndedEndpoint
}

// statusCommand answers /status. A service fails if its last call failed, whichever command made
// the call. Otherwise the answer to a ping counts. Pings are cached, so that nobody can have /status
// call a service often.
type statusCommand inputs

func status(from Sources, options Options) chat.Command {
	return chat.Command{
		Name:       "status",
		Summary:    chat.Say("command.status"),
		Visibility: chat.Public,
		Forms:      []chat.Form{{Run: statusCommand{from, options}.answer}},
	}
}

// answer says of each service whether it works. In a community, a button leads its moderators to
// the details.
func (c statusCommand) answer(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	pinged := make([]query.Answer[any], len(c.Services))
	var asking sync.WaitGroup
	for i, s := range c.Services {
		asking.Go(func() { pinged[i].Snapshot, pinged[i].Err = s.Ping(ctx) })
	}
	asking.Wait()
	var all []serviceStatus
	for i, s := range c.Services {
		all = append(all, statusOf(s, pinged[i]))
	}
	reply := statusReply(all)
	if req.Community != "" {
		reply.Actions = append(reply.Actions, chat.Action{Label: chat.Say("button.details"), Command: detailsName})
	}
	return reply, nil
}

// serviceStatus is what is known of one service.
type serviceStatus struct {
	name  string
	asked time.Time // when the last call ended, here or in another replica
	// headline names what does not work. It has no Key if all does.
	headline chat.Text
	state    chat.Value
	notes    []chat.Text
}

// failingStates has the state of a service that fails for a reason. With any other reason it is
// "status.broken".
var failingStates = map[core.Reason]string{
	core.Unreachable: "status.silent",
	core.SlowAnswer:  "status.silent",
	core.Behind:      "status.behind",
	core.Limited:     "status.limited",
	core.UsedUp:      "status.used_up",
	core.NoData:      "status.no_data",
}

// statusOf returns the status of a service that was pinged.
func statusOf(service Service, pinged query.Answer[any]) (s serviceStatus) {
	h := service.Health()
	value := pinged.Value
	_, isQuote := value.(*core.Quote)
	err := pinged.Err
	if err == nil && pinged.Stale && pinged.Why != nil && !isQuote { // quoteStatus tells a quote's age.
		err = pinged.Why
	}
	doubt, isDoubt := doubtOf(err)
	if isDoubt {
		value = doubt.Answer.Value
	}
	switch {
	case !h.FailingSince.IsZero():
		s = failingStatus(h, err)
	case isDoubt:
		s = doubtfulStatus(doubt)
	case err != nil:
		s = uncheckedStatus(h.Service, err)
	default:
		s = answerStatus(pinged.Snapshot)
	}
	s.notes = append(s.notes, endpointNotes(service.EndedEndpoints(value, errorOf(pinged)))...)
	s.name = h.Service.Name
	s.asked = cmp.Or(h.LastCall, pinged.At)
	return s
}

// failingStatus says that a service is down, and for how long. err is that of the ping.
func failingStatus(h query.Health, err error) serviceStatus {
	s := serviceStatus{headline: chat.Say("status.down." + h.Service.Name)}
	if h.Reason == core.Limited { // The last answers stand in, or the next try has one.
		s.headline = chat.Say("status.delayed." + h.Service.Name)
	}
	key, known := failingStates[h.Reason]
	if !known {
		key = "status.broken"
		s.notes = []chat.Text{Explain(h.Service.Fail(h.Reason, err))}
	}
	s.state = chat.SayWith(key, chat.Values{"lasts": lasting(time.Since(h.FailingSince))})
	return s
}

// errorOf returns why a ping failed or has no newer answer, or nil.
func errorOf(pinged query.Answer[any]) error {
	if pinged.Err == nil && pinged.Why != nil {
		return pinged.Why
	}
	return pinged.Err
}

// replacementKeys has the message about an ended endpoint by the state of its replacement.
var replacementKeys = map[query.ReplacementState]string{
	query.ReplacementWorks:   "status.v1_gone",
	query.ReplacementRefuses: "status.v3_status",
	query.ReplacementBroken:  "status.v3_broken",
}

// endpointNotes says which endpoints a service has ended, and how their replacements work.
func endpointNotes(ended []query.EndedEndpoint) (notes []chat.Text) {
	for _, e := range ended {
		notes = append(notes, chat.SayWith(replacementKeys[e.State], chat.Values{
			"v1":     chat.Code(e.Path),
			"v3":     chat.Code(e.Replacement),
			"status": chat.Plain(strconv.Itoa(e.Status)),
		}))
	}
	return notes
}

// uncheckedStatus says that nobody knows whether a service works, because its ping failed with err.
func uncheckedStatus(service *core.Service, err error) serviceStatus {
	what := chat.Values{"what": chat.Say("status." + service.Name)}
	return serviceStatus{
		headline: chat.SayWith("status.unchecked", what),
		state:    chat.Say("status.unknown"),
		notes:    []chat.Text{Explain(err)},
	}
}

// answerStatus says that a service works, or what its answer lacks.
func answerStatus(s query.Snapshot[any]) serviceStatus {
	switch value := s.Value.(type) {
	case core.Stake:
		return stakeStatus(stakeText{Stake: value})
	case *core.Quote:
		return quoteStatus(query.Snapshot[*core.Quote]{Value: value, At: s.At, Stale: s.Stale, Why: s.Why})
	}
	return serviceStatus{state: chat.Say("status.fine")}
}

// stakeStatus says how many pools were read, and that some were not.
func stakeStatus(s stakeText) serviceStatus {
	if s.Complete() {
		return serviceStatus{state: chat.Parts{chat.Say("status.fine"), s.poolsRead()}}
	}
	return serviceStatus{headline: chat.Say("status.partly"), state: s.poolsRead(), notes: s.notes()}
}

// quoteStatus says since when an old price is the last one, and why.
func quoteStatus(s query.Snapshot[*core.Quote]) serviceStatus {
	price := dated(s)
	if !price.Old() {
		return serviceStatus{state: chat.Say("status.fine")}
	}
	old := serviceStatus{
		headline: chat.Say("status.old"),
		state:    chat.SayWith("status.from", chat.Values{"when": chat.Moment{Time: price.LastUpdated}}),
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

func statusReply(all []serviceStatus) *chat.Reply {
	var fields []chat.Field
	var notes []chat.Text
	var headlines chat.Parts
	var oldest time.Time
	for i, s := range all {
		fields = append(fields, chat.Field{Value: chat.Parts{chat.Say("status." + s.name), s.state}})
		notes = append(notes, s.notes...)
		if s.headline.Key != "" {
			headlines = append(headlines, s.headline)
		}
		if i == 0 || s.asked.Before(oldest) {
			oldest = s.asked
		}
	}
	reply := &chat.Reply{
		Sections: []chat.Section{{Fields: fields}},
		Notes:    notes,
		Actions:  []chat.Action{refresh("status")},
	}
	if headlines == nil {
		reply.Tone = chat.Positive
		reply.Title = chat.Say("status.all")
		reply.Checked = oldest
		reply.Source.AsOf.Time = oldest
	} else {
		reply.Tone = chat.Warning
		reply.Title = chat.SayWith("status.title", chat.Values{"what": headlines})
	}
	return reply
}
