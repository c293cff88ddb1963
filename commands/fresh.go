package commands

import (
	"cmp"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/query"
)

// oldAfter is the age from which on an overdue answer is shown as old. A younger price that is
// Stale only says at its end why there is no newer one.
const oldAfter = 10 * time.Minute

// dated returns the quote of s. If s is overdue, the quote is old from oldAfter on, and its
// LastUpdated is set.
func dated(s query.Snapshot[*core.Quote]) *core.Quote {
	q := s.Value
	if s.Overdue() {
		copied := *q
		q = &copied
		q.LastUpdated = cmp.Or(q.LastUpdated, s.At)
		if from := q.LastUpdated.Add(oldAfter); q.CurrentUntil.IsZero() || from.Before(q.CurrentUntil) {
			q.CurrentUntil = from
		}
	}
	return q
}

// isCurrent reports whether s, whose quote is dated, is neither overdue nor old. Its reply then
// shows no age, and does not change with time.
func isCurrent(s query.Snapshot[*core.Quote]) bool { return !s.Overdue() && !s.Value.Old() }

// OldPrice returns a headline with the price and its age, or false if the price is not old.
func OldPrice(s query.Snapshot[*core.Quote], symbol string) (headline chat.Text, old bool) {
	q := dated(s)
	if !q.Old() {
		return chat.Text{}, false
	}
	return oldTitle(*q, symbol), true
}

// oldTitle returns the title of an old price, with its age. It has no change, because the
// change until then is not today's.
func oldTitle(q core.Quote, symbol string) chat.Text {
	return chat.SayWith("old.title", chat.Values{
		"symbol": chat.Plain(symbol), "price": chat.Price{Decimal: q.Price}, "age": chat.Age{Time: q.LastUpdated},
	})
}

// whyKeys has the messages about reasons for which there is no newer answer. Any other reason is
// "why.wrong".
var whyKeys = map[core.Reason]string{
	core.Unreachable: "why.silent",
	core.SlowAnswer:  "why.silent",
	core.Paused:      "why.silent",
	core.Limited:     "why.limited",
	core.UsedUp:      "why.used_up",
	core.NoCredit:    "why.no_credit",
	core.Denied:      "why.refused",
	core.Rejected:    "why.refused",
	core.NoData:      "why.no_data",
	core.Behind:      "why.behind",
}

// why says why a service gave no newer answer, and when the service is asked again, if that is
// over a minute away. It returns the zero Text for nil.
func why(failed *core.Error) chat.Text {
	if failed == nil {
		return chat.Text{}
	}
	text := chat.SayWith(cmp.Or(whyKeys[failed.Reason], "why.wrong"),
		chat.Values{"service": serviceText(failed.Service.Name)})
	if failed.RetryAfter <= time.Minute {
		return text
	}
	return chat.SayWith("why.next", chat.Values{"why": text, "when": chat.Moment{Time: time.Now().Add(failed.RetryAfter)}})
}

// priceSource returns the end of a reply with the price of s, whose quote is dated. For an old or
// Stale price it is why there is no newer one, and for any other price the provider.
func priceSource(s query.Snapshot[*core.Quote]) chat.Value {
	switch {
	case s.Stale, s.Overdue() && s.Value.Old():
		return why(s.Why)
	case s.Value.Old():
		return chat.SayWith("why.unchanged", chat.Values{"service": serviceText("price")})
	}
	return chat.Plain(s.Value.Source)
}
