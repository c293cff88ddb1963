package members

import (
	"context"
	"fmt"
	"testing"

	"herald/internal/chat"
	"herald/internal/store"
)

// heldUsers is how many users the fuse holds after blow.
const heldUsers = 12

// blow makes users 1 to heldUsers stop staking. After two low checks, each would lose role 7001, and the fuse holds it.
func blow(m *membersTest) {
	m.putStakers(heldUsers, 5, "7001")
	m.allStake(heldUsers, 0)
	m.run()
	m.cycles(4)
	m.equal("held", m.wearing("7001"), heldUsers)
}

// releases releases the badges that the fuses hold, and checks how many they are.
func (m *membersTest) releases(want int) []ReleasedBadge {
	m.Helper()
	released, err := m.Release(m.Context())
	m.equal("error", err, nil)
	m.equal("released", len(released), want)
	return released
}

func TestAReleaseRemovesTheBadgesThatItPrints(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		blow(m)
		released := m.releases(heldUsers)
		m.equal("first", released[0], ReleasedBadge{User: user(1), Community: "9001", Badge: "7001"})
		m.ticks(2)
		m.equal("worn", m.wearing("7001"), 0)
		m.equal("lines", m.log.Lines("the fuse lets go"), 1)
	})
}

func TestAReleaseLeavesUsersWhoAreHeldAfterwards(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		blow(m)
		m.releases(heldUsers)
		for id := 20; id <= 30; id++ {
			later := m.row(id, -1, "7001")
			later.Badges[0].RemoveUnder = underOf(m.platform.tiers, "7001")
			m.put(later)
			m.setWorn("9001", id, "7001")
		}
		m.ticks(2)
		m.equal("worn", m.wearing("7001"), 11)
	})
}

func TestAUserWhomNoFuseHoldsIsNotReleased(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(10, 5, "7001")
		for id := range 10 {
			r := m.row(id+1, -1, "7001")
			r.Badges[0].Low = MissedCheck{r.Block, underOf(m.platform.tiers, "7001")}
			m.put(r)
		}
		m.releases(0)
	})
}

func TestAReleasedBadgeThatIsReachedAgainIsHeldNextTime(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		blow(m)
		m.releases(heldUsers)
		m.allStake(heldUsers, 5)
		for id := range heldUsers {
			m.put(m.row(id+1, 0, "7001")) // A press has found the stake before the tick.
		}
		m.cycles(1)
		m.allStake(heldUsers, 0)
		m.cycles(4)
		m.equal("held", m.wearing("7001"), heldUsers)
	})
}

func TestAReleaseIsPrintedOnce(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		blow(m)
		m.releases(heldUsers)
		m.failWith(failure(chat.MissingRight))
		m.ticks(2)
		m.releases(0)
		m.equal("released", m.saved(1).Badges[0].Released, true)
	})
}

// onBothPlatforms returns a Members with the tokens of Discord and Telegram, which uses the store of m. On each
// platform, the fuse holds 11 users. m itself has the token of Discord only.
func (m *membersTest) onBothPlatforms() *Members {
	m.Helper()
	c := m.config()
	c.Platforms = map[chat.Platform]Platform{
		"discord":  {Bot: "42", Configured: roles},
		"telegram": {Bot: "77", Configured: []chat.Badge{{Community: "-1001", ID: "Staker"}}},
	}
	both := New(c)
	for name, p := range both.platforms {
		first := p.tiers.all[0]
		for id := range 11 {
			held := Held{Community: first.Community, Badge: first.ID}
			held.RemoveUnder = p.tiers.underNow(held)
			r := Row{
				User:   chat.User{Platform: name, ID: fmt.Sprint(id)},
				Wallet: wallet(1),
				Badges: []Held{held},
			}
			_, err := p.rows.update(m.Context(), r.User.ID, func(*Row) *Row { return &r })
			m.equal("saved", err, nil)
		}
	}
	return both
}

// m has no token of Telegram, so it releases nobody there.
func TestAReleaseIsOfThePlatformsWhoseTokensAreSet(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		both := m.onBothPlatforms()
		released := m.releases(11)
		m.equal("platform", released[0].User.Platform, "discord")

		telegram := both.platforms["telegram"]
		both.carryOutReleases(m.Context(), telegram)
		row, err := telegram.rows.load(m.Context(), "1")
		m.equal("error", err, nil)
		m.equal("released on Telegram", row.Badges[0].Released, false)
	})
}

func TestAReleaseIsOfAllPlatformsWhoseTokensAreSet(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		both := m.onBothPlatforms()
		m.releases(11) // No tick carries it out, so the next one repeats it.
		released, err := both.Release(m.Context())
		m.equal("error", err, nil)
		m.equal("released", len(released), 22)
	})
}

// partlyUnreadable is a Store in which one value cannot be read.
type partlyUnreadable struct{ Store }

func (p partlyUnreadable) Each(ctx context.Context, f func([]byte)) error {
	if err := p.Store.Each(ctx, f); err != nil {
		return err
	}
	return &store.UnreadableError{Values: 1, Err: errFault}
}

func TestAReleaseThatCannotBeReadConcernsItsUserAlone(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		blow(m)
		m.releases(heldUsers)
		b := m.memory.Bucket("releases/discord-42")
		value, _ := b.Load(m.Context(), "1")
		_, _ = b.Replace(m.Context(), "1", value, []byte("damaged"))
		m.stop()
		m.platform.releases = partlyUnreadable{m.platform.releases}
		for range 3 {
			m.carryOutReleases(m.Context(), m.platform)
		}
		m.equal("user 1", m.saved(1).Badges[0].Released, false)
		m.equal("user 2", m.saved(2).Badges[0].Released, true)
		m.equal("lines", m.log.Lines("the fuse lets go"), 1)
	})
}
