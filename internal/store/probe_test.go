package store

import (
	"slices"
	"testing"
	"time"

	miniserver "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
)

func TestProbeFailsWhereTheBotCouldNotWork(t *testing.T) {
	const forbidden = "NOPERM this user has no permissions to run the command"
	for name, test := range map[string]struct {
		message  string
		commands []string
		want     string
	}{
		"a replica that only reads": {"READONLY " + password, []string{"SET", "EVAL", "EVALSHA"}, "write to redis: refused with READONLY"},
		"no scripts":                {forbidden, []string{"EVAL", "EVALSHA"}, "run a script on redis: refused with NOPERM"},
		"no reading":                {forbidden, []string{"GETRANGE"}, "read from redis: refused with NOPERM"},
		"nothing is wrong":          {"", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t)
			r := replica(t, s)
			s.Server().SetPreHook(func(c *miniserver.Peer, command string, _ ...string) bool {
				refused := slices.Contains(test.commands, command)
				if refused {
					c.WriteError(test.message)
				}
				return refused
			})
			got := ""
			if fastest, err := r.Probe(t.Context()); err != nil {
				got = err.Error()
			} else if fastest <= 0 || fastest > r.timeout {
				t.Errorf("the fastest call took %v", fastest)
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			for i, script := range []*redis.Script{claimUpdate, setClaims, allow, takeTurn} {
				if known, err := script.Exists(t.Context(), r.client).Result(); test.want == "" && (err != nil || !known[0]) {
					t.Errorf("script %d was not run: %v", i, err)
				}
			}
			s.FastForward(probeTTL)
			if keys := s.Keys(); len(keys) > 0 {
				t.Errorf("it left %v for longer than %v", keys, probeTTL)
			}
		})
	}
}

func TestProbeFailsOnARedisThatIsAlwaysTooSlow(t *testing.T) {
	r := replica(t, server(t))
	r.timeout = time.Nanosecond
	if _, err := r.Probe(t.Context()); err == nil || err.Error() != "redis is too slow: every call took more than 1ns" {
		t.Errorf("got %v", err)
	}
}
