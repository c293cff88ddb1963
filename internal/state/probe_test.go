package state

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"
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

// late has s answer the commands later than the bot waits for one.
func late(s *miniredis.Miniredis, commands ...string) {
	s.Server().SetPreHook(func(_ *miniserver.Peer, command string, _ ...string) bool {
		if slices.Contains(commands, command) {
			time.Sleep(callTimeout + time.Millisecond) // the delay of the fake
		}
		return false
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
		"only known ones":  {"NOPERM this user has no permissions to run the command", []string{"EVAL"}, "run a script on redis: refused with NOPERM"},
		"scripts by EVAL":  {"ERR unknown command `EVALSHA`", []string{"EVALSHA"}, "run a script on redis: refused with ERR"},
		"no reading":       {"NOPERM this user has no permissions to run the command", []string{"GET"}, "read from redis: refused with NOPERM"},
		"no room":          {"OOM command not allowed when used memory > 'maxmemory'", []string{"SET"}, "write to redis: refused with OOM"},
		"no disk":          {"MISCONF Redis is configured to save RDB snapshots", []string{"SET", "EVAL", "EVALSHA"}, "write to redis: refused with MISCONF"},
		"no command":       {"ERR max number of clients reached " + password, []string{"PING"}, "ping redis: refused with ERR"},
		"nothing is wrong": {"", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t)
			r, _ := replica(t, s.Addr())
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
	t.Parallel()
	s := server(t)
	r, _ := replica(t, s.Addr(), impatient)
	late(s, "PING", "SET", "GET", "EVALSHA", "DEL")
	if _, err := r.Probe(t.Context()); err == nil || err.Error() != "redis is too slow: every call took more than 2.5ms" {
		t.Errorf("got %v", err)
	}
}

func TestProbeLeavesNothingBehind(t *testing.T) {
	s := server(t)
	r, _ := replica(t, s.Addr())
	if _, err := r.Probe(t.Context()); err != nil || len(s.Keys()) > 0 {
		t.Errorf("%v, left %v", err, s.Keys())
	}
}

func TestProbeTellsTheVersionUnlessTheServerSaysNone(t *testing.T) {
	says := func(version string) func(*miniserver.Peer) {
		return func(p *miniserver.Peer) {
			p.WriteMapLen(2)
			for _, text := range []string{"server", "redis", "version", version} {
				p.WriteBulk(text)
			}
		}
	}
	for name, test := range map[string]struct {
		answer func(*miniserver.Peer)
		want   string
	}{
		"a version":     {says("7.2.4"), "7.2.4"},
		"refused":       {func(p *miniserver.Peer) { p.WriteError("NOPERM " + password) }, ""},
		"no map":        {func(p *miniserver.Peer) { p.WriteBulk("7.2.4") }, ""},
		"anything else": {says(password), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t)
			r, _ := replica(t, s.Addr())
			s.Server().SetPreHook(func(p *miniserver.Peer, command string, args ...string) bool {
				// With arguments it opens the connection.
				if command != "HELLO" || len(args) > 0 {
					return false
				}
				test.answer(p)
				return true
			})
			found, err := r.Probe(t.Context())
			if err != nil || found.Version != test.want || found.Fastest <= 0 {
				t.Errorf("got %+v, %v, want version %q", found, err, test.want)
			}
		})
	}
}

// TestProbeRunsEveryScript counts the scripts in the package's source.
func TestProbeRunsEveryScript(t *testing.T) {
	s := server(t)
	r, _ := replica(t, s.Addr())
	var mu sync.Mutex
	ran := map[string]bool{}
	s.Server().SetPreHook(func(_ *miniserver.Peer, command string, args ...string) bool {
		mu.Lock()
		defer mu.Unlock()
		if command == "EVAL" {
			ran[args[0]] = true
		}
		return false
	})
	if _, err := r.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	scripts := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.go") {
			scripts += strings.Count(string(source), "redis.NewScript(")
		}
	}
	if len(ran) != scripts || scripts == 0 {
		t.Errorf("Probe runs %d of the package's %d scripts: add the others to it", len(ran), scripts)
	}
}
