package members

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
)

var (
	tapes = flag.Int("tapes", 500, "how many tapes of random faults to play")
	first = flag.Uint64("tapes.first", 0, "the seed of the first tape")
)

// TestNoFaultTakesABadgeAndWhoStopsLosesIt plays tapes of random faults. world.set judges
// every badge that goes.
func TestNoFaultTakesABadgeAndWhoStopsLosesIt(t *testing.T) {
	t.Parallel()
	most := *tapes
	if testing.Short() {
		most = min(most, 50)
	}
	for part := range uint64(4) {
		t.Run(fmt.Sprint("part ", part), func(t *testing.T) {
			t.Parallel()
			for seed := *first + part; seed < *first+uint64(most) && !t.Failed(); seed += 4 {
				synctest.Test(t, func(t *testing.T) {
					defer func() {
						if t.Failed() {
							t.Logf("play it again with -tapes 1 -tapes.first %d", seed)
						}
					}()
					play(t, seed)
				})
			}
		})
	}
}

// tape is one run of random events.
type tape struct {
	*world
	*rand.Rand
	replicas []*replica
}

func play(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	every := []time.Duration{10 * time.Minute, time.Hour, 6 * time.Hour, 48 * time.Hour}[random.IntN(4)]
	tp := &tape{world: newWorld(t, every, 2+random.IntN(5)), Rand: random}
	tp.replicas = append(tp.replicas, tp.start())
	if random.IntN(3) == 0 {
		tp.replicas = append(tp.replicas, tp.start())
	}
	for range 20 + random.IntN(20) {
		time.Sleep(time.Duration(random.Int64N(int64(every))))
		synctest.Wait()
		tp.event()
		tp.check()
	}
	tp.heal()
	cycles := 2
	if !tp.changed.IsZero() {
		cycles = 3
	}
	time.Sleep(time.Duration(cycles)*every + time.Hour + 4*every/slots + lease)
	synctest.Wait()
	tp.checkEnd()
	for _, r := range tp.replicas {
		r.end()
	}
}

// event has something happen.
func (tp *tape) event() {
	p := tp.people[tp.IntN(len(tp.people))]
	r := tp.replicas[tp.IntN(len(tp.replicas))]
	switch n := tp.IntN(24); {
	case n < 6:
		_, _ = r.keep(p)
	case n == 6:
		if r.forgets(p) {
			tp.checkForgotten(p)
		}
	case n == 7: // Another process takes over, at once or at the next event.
		r.kill()
		tp.replicas = slices.DeleteFunc(tp.replicas, func(other *replica) bool { return other == r })
		if len(tp.replicas) == 0 || tp.IntN(2) == 0 {
			tp.replicas = append(tp.replicas, tp.start())
		}
	case n == 8:
		tp.change(func() { tp.pools, tp.changed = poolList(len(tp.pools)+1), time.Now() })
		for i, r := range tp.replicas {
			r.end()
			tp.replicas[i] = tp.start()
		}
	default:
		tp.change(func() { tp.fault(n, p) })
	}
	if tp.IntN(4) == 0 {
		r.m.Returned(p.User, communities[tp.IntN(2)])
	}
}

// fault changes the world: a fault begins or ends, or a person does something. mu is held.
func (tp *tape) fault(n int, p *person) {
	switch n {
	case 9:
		tp.nodeAway = !tp.nodeAway
	case 10:
		tp.partial = !tp.partial
	case 11:
		tp.partnerAway = !tp.partnerAway
	case 12:
		tp.storeAway = !tp.storeAway
	case 13:
		tp.diskFull = !tp.diskFull
	case 14:
		tp.skew = []time.Duration{0, 24 * time.Hour, -24 * time.Hour, 5 * time.Minute, -5 * time.Minute}[tp.IntN(5)]
	case 15, 16:
		problems := []chat.BadgeProblem{"", "", chat.BadgeFailed, chat.NotAllowed, chat.MissingRight, chat.RoleAbove}
		tp.problem, tp.carriedOut = problems[tp.IntN(len(problems))], tp.IntN(2) == 0
	case 17:
		community := communities[tp.IntN(2)]
		p.in[community] = !p.in[community]
		delete(p.wears, community)
	case 18:
		if p.disowned.IsZero() && tp.every > time.Hour {
			p.disowned = time.Now()
		}
	default:
		p.stakes = !p.stakes
	}
}

func (tp *tape) heal() {
	tp.change(func() {
		tp.nodeAway, tp.partial, tp.partnerAway, tp.storeAway, tp.diskFull, tp.skew, tp.problem = false, false, false, false, false, 0, ""
	})
}

// check fails the test if the log names somebody.
func (tp *tape) check() {
	for _, p := range tp.people {
		if log := tp.log.String(); strings.Contains(log, p.ID) || strings.Contains(strings.ToLower(log), strings.ToLower(p.wallet.Hex()[2:10])) {
			tp.t.Errorf("the log names somebody: %s", log)
		}
	}
}

// checkForgotten fails the test if the store still names p.
func (tp *tape) checkForgotten(p *person) {
	id, _ := strconv.ParseUint(p.ID, 10, 64)
	bytes := string(binary.BigEndian.AppendUint64(nil, id))
	for key, value := range tp.snapshot() {
		if strings.Contains(key+string(value), bytes) || strings.Contains(string(value), string(p.wallet[:])) || strings.Contains(key, p.ID) {
			tp.t.Errorf("%s names somebody who is forgotten", key)
		}
	}
	for _, c := range communities {
		if p.in[c] && p.wears[c] {
			tp.t.Errorf("who is forgotten wears the badge of %s", c)
		}
	}
}

// checkEnd fails the test if somebody who stakes nothing still wears a badge after two cycles
// without faults.
func (tp *tape) checkEnd() {
	for _, p := range tp.people {
		for _, c := range communities {
			if p.wears[c] && !p.stakes && p.disowned.IsZero() {
				row, err := tp.replicas[0].m.rows.find(tp.t.Context(), p.User)
				tp.t.Errorf("%s stakes nothing and wears the badge of %s: every %v, %v, %+v, %v\n%s\n%s", p.ID, c, tp.every, time.Now(), row, err, strings.Join(tp.calls, "\n"), tp.log.String())
			}
		}
	}
}
