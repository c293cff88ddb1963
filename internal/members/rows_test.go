package members

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/secret"
	"herald/internal/secret/logtest"
	"herald/internal/store"
)

func aRow(id int) Row {
	at := time.Unix(1_800_000_000, 0).UTC()
	return Row{
		User: chat.User{Platform: "telegram", ID: fmt.Sprint(id)}, Wallet: common.Address{1: 1, 19: byte(id)}, KeptAt: at, ProvenAt: at.Add(time.Hour),
		LookedAt: at.Add(2 * time.Hour), FirstNo: at.Add(time.Minute), Forgotten: id%2 == 0, Pools: 1 << 63,
	}
}

func TestARowTakesAtMost60BytesAndLosesNothing(t *testing.T) {
	for _, r := range []Row{aRow(1), aRow(2), {User: chat.User{Platform: "discord", ID: "18446744073709551615"}, LapsedAt: aRow(1).KeptAt}} {
		value := encodeShard([]Row{r})
		if n := len(value) - headerSize; n != rowSize || n > 60 {
			t.Errorf("a row takes %d bytes", n)
		}
		if got, err := decodeShard(value); err != nil || len(got) != 1 || got[0] != r {
			t.Errorf("%+v came back as %+v, %v", r, got, err)
		}
	}
	for _, u := range []chat.User{{}, {Platform: "telegram"}, {Platform: "terminal", ID: "1"}, {Platform: "discord", ID: "-1"}, {Platform: "discord", ID: "18446744073709551616"}} {
		if check(u) == nil {
			t.Errorf("a row may be about %v", u)
		}
	}
}

// FuzzDecodeShard reads anything, and reads what it wrote.
func FuzzDecodeShard(f *testing.F) {
	whole := encodeShard([]Row{aRow(1), aRow(2)})
	f.Add(whole)
	f.Add(whole[:20])
	f.Add(make([]byte, headerSize))
	f.Fuzz(func(t *testing.T, value []byte) {
		list, err := decodeShard(value)
		if err == nil && value != nil && !bytes.Equal(encodeShard(list), value) {
			t.Errorf("%x was read as %+v", value, list)
		}
	})
}

// membersOf returns Members that keep in s and never run.
func membersOf(s Store, log *slog.Logger) *Members {
	return New(Config{
		Settings: Settings{Every: time.Hour}, Store: s, Limiter: store.NewMemory(), Log: log, Count: func(string) {},
	})
}

// put writes n rows.
func put(t *testing.T, m *Members, n int) {
	t.Helper()
	for id := range n {
		r := aRow(id)
		r.FirstNo, r.Forgotten = time.Time{}, false
		if err := m.rows.put(t.Context(), r.User, func(*Row) Row { return r }); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRowsAreKeptInAFolderAndInRedis(t *testing.T) {
	redis, err := store.NewRedis(store.Settings{RedisURL: secret.New("redis://" + miniredis.RunT(t).Addr() + "?read_timeout=1s")}, []byte("salt"), time.Hour, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer redis.Close()
	for name, s := range map[string]Store{"folder": store.NewFolder(t.TempDir(), slog.New(slog.DiscardHandler)), "redis": redis} {
		m := membersOf(s, slog.New(slog.DiscardHandler))
		put(t, m, 40)
		later := membersOf(s, slog.New(slog.DiscardHandler))
		all, err := later.All(t.Context())
		if err != nil || len(all) != 40 || all[0].User.ID != "0" || all[39].User.ID != "39" {
			t.Errorf("%s: %d rows, %v", name, len(all), err)
		}
		if row, err := later.Kept(t.Context(), all[7].User); err != nil || *row != all[7] {
			t.Errorf("%s: found %+v, %v", name, row, err)
		}
		if row, err := later.Kept(t.Context(), chat.User{Platform: "discord", ID: "7"}); row != nil || err != nil {
			t.Errorf("%s: the same ID on another platform has %+v, %v", name, row, err)
		}
		if n, err := later.rows.missing(t.Context()); n != 0 || err != nil {
			t.Errorf("%s: %d rows are missing, %v", name, n, err)
		}
	}
}

// A file may be full of zeros after a power cut, cut off, of another version, or have a
// changed byte.
func TestDamagedShardsAreCountedOnceAndKeptAside(t *testing.T) {
	for name, damage := range map[string]func(content []byte) []byte{
		"zeros":   func(content []byte) []byte { return make([]byte, len(content)) },
		"cut off": func(content []byte) []byte { return content[:len(content)/2] },
		"empty":   func([]byte) []byte { return nil },
		"another version": func(content []byte) []byte {
			value, _ := base64.StdEncoding.DecodeString(strings.Split(string(content), `"`)[3])
			value[0]++
			return []byte(`{"Value":"` + base64.StdEncoding.EncodeToString(value) + `"}`)
		},
		"a changed byte": func(content []byte) []byte {
			content[len(content)-20] ^= 1
			return content
		},
	} {
		dir := t.TempDir()
		var log logtest.Buffer
		open := func() *Members { return membersOf(store.NewFolder(dir, log.Logger()), log.Logger()) }
		m := open()
		put(t, m, 30)
		gone := aRow(3).User
		_, list, _ := m.rows.load(t.Context(), shardOf(gone))
		path, content := fileWith(t, dir, encodeShard(list))
		if err := os.WriteFile(path, damage(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 { // The second start has nothing to tell.
			m = open()
			for range 3 {
				_, _ = m.survey(t.Context(), 0)
			}
		}
		want := fmt.Sprintf("rows=%d", len(list))
		if log.Lines("kept wallets are missing") != 1 || log.Lines(want) != 1 {
			t.Errorf("%s: logged %s, want %s once", name, &log, want)
		}
		if rows, _, _ := m.Census(); rows != 30-len(list) {
			t.Errorf("%s: %d rows are left, want %d", name, rows, 30-len(list))
		}
		aside, _ := filepath.Glob(path + ".damaged")
		saved, _ := m.rows.Load(t.Context(), shardKey(shardOf(gone))+" damaged")
		if len(aside) == 0 && saved == nil {
			t.Errorf("%s: nothing is kept aside", name)
		}
		put(t, m, 30)
		if rows, _, _ := m.Census(); rows != 30 {
			t.Errorf("%s: %d rows after all are kept again", name, rows)
		}
	}
}

// fileWith returns the file in dir that holds a value.
func fileWith(t *testing.T, dir string, value []byte) (path string, content []byte) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, path := range files {
		content, _ := os.ReadFile(path)
		if strings.Contains(string(content), base64.StdEncoding.EncodeToString(value)) {
			return path, content
		}
	}
	t.Fatal("no file holds the shard")
	return "", nil
}
