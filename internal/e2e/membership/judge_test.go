package membership

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// judge notices each badge that the bot gives or removes.
type judge struct {
	mu     sync.Mutex
	badges map[place][]string // as of the last call of see
}

// place is a person in a community.
type place struct {
	*person
	community string
}

// forget forgets the badges of a person who leaves a community, and so loses them without the bot.
func (j *judge) forget(p *person, community string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.badges, place{p, community})
}

// see judges which badges in a community have changed since its last call.
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
				w.judgeRemoved(at, id, now)
			}
		}
	}
}

// judgeGiven judges a badge that was given. The badge must be configured, the person must have pressed the
// button to save a wallet, and one of their saved wallets must have reached the badge's amount since it was
// saved, or at most a minute before.
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
	case len(list) > 0 && !slices.ContainsFunc(list, reached): // After a /forget, the list may be empty.
		w.fail("%s was given %s in %s, and never reached it", at.name, id, at.community)
	}
}

// judgeRemoved judges a badge that was removed from a person, who still has the badges left. The person must have
// been below the badge's amount for long enough, unless a higher tag replaces it in a group. A badge that is not
// configured may be removed, and so may the badge of a person who may have no saved wallet.
func (w *world) judgeRemoved(at place, id string, left []string) {
	w.note("  %s no longer has %s in %s", at.name, id, at.community)
	b := w.settings.find(at.community, id)
	wallet, sure := at.wallet()
	hasWallet := sure && wallet != nil
	if b == nil || !hasWallet {
		return
	}
	isHigherTag := func(tag string) bool {
		other := w.settings.find(at.community, tag)
		return isGroup(at.community) && other != nil && other.amount > b.amount
	}
	if slices.ContainsFunc(left, isHigherTag) {
		return
	}
	if !w.mayLose(at.person, *b) {
		w.fail("%s lost %s in %s, and reached it all the time", at.name, id, at.community)
	}
}

// minBetweenChecks is the minimum time between the two checks below an amount that remove a badge. The bot
// waits an hour, but by the time of blocks, which are a few seconds old.
const minBetweenChecks = time.Hour - 5*time.Second

// mayLose reports whether a person was below a badge's amount at two times that are at least
// minBetweenChecks apart. Before the amount was changed, only a stake below both the old and the new amount
// counts.
func (w *world) mayLose(p *person, b badge) bool {
	p.mu.Lock()
	list := slices.Clone(p.saved)
	p.mu.Unlock()
	var first, last time.Time
	for i, s := range list {
		for _, span := range b.spans(s.from, replacedAt(list[i+1:])) {
			begin, end, isBelow := w.belowIn(s.wallet, span)
			if !isBelow {
				continue
			}
			if first.IsZero() || begin.Before(first) {
				first = begin
			}
			if end.After(last) {
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

// span is a period in which a stake below amount counts as too low.
type span struct {
	from, until time.Time
	amount      int64
}

// spans divides a period at the last change of the badge's amount. A span that ends before it begins is empty.
func (b badge) spans(from, until time.Time) []span {
	before := span{
		from:   from,
		until:  slices.MinFunc([]time.Time{b.changedAt, until}, time.Time.Compare),
		amount: min(b.previousAmount, b.amount),
	}
	after := span{
		from:   slices.MaxFunc([]time.Time{b.changedAt, from}, time.Time.Compare),
		until:  until,
		amount: b.amount,
	}
	return []span{before, after}
}

// belowIn returns the first and the last time within a span at which a wallet stakes less than its amount.
func (w *world) belowIn(wallet common.Address, s span) (first, last time.Time, isBelow bool) {
	if s.until.Before(s.from) {
		return first, last, false
	}
	// A stake is constant between these times.
	times := []time.Time{s.from, s.until}
	w.locked(func() {
		for _, change := range w.stakes[wallet] {
			times = append(times, change.since, change.since.Add(-time.Nanosecond))
		}
	})
	slices.SortFunc(times, time.Time.Compare)
	for _, t := range times {
		if t.Before(s.from) || t.After(s.until) || w.stakeAt(wallet, t) >= s.amount {
			continue
		}
		if !isBelow {
			first = t
		}
		last, isBelow = t, true
	}
	return first, last, isBelow
}

// reachedSince reports whether a wallet staked at least an amount at any time since then.
func (w *world) reachedSince(wallet common.Address, amount int64, since time.Time) (reached bool) {
	reached = w.stakeAt(wallet, since) >= amount || w.stakeAt(wallet, time.Now()) >= amount
	w.locked(func() {
		for _, change := range w.stakes[wallet] {
			if !change.since.Before(since) && change.amount >= amount {
				reached = true
			}
		}
	})
	return reached
}

// judgeForgotten judges an answer to /forget: the store must not hold a wallet of the person.
func (w *world) judgeForgotten(p *person) {
	content := w.storeContent()
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

// unsettled describes each badge, and each ID in the store, that is not yet as the bot must make it. It leaves
// out communities that have a fault, and people of whom it is not sure what is saved.
func (w *world) unsettled() (problems []string) {
	for _, p := range w.people {
		wallet, sure := p.wallet()
		if !sure {
			continue
		}
		allWork := true
		for _, c := range communities {
			if w.faultOf(c) != works {
				allWork = false // The bot may not even learn that the person has left.
			} else if p.in[c] {
				problems = append(problems, w.unsettledAt(place{p, c}, wallet)...)
			}
		}
		if wallet == nil && allWork && w.storesID(p) {
			problems = append(problems, fmt.Sprintf("the ID of %s is in the store, and nothing is saved about them", p.name))
		}
	}
	return problems
}

// unsettledAt does what unsettled does, for a person in a community. wallet is the saved wallet, or nil.
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

// lostTrack reports whether the bot may have forgotten which badges it gave in a community, because the
// platform once said that the bot is not in the community.
func (w *world) lostTrack(community string) (lost bool) {
	w.locked(func() {
		lost = w.hadFaults[communityFault{community, notFound}] || w.hadFaults[communityFault{community, thrownOut}]
	})
	return lost
}

// storesID reports whether the store holds the ID of a person.
func (w *world) storesID(p *person) bool {
	return strings.Contains(w.storeContent(), p.id)
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
					delete(secrets, secret) // One failure for each is enough.
				}
			}
		}
	}
}
