package ratelimit

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/gomodule/redigo/redis"
	"pgregory.net/rapid"

	"herald/internal/store/redistest"
)

// startRedis starts a fake Redis, whose clock the test sets, and connects to it.
func startRedis(t *testing.T) (*miniredis.Miniredis, redis.Conn) {
	t.Helper()
	server := miniredis.RunT(t)
	conn, err := redis.Dial("tcp", server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return server, conn
}

// runScript does in Redis what Memory.Reserve does. If within is negative, it takes nothing.
func runScript(conn redis.Conn, within time.Duration, limits ...Limit) (wait time.Duration, err error) {
	keys := redis.Args{len(limits)}
	for _, l := range limits {
		keys = keys.Add(l.Key)
	}
	micros, err := redis.Int64(redis.NewScript(-1, Script).Do(conn, append(keys, Args(within, limits)...)...))
	return time.Duration(micros) * time.Microsecond, err
}

// call is a Reserve of one to three limits with different keys.
type call struct {
	after  time.Duration // since the previous call
	within time.Duration // negative: the call takes nothing
	limits []Limit
}

func drawCall(t *rapid.T) call {
	drawTime := func(label string, most time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(0, most.Microseconds()).Draw(t, label)) * time.Microsecond
	}
	c := call{
		after:  drawTime("after", 2*time.Minute),
		within: drawTime("within", 90*time.Minute) - time.Second,
	}
	keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3, rapid.ID)
	for _, key := range keys.Draw(t, "keys") {
		limit := Limit{
			Key:   key,
			Burst: rapid.IntRange(1, 5).Draw(t, "burst"),
			Every: time.Microsecond + drawTime("every", time.Minute),
		}
		c.limits = append(c.limits, limit)
	}
	return c
}

// The calls are random, and the Burst and Every of a key differ from one call to the next. The server and its
// connection are made outside of the bubble, because they use the network.
func TestScriptDecidesAsMemory(t *testing.T) {
	server, conn := startRedis(t)
	rapid.Check(t, func(drawn *rapid.T) {
		calls := rapid.SliceOfN(rapid.Custom(drawCall), 1, 30).Draw(drawn, "calls")
		server.FlushAll()
		// Fatal must be called outside of the bubble, in the goroutine in which rapid runs the test.
		var different error
		synctest.Test(t, func(t *testing.T) {
			m := NewMemory()
			for i, c := range calls {
				time.Sleep(c.after)
				server.FastForward(c.after)
				server.SetTime(time.Now())
				want, taken := m.Reserve(t.Context(), c.within, c.limits...)
				got, err := runScript(conn, c.within, c.limits...)
				isTaken := got <= min(c.within, MaxAhead)
				if err != nil || got != want || isTaken != taken {
					different = fmt.Errorf("call %d: the script waits %v, %v; memory %v, %v", i, got, err, want, taken)
					return
				}
			}
		})
		if different != nil {
			drawn.Fatal(different)
		}
	})
}

// The test may be slow: half a minute may pass between its calls.
func TestARealServerDecidesByItsClock(t *testing.T) {
	conn := redistest.Start(t).Admin(t)
	limit := Limit{Key: "chat", Burst: 2, Every: time.Minute}
	const slack = 30 * time.Second
	for event, want := range []struct{ min, max time.Duration }{
		{min: 0, max: 0},
		{min: 0, max: 0},
		{min: limit.Every - slack, max: limit.Every},
		{min: 2*limit.Every - slack, max: 2 * limit.Every},
	} {
		wait, err := runScript(conn, MaxAhead, limit)
		if err != nil || wait < want.min || wait > want.max {
			t.Errorf("event %d waits %v, want %v to %v; %v", event, wait, want.min, want.max, err)
		}
	}
	millis, err := redis.Int64(conn.Do("PTTL", limit.Key))
	if err != nil {
		t.Fatal(err)
	}
	ttl := time.Duration(millis) * time.Millisecond
	if full := 4 * limit.Every; ttl < full-slack || ttl > full {
		t.Errorf("the key expires in %v, want %v to %v", ttl, full-slack, full)
	}
}

func TestARealServerForgetsTheKeyOfAFullBucket(t *testing.T) {
	conn := redistest.Start(t).Admin(t)
	limit := Limit{Key: "chat", Burst: 2, Every: 50 * time.Millisecond}
	_, err := runScript(conn, 0, limit)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(limit.Every + 10*time.Millisecond)
	kept, err := redis.Bool(conn.Do("EXISTS", limit.Key))
	if err != nil || kept {
		t.Errorf("the key of a full bucket is kept: %t, %v", kept, err)
	}
}

// A value is the time at which the bucket is full again, in microseconds. The latest that a call can write is
// MaxAhead + Burst*Every from now.
func TestAnImpossibleValueIsAFullBucket(t *testing.T) {
	server, conn := startRedis(t)
	now := time.Unix(1_800_000_000, 0)
	server.SetTime(now)
	limit := Limit{Key: "chat", Burst: 2, Every: time.Second}
	fullIn := func(d time.Duration) string { return fmt.Sprint(now.Add(d).UnixMicro()) }
	const latest = MaxAhead + 2*time.Second // Burst is 2, Every is a second.
	for value, want := range map[string]time.Duration{
		fullIn(2 * limit.Every):      limit.Every,
		fullIn(latest):               MaxAhead + limit.Every,
		fullIn(latest + time.Second): 0,
		fullIn(24 * 365 * time.Hour): 0,
		fullIn(-time.Hour):           0,
		"":                           0,
		"a word":                     0,
		"inf":                        0,
		"-inf":                       0,
		"nan":                        0,
	} {
		if err := server.Set(limit.Key, value); err != nil {
			t.Fatal(err)
		}
		wait, err := runScript(conn, -1, limit)
		if err != nil || wait != want {
			t.Errorf("%q: waits %v, want %v; %v", value, wait, want, err)
		}
		if got, _ := server.Get(limit.Key); got != value {
			t.Errorf("asking has changed %q to %q", value, got)
		}
	}
}

func TestAValueOfAnotherTypeIsReplaced(t *testing.T) {
	server, conn := startRedis(t)
	server.HSet("chat", "field", "value")
	limit := Limit{Key: "chat", Burst: 1, Every: time.Minute}
	first, err := runScript(conn, 0, limit)
	if err != nil || first != 0 {
		t.Errorf("the first event waits %v, want 0; %v", first, err)
	}
	second, err := runScript(conn, 0, limit)
	if err != nil || second == 0 {
		t.Errorf("the second event waits %v, want more than 0; %v", second, err)
	}
}
