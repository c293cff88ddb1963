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

// startRedis starts a Redis whose clock the test sets, and connects to it.
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

// runScript reserves as Memory.Reserve does, in Redis.
func runScript(conn redis.Conn, within time.Duration, limits ...Limit) (wait time.Duration, err error) {
	keys := redis.Args{len(limits)}
	for _, l := range limits {
		keys = keys.Add(l.Key)
	}
	micros, err := redis.Int64(redis.NewScript(-1, Script).Do(conn, append(keys, Args(within, limits)...)...))
	return time.Duration(micros) * time.Microsecond, err
}

// call is a Reserve of one to three limits with different keys, so long after the call before.
type call struct {
	after, within time.Duration
	limits        []Limit
}

func drawCall(t *rapid.T) call {
	drawTime := func(label string, most time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(0, most.Microseconds()).Draw(t, label)) * time.Microsecond
	}
	c := call{after: drawTime("after", 2*time.Minute), within: drawTime("within", 90*time.Minute) - time.Second}
	key := rapid.SampledFrom([]string{"a", "b", "c"})
	for _, key := range rapid.SliceOfNDistinct(key, 1, 3, rapid.ID).Draw(t, "keys") {
		limit := Limit{
			Key:   key,
			Burst: rapid.IntRange(1, 5).Draw(t, "burst"),
			Every: time.Microsecond + drawTime("every", time.Minute),
		}
		c.limits = append(c.limits, limit)
	}
	return c
}

// A key's limit may change from one call to the next. The server and its connection begin outside of the
// bubble, where time is real.
func TestScriptDecidesAsMemory(t *testing.T) {
	server, conn := startRedis(t)
	rapid.Check(t, func(drawn *rapid.T) {
		calls := rapid.SliceOfN(rapid.Custom(drawCall), 1, 30).Draw(drawn, "calls")
		server.FlushAll()
		var different error
		synctest.Test(t, func(t *testing.T) {
			m := NewMemory()
			for i, c := range calls {
				time.Sleep(c.after)
				server.FastForward(c.after)
				server.SetTime(time.Now())
				want, taken := m.Reserve(t.Context(), c.within, c.limits...)
				got, err := runScript(conn, c.within, c.limits...)
				if err != nil || got != want || (got <= min(c.within, MaxAhead)) != taken {
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

func TestARealServerKeepsAKeyUntilItsBucketIsFull(t *testing.T) {
	conn := redistest.Start(t).Admin(t)
	limit := Limit{Key: "chat", Burst: 2, Every: 50 * time.Millisecond}
	for event, most := range []time.Duration{0, 0, limit.Every, 2 * limit.Every} {
		wait, err := runScript(conn, time.Second, limit)
		if err != nil || wait > most || event > 1 && wait <= most-limit.Every {
			t.Errorf("event %d waits %v, want at most %v; %v", event, wait, most, err)
		}
	}
	left, err := redis.Int64(conn.Do("PTTL", limit.Key))
	if most := 4 * limit.Every.Milliseconds(); err != nil || left <= most/2 || left > most {
		t.Errorf("the key expires in %d ms, want at most %d; %v", left, most, err)
	}
	time.Sleep(time.Duration(left+10) * time.Millisecond)
	if kept, err := redis.Bool(conn.Do("EXISTS", limit.Key)); err != nil || kept {
		t.Errorf("the key of a full bucket is kept: %t, %v", kept, err)
	}
}

func TestAnImpossibleValueIsAFullBucket(t *testing.T) {
	server, conn := startRedis(t)
	now := time.Unix(1_800_000_000, 0)
	server.SetTime(now)
	limit := Limit{Key: "chat", Burst: 2, Every: time.Second}
	micros := func(d time.Duration) string { return fmt.Sprint(now.Add(d).UnixMicro()) }
	for value, want := range map[string]time.Duration{
		micros(2 * time.Second):           time.Second,
		micros(time.Hour + 2*time.Second): time.Hour + time.Second,
		micros(time.Hour + 3*time.Second): 0,
		micros(24 * 365 * time.Hour):      0,
		micros(-time.Hour):                0,
		"":                                0,
		"a word":                          0,
		"inf":                             0,
		"-inf":                            0,
		"nan":                             0,
	} {
		if err := server.Set(limit.Key, value); err != nil {
			t.Fatal(err)
		}
		if wait, err := runScript(conn, -1, limit); err != nil || wait != want {
			t.Errorf("%q: waits %v, want %v; %v", value, wait, want, err)
		}
		if got, _ := server.Get(limit.Key); got != value {
			t.Errorf("to ask has changed %q to %q", value, got)
		}
	}
}

func TestAValueOfAnotherTypeIsReplaced(t *testing.T) {
	server, conn := startRedis(t)
	server.HSet("chat", "field", "value")
	limit := Limit{Key: "chat", Burst: 1, Every: time.Minute}
	for event, taken := range []bool{true, false} {
		if wait, err := runScript(conn, 0, limit); err != nil || (wait == 0) != taken {
			t.Errorf("event %d waits %v; %v", event, wait, err)
		}
	}
}
