package store

import (
	"slices"
	"strings"
	"testing"

	miniserver "github.com/alicebob/miniredis/v2/server"

	"herald/internal/store/redistest"
)

// Such a user got every command through every limit, and each update was answered twice.
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
		r := newReplica(t, userURL(s.URL, "herald", "secret"), bot)
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

// Redis 5 has no users, and a later Redis without a password takes one of a named user alone.
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
	for options, want := range map[string][]string{
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
			got := newReplica(t, userURL(s.URL, refused, "secret"), bot).Durability(t.Context())
			told := len(got) > 0 && strings.HasSuffix(got[0], hint) &&
				strings.Contains(got[0], "could not be checked: refused with NOPERM; ")
			if needed := refused == "info" || !strings.Contains(options, "appendonly"); told != needed {
				t.Errorf("%s, without %s: warns %q", options, refused, got)
			}
		}
	}
}
