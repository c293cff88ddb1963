package members

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

var (
	tapes = flag.Int("tapes", 150, "how many tapes of random faults to play")
	first = flag.Uint64("tapes.first", 0, "the seed of the first tape")
)

// TestBadgesFollowTheStakeWhateverFails plays tapes of random faults. replica.judge judges
// every badge that goes, and tape.checkEnd what is left.
func TestBadgesFollowTheStakeWhateverFails(t *testing.T) {
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
	story    []string
}

func play(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	every := []time.Duration{10 * time.Minute, time.Hour, 6 * time.Hour, 48 * time.Hour}[random.IntN(4)]
	tp := &tape{world: newWorld(t, every, 2+random.IntN(4)), Rand: random}
	tp.oneEach = random.IntN(2) == 0
	tp.replicas = append(tp.replicas, tp.start())
	if random.IntN(3) == 0 {
		tp.replicas = append(tp.replicas, tp.start())
	}
	for range 20 + random.IntN(20) {
		time.Sleep(time.Duration(random.Int64N(int64(every))))
		synctest.Wait()
		tp.event()
		tp.checkLog()
	}
	tp.heal()
	time.Sleep(2*every + time.Hour + 4*every/slots + lease)
	for _, p := range tp.people { // Whoever came back sends a command.
		for c := range tp.communities {
			if p.in[c] {
				tp.replicas[0].sees(p, c)
			}
		}
	}
	time.Sleep(every + 4*every/slots + 2*time.Minute)
	synctest.Wait()
	tp.checkEnd()
	for _, r := range tp.replicas {
		r.end()
	}
	if t.Failed() {
		t.Log("every ", every, " one each: ", tp.oneEach, "\n", strings.Join(tp.story, "\n"))
	}
}

func (tp *tape) tell(format string, args ...any) {
	tp.story = append(tp.story, time.Now().Format("02 15:04:05 ")+fmt.Sprintf(format, args...))
}

// event has something happen.
func (tp *tape) event() {
	p := tp.people[tp.IntN(len(tp.people))]
	r := tp.replicas[tp.IntN(len(tp.replicas))]
	switch n := tp.IntN(26); {
	case n < 6:
		wallet := tp.IntN(2)
		changes, err := r.save(p, wallet)
		tp.tell("%s saves %d: %v %v", p.ID[15:], wallet, changes, err)
	case n == 6:
		tp.tell("%s forgets", p.ID[15:])
		if r.forgets(p) {
			tp.checkForgotten(p)
		}
	case n == 7:
		tp.killSoon(r)
	case n == 8:
		tp.restart()
	default:
		tp.change(func() { tp.fault(n, p) })
	}
	if c := fmt.Sprint(9001 + tp.IntN(2)); tp.IntN(4) == 0 && p.in[c] {
		r.sees(p, c)
	}
}

// killSoon kills a replica at one of its next effects, and has another take over.
func (tp *tape) killSoon(r *replica) {
	tp.tell("kill")
	tp.victim.Store(r)
	tp.killAt.Store(tp.effects.Load() + 1 + tp.Int64N(6))
	_, _ = r.save(tp.people[tp.IntN(len(tp.people))], tp.IntN(2))
	time.Sleep(tp.every)
	r.kill()
	tp.change(tp.lookUpSaved)
	tp.replicas = slices.DeleteFunc(tp.replicas, func(other *replica) bool { return other == r })
	tp.replicas = append(tp.replicas, tp.start())
}

// lookUpSaved sets what people saved to what the store has: nobody knows what became of a press
// when the process was killed. mu is held.
func (tp *tape) lookUpSaved() {
	for _, p := range tp.people {
		list, _ := decodeShard(tp.values[shardKey(shardOf(p.User))])
		p.saved = -1
		if i := indexOf(list, p.User); i >= 0 {
			p.saved = slices.Index(p.wallets[:], list[i].Wallet)
		}
	}
}

// restart has all replicas end, and start with other settings.
func (tp *tape) restart() {
	for _, r := range tp.replicas {
		r.end()
	}
	tp.change(func() {
		switch tp.IntN(5) {
		case 0:
			tp.pools = poolList(len(tp.pools) + 1)
		case 1: // another role
			tp.badges = slices.Clone(twoBadges)
			tp.badges[tp.IntN(3)].ID = fmt.Sprint(7004 + tp.IntN(3))
		case 2: // a community is taken out
			tp.badges = twoBadges[:2]
		case 3:
			tp.badges = append(slices.Clone(twoBadges), chat.Badge{Community: "9003", ID: "7009", Amount: decimal.NewFromInt(1000)})
		case 4:
			tp.badges = twoBadges
		}
		tp.tell("restart with %v and %d pools", tp.badges, len(tp.pools))
	})
	for i := range tp.replicas {
		tp.replicas[i] = tp.start()
	}
}

// fault changes the world: a fault begins or ends, or a person does something. mu is held.
func (tp *tape) fault(n int, p *person) {
	switch n {
	case 9:
		tp.nodeAway = !tp.nodeAway
		tp.tell("node away %t", tp.nodeAway)
	case 10:
		tp.partial = !tp.partial
		tp.tell("partial %t", tp.partial)
	case 11:
		tp.partnerAway = !tp.partnerAway
		tp.tell("partner away %t", tp.partnerAway)
	case 12:
		tp.storeAway = !tp.storeAway
		tp.tell("store away %t", tp.storeAway)
	case 13:
		tp.diskFull = !tp.diskFull
		tp.tell("disk full %t", tp.diskFull)
	case 14:
		tp.skew = -[]time.Duration{0, 24 * time.Hour, 5 * time.Minute, 30 * 24 * time.Hour}[tp.IntN(4)]
		tp.tell("blocks behind by %v", tp.skew)
	case 15, 16, 17:
		problems := []chat.BadgeProblem{"", "", chat.BadgeFailed, chat.NotAllowed, chat.MissingRight, chat.RoleAbove}
		c := tp.communities[fmt.Sprint(9001+tp.IntN(2))]
		c.problem = problems[tp.IntN(len(problems))]
		c.carriedOut = c.problem == chat.BadgeFailed && tp.IntN(2) == 0
		tp.tell("problem %q, carried out %t", c.problem, c.carriedOut)
	case 18:
		c := fmt.Sprint(9001 + tp.IntN(2))
		p.in[c] = !p.in[c]
		for _, id := range p.badges(c) {
			delete(p.has, c+":"+id)
		}
		tp.tell("%s in %s: %t", p.ID[15:], c, p.in[c])
	default:
		i := tp.IntN(2)
		p.stakes[i] = []int64{0, 0, 5, 5, 2000}[tp.IntN(5)]
		tp.tell("%s stakes %d in %d", p.ID[15:], p.stakes[i], i)
	}
}

func (tp *tape) heal() {
	tp.change(func() {
		tp.nodeAway, tp.partial, tp.partnerAway, tp.storeAway, tp.diskFull, tp.skew = false, false, false, false, false, 0
		for _, c := range tp.communities {
			*c = community{calls: c.calls}
		}
	})
	tp.tell("all is well")
}

// checkLog fails the test if the log names somebody, or a community.
func (tp *tape) checkLog() {
	log := strings.ToLower(tp.log.String())
	names := []string{"9001", "9002", "server "}
	for _, p := range tp.people {
		names = append(names, p.ID, strings.ToLower(p.wallets[0].Hex()[2:10]))
	}
	for _, name := range names {
		if strings.Contains(log, name) {
			tp.t.Errorf("the log has %s: %s", name, log)
		}
	}
}

// checkForgotten fails the test if the store still names p.
func (tp *tape) checkForgotten(p *person) {
	for key, value := range tp.snapshot() {
		for _, personal := range []string{p.ID, strings.ToLower(p.wallets[0].Hex()), strings.ToLower(p.wallets[1].Hex())} {
			if strings.Contains(strings.ToLower(key+string(value)), personal) {
				tp.t.Errorf("%s names somebody who is forgotten: %s", key, value)
			}
		}
	}
}

// checkEnd fails the test unless everybody has what their stake earns, and nothing else.
func (tp *tape) checkEnd() {
	for _, p := range tp.people {
		for c := range tp.communities {
			var want []string
			for _, b := range tp.badges {
				if b.Community == c && p.in[c] && p.stake() >= max(1, b.Amount.IntPart()) {
					want = append(want, b.ID)
				}
			}
			if tp.oneEach && len(want) > 1 {
				want = want[len(want)-1:]
			}
			slices.Sort(want)
			if got := p.badges(c); !slices.Equal(got, want) {
				row, err := tp.replicas[0].m.rows.find(tp.t.Context(), p.User)
				tp.t.Errorf("%s has %v in %s, not %v: saved %d, stakes %v, row %+v, %v\n%v\n%s", p.ID, got, c, want, p.saved, p.stakes, row, err, tp.communities[c].calls, tp.log.String())
			}
		}
	}
}
