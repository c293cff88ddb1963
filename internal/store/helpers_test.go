package store

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/gomodule/redigo/redis"

	"herald/internal/claim"
	"herald/internal/ratelimit"
	"herald/internal/secret"
)

const (
	password = "hunter2-hunter2"
	// patient is an option of a Redis URL. With it, a busy machine cannot make a call fail.
	patient = "?read_timeout=20s"
	salt    = "shared by the replicas"
	bot     = "telegram-7000000001"
)

// minutely allows three events at once, and then one every minute.
var minutely = ratelimit.Limit{Key: "a", Burst: 3, Every: time.Minute}

// server starts a miniredis until the test ends.
func server(t *testing.T) *miniredis.Miniredis {
	t.Helper()
	s := miniredis.RunT(t)
	s.RequireAuth(password)
	return s
}

// redisURL returns the URL of s, with the option patient.
func redisURL(s *miniredis.Miniredis) string {
	return "redis://:" + password + "@" + s.Addr() + "/0" + patient
}

// userURL returns url for another Redis user, whose password is "secret", and with the option patient.
func userURL(url, name string) string {
	_, host, _ := strings.Cut(url, "@")
	return "redis://" + name + ":secret@" + host + patient
}

// replica returns one of several replicas that share s.
func replica(t *testing.T, s *miniredis.Miniredis) *Redis {
	t.Helper()
	return newReplica(t, redisURL(s), bot)
}

func newReplica(t *testing.T, url, bot string) *Redis {
	t.Helper()
	r, err := NewRedis(Settings{RedisURL: secret.New(url)}, []byte(salt), bot, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// wantProgress claims key without a limit, and fails the test unless Claim returns this Progress.
func wantProgress(t *testing.T, what string, c claim.Claims, key string, want claim.Progress) {
	t.Helper()
	got, wait := c.Claim(t.Context(), key)
	if got != want || wait != 0 {
		t.Errorf("%s is %d, after %v; want %d", what, got, wait, want)
	}
}

// wantSlots takes all slots that limit has now, and fails the test unless it had this many.
func wantSlots(t *testing.T, what string, l ratelimit.Limiter, limit ratelimit.Limit, want int) {
	t.Helper()
	taken := 0
	for {
		_, ok := l.Reserve(t.Context(), 0, limit)
		if !ok {
			break
		}
		taken++
	}
	if taken != want {
		t.Errorf("%s: %d slots, want %d", what, taken, want)
	}
}

// tapped is a connection that calls handle instead of sending a command. handle may send the command by call. If
// several commands are sent together, command is "".
type tapped struct {
	redis.Conn
	handle func(command string, call func() (any, error)) (any, error)
}

// Do implements redis.Conn.
func (c tapped) Do(command string, args ...any) (any, error) {
	return c.handle(command, func() (any, error) { return c.Conn.Do(command, args...) })
}

// DoWithTimeout implements redis.ConnWithTimeout.
func (c tapped) DoWithTimeout(timeout time.Duration, command string, args ...any) (any, error) {
	return c.handle(command, func() (any, error) { return redis.DoWithTimeout(c.Conn, timeout, command, args...) })
}

// ReceiveWithTimeout implements redis.ConnWithTimeout.
func (c tapped) ReceiveWithTimeout(timeout time.Duration) (any, error) {
	return redis.ReceiveWithTimeout(c.Conn, timeout)
}

// tap makes handle see the commands of all later connections of r.
func tap(r *Redis, handle func(command string, call func() (any, error)) (any, error)) {
	dial := r.pool.DialContext
	r.pool.DialContext = func(ctx context.Context) (redis.Conn, error) {
		conn, err := dial(ctx)
		return tapped{conn, handle}, err
	}
}

// finish marks the work of a key as done, and blocks until Redis or the memory has the mark.
func finish(t *testing.T, r *Redis, key string, lasts time.Duration) {
	t.Helper()
	r.MarkDone(key, lasts)
	for range 1000 {
		value, _ := redis.String(r.do(t.Context(), command("GET", r.claimKey(key))))
		r.memory.mu.Lock()
		remembered := r.memory.claims[key].progress == claim.Done
		r.memory.mu.Unlock()
		if value == done || remembered {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("neither Redis nor the memory knows that %s is done", key)
}
