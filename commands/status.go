package commands

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
)

// Service is what /status asks of a service; *core.Upstream is one.
type Service interface {
	Ping(ctx context.Context) (core.Snapshot[any], error)
	Health() core.Health
}

// status says of each service whether it works. A call that failed counts, also
// if it was made for another command and an earlier answer is still fresh. What
// is pinged is cached, so that nobody can use /status to have a service asked
// often.
func status(services []Service) chat.Command {
	return chat.Command{
		Name:       "status",
		Summary:    chat.Say("command.status"),
		Visibility: chat.Public,
		Forms: []chat.Form{{Run: func(ctx context.Context, _ chat.Request) (chat.Reply, error) {
			all := make([]serviceStatus, len(services))
			var asking sync.WaitGroup
			for i, s := range services {
				asking.Go(func() {
					pinged, err := s.Ping(ctx)
					all[i] = statusOf(pinged, err, s.Health())
				})
			}
			asking.Wait()
			return statusReply(all), nil
		}}},
	}
}

// serviceStatus is what is known of one service.
type serviceStatus struct {
	core.Health
	verdict verdict
	said    chat.Text
	notes   []chat.Text
}

// verdict is whether a service works.
type verdict int

const (
	ok verdict = iota
	unknown
	failing
)

func statusOf(pinged core.Snapshot[any], err error, h core.Health) serviceStatus {
	s := serviceStatus{Health: h}
	stake, isStake := pinged.Value.(core.Stake)
	quote, isQuote := pinged.Value.(core.Quote)
	if err == nil && pinged.Stale {
		err = h.Service.Fail(core.SlowAnswer, errors.New("there is only an old answer"))
	}
	switch {
	case !h.FailingSince.IsZero():
		s.verdict, s.notes = failing, []chat.Text{Explain(h.Service.Fail(h.Reason, err))}
		s.said = chat.SayWith("status.failing", chat.Values{
			"since": chat.Moment{Time: h.FailingSince}, "last": chat.Moment{Time: h.Asked},
		})
	case err != nil:
		s.verdict, s.said, s.notes = unknown, chat.Say("status.unknown"), []chat.Text{Explain(err)}
	case isStake && !stake.Complete():
		s.verdict, s.said, s.notes = failing, poolsRead(stake), stakeNotes(stake)
	case isStake:
		s.said = chat.SayWith("status.fine_block", chat.Values{"block": blockText(stake), "when": chat.Moment{Time: cmp.Or(stake.BlockTime, pinged.At)}})
	default:
		s.said = chat.SayWith("status.fine", chat.Values{"when": chat.Moment{Time: pinged.At}})
	}
	if isQuote && quote.Old() {
		s.verdict, s.notes = max(s.verdict, unknown), append(s.notes, oldQuote(quote))
	}
	return s
}

func statusReply(all []serviceStatus) chat.Reply {
	reply := chat.Reply{Tone: chat.Warning, Actions: []chat.Action{refresh("status")}}
	var fields []chat.Field
	var asked time.Time
	worst := ok
	for _, s := range all {
		fields = append(fields, chat.Field{Value: chat.Parts{chat.Say("status." + s.Service.Name), s.said}})
		reply.Notes = append(reply.Notes, s.notes...)
		worst = max(worst, s.verdict)
		if s.Asked.After(asked) {
			asked = s.Asked
		}
	}
	reply.Sections = []chat.Section{{Fields: fields}}
	reply.Title = chat.Say([]string{ok: "status.all", unknown: "status.unsure", failing: "status.some"}[worst])
	if worst == ok {
		reply.Tone, reply.AsOf = chat.Positive, asked
	}
	return reply
}
