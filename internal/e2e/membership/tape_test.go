// Package membership tests what the whole bot promises about saved addresses, roles and tags
// (docs/members.md).
//
// A test plays a tape: a sequence of events in a world, in simulated time. A world has both platforms with
// four communities, people, the partner and the chain, and bot processes that are started, stopped and killed.
// TestTapes plays random tapes. A judge checks each role or tag that the bot gives or removes. It knows only
// what people did and what their wallets staked.
//
//	tape_test.go       random tapes
//	events_test.go     the events of random tapes
//	fuse_test.go       a scripted tape in which a fuse holds removals
//	world_test.go      communities, people, stakes, and the answers to calls
//	person_test.go     what people send and press, and what is known about them
//	discord_test.go    how they do so on Discord; telegram_test.go: on Telegram
//	judge_test.go      what must hold
//	settings_test.go   what an operator configures, and changes at a restart
//	process_test.go    a bot that is started, stopped and killed
//	fault_test.go      how services and communities fail
//	network_test.go    all hosts in memory, and the connection to Redis
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

// playTape plays the random tape of a seed. One tape in redisEvery is on Redis, and half of these have two
// replicas. In one tape in three, a community is broken until the end.
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
			w.alwaysBroken = communities[w.rand.IntN(len(communities))]
			w.setFault(w.alwaysBroken, w.oneOf([]fault{lostRight, thrownOut, notFound}))
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

// Everybody saves an address and forgets it, and nothing fails.
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
					if !w.storesID(p) || !holds(w.storeContent(), p.wallets[0]) {
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

// settle fixes everything except the community that is always broken, makes sure what is saved about people,
// and waits until the bot has had time to settle. Then each person must have exactly the badges that they
// reach.
func (w *world) settle() {
	w.Helper()
	w.setFault("chain", works)
	w.setFault("partner", works)
	if w.faultOf("store") != works {
		w.breakStore(false)
	}
	w.locked(func() {
		for _, p := range w.processes {
			p.killIn.Store(0)
		}
	})
	w.revive()
	for _, c := range communities {
		if c != w.alwaysBroken && w.faultOf(c) != works {
			w.setFault(c, works)
		}
	}
	w.wait(5 * minute)
	for _, p := range w.people {
		w.makeSure(p)
	}
	w.note("everything works")
	end := time.Now().Add(w.longestToSettle())
	w.wait(2*w.settings.every + minute)
	for time.Now().Before(end) && len(w.unsettled()) > 0 {
		w.wait(10 * minute)
	}
	for _, problem := range w.unsettled() {
		w.fail("%s", problem)
	}
}

// longestToSettle returns how long the bot may take until badges match what people stake: two cycles of checks,
// the hour between two low checks, and some time to spare. Faults may have added the hour of a limit, and another
// cycle after a refusal.
func (w *world) longestToSettle() time.Duration {
	longest := 2*w.settings.every + time.Hour + w.settings.every/8 + 10*minute
	if w.wasLimited {
		longest += time.Hour
	}
	if w.wasRefused {
		longest += w.settings.every
	}
	return longest
}

// makeSure makes the person save or forget until it is sure what is saved. The person also sends a
// command in each community in which the bot may not have seen them.
func (w *world) makeSure(p *person) {
	for attempt := 0; ; attempt++ {
		if _, sure := p.wallet(); sure {
			break
		}
		if attempt == 4 {
			w.fail("%s can neither save nor forget", p.name)
			return
		}
		wallet := w.rand.IntN(len(p.wallets) + 1)
		if wallet < len(p.wallets) && attempt < 2 {
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
