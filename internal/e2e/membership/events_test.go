package membership

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// event is something that happens in a tape.
type event struct {
	name   string
	weight int
	do     func(w *world)
}

// eventTable lists what happens in tapes. An event with twice the weight happens twice as often.
var eventTable = []event{
	{"save", 14, func(w *world) {
		p, wallet := w.anybody(), w.rand.IntN(2)
		p.verify(w.somewhere(p), wallet)
		p.press(wallet)
	}},
	{"press again", 4, func(w *world) { w.anybody().press(w.rand.IntN(2)) }},
	{"forget", 4, func(w *world) {
		p := w.anybody()
		p.forget(w.somewhere(p))
	}},
	{"verify", 3, func(w *world) {
		p := w.anybody()
		p.verifyAlone(w.somewhere(p))
	}},
	{"command", 3, func(w *world) {
		p := w.anybody()
		p.showUp(p.home(w.rand.IntN(2)))
	}},
	{"stake", 14, func(w *world) {
		p, wallet := w.anybody(), w.rand.IntN(2)
		amount := []int64{0, 0, 0, 500, thousand - 1, thousand, plenty}[w.rand.IntN(7)]
		w.note("%s: wallet %d stakes %d", p.name, wallet, amount)
		w.setStake(p.wallets[wallet], amount)
	}},
	{"node", 5, func(w *world) {
		w.set("chain", w.oneOf(append(nodeFaults, "", "", "")))
	}},
	{"partner", 2, func(w *world) {
		w.set("partner", w.oneOf([]fault{away, garbled, "", ""}))
	}},
	{"community", 6, func(w *world) {
		w.set(communities[w.rand.IntN(4)], w.oneOf(append(communityFaults, "", "", once502)))
	}},
	{"store", 1, func(w *world) { w.breakStore(w.rand.IntN(2) == 0) }},
	{"member", 4, func(w *world) {
		p := w.anybody()
		c := p.home(w.rand.IntN(2))
		w.note("%s: enters or leaves %s", p.name, c)
		if p.in[c] {
			p.leave(c)
		} else {
			p.enter(c)
		}
	}},
	{"leave and come back", 3, func(w *world) {
		p := w.anybody()
		c := p.home(w.rand.IntN(2))
		if p.in[c] {
			w.note("%s: leaves %s and comes back", p.name, c)
			p.leave(c)
			w.wait(w.settings.every / 4)
			p.enter(c)
		}
	}},
	{"restart with calls left", 3, func(w *world) {
		p, wallet := w.anybody(), w.rand.IntN(2)
		c := p.home(w.rand.IntN(2))
		p.verify("", wallet)
		w.set(c, limited)
		p.press(wallet)
		w.restart(func(*settings) {})
		w.set(c, "")
	}},
	{"kill", 5, func(w *world) {
		if list := w.alive(); len(list) > 0 {
			p := list[0]
			p.carriedOut.Store(w.rand.IntN(2) == 0)
			p.killIn.Store(int64(1 + w.rand.IntN(15)))
			w.note("%s: will be killed in %d calls, carried out %t", p.label, p.killIn.Load(), p.carriedOut.Load())
		}
	}},
	{"restart", 2, func(w *world) { w.restart(func(*settings) {}) }},
	{"settings", 4, func(w *world) { w.restart(w.changeSettings) }},
	{"two settings", 3, func(w *world) {
		w.restart(func(s *settings) {
			w.changeSettings(s)
			w.changeSettings(s)
		})
	}},
	{"replica", 2, func(w *world) {
		if w.redis != nil && len(w.processes) < maxProcesses-6 {
			w.note("another replica")
			w.start()
		}
	}},
	{"at once", 4, func(w *world) { w.anybody().atOnce() }},
	{"long wait", 2, func(w *world) { w.wait(70 * minute) }},
}

// happen makes a random event happen.
func (w *world) happen() {
	sum := 0
	for _, e := range eventTable {
		sum += e.weight
	}
	n := w.rand.IntN(sum)
	for _, e := range eventTable {
		if n -= e.weight; n < 0 {
			e.do(w)
			break
		}
	}
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

func (w *world) anybody() *person { return w.people[w.rand.IntN(len(w.people))] }

// somewhere returns a community that a person is in, or "" for the private chat.
func (w *world) somewhere(p *person) string {
	if c := p.home(w.rand.IntN(2)); p.in[c] && w.rand.IntN(3) > 0 {
		return c
	}
	return ""
}

func (w *world) oneOf(faults []fault) fault { return faults[w.rand.IntN(len(faults))] }

// breakStore makes the store fail, or fixes it.
func (w *world) breakStore(broken bool) {
	f, redisError := fault(""), ""
	if broken {
		f = away
		redisError = "LOADING Redis is loading the dataset in memory"
	}
	w.set("store", f)
	if w.redis != nil {
		w.redis.SetError(redisError)
		return
	}
	for _, p := range w.alive() {
		p.linkFiles(!broken)
	}
}

// linkFiles makes DATA_DIR of the process the world's folder or, if reach is false, a file: an error,
// unlike a folder without files.
func (p *process) linkFiles(reach bool) {
	link := filepath.Join(p.w.dir, p.label)
	_ = os.Remove(link)
	if reach {
		_ = os.Symlink(filepath.Join(p.w.dir, "data"), link)
	} else {
		_ = os.WriteFile(link, nil, 0o600)
	}
}

// verifyAlone sends /verify without a wallet.
func (p *person) verifyAlone(community string) {
	_, answered := p.command(community, "verify", "")
	p.w.note("%s: /verify in %q, answered %t", p.name, community, answered)
}

// atOnce makes a person press two buttons and send /forget within a second, in random order.
func (p *person) atOnce() {
	for wallet := range p.wallets {
		p.verify("", wallet)
	}
	var doing sync.WaitGroup
	actions := p.w.shuffled(
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

func (w *world) shuffled(list ...func()) []func() {
	w.rand.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	return list
}

// restart stops all processes, changes the settings, and starts as many again.
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

// changeSettings changes one setting of roles, tags or pools.
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
		s.pools = 7 - s.pools // 3 or 4
	case len(list) == 0:
		s.badges[c] = []badge{{id: unused, amount: anyStake}}
	case n == 1:
		delete(s.badges, c)
	case n == 2:
		b := &list[w.rand.IntN(len(list))]
		amount := []int64{anyStake, thousand / 2, thousand, plenty}[w.rand.IntN(4)]
		if slices.ContainsFunc(list, func(other badge) bool { return other.amount == amount }) {
			amount = 2*plenty + b.amount // Two tags of a group cannot have one amount.
		}
		b.was = b.amount
		b.amount = amount
		b.since = time.Now()
	default:
		list[w.rand.IntN(len(list))].id = unused
	}
}
