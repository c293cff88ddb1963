package commands

import (
	"cmp"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/query"
)

// Three words say that an answer could be newer:
//
//	Stale      it is past its TTL, because the service fails
//	Overdue    it is Stale, or there is another reason why there is no newer one
//	old        it is too old to be taken for current, so that its title prints its age

// oldAfter is the age from which an overdue answer is old. A reply with a younger Stale price only says why there is no
// newer one.
const oldAfter = 10 * time.Minute

// datedQuote is a price in the form that the replies of this package show. dated returns it.
type datedQuote struct{ query.Snapshot[*core.Quote] }

// dated returns s in the form that replies show. If s is overdue, the Value is a copy of the quote. The copy has a
// LastUpdated, and it is old from the age oldAfter on, or earlier if the quote says so.
func dated(s query.Snapshot[*core.Quote]) datedQuote {
	if !s.Overdue() {
		return datedQuote{s}
	}
	q := *s.Value
	q.LastUpdated = cmp.Or(q.LastUpdated, s.At)
	q.CurrentUntil = earlierKnown(q.CurrentUntil, q.LastUpdated.Add(oldAfter))
	s.Value = &q
	return datedQuote{s}
}

// isCurrent reports whether the price is neither overdue nor old. The reply then shows no age, and does not change with
// time.
func (d datedQuote) isCurrent() bool { return !d.Overdue() && !d.Value.Old() }

// OldPrice returns a headline with the price and its age. isOld is false if the price is not old.
func OldPrice(s query.Snapshot[*core.Quote], symbol string) (headline chat.Text, isOld bool) {
	q := dated(s).Value
	if !q.Old() {
		return chat.Text{}, false
	}
	return oldTitle(*q, symbol), true
}

// oldTitle returns the title of an old price, with its age. It leaves out the change, which is not the change of today.
func oldTitle(q core.Quote, symbol string) chat.Text {
	return chat.SayWith("old.title", chat.Values{
		"symbol": chat.Plain(symbol),
		"price":  chat.Price{Decimal: q.Price},
		"age":    chat.Age{Time: q.LastUpdated},
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

// priceSource returns the end of a reply with a price. It names the provider. If the price is Stale or old, it explains
// instead why there is no newer one: the provider fails, or it answers and its price does not change.
func priceSource(price datedQuote) chat.Value {
	isOld := price.Value.Old()
	isOverdue := price.Overdue()
	switch {
	case price.Stale || (isOld && isOverdue):
		return failureText(price.Why)
	case isOld:
		return chat.SayWith("why.unchanged", chat.Values{"service": serviceText("price")})
	}
	return chat.Plain(price.Value.Source)
}
