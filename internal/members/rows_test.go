package members

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/secret"
	"herald/internal/secret/logtest"
	"herald/internal/store"
)

func aRow(id int) Row {
	return Row{
		User: chat.User{Platform: "telegram", ID: fmt.Sprint(id)}, Wallet: common.Address{1: 1, 19: byte(id)}, SavedAt: timeOf(at(0)), ProvenAt: timeOf(at(1)),
		CheckedAt: timeOf(at(3)), Block: timeOf(at(4)), Pools: 1 << 63, List: 1<<64 - 1, Level: 2,
		Below: []Time{{}, timeOf(at(4))}, Reached: decimal.NewNullDecimal(decimal.RequireFromString("0.5")),
		Lost: &Loss{First: timeOf(at(1)), Second: timeOf(at(2)), Disowned: true}, Released: true,
		Given: []Given{{Community: "-1001", Badge: "Big staker", State: Doubt, Since: timeOf(at(1)), RefusedAt: timeOf(at(2))}},
	}
}

func TestARowLosesNothing(t *testing.T) {
	gone := aRow(2)
	gone.forget()
	for _, r := range []Row{aRow(1), gone, {User: chat.User{Platform: "discord", ID: "18446744073709551615"}}} {
		if got, err := decodeShard(encodeShard([]Row{r})); err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], r) {
			t.Errorf("%+v came back as %+v, %v", r, got, err)
		}
	}
	for _, u := range []chat.User{{}, {Platform: "telegram"}, {Platform: "terminal", ID: "1"}, {Platform: "discord", ID: "-1"}, {Platform: "discord", ID: "18446744073709551616"}} {
		if checkUser(u) == nil {
			t.Errorf("a row may be about %v", u)
		}
	}
}

// What is forgotten holds the user and what is to be removed, and nothing else.
func TestAForgottenRowHoldsTheUserAlone(t *testing.T) {
	r := aRow(7)
	r.Given = append(r.Given, Given{Community: "-1002", State: Absent})
	r.forget()
	if want := (Row{User: r.User, Given: aRow(7).Given}); !reflect.DeepEqual(r, want) || !r.Forgotten() {
		t.Errorf("%+v", r)
	}
}

// FuzzDecodeShard reads anything, and reads what it wrote.
func FuzzDecodeShard(f *testing.F) {
	whole := encodeShard([]Row{aRow(1), aRow(2)})
	f.Add(whole)
	f.Add(whole[:20])
	f.Add([]byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		list, err := decodeShard(value)
		if err != nil || len(list) == 0 {
			return
		}
		again, err := decodeShard(encodeShard(list))
		if err != nil || len(again) != len(list) {
			t.Errorf("%s was read as %+v, and that as %+v, %v", value, list, again, err)
		}
	})
}

// newRows returns rows in a store, and what is logged of them.
func newRows(s Store) (*rows, *logtest.Buffer) {
	log := &logtest.Buffer{}
	return &rows{Config: &Config{Store: s, Settings: Settings{Every: 6 * time.Hour}, Log: slog.New(slog.NewTextHandler(log, nil)), Count: func(string) {}}, total: tallies{}, countRows: func(list []Row) tallies { return tallies{"": {have: len(list)}} }}, log
}

// A damaged value is set aside under a name of its own each time, and told; one of a newer
// version is left as it is.
func TestDamagedShardsAreSetAsideAndNewerOnesStay(t *testing.T) {
	redis := miniredis.RunT(t)
	shared, err := store.NewRedis(store.Settings{RedisURL: secret.New("redis://" + redis.Addr() + "?read_timeout=1s")}, []byte("salt"), "bot", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Close()
	for name, s := range map[string]Store{"memory": store.NewMemory(), "folder": store.NewFolder(t.TempDir(), slog.New(slog.DiscardHandler)).Former(), "redis": shared.Former()} {
		r, log := newRows(s)
		user := aRow(1).User
		key := shardKey(shardOf(user))
		put := func(*Row) *Row { row := aRow(1); return &row }
		for _, damaged := range []string{"no JSON", `{"version":1,"rows":[{"u":{"Platform":"x","ID":"1"}}]}`} {
			if ok, err := s.Replace(t.Context(), key, nil, []byte(damaged)); !ok || err != nil {
				t.Fatal(name, ok, err)
			}
			if _, err := r.find(t.Context(), user); !errors.Is(err, errDamaged) {
				t.Errorf("%s: %s is read: %v", name, damaged, err)
			}
			if row, err := r.find(t.Context(), user); row != nil || err != nil {
				t.Errorf("%s: after that: %v, %v", name, row, err)
			}
		}
		if told := strings.Count(log.String(), "was set aside"); told != 2 {
			t.Errorf("%s: told %d times: %s", name, told, log)
		}
		newer := []byte(`{"version":2,"rows":{"of":"another form"}}`)
		if ok, err := s.Replace(t.Context(), key, nil, newer); !ok || err != nil {
			t.Fatal(name, ok, err)
		}
		if _, err := r.update(t.Context(), user, put); !errors.Is(err, errNewer) {
			t.Errorf("%s: a newer value is changed: %v", name, err)
		}
		if value, err := s.Load(t.Context(), key); !bytes.Equal(value, newer) || err != nil {
			t.Errorf("%s: it is %s, %v", name, value, err)
		}
	}
}

// contested is a Store in which another replica changes a value before each of so many.
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
		r, _ := newRows(&contested{store.NewMemory(), races})
		_, err := r.update(t.Context(), aRow(races).User, func(*Row) *Row { row := aRow(races); return &row })
		if !errors.Is(err, want) || (want == nil) != (err == nil) {
			t.Errorf("%d races: %v", races, err)
		}
	}
}

// What cannot be read hides nothing else, unless the Store is away.
func TestEachGoesOnBehindADamagedShard(t *testing.T) {
	m := newMembersTest(t)
	m.put(aRow(1), aRow(2), aRow(3))
	damaged := shardOf(aRow(1).User)
	saved, _, _ := m.rows.load(t.Context(), damaged)
	_, _ = m.Store.Replace(t.Context(), shardKey(damaged), saved, []byte("damaged"))
	all, err := m.All(t.Context())
	if len(all) != 2 || all[0].User != aRow(2).User || !errors.Is(err, errDamaged) {
		t.Errorf("%v, %v", all, err)
	}
	m.storeAway.Store(true)
	if all, err := m.All(t.Context()); len(all) != 0 || err == nil {
		t.Errorf("with the store away: %v, %v", all, err)
	}
}

// Rows count as gone once many have vanished within a cycle that nobody here deleted.
func TestRowsThatVanishAreTold(t *testing.T) {
	type note struct {
		hours   float64
		have    int
		written bool
	}
	for name, c := range map[string]struct {
		notes []note
		told  int
	}{
		"ten that other replicas delete": {[]note{{0, 10, false}, {1, 0, false}}, 0},
		"eleven":                         {[]note{{0, 11, false}, {1, 0, false}}, 1},
		"eleven of many":                 {[]note{{0, 231, false}, {1, 220, false}}, 0},
		"one in twenty":                  {[]note{{0, 230, false}, {1, 219, false}}, 1},
		"what is deleted here":           {[]note{{0, 11, false}, {1, 0, true}}, 0},
		"what comes back":                {[]note{{0, 8, false}, {1, 0, false}, {2, 8, false}}, 0},
		"six, and six in the next cycle": {[]note{{0, 12, false}, {1, 6, false}, {8, 0, false}}, 0},
		"once a cycle":                   {[]note{{0, 40, false}, {1, 20, false}, {2, 0, false}}, 1},
		"again in the next":              {[]note{{0, 40, false}, {1, 20, false}, {8, 0, false}}, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, log := newRows(nil)
			began := time.Now()
			for _, n := range c.notes {
				time.Sleep(time.Until(began.Add(time.Duration(n.hours * float64(time.Hour)))))
				r.note(3, make([]Row, n.have), n.written)
			}
			if told := strings.Count(log.String(), "saved addresses are gone"); told != c.told {
				t.Errorf("%s: told %d times, want %d", name, told, c.told)
			}
			if last := c.notes[len(c.notes)-1].have; r.tally("").have != last {
				t.Errorf("%s: %d rows are counted, want %d", name, r.tally("").have, last)
			}
		})
	}
}

// What does not change is not written, and a row that is deleted here counts as deleted.
func TestAnEditThatChangesNothingWritesNothing(t *testing.T) {
	m := newMembersTest(t)
	m.put(aRow(1))
	fails := &contested{m.Store, maxRaces}
	m.rows.Config.Store = fails
	if _, err := m.rows.update(t.Context(), aRow(1).User, func(r *Row) *Row { return r }); err != nil {
		t.Error(err)
	}
	fails.races = 0
	for id := range 40 {
		m.put(aRow(id))
	}
	for id := range 40 {
		if _, err := m.rows.update(t.Context(), aRow(id).User, func(r *Row) *Row { r.forget(); return r }); err != nil {
			t.Error(err)
		}
	}
	m.equal("events after they are forgotten", m.events, "map[]")
	for id := range 40 {
		if _, err := m.rows.update(t.Context(), aRow(id).User, func(*Row) *Row { return nil }); err != nil {
			t.Error(err)
		}
	}
	m.equal("events", m.events, "map[]")
}
