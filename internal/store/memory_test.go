package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"herald/internal/chat"
	"herald/internal/ratelimit"
	"herald/internal/store/redistest"
)

// expect claims key without a limit.
func expect(t *testing.T, what string, d chat.Dedup, key string, want chat.Progress) {
	t.Helper()
	if got, wait := d.Claim(t.Context(), key); got != want || wait != 0 {
		t.Errorf("%s is %d, after %v; want %d", what, got, wait, want)
	}
}

func TestMemoryKnowsWhatIsDone(t *testing.T) {
	m := NewMemory()
	for _, key := range []string{"in flight", "done"} {
		expect(t, "new work", m, key, chat.New)
	}
	m.Release("done", true, time.Hour)
	for i := range maxDone {
		expect(t, "work that is done, while there is room", m, "done", chat.Done)
		m.Release(fmt.Sprint(i), true, time.Hour)
	}
	expect(t, "the oldest of too much", m, "done", chat.New)
	expect(t, "the next", m, "0", chat.Done)
	m.Release("one more", true, time.Hour)
	expect(t, "the next, then", m, "0", chat.New)
	expect(t, "work in flight all the while", m, "in flight", chat.InFlight)
	m.Release("in flight", false, time.Hour)
	expect(t, "work that was given up", m, "in flight", chat.New)
	if len(m.work) != maxDone+3 {
		t.Errorf("%d pieces of work are known", len(m.work))
	}
}

// limiterTest checks what a Limiter gives out by counting all slots that it gave.
type limiterTest struct {
	limiter func() ratelimit.Limiter
	now     func() time.Time
	given   map[string][]time.Time
}

// keeps reports whether one more slot of a limit keeps it. The slots of a window
// are in order.
func (j limiterTest) keeps(l ratelimit.Limit, slot time.Time) bool {
	given := append(slices.Clone(j.given[l.Key]), slot)
	if !l.Refill {
		last, count := len(given)-1, l.Count
		return (last == 0 || !slot.Before(given[last-1])) && (last < count || slot.Sub(given[last-count]) >= l.Window)
	}
	slices.SortFunc(given, time.Time.Compare)
	for n, first := range given {
		for m, last := range given[n:] {
			if m+1 > l.Count+int(last.Sub(first)/l.Every()) {
				return false
			}
		}
	}
	return true
}

func (j limiterTest) check(t *rapid.T, within time.Duration, limits ...ratelimit.Limit) {
	t.Helper()
	wait, ok := j.limiter().Reserve(context.Background(), within, limits...)
	slot := j.now().Add(wait)
	broken := func(at time.Time) bool {
		return slices.ContainsFunc(limits, func(l ratelimit.Limit) bool { return !j.keeps(l, at) })
	}
	if broken(slot) || wait < 0 || ok != (wait <= within) {
		t.Fatalf("within %v of %+v: %v, %t is too early after %v", within, limits, wait, ok, j.given)
	}
	// A bucket that waits for others too may give slots after its first.
	if wait > 0 && (len(limits) == 1 || !limits[len(limits)-1].Refill) && !broken(slot.Add(-time.Microsecond)) {
		t.Fatalf("within %v of %+v: %v is too late after %v", within, limits, wait, j.given)
	}
	for _, l := range limits {
		if ok {
			j.given[l.Key] = append(j.given[l.Key], slot)
		}
	}
}

// drawLoad draws limits and a load for them, which the limiterTest checks.
func drawLoad(t *rapid.T, j limiterTest, sleep func(time.Duration)) {
	var all []ratelimit.Limit
	for i, refill := range []bool{false, true, false, false, true} {
		count := rapid.IntRange(1, 9).Draw(t, "count")
		window := time.Duration(count) * time.Duration(rapid.IntRange(1, 20_000).Draw(t, "every, in ms")) * time.Millisecond
		all = append(all, ratelimit.Limit{Key: fmt.Sprint("limit ", i), Count: count, Window: window, Refill: refill})
	}
	for range rapid.IntRange(1, 40).Draw(t, "calls") {
		limits := rapid.SampledFrom([][]ratelimit.Limit{all[:1], all[1:2], all[2:4], all[3:4], all[2:5], all[:0]}).Draw(t, "limits")
		within := rapid.SampledFrom([]time.Duration{-1, 0, time.Second, 20 * time.Second, time.Hour}).Draw(t, "within")
		j.check(t, within, limits...)
		sleep(time.Duration(rapid.IntRange(0, 10_000).Draw(t, "pause, in ms")) * time.Millisecond)
	}
}

func TestMemoryLimiterGivesEverySlot(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		synctest.Test(t, func(*testing.T) {
			limiter := NewMemoryLimiter()
			drawLoad(r, limiterTest{func() ratelimit.Limiter { return limiter }, time.Now, map[string][]time.Time{}}, time.Sleep)
		})
	})
}

func TestRedisLimiterGivesEverySlot(t *testing.T) {
	s := server(t)
	one, two := replica(t, s), replica(t, s)
	now := time.Unix(1_800_000_000, 0)
	pass := func(pause time.Duration) {
		now = now.Add(pause)
		s.SetTime(now)
		s.FastForward(pause)
	}
	other := func() ratelimit.Limiter {
		one, two = two, one
		return one
	}
	rapid.Check(t, func(r *rapid.T) {
		s.FlushAll()
		pass(0)
		drawLoad(r, limiterTest{other, func() time.Time { return now }, map[string][]time.Time{}}, pass)
	})
	if n := one.Fallbacks() + two.Fallbacks(); n != 0 {
		t.Errorf("%d calls were decided without Redis", n)
	}
}

// minutely are three events a minute.
var minutely = ratelimit.Limit{Key: "a", Count: 3, Window: time.Minute}

// takeAll takes every slot that there is now, and returns how many and the wait for
// one more.
func takeAll(t *testing.T, l ratelimit.Limiter, limit ratelimit.Limit) (taken int, wait time.Duration) {
	t.Helper()
	for {
		wait, ok := l.Reserve(t.Context(), 0, limit)
		if !ok {
			return taken, wait
		}
		taken++
	}
}

func wantAll(t *testing.T, what string, l ratelimit.Limiter, limit ratelimit.Limit, want int, wait time.Duration) {
	t.Helper()
	// The memory of this process measures real time.
	if got, next := takeAll(t, l, limit); got != want || next > wait || next < wait*9/10 {
		t.Errorf("%s: %d slots, and the next in %v; want %d and %v", what, got, next, want, wait)
	}
}

func TestRedisClockSetBackStopsNothing(t *testing.T) {
	s := server(t)
	r, now := replica(t, s), time.Unix(1_800_000_000, 0)
	bucket := ratelimit.Limit{Key: "b", Count: 3, Window: 3 * time.Second, Refill: true}
	for _, clock := range []time.Duration{0, -time.Hour, time.Minute, -24 * time.Hour} {
		s.SetTime(now.Add(clock))
		takeAll(t, r, minutely)
		takeAll(t, r, bucket)
		wantAll(t, "used up", r, minutely, 0, time.Minute)
		wantAll(t, "used up", r, bucket, 0, time.Second)
		s.SetTime(now.Add(clock + time.Second))
		wantAll(t, "a second later", r, bucket, 1, time.Second)
		s.SetTime(now.Add(clock + time.Minute))
		wantAll(t, "a minute later", r, minutely, 3, time.Minute)
	}
}

func TestForeignValuesAreReplaced(t *testing.T) {
	t.Parallel()
	url := redistest.Start(t).URL + patient
	for name, write := range map[string][2]string{
		"a list":          {"LPUSH", "x"},
		"a set":           {"SADD", "x"},
		"a text":          {"SET", "x"},
		"a minus":         {"SET", "17 - 5--4"},
		"years":           {"SET", "17 5000000000000000"},
		"too many digits": {"SET", "17 " + strings.Repeat("9", 400)},
	} {
		r, other, ctx := newReplica(t, claimTime, url), newReplica(t, claimTime, url), t.Context()
		put := func(keys ...string) {
			for _, key := range keys {
				for _, c := range []call{command("DEL", key), command(write[0], key, write[1])} {
					if _, err := r.do(ctx, c); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		put(r.key("limit", "a"), r.claimKey("1"), r.key("answer", "price"))
		wantAll(t, name, r, minutely, 3, time.Minute)
		expect(t, name, r, "1", chat.New)
		expect(t, name, other, "1", chat.InFlight)
		put(r.claimKey("1"))
		r.Release("1", true, time.Hour)
		_ = r.Close()
		expect(t, name, other, "1", chat.Done)
		other.Save(ctx, "price", []byte("1"), time.Minute)
		if value, err := other.Load(ctx, "price"); err != nil || string(value) != "1" || r.Fallbacks()+other.Fallbacks() != 0 {
			t.Errorf("%s: loaded %q, %v; %d calls were decided without Redis", name, value, err, r.Fallbacks()+other.Fallbacks())
		}
	}
}

// A Redis that is away at times, or loses its data, gives more of one limit than
// its Count. Whoever shares another limit with that one does not wait for it.
func TestExceededLimitDelaysNoOther(t *testing.T) {
	for _, all := range []ratelimit.Limit{{Key: "chat", Count: 100, Window: time.Minute}, {Key: "all", Count: 2, Window: time.Second, Refill: true}} {
		s := server(t)
		r := replica(t, s)
		for range 3 * minutely.Count {
			s.FlushAll()
			if _, ok := r.Reserve(t.Context(), 0, minutely, all); !ok {
				t.Fatal("Redis gave nothing")
			}
		}
		s.SetError("LOADING")
		if wait, _ := r.Reserve(t.Context(), 0, all); wait > all.Every() {
			t.Errorf("%s: others wait for %v", all.Key, wait)
		}
		wantAll(t, "of what was given thrice", r, minutely, 0, time.Minute)
	}
}

// Redis gives the slots of a chat that never rests, and this process notes them.
func TestPastSlotsAreForgottenInABusyChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewMemoryLimiter()
		for range 24 * 60 {
			s.note(0, []ratelimit.Limit{minutely})
			time.Sleep(minutely.Every())
		}
		if n := cap(s.used[minutely.Key].window); n > 4*minutely.Count {
			t.Errorf("there is room for %d slots after hours, and %d count", n, minutely.Count)
		}
	})
}

func TestIdleLimitsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewMemoryLimiter()
		flood := func(n int, name string) {
			for i := range n {
				s.Reserve(t.Context(), 0, ratelimit.Limit{Key: fmt.Sprint(name, i), Count: 1, Window: time.Minute})
			}
		}
		flood(maxLimits+1000, "a")
		if len(s.used) > maxLimits {
			t.Errorf("%d limits are known", len(s.used))
		}
		time.Sleep(time.Minute + time.Second)
		flood(1, "b")
		if len(s.used) != 1 {
			t.Errorf("%d limits are known after they rested, want the new one", len(s.used))
		}
	})
	s := server(t)
	takeAll(t, replica(t, s), minutely)
	s.FastForward(time.Minute)
	if keys := s.Keys(); len(keys) != 0 {
		t.Errorf("after an idle minute the server has %v", keys)
	}
}
