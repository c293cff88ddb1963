package membership

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// judge knows what people had when it last saw them.
type judge struct {
	mu sync.Mutex
	// had holds the badges of a person in a community.
	had map[place][]string
}

type place struct {
	*person
	community string
}

// forget drops what the judge knows of a person who leaves a community.
func (j *judge) forget(p *person, community string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.had, place{p, community})
}

// see judges what a call has changed in a community.
func (j *judge) see(w *world, community string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.had == nil {
		j.had = map[place][]string{}
	}
	for _, p := range w.people {
		at := place{p, community}
		before, now := j.had[at], p.has(community)
		j.had[at] = now
		for _, id := range now {
			if !slices.Contains(before, id) {
				w.judgeGiven(at, id)
			}
		}
		for _, id := range before {
			if !slices.Contains(now, id) {
				w.judgeTaken(at, id, now)
			}
		}
	}
}

// judgeGiven fails if a badge was given that is not set, or to a person who did not press, or
// who never reached it since.
func (w *world) judgeGiven(at place, id string) {
	w.note("  %s has %s in %s", at.name, id, at.community)
	b := w.settings.find(at.community, id)
	at.mu.Lock()
	pressed, list := at.pressed, slices.Clone(at.saved)
	at.mu.Unlock()
	switch {
	case !pressed:
		w.fail("%s was given %s in %s, and never pressed", at.name, id, at.community)
	case b == nil:
		w.fail("%s was given %s in %s, which is not set", at.name, id, at.community)
	case len(list) > 0 && !slices.ContainsFunc(list, func(s saved) bool { return w.reachedSince(s.wallet, b.amount, s.from.Add(-minute)) }):
		w.fail("%s was given %s in %s, and never reached it", at.name, id, at.community)
	}
}

// judgeTaken fails if a badge was taken from a person who may not lose it.
func (w *world) judgeTaken(at place, id string, now []string) {
	w.note("  %s has %s in %s no more", at.name, id, at.community)
	b := w.settings.find(at.community, id)
	_, sure := at.wallet()
	if b == nil || !sure || len(at.saved) == 0 {
		return
	}
	if higher := slices.ContainsFunc(now, func(tag string) bool {
		other := w.settings.find(at.community, tag)
		return isGroup(at.community) && other != nil && other.amount > b.amount
	}); higher {
		return
	}
	if !w.mayLose(at.person, *b) {
		w.fail("%s lost %s in %s, and reached it all the time", at.name, id, at.community)
	}
}

// atLeast is how long is between the two checks that take a badge, as the judge sees it: a
// block is up to a few seconds old.
const atLeast = time.Hour - 5*time.Second

// mayLose reports whether a person was below a badge's amount at two times that are atLeast
// apart. Before the amount was changed, they must have been below both.
func (w *world) mayLose(p *person, b badge) bool {
	p.mu.Lock()
	list := slices.Clone(p.saved)
	p.mu.Unlock()
	var first, last time.Time
	for i, s := range list {
		until := time.Now()
		if next := slices.IndexFunc(list[i+1:], func(s saved) bool { return !s.maybe }); next >= 0 {
			until = list[i+1+next].from
		}
		changed := slices.MinFunc([]time.Time{b.since, until}, time.Time.Compare)
		since := slices.MaxFunc([]time.Time{b.since, s.from}, time.Time.Compare)
		for _, span := range []struct {
			from, until time.Time
			amount      int64
		}{{s.from, changed, min(b.was, b.amount)}, {since, until, b.amount}} {
			begin, end, below := w.belowIn(s.wallet, span.amount, span.from, span.until)
			if below && (first.IsZero() || begin.Before(first)) {
				first = begin
			}
			if below && end.After(last) {
				last = end
			}
		}
	}
	return last.Sub(first) >= atLeast
}

// belowIn returns the first and the last time between two at which a wallet stakes less than
// an amount.
func (w *world) belowIn(wallet common.Address, amount int64, from, until time.Time) (first, last time.Time, below bool) {
	if until.Before(from) {
		return first, last, false
	}
	times := []time.Time{from, until}
	w.locked(func() {
		for _, s := range w.stakes[wallet] {
			times = append(times, s.from, s.from.Add(-time.Nanosecond))
		}
	})
	slices.SortFunc(times, time.Time.Compare)
	for _, t := range times {
		if t.Before(from) || t.After(until) || w.stakeAt(wallet, t) >= amount {
			continue
		}
		if !below {
			first = t
		}
		last, below = t, true
	}
	return first, last, below
}

// reachedSince reports whether a wallet reached an amount at any time since.
func (w *world) reachedSince(wallet common.Address, amount int64, since time.Time) (reached bool) {
	reached = w.stakeAt(wallet, since) >= amount || w.stakeAt(wallet, time.Now()) >= amount
	w.locked(func() {
		for _, s := range w.stakes[wallet] {
			reached = reached || !s.from.Before(since) && s.amount >= amount
		}
	})
	return reached
}

// forgotten fails if the store holds a wallet of a person.
func (j *judge) forgotten(w *world, p *person) {
	content := w.inStore()
	for i, wallet := range p.wallets {
		if holds(content, wallet) {
			w.fail("wallet %d of %s is in the store after /forget", i, p.name)
		}
	}
}

func holds(content string, wallet common.Address) bool {
	return strings.Contains(strings.ToLower(content), strings.ToLower(wallet.Hex()[2:]))
}

// final judges what people have once all had time to settle.
func (j *judge) final(w *world) {
	for _, problem := range j.unsettled(w) {
		w.fail("%s", problem)
	}
}

// unsettled returns how what people have, and what is stored of them, differs from what it
// must become, in every community but the broken ones.
func (j *judge) unsettled(w *world) (problems []string) {
	for _, p := range w.people {
		wallet, sure := p.wallet()
		if !sure {
			continue
		}
		untouched := true // by any broken community
		for _, c := range communities {
			switch {
			case w.faultOf(c) != "":
				untouched = false // It need not even say that they have left.
			case !p.in[c]:
			default:
				problems = append(problems, w.unsettledAt(place{p, c}, wallet)...)
			}
		}
		if wallet == nil && untouched && w.storesID(p) {
			problems = append(problems, fmt.Sprintf("the ID of %s is in the store, and nothing is saved of them", p.name))
		}
	}
	return problems
}

// unsettledAt is unsettled for a person in a community. wallet is the saved one, or nil.
func (w *world) unsettledAt(at place, wallet *common.Address) (problems []string) {
	var want []string
	if wallet != nil {
		want = w.settings.reached(at.community, w.stakeAt(*wallet, time.Now()))
	}
	has := at.has(at.community)
	for _, id := range want {
		if !slices.Contains(has, id) {
			problems = append(problems, fmt.Sprintf("%s does not have %s in %s, and reaches it", at.name, id, at.community))
		}
	}
	for _, id := range has {
		if !slices.Contains(want, id) && !w.lostTrack(at.community) {
			problems = append(problems, fmt.Sprintf("%s still has %s in %s", at.name, id, at.community))
		}
	}
	return problems
}

// lostTrack reports whether the bot may not know what it gave in a community: it was told
// that it is not in there.
func (w *world) lostTrack(community string) (lost bool) {
	w.locked(func() { lost = w.hadFault[community+string(gone)] || w.hadFault[community+string(thrownOut)] })
	return lost
}

// storesID reports whether the store holds the ID of a person.
func (w *world) storesID(p *person) bool {
	return strings.Contains(w.inStore(), p.id)
}

// checkLogs fails if a log names a person, a wallet or a community.
func (w *world) checkLogs() {
	secrets := map[string]string{}
	for _, p := range w.people {
		secrets[p.id], secrets[p.did] = "the user ID of "+p.name, "the DID of "+p.name
		for i, wallet := range p.wallets {
			secrets[strings.ToLower(wallet.Hex()[2:])] = fmt.Sprintf("wallet %d of %s", i, p.name)
		}
	}
	for _, c := range communities {
		secrets[strings.TrimPrefix(c, "-")] = "the community " + c
	}
	for _, p := range w.processes {
		for line := range strings.Lines(strings.ToLower(p.log.String())) {
			for secret, what := range secrets {
				if strings.Contains(line, secret) {
					w.fail("the log names %s: %.300s", what, line)
					delete(secrets, secret)
				}
			}
		}
	}
}
