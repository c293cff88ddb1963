package members

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/chat"
)

// The file testdata/formats/1.json has rows of format 1, which version b7a8be84 saved:
//
//	user   shard         the row
//	1      members 266   7001, perhaps 7002, and no badge in server 9002
//	2      members 184   7002, which was released, and whose removal was refused
//	3      members 190   no badge
//	4      members 448   forgotten, with 7001 to be removed

// formerKeys are the keys of the shards of users 1 to 4.
var formerKeys = []string{"members 266", "members 184", "members 190", "members 448"}

// formerValues returns the rows of testdata/formats/1.json, each as the only one of its shard, by key.
func formerValues(t *testing.T) map[string]string {
	t.Helper()
	file, err := os.ReadFile("testdata/formats/1.json")
	if err != nil {
		t.Fatal(err)
	}
	var saved struct{ Rows []json.RawMessage }
	if err := json.Unmarshal(file, &saved); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for i, row := range saved.Rows {
		values[formerKeys[i]] = formerValue(string(row))
	}
	return values
}

// formerValue returns the value of a shard with these rows.
func formerValue(rows ...string) string {
	return `{"version":1,"rows":[` + strings.Join(rows, ",") + `]}`
}

// putFormer saves values of format 1, and replaces the Members by one that reads them. isShared says that other bots
// may have rows there.
func (m *membersTest) putFormer(isShared bool, values map[string]string) {
	m.Helper()
	for key, value := range values {
		old, _ := m.memory.Bucket("former").Load(m.Context(), key)
		replaced, err := m.memory.Bucket("former").Replace(m.Context(), key, old, []byte(value))
		if !replaced || err != nil {
			m.Fatal(replaced, err)
		}
	}
	c := m.config()
	c.Former = m.bucket("former")
	c.FormerIsShared = isShared
	m.use(c)
}

// contents returns all values of these buckets of the store as one text, in ascending order.
func (f *fake) contents(names ...string) string {
	var all []string
	for _, name := range names {
		_ = f.memory.Bucket(name).Each(context.Background(), func(value []byte) { all = append(all, string(value)) })
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

// The first row of each fixture is the same.
func TestEachFormatIsRead(t *testing.T) {
	for number := 1; number <= format; number++ {
		inBubble(t, func(m *membersTest) {
			name := fmt.Sprintf("testdata/formats/%d.json", number)
			file, err := os.ReadFile(name)
			if err != nil {
				t.Fatalf("format %d has no fixture: %v", number, err)
			}
			if number == 1 {
				m.putFormer(false, formerValues(t))
			} else {
				putValue(m, "1", string(file))
			}
			m.platform.rows.tiers.pools = 1 << 63 // the pools of the fixtures
			r := m.saved(1)
			m.equal(name, shown(r), "7001, 7002 unsure, idle 9002")
			m.equal(name+": saved at", r.SavedAt.Unix(), 1795521600)
			m.equal(name+": block", r.Block.Unix(), 1795543200)
			m.equal(name+": since", r.Badges[0].Since.Unix(), 1795521600)
			m.equal(name+": wallet", r.Wallet, wallet(1))
			m.equal(name+": reached", r.Reached.Valid && r.Reached.Decimal.IsZero(), true)
		})
	}
}

func TestRowsOfFormat1AreRewrittenOnceAndDeleted(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.change(func() { m.fault = func(call) error { return failure(chat.BadgeFailed) } }) // The badges stay.
		m.putFormer(false, formerValues(t))
		m.run()
		m.equal("left of format 1", m.contents("former"), "")
		m.equal("lines", m.log.Lines("are rewritten"), 1)
		m.equal("badges of user 2", shown(m.saved(2)), "7002 low released refused")
		m.equal("wallet of user 3", m.saved(3).Wallet, wallet(3))
		m.equal("user 4 is forgotten", m.saved(4).Forgotten(), true)
		m.equal("badges of user 4", shown(m.saved(4)), "7001")
		rows, _, _, unreadable := m.Census()
		m.equal("counted", rows, 3)
		m.equal("unreadable", unreadable, 0)
		m.restart(func(c *Config) { c.Former = m.bucket("former") })
		m.equal("lines after a restart", m.log.Lines("are rewritten"), 1)
	})
}

// The first low checks of format 1 do not count. So after the conversion, two more low checks remove a badge.
func TestNobodyLosesABadgeByTheConversion(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		time.Sleep(time.Until(at(12)))
		m.putFormer(false, formerValues(t))
		m.setWorn("9001", 1, "7001", "7002")
		m.setWorn("9001", 2, "7002")
		m.leaves("9002")
		for id := 1; id <= 3; id++ {
			m.stakesNow(id, 0)
		}
		m.run()
		m.ticks(1)
		m.equal("worn after a check", m.wornIn("9001"), "1:7001+7002 2:7002")
		m.cycles(2)
		m.equal("worn after two cycles", m.wornIn("9001"), "")
	})
}

func TestForgetOfFormat1LeavesNoWalletAnywhere(t *testing.T) {
	for _, isShared := range []bool{false, true} {
		for id := 1; id <= 3; id++ {
			inBubble(t, func(m *membersTest) {
				m.putFormer(isShared, formerValues(t))
				m.failWith(failure(chat.MissingRight))
				f, err := m.Forget(m.Context(), user(id))
				m.equal("error", err, nil)
				m.equal("forgotten", f.Wallet, wallet(id))
				left := m.contents("former", "members/discord-42")
				hasWallet := strings.Contains(left, strings.ToLower(wallet(id).Hex()))
				m.equal(fmt.Sprint("wallet of ", id, " is left"), hasWallet, false)
				m.run()
				m.equal("after the conversion", m.saved(id).Wallet.Big().Sign(), 0)
			})
		}
	}
}

// userInShard returns a user whose row is in a shard of format 1, and who is not in the fixture.
func userInShard(key string) (id int) {
	id = 5
	for shardKey(shardOf(user(id))) != key {
		id++
	}
	return id
}

// User 3 and another one share a shard. The other one sends /forget while the row of user 3 is rewritten.
func TestForgetDuringTheConversionLeavesNoWallet(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		key := formerKeys[2]
		other := userInShard(key)
		row := func(id int) string {
			return fmt.Sprintf(`{"u":{"Platform":"discord","ID":"%d"},"w":"%s"}`, id, wallet(id).Hex())
		}
		m.putFormer(false, map[string]string{key: formerValue(row(3), row(other))})
		var forgetting sync.WaitGroup
		m.change(func() {
			m.atReplace = func() {
				forgetting.Go(func() {
					_, err := m.Forget(m.Context(), user(other))
					m.equal("forget", err, nil)
				})
				time.Sleep(time.Second)
			}
		})
		_, err := m.platform.rows.rewriteAll(m.Context())
		m.equal("conversion", err, nil)
		forgetting.Wait()
		m.equal("left", users(t, m.Members), "3")
	})
}

// The row of user 3 is rewritten while /forget deletes it.
func TestTheConversionDuringForgetLeavesNoWallet(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putFormer(false, formerValues(t))
		var converting sync.WaitGroup
		m.change(func() {
			m.atReplace = func() {
				converting.Go(func() {
					_, err := m.platform.rows.rewriteAll(m.Context())
					m.equal("conversion", err, nil)
				})
				time.Sleep(time.Second)
			}
		})
		f, err := m.Forget(m.Context(), user(3))
		converting.Wait()
		m.equal("error", err, nil)
		m.equal("forgotten", f.Wallet, wallet(3))
		m.equal("left", users(t, m.Members), "1 2 4")
	})
}

func TestTheConversionDoesNotReplaceARowThatWasSavedBefore(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putFormer(false, formerValues(t))
		m.presses(wallet(9), 5)
		m.stakesNow(9, 5)
		m.run()
		m.equal("wallet", m.saved(1).Wallet, wallet(9))
		m.equal("left of format 1", m.contents("former"), "")
	})
}

func TestAllHasTheRowsThatAreNotRewrittenYet(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		values := formerValues(t)
		values["members 7"] = "damaged"
		m.putFormer(false, values)
		before := m.contents("former", "members/discord-42")
		all, unreadable, err := m.All(m.Context())
		m.equal("error", err, nil)
		m.equal("all", len(all), 4)
		m.equal("unreadable", unreadable, 1)
		m.equal("the store", m.contents("former", "members/discord-42"), before)
	})
}

// Two bots share a Redis: staging and production. Only the row of user 3, who holds no badge, may be staging's.
func TestABotTakesTheRowsOfItsOwnCommunities(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putFormer(true, formerValues(t))
		c := m.config()
		c.Former = m.bucket("former")
		c.FormerIsShared = true
		c.setBot("43")
		c.setBadges([]chat.Badge{{Community: "8001", ID: "8002"}})
		staging := New(c)
		for _, bot := range []*Members{staging, m.Members} {
			_, err := bot.platforms["discord"].rows.rewriteAll(m.Context())
			m.equal("conversion", err, nil)
		}
		m.equal("of production", users(t, m.Members), "1 2 3 4")
		m.equal("of staging", users(t, staging), "3")
		m.equal("left of format 1", m.contents("former"), formerValues(t)[formerKeys[2]])

		_, err := staging.Forget(m.Context(), user(3))
		m.equal("forget", err, nil)
		m.equal("left after /forget", m.contents("former"), "")
		m.equal("of production", users(t, m.Members), "1 2 3 4")
	})
}

// users returns the IDs of the users whose rows a bot has.
func users(t *testing.T, m *Members) string {
	t.Helper()
	all, _, err := m.All(t.Context())
	if err != nil {
		t.Error(err)
	}
	var ids []string
	for _, r := range all {
		ids = append(ids, r.User.ID)
	}
	return strings.Join(ids, " ")
}

func TestADamagedShardStaysAndConcernsNoOther(t *testing.T) {
	for name, damaged := range map[string]string{
		"no JSON":                 "damaged",
		"a newer format":          `{"version":3,"rows":[]}`,
		"a user without a number": formerValue(`{"u":{"Platform":"telegram","ID":"ann"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				values := formerValues(t)
				values[formerKeys[0]] = damaged
				m.putFormer(false, values)
				m.run()
				m.equal("left of format 1", m.contents("former"), damaged)
				m.equal("others", users(t, m.Members), "2 3")
				_, err := m.Forget(m.Context(), user(1))
				m.equal("forget", err, ErrUnreadable)
				_, _, _, unreadable := m.Census()
				m.equal("unreadable", unreadable, 1)
				m.equal("lines", m.log.Lines("saved values cannot be read"), 1)
			})
		})
	}
}

func TestAConversionThatFailsGoesOn(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putFormer(false, formerValues(t))
		fill(m)
		m.run()
		rows, _, _, _ := m.Census()
		m.equal("the rows are counted", !math.IsNaN(rows), false)
		m.change(func() { m.full = false })
		m.ticks(1)
		m.equal("left of format 1", m.contents("former"), "")
		m.equal("rewritten", users(t, m.Members), "1 2 3")
	})
}
