package truth

import (
	"errors"
	"fmt"
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

	// The others could not be checked, for the reason in the user's words.
	unreachable outcome = "cannot be reached"
	slow        outcome = "did not answer in time"
	limited     outcome = "is being asked too often"
	denied      outcome = "refuses my credentials"
	rejected    outcome = "refused the question"
	nonsense    outcome = "gave an answer that makes no sense"
	behind      outcome = "is behind: what it knows is too old to go by"
	paused      outcome = "so I am not asking it right now"
)

// outcomes are those of the services that an answer speaks of.
type outcomes map[fault.Target]outcome

var reasons = []outcome{unreachable, slow, limited, denied, rejected, nonsense, behind, paused}

var called = map[fault.Target]string{
	fault.Partner: "The registration service",
	fault.Price:   "The price provider",
	fault.Supply:  "The supply host",
	fault.Chain:   "The chain's node",
}

// judge returns what an answer, asked for at the given time, says. It fails if
// the answer is not honest: neither the whole truth, nor told to be old, nor
// a "could not be checked" of a service that the question needs.
func judge(w sandbox.World, q query, r chat.Reply, asked time.Time) (outcomes, error) {
	if r.Title == "Could not be checked" && q.command != "staked" || strings.HasPrefix(r.Text, called[fault.Chain]) {
		if r.Title != "Could not be checked" || r.Tone != chat.Warning || len(r.Sections) > 0 {
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
		return judgeStake(w, q, r)
	}
	return outcomes{fault.Partner: right}, sameReply(r, map[string]chat.Reply{
		"mylogins":                  loginsOf(w),
		"mylogins of a newcomer":    {Title: "No logins", Text: "You are registered and have not logged in to any dapp in the past 30 days."},
		"exists of a registered":    {Tone: chat.Positive, Title: "Registered", Text: "Your Telegram account is registered with the service."},
		"exists of an unregistered": {Tone: chat.Negative, Title: "Not registered", Text: "Your Telegram account is not registered with the service."},
	}[q.name])
}

// reason finds the one reason that a text gives for a service's silence.
func reason(text string, service fault.Target) (outcome, error) {
	rest, ours := strings.CutPrefix(text, called[service]+" ")
	var found []outcome
	for _, why := range reasons {
		if strings.Contains(rest, string(why)) {
			found = append(found, why)
		}
	}
	if !ours || len(found) != 1 {
		return "", fmt.Errorf("no reason of the %s service", service)
	}
	return found[0], nil
}

func loginsOf(w sandbox.World) chat.Reply {
	fields := make([]chat.Field, len(w.Logins))
	for i, l := range w.Logins {
		fields[i] = chat.Field{Name: l.Dapp, ForeignName: true, Value: l.Platform + ", " + minute(l.At)}
	}
	return chat.Reply{
		Title:    "Your logins",
		Text:     fmt.Sprintf("%d in the past 30 days, newest first.", len(w.Logins)),
		Sections: []chat.Section{{Fields: fields}},
	}
}

// sameReply compares all that is shown.
func sameReply(got, want chat.Reply) error {
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		return fmt.Errorf("wrong: the truth is %s", w)
	}
	return nil
}

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// splitNotes sorts a reply's notes into those that mark a service's part old,
// and the rest. What is old was seen at most a minute before it was asked for,
// since no trial lasts longer.
func splitNotes(r chat.Reply, asked time.Time) (marked map[fault.Target]bool, rest []string, err error) {
	marked = map[fault.Target]bool{}
	for _, note := range r.Notes {
		if !strings.HasPrefix(note, "Old: ") {
			rest = append(rest, note)
			continue
		}
		known := false
		for service, name := range called {
			for _, at := range []time.Time{asked, asked.Add(-time.Minute)} {
				says := fmt.Sprintf("Old: %s cannot be asked now; this is from %s.", strings.ToLower(name[:1])+name[1:], minute(at))
				if note == says {
					known, marked[service] = true, true
				}
			}
		}
		if !known {
			return nil, nil, fmt.Errorf("the mark %q is of no service or of another time", note)
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
	err = errors.Join(
		expect(r.Title == "HRLD price" && len(r.Sections) == 1 && r.Text == "", "no price"),
		expect(fmt.Sprint(notes) == fmt.Sprint([]string{"Last updated by the provider: " + minute(quote.LastUpdated)}), "another time"),
	)
	if err != nil {
		return nil, err
	}
	return outcomes{fault.Price: part(marked[fault.Price])}, inOrder(r.Sections[0].Fields, []figure{
		{"Price", "$", "", quote.Price},
		{"1 h", "", " %", quote.Change1h.Decimal},
		{"24 h", "", " %", quote.Change24h.Decimal},
		{"7 d", "", " %", quote.Change7d.Decimal},
		{"Market cap", "$", "", quote.MarketCap.Decimal},
		{"24 h volume", "$", "", quote.Volume24h.Decimal},
	})
}

func judgeSupply(w sandbox.World, r chat.Reply, asked time.Time) (outcomes, error) {
	marked, notes, err := splitNotes(r, asked)
	if err != nil {
		return nil, err
	}
	if err := expect(r.Title == "HRLD supply" && r.Text == "" && len(r.Sections) > 0, "no supply"); err != nil {
		return nil, err
	}
	got := outcomes{fault.Supply: part(marked[fault.Supply]), fault.Price: part(marked[fault.Price])}
	total, circulating := w.Supply.Total, w.Supply.Circulating
	err = inOrder(r.Sections[0].Fields, []figure{
		{"Total", "", " HRLD", total},
		{"Circulating", "", " HRLD", circulating},
		{"Share circulating", "", " %", circulating.Shift(2).Div(total)},
	})
	if len(r.Sections) == 1 {
		why, missing := strings.CutPrefix(strings.Join(notes, "; "), "What it is worth could not be checked: ")
		got[fault.Price], _ = reason(why, fault.Price)
		return got, errors.Join(err, expect(missing && got[fault.Price] != "", "the worth is missing and nothing is said"))
	}
	each := strings.TrimSuffix(strings.TrimPrefix(r.Sections[1].Heading, "At "), " each")
	return got, errors.Join(err,
		expect(len(r.Sections) == 2 && len(notes) == 0, "more than there is"),
		figure{"At", "$", "", w.Quote.Price}.check(chat.Field{Name: "At", Value: each}),
		inOrder(r.Sections[1].Fields, []figure{
			{"Total", "$", "", total.Mul(w.Quote.Price)},
			{"Circulating", "$", "", circulating.Mul(w.Quote.Price)},
		}))
}

func expect(holds bool, problem string) error {
	if holds {
		return nil
	}
	return errors.New("wrong: " + problem)
}
