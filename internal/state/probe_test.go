package state

import (
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
)

// refusing has s refuse the commands with an error.
func refusing(s *miniredis.Miniredis, message string, commands ...string) {
	s.Server().SetPreHook(func(c *miniserver.Peer, command string, _ ...string) bool {
		if !slices.Contains(commands, command) {
			return false
		}
		c.WriteError(message)
		return true
	})
}

func TestProbeFailsWhereTheBotCouldNotWork(t *testing.T) {
	for name, test := range map[string]struct {
		message  string
		commands []string
		want     string
	}{
		"a replica that only reads": {"READONLY You can't write against a read only replica. " + password, []string{"SET", "DEL", "EVAL", "EVALSHA"},
			"write to redis: refused with READONLY"},
		"no scripts":       {"NOPERM this user has no permissions to run the command", []string{"EVAL", "EVALSHA"}, "run a script on redis: refused with NOPERM"},
		"no reading":       {"NOPERM this user has no permissions to run the command", []string{"GET"}, "read from redis: refused with NOPERM"},
		"no room":          {"OOM command not allowed when used memory > 'maxmemory'", []string{"SET"}, "write to redis: refused with OOM"},
		"nothing is wrong": {"", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t)
			r := replica(t, s)
			refusing(s, test.message, test.commands...)
			got := ""
			if _, err := r.Probe(t.Context()); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
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

func TestProbeTellsAVersionAndNoOtherTextOfTheServer(t *testing.T) {
	for said, want := range map[string]string{"7.2.4": "7.2.4", password: ""} {
		s := server(t)
		s.Server().SetPreHook(func(p *miniserver.Peer, command string, args ...string) bool {
			// With arguments it opens the connection.
			if command != "HELLO" || len(args) > 0 {
				return false
			}
			p.WriteMapLen(1)
			p.WriteBulk("version")
			p.WriteBulk(said)
			return true
		})
		found, err := replica(t, s).Probe(t.Context())
		if err != nil || found.Version != want || found.Fastest <= 0 {
			t.Errorf("got %+v, %v, want version %q", found, err, want)
		}
	}
}

func TestProbeRunsEveryScript(t *testing.T) {
	scripts := []*redis.Script{claimUpdate, giveUp, setClaims, allow, takeTurn}
	s := server(t)
	r := replica(t, s)
	if _, err := r.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, script := range scripts {
		if known, err := script.Exists(t.Context(), r.client).Result(); err != nil || !known[0] {
			t.Errorf("script %d was not run: %v", i, err)
		}
	}
}
