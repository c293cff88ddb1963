package truth

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"herald/internal/chat"
	"herald/internal/sandbox"
	"herald/internal/sandbox/fault"
)

// outcome is what an answer says of one service's part in it.
type outcome string

// The honest outcomes. There are no others.
const (
	right outcome = "right"
	stale outcome = "right and marked old"
	// partial is a staker's with pools unread, and told to be so.
	partial outcome = "right as far as could be read"
	// undecided is of a wallet in whose readable pools nothing was found.
	undecided outcome = "cannot be told from the pools that could be read"

	// The others could not be checked, for the reason of this message.
	unreachable outcome = "reason.unreachable"
	slow        outcome = "reason.slow"
	limited     outcome = "reason.limited"
	usedUp      outcome = "reason.used_up"
	denied      outcome = "reason.denied"
	rejected    outcome = "reason.rejected"
	nonsense    outcome = "reason.malformed"
	behind      outcome = "reason.behind"
	paused      outcome = "reason.paused"
)

// outcomes are those of the services that an answer speaks of.
type outcomes map[fault.Target]outcome

var reasons = []outcome{unreachable, slow, limited, usedUp, denied, rejected, nonsense, behind, paused}

// called are the messages that name the services.
var called = map[fault.Target]chat.Text{
	fault.Partner: chat.Say("service.partner"),
	fault.Price:   chat.Say("service.price"),
	fault.Supply:  chat.Say("service.supply"),
	fault.Chain:   chat.Say("service.chain"),
}

// judge returns what an answer, asked for at the given time, says. It fails if
// the answer is not honest: neither the whole truth, nor told to be old, nor
// a "could not be checked" of a service that the question needs.
func judge(w sandbox.World, q query, r chat.Reply, asked time.Time) (outcomes, error) {
	if r.Title.Key == "unchecked.title" && !strings.HasPrefix(r.Text.Key, "stake.undetermined") {
		if r.Tone != chat.Warning || len(r.Sections) > 0 {
			return nil, errors.New("an answer and an excuse at once")
		}
		why, err := reason(r.Text, q.uses[0])
		return outcomes{q.uses[0]: why}, err
	}
	switch q.command {
	case "price":
		return judgePrice(w, r, asked)
	case "supply":
		return judgeSupply(w, r, asked)
	case "staked":
		return judgeStaked(w, q, r)
	case "verify":
		return judgeVerify(w, q, r)
	case "status":
		return judgeStatus(w, r, asked)
	}
	return outcomes{fault.Partner: right}, errors.Join(
		same(shown{r.Tone, r.Title, r.Text, r.Sections}, partnerAnswers(w)[q.name]),
		onlyChecked(r.Notes, asked))
}

// reason is the outcome that a text gives for a service.
func reason(text chat.Text, service fault.Target) (outcome, error) {
	if o := outcome(text.Key); slices.Contains(reasons, o) && reflect.DeepEqual(text.Args["service"], called[service]) {
		return o, nil
	}
	return "", fmt.Errorf("no reason of the %s service: %+v", service, text)
}

// shown is what an answer says, but for its notes.
type shown struct {
	tone        chat.Tone
	title, text chat.Text
	sections    []chat.Section
}

// partnerAnswers are the answers that say all that the partner's service knows,
// by the names of their queries.
func partnerAnswers(w sandbox.World) map[string]shown {
	yours := func(verdict string) chat.Text {
		return chat.SayWith(verdict, chat.Values{"platform": chat.Plain("Telegram"), "service": chat.Say("exists.service")})
	}
	var logins []chat.Field
	for _, l := range w.Logins {
		logins = append(logins, chat.Field{Name: chat.NewForeign(l.Dapp, 60), Value: chat.SayWith("logins.login",
			chat.Values{"platform": chat.Plain(l.Platform), "when": chat.Moment{Time: l.At}})})
	}
	return map[string]shown{
		"mylogins": {title: chat.Say("logins.title"), text: chat.SayWith("logins.count", chat.Values{"n": chat.Count(len(logins))}),
			sections: []chat.Section{{Fields: logins}}},
		"mylogins of a newcomer":    {title: chat.Say("logins.none"), text: chat.Say("logins.none_text")},
		"exists of a registered":    {tone: chat.Positive, title: chat.Say("exists.yes"), text: yours("exists.you.yes")},
		"exists of an unregistered": {tone: chat.Negative, title: chat.Say("exists.no"), text: yours("exists.you.no")},
	}
}

// same compares all that is shown.
func same(got, want any) error {
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		return fmt.Errorf("wrong: %s, and the truth is %s", g, w)
	}
	return nil
}

// onlyChecked expects no note but the one that says when this was learned, which
// is at most a minute before it was asked for, since no trial lasts longer.
func onlyChecked(notes []chat.Text, asked time.Time) error {
	for _, note := range notes {
		if err := expect(note.Key == "checked" && recent(note.Args["when"], asked), "another note"); err != nil {
			return err
		}
	}
	return nil
}

// recent reports whether v is a moment in the minute before an answer that was
// asked for at the given time, or since.
func recent(v chat.Value, asked time.Time) bool {
	at, ok := v.(chat.Moment)
	return ok && at.After(asked.Add(-time.Minute)) && !at.After(time.Now())
}

// splitNotes sorts a reply's notes into those that mark a service's part old,
// and the rest.
func splitNotes(r chat.Reply, asked time.Time) (marked map[fault.Target]bool, rest []chat.Text, err error) {
	marked = map[fault.Target]bool{}
	for _, note := range r.Notes {
		service, old := strings.CutPrefix(note.Key, "old.")
		if !old {
			rest = append(rest, note)
			continue
		}
		known := false
		for target, name := range called {
			if string(target) == service && reflect.DeepEqual(note.Args["service"], name) && recent(note.Args["when"], asked) {
				known, marked[target] = true, true
			}
		}
		if !known {
			return nil, nil, fmt.Errorf("the mark %+v is of no service or of another time", note)
		}
	}
	if want := len(marked) > 0; (r.Tone == chat.Warning) != want {
		return nil, nil, errors.New("the tone does not go with the notes")
	}
	return marked, rest, nil
}

// part is the outcome of a right part.
func part(marked bool) outcome {
	if marked {
		return stale
	}
	return right
}

func judgePrice(w sandbox.World, r chat.Reply, asked time.Time) (outcomes, error) {
	marked, notes, err := splitNotes(r, asked)
	if err != nil {
		return nil, err
	}
	quote := w.Quote
	updated := []chat.Text{chat.SayWith("price.updated", chat.Values{"when": chat.Moment{Time: quote.LastUpdated}})}
	err = errors.Join(
		expect(r.Title.Key == "price.title" && len(r.Sections) == 1 && r.Text.Key == "", "no price"),
		same(notes, updated),
	)
	if err != nil {
		return nil, err
	}
	return outcomes{fault.Price: part(marked[fault.Price])}, sameFields(r.Sections[0].Fields, []chat.Field{
		{Name: chat.Say("price.price"), Value: chat.Price{Decimal: quote.Price}},
		{Name: chat.Say("price.1h"), Value: chat.Change{Decimal: quote.Change1h.Decimal}},
		{Name: chat.Say("price.24h"), Value: chat.Change{Decimal: quote.Change24h.Decimal}},
		{Name: chat.Say("price.7d"), Value: chat.Change{Decimal: quote.Change7d.Decimal}},
		{Name: chat.Say("price.cap"), Value: chat.Money{Decimal: quote.MarketCap.Decimal}},
		{Name: chat.Say("price.volume"), Value: chat.Money{Decimal: quote.Volume24h.Decimal}},
	})
}

func judgeSupply(w sandbox.World, r chat.Reply, asked time.Time) (outcomes, error) {
	marked, notes, err := splitNotes(r, asked)
	if err != nil {
		return nil, err
	}
	if err := expect(r.Title.Key == "supply.title" && r.Text.Key == "" && len(r.Sections) > 0, "no supply"); err != nil {
		return nil, err
	}
	got := outcomes{fault.Supply: part(marked[fault.Supply]), fault.Price: part(marked[fault.Price])}
	total, circulating := w.Supply.Total, w.Supply.Circulating
	err = sameFields(r.Sections[0].Fields, []chat.Field{
		{Name: chat.Say("supply.total"), Value: tokens(total)},
		{Name: chat.Say("supply.circulating"), Value: tokens(circulating)},
		{Name: chat.Say("supply.share"), Value: chat.Share{Decimal: circulating.Shift(2).DivRound(total, 2)}},
	})
	if len(r.Sections) == 1 {
		i := slices.IndexFunc(notes, func(n chat.Text) bool { return n.Key == "supply.unpriced" })
		if i < 0 {
			return nil, errors.New("wrong: the worth is missing and nothing is said")
		}
		why, _ := notes[i].Args["why"].(chat.Text)
		var errWhy error
		got[fault.Price], errWhy = reason(why, fault.Price)
		return got, errors.Join(err, errWhy, onlyChecked(slices.Delete(notes, i, i+1), asked))
	}
	price := w.Quote.Price
	return got, errors.Join(err,
		expect(len(r.Sections) == 2, "more than there is"),
		onlyChecked(notes, asked),
		same(r.Sections[1].Heading, chat.SayWith("supply.worth", chat.Values{"price": chat.Price{Decimal: price}})),
		sameFields(r.Sections[1].Fields, []chat.Field{
			{Name: chat.Say("supply.total"), Value: chat.Money{Decimal: total.Mul(price)}},
			{Name: chat.Say("supply.circulating"), Value: chat.Money{Decimal: circulating.Mul(price)}},
		}))
}

func expect(holds bool, problem string) error {
	if holds {
		return nil
	}
	return errors.New("wrong: " + problem)
}
