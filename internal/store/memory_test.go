package store

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/claim"
)

func TestMemoryKnowsHowFarWorkIs(t *testing.T) {
	m := NewMemory()
	wantProgress(t, "new work", m, "a", claim.New)
	wantProgress(t, "claimed work", m, "a", claim.InFlight)
	m.Release("a")
	wantProgress(t, "released work", m, "a", claim.New)
	m.MarkDone("a", time.Hour)
	wantProgress(t, "finished work", m, "a", claim.Done)
}

func TestMemoryClaimsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		wantProgress(t, "new work", m, "claimed", claim.New)
		m.MarkDone("finished", 2*time.Hour)
		time.Sleep(claim.Lasts - time.Nanosecond)
		wantProgress(t, "work in flight", m, "claimed", claim.InFlight)
		time.Sleep(time.Nanosecond)
		wantProgress(t, "work whose claim expired", m, "claimed", claim.New)
		time.Sleep(time.Hour)
		wantProgress(t, "finished work", m, "finished", claim.Done)
		time.Sleep(time.Hour)
		wantProgress(t, "work that was finished long ago", m, "finished", claim.New)
	})
}

func TestMemoryForgetsTheOldestFinishedWork(t *testing.T) {
	m := NewMemory()
	wantProgress(t, "new work", m, "in flight", claim.New)
	for i := range maxDone + 1 {
		m.MarkDone(fmt.Sprint(i), time.Hour)
	}
	wantProgress(t, "the oldest", m, "0", claim.New)
	wantProgress(t, "the second oldest", m, "1", claim.Done)
	wantProgress(t, "work in flight", m, "in flight", claim.InFlight)
	if len(m.claims) != maxDone+2 {
		t.Errorf("%d pieces of work are known, want %d", len(m.claims), maxDone+2)
	}
}

func TestMemoryReservesSlotsForNewWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		for i := range 4 {
			m.Claim(t.Context(), fmt.Sprint(i), minutely)
			m.Claim(t.Context(), fmt.Sprint(i), minutely) // It is in flight, and takes nothing.
		}
		p, wait := m.Claim(t.Context(), "one more", minutely)
		if p != claim.New || wait != time.Minute {
			t.Errorf("beyond the limit: %d after %v", p, wait)
		}
	})
}
