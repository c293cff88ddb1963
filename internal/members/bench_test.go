package members

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/ops"
	"herald/internal/secret"
	"herald/internal/service/staking"
	"herald/internal/store"
)

// heapInUse returns the bytes of the heap in use, after a garbage collection.
func heapInUse() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse)
}

// fill writes n rows with two badges each to a folder.
func fill(b *testing.B, f store.Bucket, n int, l levels) {
	now := timeOf(time.Now())
	byShard := make([][]Row, shards)
	for id := range n {
		r := Row{
			User: chat.User{Platform: "discord", ID: fmt.Sprint(700000000000000000 + id)}, SavedAt: now, ProvenAt: now, CheckedAt: now,
			Block: now, Pools: l.poolsHash, List: l.listHash, Level: 1,
			Given: []Given{{Community: "400000000000000001", Badge: "400000000000000002", Since: now}, {Community: "400000000000000003", State: Absent}},
		}
		binary.BigEndian.PutUint32(r.Wallet[16:], uint32(id+1))
		byShard[shardOf(r.User)] = append(byShard[shardOf(r.User)], r)
	}
	for shard, list := range byShard {
		value := encodeShard(list)
		if len(value) > 120_000 {
			b.Fatalf("a shard has %d bytes", len(value))
		}
		if ok, err := f.Replace(b.Context(), shardKey(shard), nil, value); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

// BenchmarkMembers100000 starts with 100,000 rows in a folder, and checks each once, by a node
// that has 21 pools. It reports the time to start, the calls of the node, and the heap that all
// of it takes.
func BenchmarkMembers100000(b *testing.B) {
	badges := &membersTest{}
	world, calls := services.New(), &atomic.Int64{}
	node := world.Chain.Handler
	world.Chain.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		node.ServeHTTP(w, r)
	})
	if err := world.Serve(); err != nil {
		b.Fatal(err)
	}
	defer world.Close()
	cache := core.NewCache(core.CacheConfig{MaxItems: 1000, CallTimeout: time.Minute, Timeout: time.Minute, Observer: ops.NewMetrics()})
	defer cache.Close()
	multicall := services.MulticallAddress
	client, err := staking.New(staking.Settings{
		RPCURL: secret.New(world.Chain.URL()), ChainID: services.ChainID, Pools: world.World.Pools, Method: services.StakingMethod,
		Multicall: &multicall, Decimals: 18, TTL: time.Minute,
	}, cache, func(core.Pool) {})
	if err != nil {
		b.Fatal(err)
	}
	folder := store.NewFolder(b.TempDir(), slog.New(slog.DiscardHandler)).Former()
	m := New(Config{
		Settings: Settings{Every: 6 * time.Hour}, Store: folder, Chain: "1", Pools: world.World.Pools, Limiter: store.NewMemory(), Claims: store.NewMemory(),
		Badges: map[chat.Platform][]chat.Badge{"discord": {{Community: "400000000000000001", ID: "400000000000000002"}}},
		Stakes: client.StakesOf, Count: func(string) {}, Log: slog.New(slog.DiscardHandler),
	})
	m.Use("discord", badges)
	fill(b, folder, 100_000, m.platforms["discord"].levels)
	before := heapInUse()
	for b.Loop() {
		start, asked := time.Now(), calls.Load()
		var s schedule
		due, err := m.read(b.Context(), 0, &s)
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/start")
		most := heapInUse()
		for tick := range ticks {
			if tick > 0 {
				due, err = m.read(b.Context(), tick, &s)
			}
			if err != nil {
				b.Fatal(err)
			}
			if err := m.checkAll(b.Context(), due); err != nil {
				b.Fatal(err)
			}
			most = max(most, heapInUse())
		}
		if rows, checked, _ := m.Census(); rows != 100_000 || checked != rows {
			b.Fatalf("%v rows, %v checked", rows, checked)
		}
		b.ReportMetric(float64(calls.Load()-asked), "calls/cycle")
		b.ReportMetric((most-before)/(1<<20), "MiB")
	}
}
