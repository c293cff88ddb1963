package members

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/store"
)

// manyRows is how many rows the benchmarks have.
const manyRows = 100_000

// benchMembers returns a Members with manyRows rows, and the size of their values in bytes. All rows are due.
func benchMembers(b *testing.B, bucket func(name string) Store) (m *Members, size int) {
	const community, badge = "400000000000000001", "400000000000000002"
	f := newFake()
	c := f.config()
	c.Bucket = bucket
	c.Log = slog.New(slog.DiscardHandler)
	c.setBadges([]chat.Badge{{Community: community, ID: badge}})
	c.Stakes = func(_ context.Context, wallets []common.Address) []query.Answer[core.Stake] {
		f.checked += len(wallets)
		all := make([]query.Answer[core.Stake], len(wallets))
		for i := range all {
			all[i].Value = stakeOf(5, time.Now())
		}
		return all
	}
	m = New(c)
	rows := m.platforms["discord"].rows
	now := timeOf(time.Now())
	for n := range manyRows {
		r := Row{
			User:      chat.User{Platform: "discord", ID: fmt.Sprint(700000000000000000 + n)},
			SavedAt:   now,
			ProvenAt:  now,
			CheckedAt: now,
			Block:     timeOf(now.Add(-cycle)),
			Badges:    []Held{{Community: community, Badge: badge, Since: now}},
			Idle:      []string{"400000000000000003"},
		}
		binary.BigEndian.PutUint32(r.Wallet[16:], uint32(n+1))
		value := encode(r)
		size += len(value)
		if replaced, err := rows.store.Replace(b.Context(), r.User.ID, nil, value); !replaced || err != nil {
			b.Fatal(replaced, err)
		}
	}
	return m, size
}

// benchTick measures how long a tick takes to read and count all rows, and then to check as many as it may. size is
// what benchMembers returned.
func benchTick(b *testing.B, m *Members, size int) {
	p := m.platforms["discord"]
	f := p.adapter.(*fake)
	for b.Loop() {
		began := time.Now()
		n, due, err := m.read(b.Context(), p, true)
		if err != nil {
			b.Fatal(err)
		}
		counted := time.Since(began)
		if rows := n.rows + len(due); rows != manyRows {
			b.Fatalf("counted %d rows, want %d", rows, manyRows)
		}
		f.checked = 0
		m.checkDue(b.Context(), p, due)
		b.ReportMetric(counted.Seconds(), "s/count")
		b.ReportMetric(time.Since(began).Seconds()-counted.Seconds(), "s/checks")
		b.ReportMetric(float64(f.checked), "wallets/tick")
	}
	b.ReportMetric(float64(size)/(1<<20), "MiB")
	if size > 40<<20 {
		b.Errorf("the rows hold %d bytes, want at most 40 MiB", size)
	}
}

// BenchmarkMembers100000 measures a tick after an outage: all 100,000 rows are due. A cycle has 72 ticks, and this one
// checks twice its share, 2,777 rows. Stakes come from memory, so only the rows and their store take time.
func BenchmarkMembers100000(b *testing.B) {
	b.Run("memory", func(b *testing.B) {
		memory := store.NewMemory()
		m, size := benchMembers(b, func(name string) Store { return memory.Bucket(name) })
		benchTick(b, m, size)
	})
	b.Run("folder", func(b *testing.B) {
		folder := store.NewFolder(b.TempDir(), slog.New(slog.DiscardHandler))
		m, size := benchMembers(b, func(name string) Store { return folder.Bucket(name) })
		benchTick(b, m, size)
	})
}
