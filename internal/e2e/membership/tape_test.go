package membership

import (
	"flag"
	"fmt"
	"testing"
	"time"
)

var (
	tapes     = flag.Int("tapes", 100, "how many random tapes are played")
	firstTape = flag.Uint64("tapes.first", 1, "the seed of the first random tape")
)

// In TestQuietTape everybody saves an address and forgets it, and nothing fails.
func TestQuietTape(t *testing.T) {
	for _, redis := range []bool{false, true} {
		t.Run(fmt.Sprintf("redis %t", redis), func(t *testing.T) {
			play(t, 1, options{people: 4, redis: redis}, func(w *world) {
				for _, p := range w.people {
					w.setStake(p.wallets[0], plenty)
				}
				w.serveAll(1)
				for _, p := range w.people {
					p.save()
					if !w.storesID(p) || !holds(w.inStore(), p.wallets[0]) {
						w.fail("the judge does not find %s in the store", p.name)
					}
				}
				w.setStake(w.people[0].wallets[0], 0)
				w.setStake(w.people[1].wallets[0], 0)
				w.settle()
				for _, p := range w.people {
					p.forget("")
				}
				w.settle()
			})
		})
	}
}

// home returns the first or the second community of the person's platform.
func (p *person) home(i int) string {
	if p.platform == "telegram" {
		return []string{groupA, groupB}[i]
	}
	return []string{serverA, serverB}[i]
}

// settle fixes everything except the broken community, decides what is unsure about people, and waits
// until the bot has had time to settle. Then it judges.
func (w *world) settle() {
	w.Helper()
	w.set("chain", "")
	w.set("partner", "")
	if w.faultOf("store") != "" {
		w.breakStore(false)
	}
	w.locked(func() {
		for _, p := range w.processes {
			p.killIn.Store(0)
		}
	})
	w.revive()
	for _, c := range communities {
		if c != w.broken && w.faultOf(c) != "" {
			w.set(c, "")
		}
	}
	w.wait(5 * minute)
	for _, p := range w.people {
		w.decide(p)
	}
	w.note("everything works")
	end := time.Now().Add(w.longestToSettle())
	w.wait(2*w.settings.every + minute)
	for time.Now().Before(end) && len(w.judge.unsettled(w)) > 0 {
		w.wait(10 * minute)
	}
	w.judge.final(w)
}

// longestToSettle returns how long the bot may take until badges match what people stake: two cycles,
// the hour between two low checks, and what faults may have added.
func (w *world) longestToSettle() time.Duration {
	longest := 2*w.settings.every + time.Hour + w.settings.every/8 + 10*minute
	if w.hadFault["limited"] {
		longest += time.Hour
	}
	if w.hadFault["refused"] {
		longest += w.settings.every
	}
	return longest
}

// decide makes the person save or forget until it is sure what is saved. The person also sends a
// command in each community that the bot may not know them to be in.
func (w *world) decide(p *person) {
	for try := 0; ; try++ {
		if _, sure := p.wallet(); sure {
			break
		}
		if try == 4 {
			w.fail("%s can neither save nor forget", p.name)
			return
		}
		wallet := w.rand.IntN(3) // 2: neither
		if wallet < 2 && try < 2 {
			p.verify("", wallet)
			p.press(wallet)
		} else {
			p.forget("")
		}
		w.wait(minute)
	}
	for _, c := range communities {
		if p.in[c] && p.unseen[c] {
			p.showUp(c)
			w.wait(2 * time.Second)
		}
	}
}

// TestTapes plays random tapes. The default run plays few of them, and .ci/nightly many thousands.
func TestTapes(t *testing.T) {
	n := *tapes
	if testing.Short() {
		n = min(n, 30)
	}
	for i := range n {
		seed := *firstTape + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			playTape(t, seed)
		})
	}
}

// playTape plays the tape of a seed. One in redisEvery is on Redis, and half of these have two
// replicas. One in three has a community that is broken throughout.
func playTape(t *testing.T, seed uint64) {
	const redisEvery = 25
	cycles := []time.Duration{15 * minute, 20 * minute, 30 * minute, 30 * minute}
	o := options{
		people: 2 + int(seed%5),
		redis:  seed%redisEvery == 0,
		every:  cycles[seed%4],
	}
	play(t, seed, o, func(w *world) {
		for _, p := range w.people {
			w.setStake(p.wallets[0], []int64{0, 500, thousand, plenty}[w.rand.IntN(4)])
		}
		if w.rand.IntN(3) == 0 {
			w.broken = communities[w.rand.IntN(len(communities))]
			w.set(w.broken, w.oneOf([]fault{lostRight, thrownOut, gone}))
		}
		replicas := 1
		if w.rand.IntN(2) == 1 && o.redis {
			replicas = 2
		}
		w.serveAll(replicas)
		for range 5 + w.rand.IntN(9) {
			w.happen()
		}
		w.settle()
	})
}
