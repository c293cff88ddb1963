// Package bounds is that the whole bot stays within its bounds, in memory and
// in the time that others wait, whatever is asked of it and whoever fails.
package bounds

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"herald/internal/app/e2e/e2etest"
)

func TestManyWalletsAndUsersStayWithinBounds(t *testing.T) {
	world := e2etest.Sandbox(t)
	b := e2etest.New(t, e2etest.Settings(world, "CACHE_MAX_ITEMS=100", "STAKE_TTL=1h"), slog.New(slog.DiscardHandler))
	ask := func(n int) {
		wallet := world.World.Idle
		binary.BigEndian.PutUint64(wallet[12:], uint64(n))
		req := e2etest.Request("staked", strings.ToLower(wallet.Hex()))
		req.From.ID, req.Chat = fmt.Sprint(n), fmt.Sprint(n)
		b.Router.Handle(t.Context(), req)
	}
	// The first ones fill the cache and open the connections.
	const first, all = 150, 250
	for n := range first {
		ask(n)
	}
	heap, goroutines := heapInUse(), runtime.NumGoroutine()
	for n := first; n < all; n++ {
		ask(n)
	}
	// The limits of a user and of a chat take 250 bytes each; a cached stake of
	// 21 pools takes 12,000.
	if grown := heapInUse() - heap; grown > (all-first)*8000 {
		t.Errorf("%d wallets more took %d bytes", all-first, grown)
	}
	if n := runtime.NumGoroutine(); n > goroutines+10 {
		t.Errorf("%d goroutines became %d", goroutines, n)
	}
	before := world.Chain.Requests()
	for n := all - 90; n < all; n++ {
		ask(n)
	}
	if n := world.Chain.Requests() - before; n != 0 {
		t.Errorf("%d requests for the newest 90 wallets of 100 that can be kept", n)
	}
	for n := range 90 {
		ask(n)
	}
	if n := world.Chain.Requests() - before; n < 90 {
		t.Errorf("%d requests for 90 wallets that had to make room", n)
	}
}

func heapInUse() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
