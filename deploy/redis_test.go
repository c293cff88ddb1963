package deploy

import (
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"herald/internal/config/configtest"
	"herald/internal/platform/platformtest"
	"herald/internal/secret"
	"herald/internal/store"
	"herald/internal/store/redistest"
)

func open(t *testing.T, url string) *store.Redis {
	t.Helper()
	settings := store.Settings{RedisURL: secret.New(url + "?read_timeout=1s")}
	r, err := store.NewRedis(settings, []byte("salt"), "telegram-7000000001", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// The memory is smaller than that of the deployments, and full.
func TestSavedAddressesOutliveFullMemoryAndARestartOfRedis(t *testing.T) {
	for file, volume := range map[string]string{"compose.replicas.yaml": `volumes: \["saved:(/data)"\]`, "kubernetes.yaml": `name: saved, mountPath: (/data)`} {
		text := configtest.Read(t, file)
		var options []string
		for _, found := range regexp.MustCompile(`(?m)^ +(dir|save|appendonly|maxmemory|maxmemory-policy) (\S+)$`).FindAllStringSubmatch(text, -1) {
			value := found[2]
			switch found[1] {
			case "dir":
				if mounted := matches(volume, text); !slices.Equal(mounted, []string{value}) {
					t.Errorf("%s: Redis writes to %s, and the volume is at %q", file, value, mounted)
				}
				value = t.TempDir()
			case "maxmemory":
				value = "4mb"
			case "save":
				value = strings.Trim(value, `"`)
			}
			options = append(options, "--"+found[1], value)
		}
		s := redistest.Start(t, options...)
		admin := s.Admin(t)
		r := open(t, s.URL)
		const members, rows = "members/telegram-7000000001", 300
		for i := range rows {
			saved, err := r.Bucket(members).Replace(t.Context(), fmt.Sprint(i), nil, []byte("an address"))
			if !saved || err != nil {
				t.Fatal(file, saved, err)
			}
		}
		for i := range 600 {
			r.Save(t.Context(), fmt.Sprint("price ", i), make([]byte, 10_000), time.Hour)
		}
		if info, err := redis.String(admin.Do("INFO", "stats")); err != nil || r.Fallbacks() != 0 || strings.Contains(info, "evicted_keys:0\r") {
			t.Errorf("%s: the memory is not full: %d calls were refused\n%s", file, r.Fallbacks(), info)
		}
		if warnings := r.Durability(t.Context()); len(warnings) > 0 {
			t.Errorf("%s: bot check warns: %q", file, warnings)
		}
		_, _ = admin.Do("SHUTDOWN") // It ends the connection.
		s.Kill()
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		_, addr, _ := strings.Cut(s.URL, "@")
		platformtest.WaitUntil(t, "Redis listens", func() bool {
			conn, err := net.Dial("tcp", addr)
			if err == nil {
				conn.Close()
			}
			return err == nil
		})
		later := open(t, s.URL)
		platformtest.WaitUntil(t, "Redis has read its file", func() bool { return later.Probe(t.Context()) == nil && later.Up() })
		left := 0
		err := later.Bucket(members).Each(t.Context(), func([]byte) { left++ })
		if err != nil {
			t.Error(file, err)
		}
		if left != rows {
			t.Errorf("%s: %d of %d rows are left", file, left, rows)
		}
	}
}

// docs/deployment.md names the rights of a user for the bot.
func TestRedisUserNeedsTheRightsInTheDocument(t *testing.T) {
	named := matches(`(?m)^ *ACL SETUSER herald on (.*)$`, configtest.Read(t, "../docs/deployment.md"))
	if len(named) != 1 {
		t.Fatalf("the document has %q", named)
	}
	s := redistest.Start(t, "--appendonly", "yes", "--dir", t.TempDir())
	admin := s.Admin(t)
	rights := strings.Fields(named[0])
	try := func(rights []string) (*store.Redis, error) {
		for command, args := range map[string][]any{"SCRIPT": {"FLUSH"}, "ACL": {"DELUSER", "herald"}} {
			if _, err := admin.Do(command, args...); err != nil {
				t.Fatal(err)
			}
		}
		user := []any{"SETUSER", "herald", "on"}
		for _, right := range rights {
			if strings.HasPrefix(right, ">") {
				right = ">secret"
			}
			user = append(user, right)
		}
		if _, err := admin.Do("ACL", user...); err != nil {
			t.Fatal(rights, err)
		}
		_, host, _ := strings.Cut(s.URL, "@")
		r := open(t, "redis://herald:secret@"+host+"/0")
		return r, r.Probe(t.Context())
	}
	r, err := try(rights)
	if err != nil || len(r.Durability(t.Context())) > 0 {
		t.Errorf("with all of them: %v, %q", err, r.Durability(t.Context()))
	}
	for i, right := range rights {
		if strings.HasPrefix(right, ">") || right == "+ping" { // A refused ping keeps a connection, too.
			continue
		}
		r, err := try(slices.Delete(slices.Clone(rights), i, i+1))
		refused := err != nil && strings.HasSuffix(err.Error(), "refused with NOPERM")
		if right == "+info" || right == "+config|get" {
			_, _ = admin.Do("CONFIG", "SET", "appendonly", "no")
			refused = len(r.Durability(t.Context())) == 1
		}
		if !refused {
			t.Errorf("without %s: %v", right, err)
		}
	}
}
