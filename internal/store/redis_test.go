package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/gomodule/redigo/redis"

	"herald/internal/chat"
	"herald/internal/ratelimit"
	"herald/internal/secret"
)

const password = "hunter2-hunter2"

// patient has the bot wait for Redis as long as a busy machine may need.
const patient = "?read_timeout=20s"

// claimTime is how long claims last. The server's time is simulated, so that no
// claim is renewed by itself.
const claimTime = time.Hour

// redisURL is the URL of s for a patient bot.
func redisURL(s *miniredis.Miniredis) string {
	return "redis://:" + password + "@" + s.Addr() + "/0" + patient
}

// replica makes one of several processes that share s.
func replica(t *testing.T, s *miniredis.Miniredis) *Redis {
	t.Helper()
	return newReplica(t, claimTime, redisURL(s))
}

func newReplica(t *testing.T, claim time.Duration, url string) *Redis {
	t.Helper()
	r, err := NewRedis(Settings{RedisURL: secret.New(url)}, []byte("shared by the replicas"), claim, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func server(t *testing.T) *miniredis.Miniredis {
	t.Helper()
	s := miniredis.RunT(t)
	s.RequireAuth(password)
	return s
}

func TestReplicasShareAnswers(t *testing.T) {
	s := server(t)
	one, two := replica(t, s), replica(t, s)
	one.Save(t.Context(), "price", []byte("1.5\x00"), time.Minute)
	one.Save(t.Context(), "as large as may be", make([]byte, maxValue), time.Minute)
	one.Save(t.Context(), "too large", make([]byte, maxValue+1), time.Minute)
	expectLoad := func(key string, length int, wantErr error) {
		t.Helper()
		if value, err := two.Load(t.Context(), key); len(value) != length || !errors.Is(err, wantErr) {
			t.Errorf("%s: loaded %d bytes, %v", key, len(value), err)
		}
	}
	expectLoad("price", 4, nil)
	expectLoad("as large as may be", maxValue, nil)
	expectLoad("too large", 0, errTooLarge)
	expectLoad("what nobody saved", 0, nil)
	s.FastForward(time.Minute)
	expectLoad("price", 0, nil)
	s.SetError("LOADING")
	expectLoad("price", 0, errAway)
}

// values is what a Folder and a Redis both are.
type values interface {
	Load(ctx context.Context, key string) ([]byte, error)
	Save(ctx context.Context, key string, value []byte, ttl time.Duration)
	Replace(ctx context.Context, key string, old, value []byte) (replaced bool, err error)
}

func TestReplaceChangesOnlyWhatIsKnown(t *testing.T) {
	s := server(t)
	folder, _ := newFolder(t, t.TempDir())
	for name, replicas := range map[string][2]values{"Redis": {replica(t, s), replica(t, s)}, "Folder": {folder, folder}} {
		one, two := replicas[0], replicas[1]
		for i, step := range []struct {
			by         values
			old, value string
			want       bool
			saved      string // afterwards
		}{
			{one, "x", "a", false, ""}, {one, "", "a", true, "a"}, {two, "", "b", false, "a"}, {two, "a", "b", true, "b"}, {one, "a", "", false, "b"},
			{one, "b", "", true, ""}, {two, "", "", true, ""}, {two, "", "c\x00", true, "c\x00"},
		} {
			got, err := step.by.Replace(t.Context(), "members 1", []byte(step.old), []byte(step.value))
			saved, _ := one.Load(t.Context(), "members 1")
			if got != step.want || err != nil || string(saved) != step.saved {
				t.Errorf("%s, step %d: %t, %v; saved is %q, want %t and %q", name, i, got, err, saved, step.want, step.saved)
			}
		}
		var replaced atomic.Int32
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if ok, _ := replicas[i%2].Replace(t.Context(), "members 1", []byte("c\x00"), fmt.Append(nil, i)); ok {
					replaced.Add(1)
				}
			})
		}
		if all.Wait(); replaced.Load() != 1 {
			t.Errorf("%s: %d of 20 simultaneous calls succeeded, want 1", name, replaced.Load())
		}
	}
}

func TestSavedAddressesNeverExpire(t *testing.T) {
	s := server(t)
	r := replica(t, s)
	if replaced, err := r.Replace(t.Context(), "members 1", nil, []byte("a")); !replaced || err != nil {
		t.Fatal(replaced, err)
	}
	r.Save(t.Context(), "price", []byte("1"), time.Hour)
	if keys := s.Keys(); len(keys) != 2 || !strings.HasPrefix(keys[1], "herald:members:") || s.TTL(keys[1]) != 0 || s.TTL(keys[0]) == 0 {
		t.Errorf("the server has %q", keys)
	}
	if replaced, err := r.Replace(t.Context(), "members 1", []byte("a"), make([]byte, maxValue+1)); replaced || err == nil {
		t.Errorf("a value that Load would not return: %t, %v", replaced, err)
	}
	s.SetError("LOADING")
	if replaced, err := r.Replace(t.Context(), "members 1", []byte("a"), []byte("b")); replaced || err == nil {
		t.Errorf("while Redis is away: %t, %v", replaced, err)
	}
}

// The server replaces the value, and the connection breaks before its answer.
func TestReplaceWithoutAnAnswerIsAnError(t *testing.T) {
	s := server(t)
	r := replica(t, s)
	breaks := true
	tap(r, func(command string, call func() (any, error)) (any, error) {
		reply, err := call()
		if breaks && err == nil && strings.HasPrefix(command, "EVAL") {
			breaks = false
			return nil, io.ErrUnexpectedEOF
		}
		return reply, err
	})
	if replaced, err := r.Replace(t.Context(), "members 1", nil, []byte("a")); replaced || err == nil {
		t.Errorf("%t, %v", replaced, err)
	}
	if value, err := r.Load(t.Context(), "members 1"); string(value) != "a" || err != nil {
		t.Errorf("loaded %q, %v", value, err)
	}
}

// tapped is a connection whose handle is called for each command, with what makes it.
type tapped struct {
	redis.Conn
	handle func(command string, call func() (any, error)) (any, error)
}

// Do implements redis.Conn. The pool makes a call of "" when it takes a connection back.
func (c tapped) Do(command string, args ...any) (any, error) {
	call := func() (any, error) { return c.Conn.Do(command, args...) }
	if command == "" {
		return call()
	}
	return c.handle(command, call)
}

// tap taps all connections of r, which has none yet.
func tap(r *Redis, handle func(command string, call func() (any, error)) (any, error)) {
	dial := r.pool.DialContext
	r.pool.DialContext = func(ctx context.Context) (redis.Conn, error) {
		conn, err := dial(ctx)
		return tapped{conn, handle}, err
	}
}

func TestRedisHoldsNoIDs(t *testing.T) {
	s := server(t)
	r := replica(t, s)
	r.Claim(t.Context(), "telegram 987654321")
	r.Reserve(t.Context(), 0, ratelimit.Limit{Key: "telegram user 987654321", Count: 1, Window: time.Minute})
	if dump := s.Dump(); len(s.Keys()) != 2 || strings.Contains(dump, "98765") {
		t.Errorf("the server has %s", dump)
	}
}
