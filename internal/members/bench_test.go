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

// fill writes n rows to a folder.
func fill(b *testing.B, f *store.Folder, n int, pools uint64) {
	now := time.Now().UTC().Truncate(time.Second)
	byShard := make([][]Row, shards)
	for id := range n {
		r := Row{User: chat.User{Platform: "discord", ID: fmt.Sprint(700000000000000000 + id)}, KeptAt: now, ProvenAt: now, LookedAt: now, Pools: pools}
		binary.BigEndian.PutUint32(r.Wallet[16:], uint32(id+1))
		byShard[shardOf(r.User)] = append(byShard[shardOf(r.User)], r)
	}
	for shard, list := range byShard {
		if value := encodeShard(list); len(value)*4/3 > 20_000 {
			b.Fatalf("a change writes %d bytes", len(value)*4/3)
		} else {
			f.Save(b.Context(), shardKey(shard), value, forever)
		}
	}
}

// BenchmarkMembers100000 starts with 100,000 rows in a folder, and looks at each once, by a
// node that has 21 pools. It reports the time to start, the calls of the node, and the heap
// that all of it takes.
func BenchmarkMembers100000(b *testing.B) {
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
	folder := store.NewFolder(b.TempDir(), slog.New(slog.DiscardHandler))
	m := New(Config{
		Settings: Settings{Every: 6 * time.Hour}, Store: folder, Chain: "1", Pools: world.World.Pools, Limiter: store.NewMemory(),
		Stakes: client.StakesOf, Count: func(string) {}, Log: slog.New(slog.DiscardHandler),
	})
	fill(b, folder, 100_000, m.rules.pools)
	before := heapInUse()
	for b.Loop() {
		start, asked := time.Now(), calls.Load()
		due, err := m.survey(b.Context(), 0)
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/start")
		most := heapInUse()
		for slot := range slots {
			if slot > 0 {
				due, err = m.survey(b.Context(), slot)
			}
			if err != nil {
				b.Fatal(err)
			}
			if err := m.look(b.Context(), due); err != nil {
				b.Fatal(err)
			}
			most = max(most, heapInUse())
		}
		if rows, looked, _ := m.Census(); rows != 100_000 || looked != rows {
			b.Fatalf("%d rows, %d looked at", rows, looked)
		}
		b.ReportMetric(float64(calls.Load()-asked), "calls/cycle")
		b.ReportMetric((most-before)/(1<<20), "MiB")
	}
}
