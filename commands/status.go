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

// Service is a service whose health /status shows. query.HealthCheck implements it, and documents the methods.
type Service interface {
	Ping(ctx context.Context) (query.Snapshot[any], error)
	Health() query.Health
	// EndedEndpoints returns the endpoints that the service has ended, according to the answer to a ping or its error.
	EndedEndpoints(answer any, err error) []query.EndedEndpoint
}

// statusCommand answers /status. It shows a service as failing if the latest call of any command failed. Otherwise it
// goes by the answer to a ping, a question that the service can always answer, such as the price. Pings are cached, so
// that nobody can make the bot call a service often.
type statusCommand inputs

func status(from Sources, options Options) chat.Command {
	return chat.Command{
		Name:       "status",
		Summary:    chat.Say("command.status"),
		Visibility: chat.Public,
		Forms:      []chat.Form{{Run: statusCommand{from, options}.answer}},
	}
}

// answer says whether each service works. In a community, the reply has a button to the details for moderators. answer
// blocks until every ping has been answered or has failed.
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

// serviceStatus is the status of one service.
type serviceStatus struct {
	name     string
	lastCall time.Time // when the latest call ended, by this process or another replica
	// headline is what the reply's title says about the service. It has no Key if the service works.
	headline chat.Text
	// state is what stands beside the service's name.
	state chat.Value
	notes []chat.Text
}

// failingStates are the states of a failing service, by the reason. The state for any other reason is "status.broken".
var failingStates = map[core.Reason]string{
	core.Unreachable: "status.silent",
	core.SlowAnswer:  "status.silent",
	core.Behind:      "status.behind",
	core.Limited:     "status.limited",
	core.UsedUp:      "status.used_up",
	core.NoData:      "status.no_data",
}

// statusOf returns the status of a service from its Health and, unless it is failing, the answer to its ping.
func statusOf(service Service, pinged query.Answer[any]) (s serviceStatus) {
	health := service.Health()
	isFailing := !health.FailingSince.IsZero()
	err := pingError(pinged)
	doubt, isDoubt := doubtOf(err)
	switch {
	case isFailing:
		s = failingStatus(health, err)
	case isDoubt:
		s = doubtfulStatus(doubt)
	case err != nil:
		s = uncheckedStatus(health.Service, err)
	default:
		s = answerStatus(pinged.Snapshot)
	}
	s.notes = append(s.notes, endpointNotes(endedEndpoints(service, pinged))...)
	s.name = health.Service.Name
	s.lastCall = cmp.Or(health.LastCall, pinged.At)
	return s
}

// pingError returns the error of a ping, or nil. The reason of a Stale answer counts as an error, unless the answer is
// a quote: quoteStatus shows how old that is.
func pingError(pinged query.Answer[any]) error {
	_, isQuote := pinged.Value.(*core.Quote)
	isStale := pinged.Stale && pinged.Why != nil
	if pinged.Err == nil && isStale && !isQuote {
		return pinged.Why
	}
	return pinged.Err
}

// endedEndpoints returns the endpoints that a service has ended, so that the bot calls others in their place. It finds
// them in the answer to the ping, which may be a doubtful quote, and in the error or in the reason why there is no
// newer answer.
func endedEndpoints(service Service, pinged query.Answer[any]) []query.EndedEndpoint {
	answer := pinged.Value
	if doubt, isDoubt := doubtOf(pinged.Err); isDoubt {
		answer = doubt.Answer.Value
	}
	err := pinged.Err
	if err == nil && pinged.Why != nil {
		err = pinged.Why
	}
	return service.EndedEndpoints(answer, err)
}

// failingStatus says that a service fails, and for how long. err is the error of its ping.
func failingStatus(h query.Health, err error) serviceStatus {
	s := serviceStatus{headline: chat.Say("status.down." + h.Service.Name)}
	if h.Reason == core.Limited { // Users still get earlier answers, or an answer to their next attempt.
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

// replacementKeys are the messages about an ended endpoint, by the state of the endpoint that is called in its place.
var replacementKeys = map[query.ReplacementState]string{
	query.ReplacementWorks:   "status.v1_gone",
	query.ReplacementRefuses: "status.v3_status",
	query.ReplacementBroken:  "status.v3_broken",
}

// endpointNotes says which endpoints a service has ended, and whether their replacements work.
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

// uncheckedStatus says that it is unknown whether a service works, because its ping failed with err.
func uncheckedStatus(service *core.Service, err error) serviceStatus {
	what := chat.Values{"what": chat.Say("status." + service.Name)}
	return serviceStatus{
		headline: chat.SayWith("status.unchecked", what),
		state:    chat.Say("status.unknown"),
		notes:    []chat.Text{Explain(err)},
	}
}

// answerStatus says that a service works, or which part of its answer is missing or old.
func answerStatus(s query.Snapshot[any]) serviceStatus {
	switch value := s.Value.(type) {
	case core.Stake:
		return stakeStatus(stakeText{Stake: value})
	case *core.Quote:
		return quoteStatus(query.Snapshot[*core.Quote]{Value: value, At: s.At, Stale: s.Stale, Why: s.Why})
	}
	return serviceStatus{state: chat.Say("status.fine")}
}

// stakeStatus says how many pools were read. It has a headline if some were not.
func stakeStatus(s stakeText) serviceStatus {
	if s.Complete() {
		return serviceStatus{state: chat.Parts{chat.Say("status.fine"), s.poolsRead()}}
	}
	return serviceStatus{headline: chat.Say("status.partly"), state: s.poolsRead(), notes: s.notes()}
}

// quoteStatus says that the price service works or, if the latest price is old, how old it is and why there is no newer
// one.
func quoteStatus(s query.Snapshot[*core.Quote]) serviceStatus {
	price := dated(s).Value
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

// lasting says how long something has lasted: in whole minutes, at least 1, or from two hours on in whole hours. It
// rounds down.
func lasting(d time.Duration) chat.Text {
	if d >= 2*time.Hour {
		return chat.SayWith("lasts.hours", chat.Values{"n": chat.Count(d / time.Hour)})
	}
	return chat.SayWith("lasts.minutes", chat.Values{"n": chat.Count(max(d/time.Minute, 1))})
}

// statusReply returns the reply about all services. If every service works, the reply is Positive, and as old as the
// earliest lastCall. Otherwise its title names what does not work.
func statusReply(all []serviceStatus) *chat.Reply {
	var fields []chat.Field
	var notes []chat.Text
	var headlines chat.Parts
	var earliest time.Time
	for i, s := range all {
		fields = append(fields, chat.Field{Value: chat.Parts{chat.Say("status." + s.name), s.state}})
		notes = append(notes, s.notes...)
		if s.headline.Key != "" {
			headlines = append(headlines, s.headline)
		}
		if i == 0 || s.lastCall.Before(earliest) {
			earliest = s.lastCall
		}
	}
	reply := &chat.Reply{
		Sections: []chat.Section{{Fields: fields}},
		Notes:    notes,
		Actions:  []chat.Action{refresh("status")},
	}
	allWork := headlines == nil
	if allWork {
		reply.Tone = chat.Positive
		reply.Title = chat.Say("status.all")
		reply.Checked = earliest
		reply.Source.AsOf.Time = earliest
	} else {
		reply.Tone = chat.Warning
		reply.Title = chat.SayWith("status.title", chat.Values{"what": headlines})
	}
	return reply
}
