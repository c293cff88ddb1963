package store

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"herald/internal/claim"
	"herald/internal/ratelimit"
	"herald/internal/store/redistest"
)

func TestReplicasShareAnswers(t *testing.T) {
	s := server(t)
	one, two := replica(t, s), replica(t, s)
	want := func(key string, length int, wantErr error) {
		t.Helper()
		value, err := two.Load(t.Context(), key)
		if len(value) != length || !errors.Is(err, wantErr) {
			t.Errorf("%s: loaded %d bytes, %v", key, len(value), err)
		}
	}
	one.Save(t.Context(), "price", []byte("1.5\x00"), time.Minute)
	one.Save(t.Context(), "as large as possible", make([]byte, maxValue), time.Minute)
	one.Save(t.Context(), "too large", make([]byte, maxValue+1), time.Minute)
	want("price", 4, nil)
	want("as large as possible", maxValue, nil)
	want("too large", 0, errTooLarge)
	want("what nobody saved", 0, nil)
	s.FastForward(time.Minute)
	want("price", 0, nil)
	s.SetError("LOADING")
	want("price", 0, errUnavailable)
}

// A partner may run one bot in production and another in staging.
func TestTwoBotsOnOneRedisShareNothing(t *testing.T) {
	s := server(t)
	one := newReplica(t, redisURL(s), "telegram-1")
	two := newReplica(t, redisURL(s), "telegram-2")
	wantProgress(t, "new work", one, "a", claim.New)
	wantProgress(t, "the other bot's work", two, "a", claim.New)
	wantSlots(t, "one's", one, minutely, 3)
	wantSlots(t, "the other bot's", two, minutely, 3)
	one.Save(t.Context(), "price", []byte("1"), time.Minute)
	value, err := two.Load(t.Context(), "price")
	if value != nil || err != nil {
		t.Errorf("the other bot loads %q, %v", value, err)
	}
}

// A bucket's name includes its bot. If one process replaces two, one for each platform, it finds the values of both.
func TestABucketBelongsToItsName(t *testing.T) {
	s := server(t)
	put(t, newReplica(t, redisURL(s), "telegram-1").Bucket("members/discord-2"), "7", "a")
	wantValue(t, "another process", newReplica(t, redisURL(s), "discord-2").Bucket("members/discord-2"), "7", "a")
}

func TestSavedAddressesNeverExpire(t *testing.T) {
	s := server(t)
	r := replica(t, s)
	b := r.Bucket(members)
	put(t, b, "7", "a")
	r.Save(t.Context(), "price", []byte("1"), time.Hour)
	wantProgress(t, "new work", r, "a", claim.New)
	wantSlots(t, "all", r, minutely, 3)
	for _, key := range s.Keys() {
		isAddresses := strings.HasPrefix(key, "herald:members:")
		if isAddresses != (s.TTL(key) == 0) {
			t.Errorf("%s has a TTL of %v", key, s.TTL(key))
		}
	}
	if len(s.Keys()) != 4 {
		t.Errorf("the server has %q", s.Keys())
	}
}

func TestRedisHoldsNoIDs(t *testing.T) {
	s := server(t)
	r := replica(t, s)
	r.Claim(t.Context(), "telegram 987654321", ratelimit.Limit{
		Key:   "user 987654321",
		Burst: 1,
		Every: time.Minute,
	})
	put(t, r.Bucket(members), "987654321", "a")
	if dump := s.Dump(); len(s.Keys()) != 3 || strings.Contains(dump, "98765") {
		t.Errorf("the server has %s", dump)
	}
}

func TestAnUnreadableValueInRedisStays(t *testing.T) {
	s := server(t)
	b := replica(t, s).Bucket(members)
	put(t, b, "8", "another")
	hash, field, large := b.(redisBucket).key, b.(redisBucket).field("7"), strings.Repeat("x", 1<<20)
	s.HSet(hash, field, large)
	wantUnreadable(t, "1 MB", b, "7", "another")
	if s.HGet(hash, field) != large {
		t.Error("it is gone")
	}
}

func TestABucketWithoutRedisFails(t *testing.T) {
	s := server(t)
	b := replica(t, s).Bucket(members)
	put(t, b, "7", "a")
	s.SetError("LOADING")
	_, loadErr := b.Load(t.Context(), "7")
	replaced, replaceErr := b.Replace(t.Context(), "7", []byte("a"), []byte("b"))
	eachErr := b.Each(t.Context(), func([]byte) { t.Error("f is called") })
	for _, err := range []error{loadErr, replaceErr, eachErr} {
		if !errors.Is(err, errUnavailable) || errors.As(err, new(*UnreadableError)) {
			t.Errorf("it fails with %v", err)
		}
	}
	if replaced {
		t.Error("a value is replaced")
	}
}

// Redis replaces the value, and the connection breaks before the answer arrives.
func TestReplaceWithoutAnAnswerIsAnError(t *testing.T) {
	r := replica(t, server(t))
	breaks := true
	tap(r, func(command string, call func() (any, error)) (any, error) {
		reply, err := call()
		if breaks && err == nil && strings.HasPrefix(command, "EVAL") {
			breaks = false
			return nil, io.ErrUnexpectedEOF
		}
		return reply, err
	})
	replaced, err := r.Bucket(members).Replace(t.Context(), "7", nil, []byte("a"))
	if replaced || err == nil {
		t.Errorf("%t, %v", replaced, err)
	}
	wantValue(t, "after that", r.Bucket(members), "7", "a")
}

// Redis may return a field twice while its hash grows.
func TestEachPassesARepeatedFieldOnce(t *testing.T) {
	r := replica(t, server(t))
	var firstPage any
	tap(r, func(command string, call func() (any, error)) (any, error) {
		reply, err := call()
		if command != "HSCAN" || err != nil {
			return reply, err
		}
		if firstPage == nil {
			firstPage = reply.([]any)[1]
			return []any{[]byte("5"), firstPage}, nil
		}
		return []any{[]byte("0"), firstPage}, nil
	})
	put(t, r.Bucket(members), "7", "a")
	got := allValues(t, r.Bucket(members))
	if !slices.Equal(got, []string{"a"}) {
		t.Errorf("it passes %q", got)
	}
}

func TestAnotherProgramsValuesDoNotStopTheBot(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r, admin := newReplica(t, s.URL+patient, bot), s.Admin(t)
	b := r.Bucket(members)
	for _, key := range []string{
		r.key("limit", minutely.Key),
		r.claimKey("a"),
		r.key("answer", "price"),
		b.(redisBucket).key,
	} {
		if _, err := admin.Do("LPUSH", key, "x"); err != nil {
			t.Fatal(err)
		}
	}
	wantSlots(t, "a limit", r, minutely, 3)
	wantProgress(t, "work", r, "a", claim.New)
	wantProgress(t, "the same work", r, "a", claim.InFlight)
	value, err := r.Load(t.Context(), "price")
	if value != nil || err != nil {
		t.Errorf("loaded %q, %v", value, err)
	}
	r.Save(t.Context(), "price", []byte("1"), time.Minute)
	value, err = r.Load(t.Context(), "price")
	if string(value) != "1" || err != nil {
		t.Errorf("then loaded %q, %v", value, err)
	}
	_, err = b.Load(t.Context(), "7")
	replaced, replaceErr := b.Replace(t.Context(), "7", nil, []byte("1"))
	if err == nil || replaced || replaceErr == nil || b.Each(t.Context(), func([]byte) {}) == nil {
		t.Errorf("the bucket can be used: %v, %t, %v", err, replaced, replaceErr)
	}
	kind, err := redis.String(admin.Do("TYPE", b.(redisBucket).key))
	if kind != "list" || err != nil || !r.Up() {
		t.Errorf("the other program's value is a %s, %v; Redis is up: %t", kind, err, r.Up())
	}
}

func TestARealRedisListsManyValues(t *testing.T) {
	t.Parallel()
	b := newReplica(t, redistest.Start(t).URL+patient, bot).Bucket(members)
	const values = 3000
	for i := range values {
		put(t, b, fmt.Sprint(i), fmt.Sprintf("value %d %s", i, strings.Repeat("x", 300)))
	}
	got := slices.Compact(allValues(t, b))
	if len(got) != values {
		t.Errorf("%d values, want %d", len(got), values)
	}
}
