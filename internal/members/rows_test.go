package members

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/store"
)

// fullRow returns a row of a user with a value in each field.
func fullRow(id string) Row {
	return Row{
		User:      chat.User{Platform: "discord", ID: id},
		Wallet:    common.Address{1: 1},
		Due:       timeOf(at(5)),
		SavedAt:   timeOf(at(0)),
		ProvenAt:  timeOf(at(1)),
		CheckedAt: timeOf(at(3)),
		Block:     timeOf(at(4)),
		Pools:     1 << 63,
		Reached:   decimal.NewNullDecimal(decimal.RequireFromString("0.5")),
		Badges: []Held{{
			Community:   "9001",
			Badge:       "Big staker",
			Since:       timeOf(at(1)),
			Unsure:      true,
			Low:         MissedCheck{timeOf(at(2)), 1<<64 - 1},
			RemoveUnder: 7,
			Released:    true,
			Refused:     timeOf(at(2)),
		}},
		Idle: []string{"9002"},
		Lost: []Loss{{Community: "9001", Badge: "7001", First: timeOf(at(1)), Second: timeOf(at(2)), Disowned: true}},
	}
}

func TestARowLosesNothing(t *testing.T) {
	full := fullRow("18446744073709551615")
	for i := range reflect.TypeFor[Row]().NumField() {
		if reflect.ValueOf(full).Field(i).IsZero() {
			t.Errorf("%s is not in the test", reflect.TypeFor[Row]().Field(i).Name)
		}
	}
	for _, r := range []Row{full, full.afterForget(), {User: user(1), Wallet: wallet(1)}} {
		got, err := decode("discord", encode(r))
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%+v came back as %+v, %v", r, got, err)
		}
	}
	if value := encode(Row{User: user(1)}); value != nil {
		t.Errorf("an empty row is saved as %s", value)
	}
}

func TestRowsAreAboutUsersWithANumber(t *testing.T) {
	for _, u := range []chat.User{
		{},
		{Platform: "telegram"},
		{ID: "1"},
		{Platform: "discord", ID: "-1"},
		{Platform: "discord", ID: "18446744073709551616"},
	} {
		if checkUser(u) == nil {
			t.Errorf("a row may be about %v", u)
		}
	}
}

// Rows that are already saved have these names, whatever the fields are called in Go.
func TestTheStoredFormOfARowStays(t *testing.T) {
	const want = `{"v":2,"u":"1","w":"0x0001000000000000000000000000000000000000","s":1795521600,"p":1795525200,` +
		`"c":1795532400,"d":1795539600,"b":1795536000,"m":"0.5","o":9223372036854775808,` +
		`"h":[{"c":"9001","b":"Big staker","s":1795525200,"u":true,` +
		`"l":{"b":1795528800,"u":18446744073709551615},"g":7,"r":true,"f":1795528800}],` +
		`"i":["9002"],` +
		`"x":[{"c":"9001","b":"7001","f":1795525200,"s":1795528800,"d":true}]}`
	if got := string(encode(fullRow("1"))); got != want {
		t.Errorf("saved as\n%s\nwant\n%s", got, want)
	}
}

// FuzzDecode decodes any value. If it is a row, the row must stay the same when it is encoded and decoded again.
func FuzzDecode(f *testing.F) {
	whole := encode(fullRow("1"))
	f.Add(whole)
	f.Add(whole[:20])
	f.Add([]byte(`{"v":3}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		r, err := decode("discord", value)
		if err != nil || r.isEmpty() {
			return
		}
		again, err := decode("discord", encode(r))
		if err != nil || !bytes.Equal(encode(again), encode(r)) {
			t.Errorf("%s is decoded as %+v, and once more as %+v, %v", value, r, again, err)
		}
	})
}

// badValues returns values that cannot be read as a row of user 1.
func badValues() map[string]string {
	return map[string]string{
		"no JSON":           "damaged",
		"cut off":           string(encode(fullRow("1"))[:40]),
		"a newer format":    `{"v":3,"u":{"of":"another form"}}`,
		"no format":         `{"u":"1","w":"0xee00000000000000000000000000000000000001"}`,
		"no numeric user":   `{"v":2,"u":"me"}`,
		"a wrong type":      `{"v":2,"u":"1","w":7}`,
		"of another user":   string(encode(fullRow("7"))),
		"an empty object":   `{}`,
		"a list":            `[]`,
		"a negative format": `{"v":-1,"u":"1"}`,
	}
}

func TestAValueThatCannotBeReadStaysAndConcernsItsUserAlone(t *testing.T) {
	for name, value := range badValues() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				m.put(m.row(2, 0))
				m.setWorn("9001", 2)
				putValue(m, "1", value)
				m.run()
				_, savedErr := m.Saved(m.Context(), user(1))
				_, saveErr := m.Save(m.Context(), user(1), wallet(1), stakeOf(5, time.Now()))
				_, forgetErr := m.Forget(m.Context(), user(1))
				_, refreshErr := m.Refresh(m.Context(), user(1), "", wallet(1), stakeOf(5, time.Now()))
				for method, err := range map[string]error{
					"Saved": savedErr, "Save": saveErr, "Forget": forgetErr, "Refresh": refreshErr,
				} {
					m.equal(method+" fails with ErrUnreadable", errors.Is(err, ErrUnreadable), true)
				}
				m.cycles(1)
				m.equal("the value", valueOf(m, "1"), value)
				m.equal("worn", m.wornIn("9001"), "2:7001")
			})
		})
	}
}

func TestValuesThatCannotBeReadAreCountedAndLoggedOnce(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.row(20, 0))
		bad := badValues()
		delete(bad, "of another user") // The census reads all values, and counts this one as the row of that user.
		id := 1
		for _, value := range bad {
			putValue(m, fmt.Sprint(id), value)
			id++
		}
		m.run()
		m.cycles(1)
		rows, _, _, unreadable := m.Census()
		m.equal("rows", rows, 1)
		m.equal("unreadable", unreadable, len(bad))
		m.equal("lines", m.log.Lines("saved values cannot be read"), 1)
		all, n, err := m.All(m.Context())
		m.equal("error", err, nil)
		m.equal("rows that All returns", len(all), 1)
		m.equal("unreadable values that All counts", n, len(bad))
	})
}

func TestASavedAddressThatCannotBeReadIsLogged(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		putValue(m, "1", "damaged")
		for range 3 {
			_, _ = m.Saved(m.Context(), user(1))
		}
		m.equal("lines", m.log.Lines("what is saved of a user could not be read"), 1)
		m.equal("lines with an ID", m.log.Lines("user=1"), 0)
	})
}

// A file of a megabyte cannot be a row, so the store does not read it.
func TestAFileThatIsTooLargeStaysAndIsCounted(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, func(m *membersTest) {
		folder := store.NewFolder(dir, m.log.Logger())
		c := m.config()
		c.Bucket = func(name string) Store { return folder.Bucket(name) }
		m.use(c)
		m.put(m.row(1, 0), m.row(2, 0))
		files, err := filepath.Glob(filepath.Join(dir, "members", "*", "*.json"))
		m.equal("error", err, nil)
		m.equal("files", len(files), 2)
		first, err := os.ReadFile(files[0])
		m.equal("error of a file", err, nil)
		m.equal("a file has format 2", bytes.Contains(first, []byte(`"v":2`)), true)
		if err := os.WriteFile(files[0], bytes.Repeat([]byte(" "), 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		m.run()
		rows, _, _, unreadable := m.Census()
		m.equal("rows", rows, 1)
		m.equal("unreadable", unreadable, 1)
		failed := 0
		for id := 1; id <= 2; id++ { // The file's name does not tell which of them it belongs to.
			if _, err := m.Forget(m.Context(), user(id)); errors.Is(err, ErrUnreadable) {
				failed++
			}
		}
		m.equal("users who cannot be forgotten", failed, 1)
		info, err := os.Stat(files[0])
		m.equal("error of Stat", err, nil)
		m.equal("size of the file", info.Size(), 1<<20)
	})
}

// contested is a Store in which another replica is quicker, so that Replace returns false this many times.
type contested struct {
	Store
	races int
}

func (c *contested) Replace(ctx context.Context, key string, old, value []byte) (bool, error) {
	if c.races > 0 {
		c.races--
		return false, nil
	}
	return c.Store.Replace(ctx, key, old, value)
}

func TestAChangeIsTriedAgainWhileOthersChangeTheSame(t *testing.T) {
	for races, want := range map[int]error{0: nil, maxRaces - 1: nil, maxRaces: ErrNotSaved} {
		inBubble(t, func(m *membersTest) {
			m.platform.rows.store = &contested{m.platform.rows.store, races}
			_, err := m.platform.rows.update(m.Context(), "1", func(*Row) *Row { return new(m.row(1, 0)) })
			m.equal(fmt.Sprint(races, " races"), errors.Is(err, want), true)
		})
	}
}

func TestAnEditThatChangesNothingWritesNothing(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.row(1, 0))
		fill(m)
		for id := 1; id <= 2; id++ { // User 2 has no row.
			_, err := m.platform.rows.update(m.Context(), fmt.Sprint(id), func(r *Row) *Row { return r })
			m.equal("error", err, nil)
		}
	})
}

// Two bots, staging and production, share a store.
func TestTwoBotsOnOneStoreShareNothing(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		c := m.config()
		c.setBot("43")
		c.setBadges([]chat.Badge{{Community: "8001", ID: "8002"}})
		staging := New(c)
		m.run()
		m.presses(wallet(1), 5)
		m.setWorn("8001", 1)
		changes, err := staging.Save(m.Context(), user(1), wallet(1), stakeOf(5, time.Now()))
		m.equal("error", err, nil)
		m.equal("given by staging", changed(changes), "+8002")
		_, err = staging.Forget(m.Context(), user(1))
		m.equal("forget", err, nil)
		m.cycles(3)
		m.equal("worn where production gave it", m.wornIn("9001"), "1:7001")
	})
}

func TestNothingWorksWithoutAStore(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		c := m.config()
		c.Bucket = nil
		m.use(c)
		m.Members.Run(m.Context())
		_, err := m.Save(m.Context(), user(1), wallet(1), stakeOf(5, time.Now()))
		m.equal("save", err, ErrNotSaved)
		f, err := m.Forget(m.Context(), user(1))
		m.equal("forget", err, nil)
		m.equal("forgotten wallet", f.Wallet, common.Address{})
		s, err := m.Saved(m.Context(), user(1))
		m.equal("error of saved", err, nil)
		m.equal("saved", s == nil, true)
		m.Seen(user(1), "9001", nil)
		m.equal("offer", len(m.Offer(m.Context(), user(1), "", stakeOf(5, time.Now()))), 0)
		m.equal("enabled", m.Enabled(), false)
	})
}

func TestTheLogNamesNobody(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		const id = "700000000000000001"
		person := chat.User{Platform: "discord", ID: id}
		m.change(func() {
			m.fault = func(call) error { return failure(chat.MissingRight) }
			m.dids[id] = "did:1"
		})
		m.run()
		_, _ = m.Save(m.Context(), person, wallet(1), stakeOf(5, time.Now()))
		_, _ = m.Forget(m.Context(), person)
		putValue(m, id, "damaged")
		_, _ = m.Saved(m.Context(), person)
		_, _ = m.Forget(m.Context(), person)
		m.cycles(2)
		for _, private := range []string{id, "did:", strings.ToLower(wallet(1).Hex()), "9001", "7001"} {
			m.equal("lines with "+private, strings.Count(strings.ToLower(m.log.String()), private), 0)
		}
	})
}
