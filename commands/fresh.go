package commands

import (
	"cmp"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
)

// oldAfter is the age from which on an answer is shown as old, where there should be a newer
// one. A younger one only says at its end why there is none.
const oldAfter = 10 * time.Minute

// dated returns the quote of s. If there should be a newer one, the quote is old from oldAfter
// on, and its LastUpdated is set.
func dated(s core.Snapshot[core.Quote]) core.Quote {
	q := s.Value
	if s.Stale || s.Why != nil {
		q.LastUpdated = cmp.Or(q.LastUpdated, s.At)
		if from := q.LastUpdated.Add(oldAfter); q.OldFrom.IsZero() || from.Before(q.OldFrom) {
			q.OldFrom = from
		}
	}
	return q
}

// OldPrice returns a headline with the price and its age, and whether the price is old. The
// headline has no change, since a change until then is not today's.
func OldPrice(s core.Snapshot[core.Quote], symbol string) (headline chat.Text, old bool) {
	q := dated(s)
	return chat.SayWith("old.title", chat.Values{
		"symbol": chat.Plain(symbol), "price": chat.Price{Decimal: q.Price}, "age": chat.Age{Time: q.LastUpdated},
	}), q.Old()
}

// whyKeys has the messages about reasons for which there is no newer answer.
var whyKeys = map[core.Reason]string{
	core.Unreachable: "why.silent", core.SlowAnswer: "why.silent", core.Paused: "why.silent",
	core.Limited: "why.limited", core.UsedUp: "why.used_up", core.NoCredit: "why.no_credit",
	core.Denied: "why.refused", core.Rejected: "why.refused", core.NoData: "why.no_data", core.Behind: "why.behind",
}

// why says why there is no newer answer of a service and, if that is over a minute away, when the
// service is asked again. It returns the zero Text for nil.
func why(failed *core.Error) chat.Text {
	if failed == nil {
		return chat.Text{}
	}
	text := chat.SayWith(cmp.Or(whyKeys[failed.Reason], "why.wrong"), chat.Values{"service": serviceText(failed.Service.Name)})
	if failed.RetryAfter <= time.Minute {
		return text
	}
	return chat.SayWith("why.next", chat.Values{"why": text, "when": chat.Moment{Time: time.Now().Add(failed.RetryAfter)}})
}

// priceSource returns the end of an answer with the price of s, whose quote is dated: the
// provider, or why there is no newer price.
func priceSource(s core.Snapshot[core.Quote]) chat.Value {
	switch {
	case s.Stale, s.Why != nil && s.Value.Old():
		return why(s.Why)
	case s.Value.Old():
		return chat.SayWith("why.unchanged", chat.Values{"service": serviceText("price")})
	}
	return chat.Plain(s.Value.Source)
}
