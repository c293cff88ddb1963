package commands

import (
	"cmp"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/query"
)

// oldAfter is the age at which an overdue answer is first shown as old. Below a younger Stale price,
// the reply only says why there is no newer one.
const oldAfter = 10 * time.Minute

// dated returns the quote of s, in the form that the replies of this package show: if s is overdue, it returns a copy
// that has a LastUpdated, and is old from the age oldAfter on. "The quote must be dated" means that dated returned it.
func dated(s query.Snapshot[*core.Quote]) *core.Quote {
	q := s.Value
	if s.Overdue() {
		copied := *q
		q = &copied
		q.LastUpdated = cmp.Or(q.LastUpdated, s.At)
		oldFrom := q.LastUpdated.Add(oldAfter)
		if q.CurrentUntil.IsZero() || oldFrom.Before(q.CurrentUntil) {
			q.CurrentUntil = oldFrom
		}
	}
	return q
}

// isCurrent reports whether s is neither overdue nor old. Its reply then shows no age, and does not
// change with time. The quote of s must be dated.
func isCurrent(s query.Snapshot[*core.Quote]) bool { return !s.Overdue() && !s.Value.Old() }

// OldPrice returns a headline with the price and its age. It returns false if the price is not old.
func OldPrice(s query.Snapshot[*core.Quote], symbol string) (headline chat.Text, old bool) {
	q := dated(s)
	if !q.Old() {
		return chat.Text{}, false
	}
	return oldTitle(*q, symbol), true
}

// oldTitle returns the title of an old price, with its age. It leaves out the change, because that
// change is not today's.
func oldTitle(q core.Quote, symbol string) chat.Text {
	return chat.SayWith("old.title", chat.Values{
		"symbol": chat.Plain(symbol), "price": chat.Price{Decimal: q.Price}, "age": chat.Age{Time: q.LastUpdated},
	})
}

// failureKeys are the messages that explain why there is no newer answer. The message for any other
// reason is "why.wrong".
var failureKeys = map[core.Reason]string{
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

// failureText explains why a service gave no newer answer. It also says when the service is asked
// again, if that is over a minute away. It returns the zero Text if failed is nil.
func failureText(failed *core.Error) chat.Text {
	if failed == nil {
		return chat.Text{}
	}
	text := chat.SayWith(cmp.Or(failureKeys[failed.Reason], "why.wrong"),
		chat.Values{"service": serviceText(failed.Service.Name)})
	if failed.RetryAfter <= time.Minute {
		return text
	}
	return chat.SayWith("why.next", chat.Values{"why": text, "when": chat.Moment{Time: time.Now().Add(failed.RetryAfter)}})
}

// priceSource returns the end of a reply with the price of s. It names the provider. If the price is
// old or Stale, it explains instead why there is no newer one. The quote of s must be dated.
func priceSource(s query.Snapshot[*core.Quote]) chat.Value {
	switch {
	case s.Stale, s.Overdue() && s.Value.Old():
		return failureText(s.Why)
	case s.Value.Old():
		return chat.SayWith("why.unchanged", chat.Values{"service": serviceText("price")})
	}
	return chat.Plain(s.Value.Source)
}
