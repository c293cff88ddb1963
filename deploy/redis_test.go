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

// open connects to a Redis until the test ends.
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

// mountPatterns maps each file that runs a Redis to a pattern of the path at which its volume is mounted.
var mountPatterns = map[string]string{
	"compose.replicas.yaml": `volumes: \["saved:(/data)"\]`,
	"kubernetes.yaml":       `name: saved, mountPath: (/data)`,
}

// redisOption matches the name and the value of an option of Redis in such a file.
var redisOption = regexp.MustCompile(`(?m)^ +(dir|save|appendonly|maxmemory|maxmemory-policy) (\S+)$`)

// redisOptions returns the options of Redis in a file. It changes them, so that Redis writes to a temporary
// folder, and has only 4 MB of memory. It fails the test if the folder in the file is not in the volume of Redis.
func redisOptions(t *testing.T, file, mountPattern string) (options []string) {
	t.Helper()
	text := configtest.Read(t, file)
	mounted := matches(mountPattern, text)
	for _, match := range redisOption.FindAllStringSubmatch(text, -1) {
		name, value := match[1], match[2]
		switch name {
		case "dir":
			if !slices.Equal(mounted, []string{value}) {
				t.Errorf("Redis writes to %s, and its volume is at %q", value, mounted)
			}
			value = t.TempDir()
		case "maxmemory":
			value = "4mb"
		case "save":
			value = strings.Trim(value, `"`)
		}
		options = append(options, "--"+name, value)
	}
	return options
}

// savedBucket is the bucket of the store with the saved addresses.
const savedBucket = "members/telegram-7000000001"

// saveRows saves this number of addresses.
func saveRows(t *testing.T, r *store.Redis, rows int) {
	t.Helper()
	for i := range rows {
		saved, err := r.Bucket(savedBucket).Replace(t.Context(), fmt.Sprint(i), nil, []byte("an address"))
		if !saved || err != nil {
			t.Fatal(saved, err)
		}
	}
}

// fillMemory caches answers until Redis has no memory left and evicts some of them. It fails the test if Redis refuses
// a call.
func fillMemory(t *testing.T, s *redistest.Server, r *store.Redis) {
	t.Helper()
	for i := range 600 {
		r.Save(t.Context(), fmt.Sprint("price ", i), make([]byte, 10_000), time.Hour)
	}
	info, err := redis.String(s.Admin(t).Do("INFO", "stats"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(info, "evicted_keys:0\r") || r.Fallbacks() != 0 {
		t.Errorf("the memory is not full, or %d calls were refused:\n%s", r.Fallbacks(), info)
	}
}

// restart stops Redis as a deployment does, starts it again, and connects to it. It returns once Redis has read its
// file.
func restart(t *testing.T, s *redistest.Server) *store.Redis {
	t.Helper()
	_, _ = s.Admin(t).Do("SHUTDOWN") // There is no answer, because Redis closes the connection.
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
	r := open(t, s.URL)
	platformtest.WaitUntil(t, "Redis has read its file", func() bool {
		return r.Probe(t.Context()) == nil && r.Up()
	})
	return r
}

func TestSavedAddressesSurviveFullMemoryAndARestart(t *testing.T) {
	for file, mountPattern := range mountPatterns {
		t.Run(file, func(t *testing.T) {
			const rows = 300
			s := redistest.Start(t, redisOptions(t, file, mountPattern)...)
			r := open(t, s.URL)
			saveRows(t, r, rows)
			fillMemory(t, s, r)
			if warnings := r.Durability(t.Context()); len(warnings) > 0 {
				t.Errorf("bot check would warn: %q", warnings)
			}
			r = restart(t, s)
			left := 0
			err := r.Bucket(savedBucket).Each(t.Context(), func([]byte) { left++ })
			if err != nil || left != rows {
				t.Errorf("%d of %d rows are left, %v", left, rows, err)
			}
		})
	}
}

// documentedRights returns the rights of the bot's user in docs/deployment.md, such as "+get", and its password.
func documentedRights(t *testing.T) []string {
	t.Helper()
	users := matches(`(?m)^ *ACL SETUSER herald on (.*)$`, configtest.Read(t, "../docs/deployment.md"))
	if len(users) != 1 {
		t.Fatalf("the document has the users %q, want one", users)
	}
	return strings.Fields(users[0])
}

// openAs makes the user herald with these rights and another password, and connects as this user.
func openAs(t *testing.T, s *redistest.Server, admin redis.Conn, rights []string) *store.Redis {
	t.Helper()
	do := func(command string, args ...any) {
		t.Helper()
		if _, err := admin.Do(command, args...); err != nil {
			t.Fatal(command, args, err)
		}
	}
	user := []any{"SETUSER", "herald", "on"}
	for _, right := range rights {
		if isPassword(right) {
			right = ">secret"
		}
		user = append(user, right)
	}
	do("SCRIPT", "FLUSH")
	do("ACL", "DELUSER", "herald")
	do("ACL", user...)
	_, host, _ := strings.Cut(s.URL, "@")
	return open(t, "redis://herald:secret@"+host+"/0")
}

func isPassword(right string) bool { return strings.HasPrefix(right, ">") }

func TestTheDocumentedRightsOfTheRedisUserSuffice(t *testing.T) {
	s := redistest.Start(t, "--appendonly", "yes", "--dir", t.TempDir())
	r := openAs(t, s, s.Admin(t), documentedRights(t))
	if err := r.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	if warnings := r.Durability(t.Context()); len(warnings) > 0 {
		t.Errorf("bot check would warn: %q", warnings)
	}
}

func TestRedisUserNeedsTheRightsInTheDocument(t *testing.T) {
	rights := documentedRights(t)
	s := redistest.Start(t, "--appendonly", "yes", "--dir", t.TempDir())
	admin := s.Admin(t)
	for i, right := range rights {
		isNeeded := right != "+ping" // The bot keeps a connection even if Redis refuses a ping.
		if isPassword(right) || !isNeeded {
			continue
		}
		r := openAs(t, s, admin, slices.Delete(slices.Clone(rights), i, i+1))
		if right == "+info" || right == "+config|get" {
			// The bot checks with these rights whether Redis writes to disk, and warns if it cannot. It needs +config|get
			// only while appendonly is off.
			_, _ = admin.Do("CONFIG", "SET", "appendonly", "no")
			if warnings := r.Durability(t.Context()); len(warnings) != 1 {
				t.Errorf("without %s: the warnings are %q, want one", right, warnings)
			}
			continue
		}
		err := r.Probe(t.Context())
		if err == nil || !strings.HasSuffix(err.Error(), "refused with NOPERM") {
			t.Errorf("without %s: %v, want a refusal", right, err)
		}
	}
}
