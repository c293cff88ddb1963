package store

import (
	"context"
	"slices"
	"strings"
	"testing"

	miniserver "github.com/alicebob/miniredis/v2/server"
	"github.com/gomodule/redigo/redis"

	"herald/internal/store/redistest"
)

// If a refused read counted as a missing value, no limit would hold, and each update could be answered twice.
func TestRefusedReadIsNotAMissingValue(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	admin := s.Admin(t)
	if _, err := admin.Do("ACL", "SETUSER", "herald", "on", ">secret", "~*", "+@all", "-get", "-hget"); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(r *Redis){
		"claim": func(r *Redis) {
			r.Claim(t.Context(), "a")
			r.Claim(t.Context(), "a")
		},
		"reserve": func(r *Redis) { r.Reserve(t.Context(), 0, minutely) },
		"load":    func(r *Redis) { _, _ = r.Bucket(members).Load(t.Context(), "7") },
		"replace": func(r *Redis) { _, _ = r.Bucket(members).Replace(t.Context(), "7", nil, []byte("1")) },
	} {
		r := newReplica(t, userURL(s.URL, "herald"), bot)
		call(r)
		if r.Fallbacks() != 1 || r.Up() {
			t.Errorf("%s: %d calls were decided without Redis, want 1", name, r.Fallbacks())
		}
		err := r.Probe(t.Context())
		if err == nil || err.Error() != "read from redis: refused with NOPERM" {
			t.Errorf("%s: the probe fails with %v", name, err)
		}
	}
}

// Redis 5 has no users: it accepts a password only without a user's name. A later Redis that has no password accepts
// any password, but only with a user's name.
func TestPasswordFitsEveryRedis(t *testing.T) {
	t.Parallel()
	five, open := server(t), redistest.Start(t)
	five.Server().SetPreHook(func(peer *miniserver.Peer, command string, args ...string) bool {
		if command == "AUTH" && len(args) == 2 {
			peer.WriteError("ERR wrong number of arguments for 'auth' command")
			return true
		}
		return false
	})
	if _, err := open.Admin(t).Do("CONFIG", "SET", "requirepass", ""); err != nil {
		t.Fatal(err)
	}
	for what, url := range map[string]string{
		"Redis 5":            redisURL(five),
		"without a password": open.URL + patient,
	} {
		if err := newReplica(t, url, bot).Probe(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestRedisThatMayLoseSavedAddressesIsAWarning(t *testing.T) {
	t.Parallel()
	const disk, evicts = "set appendonly yes", "set noeviction or volatile-lru"
	for options, want := range map[string][]string{ // the ends of the warnings by the options of redis-server
		"":                 {disk},
		"--appendonly yes": nil,
		"--save 3600 1":    nil,
		"--appendonly yes --maxmemory-policy volatile-lru": nil,
		"--appendonly yes --maxmemory-policy allkeys-lfu":  {evicts},
		"--maxmemory-policy allkeys-random":                {disk, evicts},
	} {
		s := redistest.Start(t, append(strings.Fields(options), "--dir", t.TempDir())...)
		admin := s.Admin(t)
		r := newReplica(t, s.URL+patient, bot)
		if got := r.Durability(t.Context()); !slices.EqualFunc(got, want, strings.HasSuffix) {
			t.Errorf("%s: warns %q, want %q", options, got, want)
		}
		for refused, hint := range map[string]string{
			"info":   "give its user the right +info",
			"config": disk + ", or give its user the right +config|get",
		} {
			if _, err := admin.Do("ACL", "SETUSER", refused, "on", ">secret", "~*", "+@all", "-"+refused); err != nil {
				t.Fatal(err)
			}
			got := newReplica(t, userURL(s.URL, refused), bot).Durability(t.Context())
			hasHint := len(got) > 0 && strings.HasSuffix(got[0], hint) &&
				strings.Contains(got[0], "could not be checked: refused with NOPERM; ")
			needsHint := refused == "info" || !strings.Contains(options, "appendonly")
			if hasHint != needsHint {
				t.Errorf("%s, without %s: warns %q", options, refused, got)
			}
		}
	}
}

// setRights permits the Redis user herald every command except the refused ones.
func setRights(t *testing.T, admin redis.Conn, refused ...string) {
	t.Helper()
	rights := []any{"SETUSER", "herald", "on", ">secret", "~*", "+@all"}
	for _, command := range refused {
		rights = append(rights, "-"+command)
	}
	if _, err := admin.Do("ACL", rights...); err != nil {
		t.Fatal(err)
	}
}

// wantHashes fails the test if Redis holds more than limit hashes.
func wantHashes(t *testing.T, admin redis.Conn, when string, limit int) {
	t.Helper()
	reply, err := redis.Values(admin.Do("SCAN", 0, "COUNT", 1000, "TYPE", "hash"))
	if err != nil {
		t.Fatal(err)
	}
	hashes, err := redis.Strings(reply[1], nil)
	if err != nil || len(hashes) > limit {
		t.Errorf("%s: Redis holds the hashes %q, want at most %d; %v", when, hashes, limit, err)
	}
}

// During an outage, watch probes twice a second, so the keys of failed probes must not add up.
func TestFailedProbesLeaveAtMostOneHash(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	admin := s.Admin(t)
	for _, refused := range []string{"hget", "hscan", "hdel"} {
		setRights(t, admin, refused)
		r := newReplica(t, userURL(s.URL, "herald"), bot)
		for range 3 {
			if r.Probe(t.Context()) == nil {
				t.Errorf("without %s, the probe succeeds", refused)
			}
		}
		wantHashes(t, admin, "without "+refused, 1)
		setRights(t, admin)
		if err := r.Probe(t.Context()); err != nil {
			t.Error(err)
		}
		wantHashes(t, admin, "after a successful probe", 0)
	}
}

// The address that a failed probe left must not keep the next probe from saving one.
func TestAProbeSavesAnAddressAfterAFailedProbe(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	admin := s.Admin(t)
	setRights(t, admin, "hscan")
	r := newReplica(t, userURL(s.URL, "herald"), bot)
	if err := r.Probe(t.Context()); err == nil || err.Error() != "list the addresses in redis: refused with NOPERM" {
		t.Errorf("without hscan, the probe fails with %v", err)
	}
	setRights(t, admin, "hset")
	if err := r.Probe(t.Context()); err == nil || err.Error() != "save an address in redis: refused with NOPERM" {
		t.Errorf("without hset, the probe fails with %v", err)
	}
}

func TestAnInterruptedProbeSaysSo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := replica(t, server(t)).Probe(ctx)
	if err == nil || err.Error() != "write to redis: interrupted" {
		t.Errorf("the probe fails with %v", err)
	}
}
