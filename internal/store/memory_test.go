package store

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
)

func TestMemoryKnowsHowFarWorkIs(t *testing.T) {
	m := NewMemory()
	wantProgress(t, "new work", m, "a", chat.New)
	wantProgress(t, "claimed work", m, "a", chat.InFlight)
	m.Release("a")
	wantProgress(t, "released work", m, "a", chat.New)
	m.MarkDone("a", time.Hour)
	wantProgress(t, "finished work", m, "a", chat.Done)
}

func TestMemoryClaimsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		wantProgress(t, "new work", m, "claimed", chat.New)
		m.MarkDone("finished", 2*time.Hour)
		time.Sleep(chat.ClaimLasts - time.Nanosecond)
		wantProgress(t, "work in flight", m, "claimed", chat.InFlight)
		time.Sleep(time.Nanosecond)
		wantProgress(t, "work whose claim expired", m, "claimed", chat.New)
		time.Sleep(time.Hour)
		wantProgress(t, "finished work", m, "finished", chat.Done)
		time.Sleep(time.Hour)
		wantProgress(t, "work that was finished long ago", m, "finished", chat.New)
	})
}

func TestMemoryForgetsTheOldestFinishedWork(t *testing.T) {
	m := NewMemory()
	wantProgress(t, "new work", m, "in flight", chat.New)
	for i := range maxDone + 1 {
		m.MarkDone(fmt.Sprint(i), time.Hour)
	}
	wantProgress(t, "the oldest", m, "0", chat.New)
	wantProgress(t, "the second oldest", m, "1", chat.Done)
	wantProgress(t, "work in flight", m, "in flight", chat.InFlight)
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
		if p != chat.New || wait != time.Minute {
			t.Errorf("beyond the limit: %d after %v", p, wait)
		}
	})
}
