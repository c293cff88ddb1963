package members

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/words"
)

func TestABadgeIsGivenAndLostWithinTwoCyclesAndToldOnce(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		m.equal("the press", m.presses(wallet(1), 5), "+7001, +7003")
		m.stakesNow(1, 0)
		m.cycles(1)
		m.equal("after a cycle", m.seen("9001"), "1:7001")
		time.Sleep(cycle + time.Hour)
		m.equal("after two and an hour", m.seen("9001")+m.seen("9002"), "")
		m.stop()
		if len(m.notices) != 2 {
			t.Fatalf("%d notices", len(m.notices))
		}
		card := words.Print(m.notices[0])
		if title := card.Title.String(); !strings.Contains(title, "is removed in Server 900") {
			t.Errorf("titled %q", title)
		}
		if text := strings.ToLower(card.Text.String()); !strings.HasPrefix(text, "no stake found in 0xee00") {
			t.Errorf("told %q", text)
		}
		for _, private := range []string{"9001", "did:", strings.ToLower(wallet(1).Hex()[2:])} {
			m.equal("lines that name "+private, m.log.Lines(private), 0)
		}
	})
}

func TestEachRowIsCheckedOnceACycle(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		for id := range 20 {
			r := m.row(id, -1)
			r.Due = Time{}
			m.put(r)
		}
		m.run()
		m.equal("checked at once", m.number(&m.checked), 20)
		for range 4 {
			m.change(func() { m.checked = 0 })
			m.cycles(1)
			m.equal("checked in a cycle", m.number(&m.checked), 20)
		}
	})
}

// After an outage, those who wait for the longest time come first.
func TestATickChecksAFewOfMany(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		for id := range 3 * minDue {
			r := m.row(id, -1)
			r.Due = timeOf(time.Now().Add(-time.Duration(id) * time.Second))
			m.put(r)
		}
		m.run()
		m.equal("in the first tick", m.number(&m.checked), minDue)
		m.equal("who waited for the longest", m.saved(3*minDue-1).Due.After(time.Now()), true)
		m.equal("who did not", m.saved(0).Due.After(time.Now()), false)
		m.ticks(2)
		m.equal("after three ticks", m.number(&m.checked), 3*minDue)
	})
}

func TestOneReplicaTakesATick(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(20, 5, "7001")
		other := New(m.config())
		ctx, cancel := context.WithCancel(m.Context())
		ended := make(chan struct{})
		go func() { other.Run(ctx); close(ended) }()
		m.run()
		m.cycles(4)
		m.equal("checks in four cycles", m.number(&m.checked), 4*20)
		rows, checked, _, _ := other.Census()
		m.equal("counted by the other", fmt.Sprint(rows, " ", checked), "20 20")
		cancel()
		<-ended
	})
}

// A process may end after it has saved a check, and before it has made the calls.
func TestCallsThatAreLeftFollowAtOnceAfterARestart(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		for id := 1; id <= 5; id++ {
			m.put(m.row(id, 5))
			m.wears("9001", id)
		}
		m.memory.Reserve(m.Context(), 0, m.platform.tickLimit()) // The process before has taken the tick.
		m.run()
		time.Sleep(10 * time.Second)
		m.equal("worn", m.seen("9001"), "1:7001 2:7001 3:7001 4:7001 5:7001")
	})
}

func TestAUserWhoIsClaimedByAKilledProcessFollowsAtTheNextTick(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.row(1, 5))
		m.memory.Claim(m.Context(), "settle 42 discord 1 9001")
		m.run()
		m.ticks(2)
		m.equal("worn", m.seen("9001"), "1:7001")
	})
}

// The answer of a node that is away, frozen or set back is never too low a stake.
func TestANodeThatIsAwayTakesNothing(t *testing.T) {
	for name, fails := range map[string]func(m *membersTest){
		"away":         func(m *membersTest) { m.stakesNow(1, -1) },
		"without time": func(m *membersTest) { m.stakesNow(1, 0); m.change(func() { m.frozen = true }) },
		"set back": func(m *membersTest) {
			block := time.Now().Add(-time.Hour)
			m.Members.Stakes = func(_ context.Context, wallets []common.Address) []query.Answer[core.Stake] {
				all := make([]query.Answer[core.Stake], len(wallets))
				for i := range all {
					all[i].Value = stakeOf(0, block)
				}
				return all
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				m.put(m.row(1, 5, "7001"))
				m.wears("9001", 1, "7001")
				fails(m)
				m.run()
				m.cycles(8)
				m.equal("worn after two days", m.seen("9001"), "1:7001")
			})
		})
	}
}

// An entry of the settings is replaced together with its amount, or with the pools, while the node is away for a day.
func TestAReplacedEntryTakesNothingWhileTheNodeIsAway(t *testing.T) {
	replaced := []chat.Badge{{Community: "9001", ID: "7009", Amount: decimal.NewFromInt(2)}, roles[2]}
	for name, change := range map[string]func(c *Config){
		"with its amount": func(*Config) {},
		"with the pools":  func(c *Config) { c.Pools = poolList(22) },
	} {
		for _, oneEach := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", one each ", oneEach), func(t *testing.T) {
				inBubble(t, func(m *membersTest) {
					m.change(func() { m.oneEach = oneEach })
					m.putStakers(15, 5, "7001")
					for id := range 15 {
						m.stakesNow(id+1, -1)
					}
					m.restart(func(c *Config) {
						c.setBadges(replaced)
						change(c)
					})
					m.cycles(4)
					m.equal("with the node away", strings.Count(m.seen("9001"), ":7001"), 15)
					for id := range 15 {
						m.stakesNow(id+1, 5)
					}
					m.cycles(2)
					m.equal("with the node back", strings.Count(m.seen("9001"), ":7009"), 15)
					m.equal("of the old one", strings.Contains(m.seen("9001"), "7001"), false)
				})
			})
		}
	}
}

// A press is a check under the new settings as well.
func TestAPressExchangesAReplacedEntry(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		m.presses(wallet(1), 5)
		m.restart(func(c *Config) {
			c.setBadges([]chat.Badge{{Community: "9001", ID: "7009"}, roles[2]})
		})
		time.Sleep(time.Minute)
		m.equal("before the press", m.seen("9001"), "1:7001+7009")
		m.equal("the press", m.presses(wallet(1), 5), "-7001")
	})
}

func TestABadgeOfARemovedCommunityIsRemoved(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		m.presses(wallet(1), 5)
		m.restart(func(c *Config) { c.setBadges(roles[2:]) })
		m.ticks(1)
		m.equal("worn", m.seen("9001")+m.seen("9002"), "1:7003")
		m.stop()
		m.equal("notices", len(m.notices), 0)
	})
}

// The platform says of one user that it knows no such server.
func TestAnUnknownServerConcernsItsOwnUserAlone(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(8, 5, "7001")
		for id := range 8 {
			m.stakesNow(id+1, 0)
		}
		m.change(func() {
			m.fault = func(c call) error {
				if c.user == "1" && c.community == "9001" {
					return failure(chat.CommunityGone)
				}
				return nil
			}
		})
		m.run()
		m.cycles(20)
		m.equal("five days later", m.seen("9001"), "1:7001")
	})
}

// The clock was a week ahead, and is corrected.
func TestRowsOfAClockThatWasAheadAreChecked(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		r := m.row(1, 5, "7001")
		r.Due = timeOf(time.Now().Add(7 * 24 * time.Hour))
		r.CheckedAt = r.Due
		m.put(r)
		m.wears("9001", 1, "7001")
		m.stakesNow(1, 0)
		m.run()
		m.equal("checked at once", m.number(&m.checked), 1)
		m.cycles(3)
		m.equal("worn", m.seen("9001"), "")
	})
}

// Each reading of stakes takes longer than a tick may.
func TestSlowReadingDelaysNoRemovalOfAShortCycle(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		c := m.config()
		c.Every = 10 * time.Minute
		c.Stakes = func(ctx context.Context, wallets []common.Address) []query.Answer[core.Stake] {
			time.Sleep(checksLast - time.Second)
			return m.readStakes(ctx, wallets)
		}
		m.use(c)
		m.put(m.row(1, 5, "7001"))
		m.wears("9001", 1, "7001")
		m.stakesNow(1, 0)
		m.run()
		time.Sleep(2 * time.Hour)
		m.equal("worn", m.seen("9001"), "")
	})
}

// What could not be read in time stays as it was. Whoever has a call left is settled all the same.
func TestATickWhoseTimeIsUpSettles(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		c := m.config()
		c.Stakes = func(ctx context.Context, wallets []common.Address) []query.Answer[core.Stake] {
			<-ctx.Done()
			all := m.readStakes(ctx, wallets)
			for i := range all {
				all[i].Err = ctx.Err()
			}
			return all
		}
		m.use(c)
		r := m.row(1, 5)
		r.Due = Time{}
		m.put(r)
		m.run()
		time.Sleep(checksLast + time.Minute)
		m.equal("worn", m.seen("9001"), "1:7001")
		m.equal("checked", m.saved(1).CheckedAt, r.CheckedAt)
		m.equal("due", m.saved(1).Due.IsZero(), true)
	})
}

func TestShutdownKeepsTheFirstLowCheck(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		r := m.row(1, 5, "7001")
		r.Badges[0].Low = Low{r.Block, underOf(m.platform.tiers, "7001")}
		r.Due = Time{}
		m.put(r)
		m.stakesNow(1, -1)
		ctx, cancel := context.WithCancel(m.Context())
		m.Members.Stakes = func(ctx context.Context, wallets []common.Address) []query.Answer[core.Stake] {
			cancel()
			return m.readStakes(ctx, wallets)
		}
		m.Members.Run(ctx)
		m.equal("row", shown(m.saved(1)), "7001 low")
	})
}

// A press while a check reads stakes has seen a newer block than the check.
func TestAPressDuringEachCheckKeepsNoBadge(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.row(1, 5, "7001"))
		m.wears("9001", 1, "7001")
		m.Members.Stakes = func(ctx context.Context, wallets []common.Address) []query.Answer[core.Stake] {
			found := m.readStakes(ctx, wallets)
			time.Sleep(2 * time.Second)
			m.presses(wallet(1), 0)
			return found
		}
		m.run()
		time.Sleep(2*cycle + time.Hour)
		m.equal("worn", m.seen("9001"), "")
	})
}

// A full disk can be read.
func TestADiskThatIsFullDelaysAndTakesNothing(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(3, 5, "7001")
		m.stakesNow(1, 0)
		fill(m)
		m.run()
		m.cycles(6)
		m.equal("worn while it is full", m.seen("9001"), "1:7001 2:7001 3:7001")
		m.equal("calls", m.called(), "")
		m.change(func() { m.full = false })
		time.Sleep(2*cycle + time.Hour)
		m.equal("and then", m.seen("9001"), "2:7001 3:7001")
	})
}

// A tick that cannot read the rows is tried again soon, and logged once.
func TestAStoreThatIsAwayTakesNothing(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(3, 0, "7001")
		m.change(func() { m.down = true })
		m.run()
		m.cycles(6)
		m.equal("calls", m.called(), "")
		m.equal("lines", m.log.Lines("saved addresses cannot be read"), 1)
		m.change(func() { m.down = false })
		time.Sleep(2 * retryTick)
		m.equal("checked soon", m.number(&m.checked), 3)
		rows, _, _, _ := m.Census()
		m.equal("counted soon", rows, 3)
	})
}

// One community does not answer. Everybody else gets what they reach.
func TestACommunityThatHangsDelaysNoOther(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		hangs := true
		m.change(func() {
			m.fault = func(c call) error {
				if hangs && c.community == "9001" {
					return &chat.BadgeError{Problem: chat.BadgeFailed, RetryAfter: time.Hour, Err: errFault}
				}
				return nil
			}
		})
		for id := 1; id <= 3; id++ {
			m.put(m.row(id, 5))
			m.wears("9001", id)
			m.wears("9002", id)
			m.stakesNow(id, 5)
		}
		m.run()
		time.Sleep(time.Minute)
		m.equal("in the other", m.seen("9002"), "1:7003 2:7003 3:7003")
		m.change(func() { hangs = false })
		m.cycles(1)
		m.equal("in the end", m.seen("9001"), "1:7001 2:7001 3:7001")
	})
}

// proofCase is the monthly question whose a wallet is.
type proofCase struct {
	stake       int64
	age         time.Duration
	holdsNone   bool
	user, owner string
	want        string // whether any stake is reached; and "proven" and "disowned"
}

func TestAWalletIsProvenOnceAMonth(t *testing.T) {
	const month = proofLasts
	for name, c := range map[string]proofCase{
		"a young proof is not asked for": {stake: 5, age: month - time.Second, want: "reached"},
		"theirs": {
			stake: 5,
			age:   month,
			user:  "did:1",
			owner: "did:1",
			want:  "reached proven",
		},
		"another's": {
			stake: 5,
			age:   month,
			user:  "did:1",
			owner: "did:2",
			want:  "missed disowned",
		},
		"two that do not exist": {stake: 5, age: month, want: "missed disowned"},
		"an account that is not known": {
			stake: 5,
			age:   month,
			user:  "away",
			owner: "did:1",
			want:  "unknown",
		},
		"an owner who is not known": {
			stake: 5,
			age:   month,
			user:  "did:1",
			owner: "away",
			want:  "unknown",
		},
		"whose stake is gone anyhow": {
			age:   month,
			user:  "away",
			owner: "did:1",
			want:  "missed",
		},
		"no block to count from": {
			stake: -1,
			age:   month,
			user:  "did:1",
			owner: "did:2",
			want:  "unknown disowned",
		},
		"nothing to lose": {age: month, holdsNone: true, want: "missed"},
		"a stake that is new": {
			stake:     5,
			age:       month,
			holdsNone: true,
			user:      "did:1",
			owner:     "did:1",
			want:      "reached proven",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				r := m.row(1, 0, "7001")
				if c.holdsNone {
					r = m.row(1, -1)
				}
				r.ProvenAt = timeOf(time.Now().Add(-c.age))
				m.stakesNow(1, c.stake)
				m.dids = map[string]string{"1": c.user, r.Wallet.Hex(): c.owner}
				found := m.checkBatch(m.Context(), m.platform, []Row{r}, &proofs{left: 1})[0]
				got := []string{"unknown", "missed", "reached"}[found.answer(decimal.Zero)]
				if found.proven {
					got += " proven"
				}
				if found.disowned {
					got += " disowned"
				}
				m.equal("found", got, c.want)
			})
		})
	}
}

func TestAProofIsSaved(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		r := m.row(1, 0, "7001")
		r.ProvenAt, r.Due = Time{}, Time{}
		m.put(r)
		m.run()
		m.equal("proven", time.Since(m.saved(1).ProvenAt.Time) < time.Minute, true)
	})
}

// A wallet that is another's now is a miss like any other, and is told as such.
func TestAWalletThatIsAnothersLosesItsBadges(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		r := m.row(1, 0, "7001")
		r.ProvenAt = Time{}
		m.put(r)
		m.wears("9001", 1, "7001")
		m.change(func() { m.dids[wallet(1).Hex()] = "did:2" })
		m.run()
		time.Sleep(2*cycle + time.Hour)
		m.equal("worn", m.seen("9001"), "")
		m.equal("why", m.saved(1).Lost[0].Disowned, true)
	})
}

// First about those who are losing a badge. Of the others, nobody waits for ever.
func TestATickProvesFew(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		var rows []Row
		for id := range 9 {
			r := m.row(id, 0, "7001")
			r.ProvenAt = Time{}
			m.stakesNow(id, 5)
			m.dids[r.Wallet.Hex()], m.dids[r.User.ID] = "did:x", "did:x"
			if id >= 7 {
				r.Badges[0].Low = Low{r.Block, underOf(m.platform.tiers, "7001")}
			}
			rows = append(rows, r)
		}
		seen := map[int]bool{}
		for range 200 { // Two of seven each time: (5/7)^200 is no chance.
			var proven []int
			for i, c := range m.checkBatch(m.Context(), m.platform, rows, &proofs{left: 4}) {
				if c.proven {
					proven = append(proven, i)
					seen[i] = true
				}
			}
			if len(proven) != 4 || !slices.Equal(proven[2:], []int{7, 8}) {
				t.Fatalf("asked about %v", proven)
			}
		}
		m.equal("asked about", len(seen), 9)
	})
}

func TestEachCheckOfTheCycleIsCounted(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		for id := 1; id <= 3; id++ {
			r := m.row(id, 0)
			r.Due = Time{}
			m.put(r)
		}
		m.stakesNow(2, 0)
		m.stakesNow(3, -1)
		m.run()
		got := fmt.Sprint(m.event("check_reached"), m.event("check_below"), m.event("check_unknown"))
		m.equal("reached, below and unknown", got, "1 1 1")
	})
}

// A call that is being made when the bot ends is carried out and saved.
func TestRunEndsAfterItsCalls(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.row(1, 0))
		m.change(func() { m.during = func(call) { time.Sleep(2 * time.Second) } })
		m.run()
		m.stop()
		m.equal("first call", len(m.called()) > 0, true)
		m.stop = func() {}
		held := shown(m.saved(1))
		m.equal("unsure", strings.Contains(held, "unsure"), false)
	})
}

func TestChecksAreCounted(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		partly := checkOf(5, 6)
		partly.stake.Failed = make([]core.UnreadPool, 1)
		for _, c := range []struct {
			check check
			row   Row
			want  string
		}{
			{checkOf(5, 6), m.row(1, 0, "7001"), "reached"},
			{checkOf(5, 6), m.row(1, 0, "7001", "7002"), "below"},
			{checkOf(0, 6), m.row(1, -1), "below"},
			{partly, m.row(1, 0, "7001"), "unknown"},
			{check{failed: true}, m.row(1, 0, "7001"), "unknown"},
		} {
			clear(m.events)
			after := m.platform.tiers.decide(c.row, c.check, at(6))
			for i := range after.Badges {
				isLow := c.check.answer(m.platform.tiers.all[i].Amount) == missed
				m.equal("low", after.Badges[i].Low != Low{}, isLow && at(6).After(c.row.Block.Time))
			}
			m.countCheck(m.platform, after, c.check)
			m.equal("counted", fmt.Sprint(m.events), "map[check_"+c.want+":1]")
		}
	})
}

// A panic is counted, and ends neither the process nor what comes after.
func TestAPanicIsCounted(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(1, 5, "7001")
		m.change(func() { m.stakes[wallet(1)] = 0 })
		panics := 3
		c := m.config()
		c.Stakes = func(ctx context.Context, wallets []common.Address) []query.Answer[core.Stake] {
			if panics > 0 {
				panics--
				panic("on purpose")
			}
			return m.readStakes(ctx, wallets)
		}
		m.use(c)
		m.run()
		m.cycles(4)
		m.equal("panics", m.event("panic"), 3)
		m.equal("worn", m.seen("9001"), "")
		m.change(func() { m.during = func(call) { panic("on purpose") } })
		m.presses(wallet(1), 5)
		m.equal("panics in a call, too", m.event("panic"), 4)
	})
}

// The demo checks all at once.
func TestCheckAllFollowsAsIfTimeHadPassed(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.presses(wallet(1), 5)
		m.stakesNow(1, 0)
		for range 2 {
			time.Sleep(time.Second)
			if err := m.CheckAll(m.Context(), cycle); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		m.equal("worn", m.seen("9001")+m.seen("9002"), "")
		m.equal("notices", len(m.notices), 2)
	})
}
