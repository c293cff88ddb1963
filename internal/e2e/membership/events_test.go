package membership

import (
	"slices"
	"sync"
	"time"
)

// event is something that may happen in a random tape.
type event struct {
	weight int // an event with twice the weight happens twice as often
	do     func(w *world)
}

// eventTable lists all events. Their order decides which tape belongs to a seed.
var eventTable = []event{
	{14, (*world).someoneSaves},
	{4, (*world).someonePressesAgain},
	{4, (*world).someoneForgets},
	{3, (*world).someoneAsksForTheirWallet},
	{3, (*world).someoneShowsUp},
	{14, (*world).someStakeChanges},

	{5, (*world).chainChanges},
	{2, (*world).partnerChanges},
	{6, (*world).communityChanges},
	{1, (*world).storeChanges},

	{4, (*world).someoneEntersOrLeaves},
	{3, (*world).someoneLeavesAndReturns},

	{3, (*world).restartWithCallsLeft},
	{5, (*world).processWillBeKilled},
	{2, (*world).restartUnchanged},
	{4, (*world).restartWithAnotherSetting},
	{3, (*world).restartWithTwoOtherSettings},
	{2, (*world).replicaStarts},

	{4, (*world).someoneDoesEverythingAtOnce},
	{2, (*world).longTimePasses},
}

// happen makes a random event happen, and then lets a random time pass.
func (w *world) happen() {
	w.randomEvent().do(w)
	gaps := []time.Duration{
		0, 0,
		2 * time.Second, 2 * time.Second,
		minute, minute,
		w.settings.every / 2,
		w.settings.every,
	}
	w.wait(gaps[w.rand.IntN(len(gaps))])
	w.revive()
}

// randomEvent returns an event of eventTable.
func (w *world) randomEvent() event {
	var all []event // each as often as its weight
	for _, e := range eventTable {
		all = append(all, slices.Repeat([]event{e}, e.weight)...)
	}
	return all[w.rand.IntN(len(all))]
}

// revive starts a process if none is alive.
func (w *world) revive() {
	if len(w.alive()) == 0 {
		w.wait(time.Duration(w.rand.IntN(20)) * time.Second)
		for _, p := range w.processes {
			<-p.ended
		}
		w.note("a process starts")
		w.start()
		w.wait(10 * time.Second)
	}
}

func (w *world) someoneSaves() {
	p, wallet := w.anybody(), w.rand.IntN(2)
	p.verify(w.somewhere(p), wallet)
	p.press(wallet)
}

// someonePressesAgain presses the button of an earlier card, if there is one.
func (w *world) someonePressesAgain() { w.anybody().press(w.rand.IntN(2)) }

func (w *world) someoneForgets() {
	p := w.anybody()
	p.forget(w.somewhere(p))
}

// someoneAsksForTheirWallet sends /verify without a wallet.
func (w *world) someoneAsksForTheirWallet() {
	p := w.anybody()
	community := w.somewhere(p)
	_, answered := p.command(community, "verify", "")
	w.note("%s: /verify in %q, answered %t", p.name, community, answered)
}

func (w *world) someoneShowsUp() {
	p := w.anybody()
	p.showUp(p.home(w.rand.IntN(2)))
}

func (w *world) someStakeChanges() {
	p, wallet := w.anybody(), w.rand.IntN(2)
	amount := []int64{0, 0, 0, 500, thousand - 1, thousand, plenty}[w.rand.IntN(7)]
	w.note("%s: wallet %d stakes %d", p.name, wallet, amount)
	w.setStake(p.wallets[wallet], amount)
}

func (w *world) chainChanges() {
	w.setFault("chain", w.oneOf(append(nodeFaults, works, works, works)))
}

func (w *world) partnerChanges() {
	w.setFault("partner", w.oneOf([]fault{unavailable, garbled, works, works}))
}

func (w *world) communityChanges() {
	w.setFault(communities[w.rand.IntN(4)], w.oneOf(append(communityFaults, works, works, once502)))
}

func (w *world) storeChanges() { w.breakStore(w.rand.IntN(2) == 0) }

func (w *world) someoneEntersOrLeaves() {
	p := w.anybody()
	c := p.home(w.rand.IntN(2))
	w.note("%s: enters or leaves %s", p.name, c)
	if p.in[c] {
		p.leave(c)
	} else {
		p.enter(c)
	}
}

// someoneLeavesAndReturns makes a person leave a community and return before the next check.
func (w *world) someoneLeavesAndReturns() {
	p := w.anybody()
	c := p.home(w.rand.IntN(2))
	if p.in[c] {
		w.note("%s: leaves %s and comes back", p.name, c)
		p.leave(c)
		w.wait(w.settings.every / 4)
		p.enter(c)
	}
}

// restartWithCallsLeft restarts the bot after a person has saved a wallet and before the bot can give them
// badges in one community, which makes it wait.
func (w *world) restartWithCallsLeft() {
	p, wallet := w.anybody(), w.rand.IntN(2)
	c := p.home(w.rand.IntN(2))
	p.verify("", wallet)
	w.setFault(c, limited)
	p.press(wallet)
	w.restartUnchanged()
	w.setFault(c, works)
}

// processWillBeKilled makes a process be killed in one of its next 15 calls.
func (w *world) processWillBeKilled() {
	list := w.alive()
	if len(list) == 0 {
		return
	}
	p := list[0]
	p.lastCallCarriedOut.Store(w.rand.IntN(2) == 0)
	p.killIn.Store(int64(1 + w.rand.IntN(15)))
	w.note("%s: will be killed in %d calls, carried out %t", p.label, p.killIn.Load(), p.lastCallCarriedOut.Load())
}

func (w *world) restartUnchanged() { w.restart(func(*settings) {}) }

func (w *world) restartWithAnotherSetting() { w.restart(w.changeSettings) }

func (w *world) restartWithTwoOtherSettings() {
	w.restart(func(s *settings) {
		w.changeSettings(s)
		w.changeSettings(s)
	})
}

func (w *world) replicaStarts() {
	if w.redis != nil && len(w.processes) < maxProcesses-6 {
		w.note("another replica")
		w.start()
	}
}

// someoneDoesEverythingAtOnce makes a person press two buttons and send /forget within a second, in random
// order.
func (w *world) someoneDoesEverythingAtOnce() {
	p := w.anybody()
	for wallet := range p.wallets {
		p.verify("", wallet)
	}
	var doing sync.WaitGroup
	actions := w.shuffled(
		func() { p.press(0) },
		func() { p.press(1) },
		func() { p.forget("") },
	)
	for i, act := range actions {
		doing.Go(func() {
			time.Sleep(time.Duration(i) * 150 * time.Millisecond)
			act()
		})
	}
	doing.Wait()
}

func (w *world) longTimePasses() { w.wait(70 * minute) }

func (w *world) anybody() *person { return w.people[w.rand.IntN(len(w.people))] }

// somewhere returns a random community that a person is in, or "" for the private chat.
func (w *world) somewhere(p *person) string {
	if c := p.home(w.rand.IntN(2)); p.in[c] && w.rand.IntN(3) > 0 {
		return c
	}
	return ""
}

func (w *world) oneOf(faults []fault) fault { return faults[w.rand.IntN(len(faults))] }

// breakStore makes the store fail, or fixes it.
func (w *world) breakStore(broken bool) {
	f, redisError := works, ""
	if broken {
		f = unavailable
		redisError = "LOADING Redis is loading the dataset in memory"
	}
	w.setFault("store", f)
	if w.redis != nil {
		w.redis.SetError(redisError)
		return
	}
	for _, p := range w.alive() {
		if broken {
			p.unlinkFiles()
		} else {
			p.linkFiles()
		}
	}
}

func (w *world) shuffled(list ...func()) []func() {
	w.rand.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	return list
}

// restart stops all processes, changes the settings, and starts as many processes again. It does nothing if
// the world has had too many processes.
func (w *world) restart(change func(*settings)) {
	n := len(w.alive())
	if w.redis != nil && len(w.processes)+n > maxProcesses-4 {
		return
	}
	w.stopAll()
	next := w.settings.clone()
	change(&next)
	w.settings = next
	w.note("restart: %s %s, %d pools", next.roleEntries(), next.tagEntries(), next.pools)
	for range n {
		w.start()
	}
	w.wait(30 * time.Second)
}

// changeSettings changes the pools, or a badge of a random community: it is added, removed or replaced, or its
// amount changes.
func (w *world) changeSettings(s *settings) {
	c := communities[w.rand.IntN(len(communities))]
	ids := roles
	if isGroup(c) {
		ids = tags
	}
	list := s.badges[c]
	isUnused := func(id string) bool { return s.find(c, id) == nil }
	unused := ids[slices.IndexFunc(ids, isUnused)]
	switch n := w.rand.IntN(5); {
	case n == 0:
		s.pools = 7 - s.pools // from 3 to 4, or back
	case len(list) == 0:
		s.badges[c] = []badge{{id: unused, amount: anyStake}}
	case n == 1:
		delete(s.badges, c)
	case n == 2:
		b := &list[w.rand.IntN(len(list))]
		amount := []int64{anyStake, thousand / 2, thousand, plenty}[w.rand.IntN(4)]
		if slices.ContainsFunc(list, func(other badge) bool { return other.amount == amount }) {
			amount = 2*plenty + b.amount // Two tags of a group cannot have the same amount.
		}
		b.previousAmount = b.amount
		b.amount = amount
		b.changedAt = time.Now()
	default:
		list[w.rand.IntN(len(list))].id = unused
	}
}
