package membership

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// judge judges each change of a badge. It knows only what people did and what the chain said.
type judge struct {
	mu     sync.Mutex
	badges map[place][]string // as of the last look
}

// place is a person in a community.
type place struct {
	*person
	community string
}

// forget drops what the judge saw of a person who leaves a community.
func (j *judge) forget(p *person, community string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.badges, place{p, community})
}

// see judges what has changed in a community since the last look.
func (j *judge) see(w *world, community string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.badges == nil {
		j.badges = map[place][]string{}
	}
	for _, p := range w.people {
		at := place{p, community}
		before, now := j.badges[at], p.badgesIn(community)
		j.badges[at] = now
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

// judgeGiven fails if a badge was given that is not configured, or if it was given to a person who never
// pressed the button. It also fails if none of the person's saved wallets reached the badge's amount
// since it was saved.
func (w *world) judgeGiven(at place, id string) {
	w.note("  %s has %s in %s", at.name, id, at.community)
	b := w.settings.find(at.community, id)
	at.mu.Lock()
	pressed, list := at.pressed, slices.Clone(at.saved)
	at.mu.Unlock()
	reached := func(s savedWallet) bool {
		return w.reachedSince(s.wallet, b.amount, s.from.Add(-minute))
	}
	switch {
	case !pressed:
		w.fail("%s was given %s in %s, and never pressed", at.name, id, at.community)
	case b == nil:
		w.fail("%s was given %s in %s, which is not configured", at.name, id, at.community)
	case len(list) > 0 && !slices.ContainsFunc(list, reached):
		w.fail("%s was given %s in %s, and never reached it", at.name, id, at.community)
	}
}

// judgeTaken fails if a badge was removed from a person who may not lose it. now lists the badges that
// they still have. In a group a higher tag replaces a lower one.
func (w *world) judgeTaken(at place, id string, now []string) {
	w.note("  %s no longer has %s in %s", at.name, id, at.community)
	b := w.settings.find(at.community, id)
	wallet, sure := at.wallet()
	isCertain := sure && wallet != nil
	if b == nil || !isCertain {
		return // A badge that is not configured, or whose owner may have no saved wallet, may be removed.
	}
	isHigherTag := func(tag string) bool {
		other := w.settings.find(at.community, tag)
		return isGroup(at.community) && other != nil && other.amount > b.amount
	}
	if slices.ContainsFunc(now, isHigherTag) {
		return
	}
	if !w.mayLose(at.person, *b) {
		w.fail("%s lost %s in %s, and reached it all the time", at.name, id, at.community)
	}
}

// minBetweenChecks is the minimum time between the two low checks that remove a badge: an hour, except
// that blocks are a few seconds old.
const minBetweenChecks = time.Hour - 5*time.Second

// mayLose reports whether a person was below a badge's amount at two times that are at least
// minBetweenChecks apart. Before the amount changed, the person must have been below the old and the
// new amount.
func (w *world) mayLose(p *person, b badge) bool {
	p.mu.Lock()
	list := slices.Clone(p.saved)
	p.mu.Unlock()
	var first, last time.Time
	for i, s := range list {
		for _, span := range b.spans(s.from, replacedAt(list[i+1:])) {
			begin, end, below := w.belowIn(s.wallet, span.amount, span.from, span.until)
			if below && (first.IsZero() || begin.Before(first)) {
				first = begin
			}
			if below && end.After(last) {
				last = end
			}
		}
	}
	return last.Sub(first) >= minBetweenChecks
}

// replacedAt returns when one of the later wallets certainly replaced the one before them, or the current
// time if none of them did.
func replacedAt(later []savedWallet) time.Time {
	for _, s := range later {
		if !s.unconfirmed {
			return s.from
		}
	}
	return time.Now()
}

// span is a time in which a stake below amount counts as too low.
type span struct {
	from, until time.Time
	amount      int64
}

// spans divides a time at the last change of the badge's amount.
func (b badge) spans(from, until time.Time) []span {
	before := span{
		from:   from,
		until:  slices.MinFunc([]time.Time{b.since, until}, time.Time.Compare),
		amount: min(b.was, b.amount),
	}
	after := span{
		from:   slices.MaxFunc([]time.Time{b.since, from}, time.Time.Compare),
		until:  until,
		amount: b.amount,
	}
	return []span{before, after}
}

// belowIn returns the first and the last time within a span at which a wallet stakes less than amount.
func (w *world) belowIn(
	wallet common.Address, amount int64, from, until time.Time,
) (first, last time.Time, below bool) {
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

// reachedSince reports whether a wallet staked an amount at any time since.
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

// holds reports whether a text contains a wallet.
func holds(content string, wallet common.Address) bool {
	return strings.Contains(strings.ToLower(content), strings.ToLower(wallet.Hex()[2:]))
}

// final fails for each difference that unsettled returns.
func (j *judge) final(w *world) {
	for _, problem := range j.unsettled(w) {
		w.fail("%s", problem)
	}
}

// unsettled describes how badges, and what is stored about people, differ from what they must become.
// Broken communities may differ.
func (j *judge) unsettled(w *world) (problems []string) {
	for _, p := range w.people {
		wallet, sure := p.wallet()
		if !sure {
			continue
		}
		allAnswer := true
		for _, c := range communities {
			switch {
			case w.faultOf(c) != "":
				allAnswer = false // The bot may not even learn that they have left.
			case !p.in[c]:
			default:
				problems = append(problems, w.unsettledAt(place{p, c}, wallet)...)
			}
		}
		if wallet == nil && allAnswer && w.storesID(p) {
			problems = append(problems, fmt.Sprintf("the ID of %s is in the store, and nothing is saved about them", p.name))
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
	badges := at.badgesIn(at.community)
	for _, id := range want {
		if !slices.Contains(badges, id) {
			problems = append(problems, fmt.Sprintf("%s does not have %s in %s, and reaches it", at.name, id, at.community))
		}
	}
	for _, id := range badges {
		if !slices.Contains(want, id) && !w.lostTrack(at.community) {
			problems = append(problems, fmt.Sprintf("%s still has %s in %s", at.name, id, at.community))
		}
	}
	return problems
}

// lostTrack reports whether the bot may not know which badges it gave in a community, because the
// platform ever said that the bot is not in it.
func (w *world) lostTrack(community string) (lost bool) {
	w.locked(func() {
		lost = w.hadFault[community+string(gone)] || w.hadFault[community+string(thrownOut)]
	})
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
		secrets[p.id] = "the user ID of " + p.name
		secrets[p.did] = "the DID of " + p.name
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
