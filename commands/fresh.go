package commands

import (
	"cmp"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/query"
)

// Replies use three words for an answer that could be newer:
//
//	Overdue   a newer answer is due, and the service does not give it or is not asked for it
//	Stale     the answer is overdue, because the service was asked and failed
//	old       the quote says so (core.Quote.Old), or the answer is overdue and at least oldAfter old. It must not be
//	          taken for current, so the title shows its age.

// oldAfter is the age from which an overdue answer is old. Below this age, the title shows no age, and only the reply
// to a Stale answer says why there is no newer one.
const oldAfter = 10 * time.Minute

// datedQuote is a price whose quote has all the times that replies need. dated makes it.
type datedQuote struct{ query.Snapshot[*core.Quote] }

// dated completes the times of an overdue quote: it sets LastUpdated if that is unknown, and makes the quote old from
// the age oldAfter on. It changes a copy of the quote. If s is not overdue, dated returns it unchanged.
func dated(s query.Snapshot[*core.Quote]) datedQuote {
	if !s.Overdue() {
		return datedQuote{s}
	}
	q := *s.Value
	q.LastUpdated = cmp.Or(q.LastUpdated, s.At)
	// From CurrentUntil on, a quote is old.
	q.CurrentUntil = earlierKnown(q.CurrentUntil, q.LastUpdated.Add(oldAfter))
	s.Value = &q
	return datedQuote{s}
}

// isCurrent reports whether the price is neither overdue nor old. A reply that shows it does not change with time,
// because it has no age.
func (d datedQuote) isCurrent() bool { return !d.Overdue() && !d.Value.Old() }

// earlierKnown returns the earlier of two times. A zero time is unknown, and does not count.
func earlierKnown(a, b time.Time) time.Time {
	switch {
	case a.IsZero():
		return b
	case b.IsZero():
		return a
	}
	return core.Earlier(a, b)
}

// OldPrice returns a headline with the price and its age, if the price is old. Otherwise isOld is false.
func OldPrice(s query.Snapshot[*core.Quote], symbol string) (headline chat.Text, isOld bool) {
	q := dated(s).Value
	if !q.Old() {
		return chat.Text{}, false
	}
	return oldTitle(*q, symbol), true
}

// oldTitle returns the title of an old price, with its age. It leaves out the change, which is not today's.
func oldTitle(q core.Quote, symbol string) chat.Text {
	return chat.SayWith("old.title", chat.Values{
		"symbol": chat.Plain(symbol),
		"price":  chat.Price{Decimal: q.Price},
		"age":    chat.Age{Time: q.LastUpdated},
	})
}

// failureKeys are the messages that explain why there is no newer answer, by the reason of the failure. The message for
// any other reason is "why.wrong".
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

// failureText explains why a service gave no newer answer. If the service is not asked again for over a minute, it also
// says when. It returns the zero Text if failed is nil.
func failureText(failed *core.Error) chat.Text {
	if failed == nil {
		return chat.Text{}
	}
	key, isKnown := failureKeys[failed.Reason]
	if !isKnown {
		key = "why.wrong"
	}
	why := chat.SayWith(key, chat.Values{"service": serviceText(failed.Service.Name)})
	if failed.RetryAfter <= time.Minute {
		return why
	}
	next := chat.Moment{Time: time.Now().Add(failed.RetryAfter)}
	return chat.SayWith("why.next", chat.Values{"why": why, "when": next})
}

// priceSource returns the last line of a reply with a price: the provider's name or, if the price is Stale or old, why
// there is no newer price.
func priceSource(price datedQuote) chat.Value {
	isOld := price.Value.Old()
	switch {
	case price.Stale || (isOld && price.Overdue()):
		return failureText(price.Why)
	case isOld: // The provider answers, but its price does not change.
		return chat.SayWith("why.unchanged", chat.Values{"service": serviceText("price")})
	}
	return chat.Plain(price.Value.Source)
}
