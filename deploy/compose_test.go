package deploy

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"herald/internal/app/e2e/e2etest"
)

// service is one of a Compose file. https://docs.docker.com/reference/compose-file/services/
type service struct {
	Image       string
	EnvFile     string `yaml:"env_file"`
	Environment map[string]string
	Command     []string
	Secrets     []string
	Networks    []string
	Ports       []string
	Volumes     []string
	Stop        time.Duration `yaml:"stop_grace_period"`
	ReadOnly    bool          `yaml:"read_only"`
	CapDrop     []string      `yaml:"cap_drop"`
	SecurityOpt []string      `yaml:"security_opt"`
	Memory      string        `yaml:"mem_limit"`
	Restart     string
}

type compose struct {
	Services map[string]service
	Secrets  map[string]struct{ File string }
	Networks map[string]struct{ Internal bool }
	Volumes  map[string]any
}

var variable = regexp.MustCompile(`\$\$|\$\{([A-Z_]+)(?::[-?]([^}]*))?\}`)

// loadCompose reads compose.yaml with the variables that .env would hold.
func loadCompose(t *testing.T) (c compose) {
	t.Helper()
	variables := map[string]string{"HERALD_DOMAIN": "bot.example.org", "DISCORD_PUBLIC_KEY": strings.Repeat("ab", 32), "HERALD_IMAGE": "herald"}
	decode(t, variable.ReplaceAllStringFunc(read(t, "compose.yaml"), func(found string) string {
		if found == "$$" {
			return "$"
		}
		name := variable.FindStringSubmatch(found)[1]
		if variables[name] == "" {
			t.Errorf("compose.yaml asks for %s", name)
		}
		return variables[name]
	}), &c)
	return c
}

func readCompose(t *testing.T) deployment {
	t.Helper()
	c := loadCompose(t)
	replica := c.Services["herald-1"]
	caddyfile := read(t, "Caddyfile")
	d := deployment{
		environ: replica.Environment, envFile: strings.Replace(replica.EnvFile, "herald.", "herald.example.", 1), stopsWithin: replica.Stop,
		routes: strings.Fields(matches(`(?m)^\s*path (.*)$`, caddyfile)[0]),
		probes: matches(`(?m)^\s*health_uri (\S+)$`, caddyfile),
		port:   matches(`herald-1:(\d+)`, caddyfile)[0],
	}
	for _, name := range replica.Secrets {
		d.secrets = append(d.secrets, "/run/secrets/"+name)
	}
	return d
}

func TestComposeRunsTwoReplicasThatDifferInTheirVolume(t *testing.T) {
	c := loadCompose(t)
	one, two := c.Services["herald-1"], c.Services["herald-2"]
	if len(one.Volumes) != 1 || len(two.Volumes) != 1 || one.Volumes[0] == two.Volumes[0] {
		t.Errorf("the volumes are %v and %v", one.Volumes, two.Volumes)
	}
	for name, s := range map[string]service{"herald-1": one, "herald-2": two} {
		if path.Base(s.Image) != "herald" || len(s.Ports) != 0 || s.Environment["DATA_DIR"] != strings.Split(s.Volumes[0], ":")[1] {
			t.Errorf("%s: %+v", name, s)
		}
	}
	one.Volumes, two.Volumes = nil, nil
	if !slices.Equal(one.Secrets, two.Secrets) || len(one.Environment) != len(two.Environment) {
		t.Errorf("the replicas are %+v and %+v", one, two)
	}
	upstreams := matches(`(herald-\d):\d+`, read(t, "Caddyfile"))
	if !slices.Equal(upstreams, []string{"herald-1", "herald-2"}) {
		t.Errorf("Caddy asks %v", upstreams)
	}
}

func TestComposeNamesWhatItHas(t *testing.T) {
	c := loadCompose(t)
	used := map[string]bool{}
	for name, s := range c.Services {
		for _, secret := range s.Secrets {
			used[secret] = true
			if c.Secrets[secret].File != "secrets/"+secret {
				t.Errorf("%s: there is no secret %s", name, secret)
			}
		}
		for _, network := range s.Networks {
			if _, there := c.Networks[network]; !there {
				t.Errorf("%s: there is no network %s", name, network)
			}
		}
		for _, volume := range s.Volumes {
			from, _, _ := strings.Cut(volume, ":")
			if _, there := c.Volumes[from]; !there {
				if _, err := os.Stat(from); err != nil {
					t.Errorf("%s: there is no volume or file %s", name, from)
				}
			}
		}
	}
	if len(used) != len(c.Secrets) {
		t.Errorf("of the secrets %v only %v are used", c.Secrets, used)
	}
	if !c.Networks["state"].Internal || slices.Contains(c.Services["caddy"].Networks, "state") || slices.Contains(c.Services["redis"].Networks, "proxied") {
		t.Error("Redis can be reached from outside")
	}
}

func TestComposeGivesContainersNoMoreThanTheyNeed(t *testing.T) {
	for name, s := range loadCompose(t).Services {
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") || s.Memory == "" || s.Restart != "unless-stopped" {
			t.Errorf("%s: %+v", name, s)
		}
		if len(s.Ports) > 0 && name != "caddy" {
			t.Errorf("%s can be reached from outside by %v", name, s.Ports)
		}
	}
}

// TestTheRedisOfComposeTakesItsPasswordFromTheURL runs its command, on another
// port and with the secret in another place.
func TestTheRedisOfComposeTakesItsPasswordFromTheURL(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server here; Debian's package is redis-server")
	}
	const password = "0123456789abcdef0123456789abcdef"
	command := slices.Clone(loadCompose(t).Services["redis"].Command)
	addr := e2etest.FreeAddr(t)
	secret := filepath.Join(t.TempDir(), "redis_url")
	if err := os.WriteFile(secret, []byte("redis://:"+password+"@redis:6379/0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := &command[len(command)-1]
	*script = strings.ReplaceAll(*script, "/run/secrets/redis_url", secret)
	*script = strings.Replace(*script, "save \"\"", "save \"\"\nbind 127.0.0.1\nport "+addr[strings.LastIndex(addr, ":")+1:], 1)
	server := exec.CommandContext(t.Context(), command[0], command[1:]...)
	server.Dir = t.TempDir()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Wait() }) // the context's end kills it
	ask := func(password string) (string, error) {
		client := redis.NewClient(&redis.Options{Addr: addr, Password: password, MaxRetries: -1})
		defer client.Close()
		return client.ConfigGet(context.Background(), "maxmemory-policy").Val()["maxmemory-policy"], client.Ping(context.Background()).Err()
	}
	e2etest.Eventually(t, "redis-server answers", func() bool { _, err := ask(password); return err == nil })
	if policy, err := ask(password); err != nil || policy != "volatile-lru" {
		t.Errorf("%q, %v", policy, err)
	}
	if _, err := ask(""); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("without the password: %v", err)
	}
	if arguments := read(t, fmt.Sprintf("/proc/%d/cmdline", server.Process.Pid)); strings.Contains(arguments, password) {
		t.Errorf("the list of processes shows %q", arguments)
	}
}
