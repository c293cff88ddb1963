package members

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/store"
)

// blow makes users 1 to 12 lose role 7001, one cycle ago and now, so that the fuse holds them.
func blow(m *membersTest) {
	const n = 12
	m.putStakers(n, 5, "7001")
	for id := range n {
		m.stakesNow(id+1, 0)
	}
	m.run()
	m.cycles(4)
}

func TestAReleaseLetsThoseGoWhomItPrints(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		blow(m)
		m.equal("held", strings.Count(m.seen("9001"), "7001"), 12)
		released, err := m.Release(m.Context())
		m.equal("printed", fmt.Sprint(len(released), released[0], err), "12 {{discord 1} 9001 7001} <nil>")
		for id := 20; id < 31; id++ {
			later := m.row(id, -1, "7001")
			later.Badges[0].Goes = underOf(m.platform.tiers, "7001")
			m.put(later)
			m.wears("9001", id, "7001")
		}
		m.ticks(2)
		m.equal("worn by the others", strings.Count(m.seen("9001"), "7001"), 11)
		m.equal("lines", m.log.Lines("the fuse lets go"), 1)
	})
}

func TestWhomNoFuseHoldsIsNotReleased(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(10, 5, "7001")
		for id := range 10 {
			r := m.row(id+1, -1, "7001")
			r.Badges[0].Low = Low{r.Block, underOf(m.platform.tiers, "7001")}
			m.put(r)
		}
		released, err := m.Release(m.Context())
		m.equal("released", fmt.Sprint(len(released), err), "0 <nil>")
	})
}

func TestAReleasedBadgeThatIsReachedAgainIsHeldNextTime(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		blow(m)
		released, err := m.Release(m.Context())
		m.equal("released", fmt.Sprint(len(released), err), "12 <nil>")
		for id := range 12 {
			m.stakesNow(id+1, 5)
			m.put(m.row(id+1, 0, "7001")) // They have staked again before the tick.
		}
		m.cycles(1)
		for id := range 12 {
			m.stakesNow(id+1, 0)
		}
		m.cycles(4)
		m.equal("held", strings.Count(m.seen("9001"), "7001"), 12)
	})
}

func TestAReleaseIsPrintedOnce(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		blow(m)
		_, _ = m.Release(m.Context())
		m.failWith(failure(chat.MissingRight))
		m.ticks(2)
		again, err := m.Release(m.Context())
		m.equal("again", fmt.Sprint(len(again), err), "0 <nil>")
		m.equal("released", m.saved(1).Badges[0].Released, true)
	})
}

// A process without a platform's token releases nobody there.
func TestAReleaseIsOfThePlatformsWhoseTokensAreSet(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		tags := []chat.Badge{{Community: "-1001", ID: "Staker"}}
		both := m.config()
		both.Platforms = map[chat.Platform]Platform{
			"discord":  {Bot: "42", Badges: roles},
			"telegram": {Bot: "77", Badges: tags},
		}
		all := New(both)
		for _, name := range []chat.Platform{"discord", "telegram"} {
			p := all.platforms[name]
			for id := range 11 {
				h := Held{Community: p.tiers.all[0].Community, Badge: p.tiers.all[0].ID}
				h.Goes = p.tiers.current(h)
				r := Row{User: chat.User{Platform: name, ID: fmt.Sprint(id)}, Wallet: wallet(1), Badges: []Held{h}}
				_, err := p.rows.update(m.Context(), r.User.ID, func(*Row) *Row { return &r })
				m.equal("saved", err, nil)
			}
		}
		released, err := m.Release(m.Context())
		m.equal("of one", fmt.Sprint(len(released), released[0].User.Platform, err), "11discord<nil>")
		all.carryOutReleases(m.Context(), all.platforms["telegram"])
		telegram, err := all.platforms["telegram"].rows.load(m.Context(), "1")
		m.equal("of the other", fmt.Sprint(telegram.Badges[0].Released, err), "false <nil>")
		released, err = all.Release(m.Context())
		m.equal("of both", fmt.Sprint(len(released), err), "22 <nil>")
	})
}

// partly is a Store of which one value cannot be read.
type partly struct{ Store }

func (p partly) Each(ctx context.Context, f func([]byte)) error {
	if err := p.Store.Each(ctx, f); err != nil {
		return err
	}
	return &store.UnreadableError{Values: 1, Err: errFault}
}

func TestAReleaseThatCannotBeReadConcernsItsUserAlone(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		blow(m)
		_, err := m.Release(m.Context())
		m.equal("release", err, nil)
		b := m.memory.Bucket("releases/discord-42")
		value, _ := b.Load(m.Context(), "1")
		_, _ = b.Replace(m.Context(), "1", value, []byte("damaged"))
		m.stop()
		m.platform.releases = partly{m.platform.releases}
		for range 3 {
			m.carryOutReleases(m.Context(), m.platform)
		}
		m.equal("user 1", m.saved(1).Badges[0].Released, false)
		m.equal("user 2", m.saved(2).Badges[0].Released, true)
		m.equal("lines", m.log.Lines("the fuse lets go"), 1)
	})
}
