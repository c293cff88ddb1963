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
		AskedAt: timeOf(at(2)), CheckedAt: timeOf(at(3)), Block: timeOf(at(4)), Pools: 1 << 63, List: 1<<64 - 1, Level: 2,
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
	return &rows{Config: &Config{Store: s, Log: slog.New(slog.NewTextHandler(log, nil))}, countRows: func(list []Row) tallies { return tallies{"": {have: len(list)}} }, sum: tallies{}}, log
}

// A damaged value is set aside under a name of its own each time, and told; one of a newer
// version is left as it is.
func TestDamagedShardsAreSetAsideAndNewerOnesStay(t *testing.T) {
	redis := miniredis.RunT(t)
	shared, err := store.NewRedis(store.Settings{RedisURL: secret.New("redis://" + redis.Addr() + "?read_timeout=1s")}, []byte("salt"), 20e9, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Close()
	for name, s := range map[string]Store{"memory": store.NewMemory(), "folder": store.NewFolder(t.TempDir(), slog.New(slog.DiscardHandler)), "redis": shared} {
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
	*replica
	races int
}

func (c *contested) Replace(ctx context.Context, key string, old, value []byte) (bool, error) {
	if c.races > 0 {
		c.races--
		return false, nil
	}
	return c.replica.Replace(ctx, key, old, value)
}

func TestAChangeIsTriedAgainWhileOthersChangeTheSame(t *testing.T) {
	w := newWorld(t, 0, 0)
	for races, want := range map[int]error{0: nil, maxRaces - 1: nil, maxRaces: ErrNotSaved} {
		r, _ := newRows(&contested{&replica{world: w}, races})
		_, err := r.update(t.Context(), aRow(races).User, func(*Row) *Row { row := aRow(races); return &row })
		if !errors.Is(err, want) || (want == nil) != (err == nil) {
			t.Errorf("%d races: %v", races, err)
		}
	}
}

// What cannot be read hides nothing else, unless the Store is away.
func TestEachGoesOnBehindADamagedShard(t *testing.T) {
	w := newWorld(t, 0, 0)
	r, _ := newRows(&replica{world: w})
	for id := range 3 {
		row := aRow(id)
		if _, err := r.update(t.Context(), row.User, func(*Row) *Row { return &row }); err != nil {
			t.Fatal(err)
		}
	}
	w.values[shardKey(shardOf(aRow(1).User))] = []byte("damaged")
	seen := 0
	if err := r.each(t.Context(), func(list []Row) { seen += len(list) }); !errors.Is(err, errDamaged) || seen != 2 {
		t.Errorf("%d rows, %v", seen, err)
	}
	w.storeAway, seen = true, 0
	if err := r.each(t.Context(), func([]Row) { seen++ }); err == nil || seen != 0 {
		t.Errorf("with the store away: %d, %v", seen, err)
	}
}
