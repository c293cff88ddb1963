// Package deploy is ways to deploy the bot: files of Docker Compose, systemd and
// Kubernetes, as docs/deployment.md explains them. Its tests read each file and
// look up every setting, secret, port, path and image that it names, and serve a
// bot by what it says.
package deploy

import (
	"bytes"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"herald/internal/app"
	"herald/internal/app/e2e/e2etest"
	"herald/internal/chat"
	"herald/internal/discord/discordtest"
	"herald/internal/telegram/telegramtest"
)

// deployment is what one file has the bot run with.
type deployment struct {
	// environ are the settings, by name.
	environ map[string]string
	// secrets are the paths of the secrets that the bot can read.
	secrets []string
	// envFile is the file of further settings.
	envFile string
	// stopsWithin is how long the bot has to leave.
	stopsWithin time.Duration
	// routes are the paths by which it can be called from outside, and probes
	// those that are asked within.
	routes, probes []string
	// port is where that is.
	port string
}

// deployments are those of this folder by the file's name.
func deployments(t *testing.T) map[string]deployment {
	t.Helper()
	return map[string]deployment{"compose.yaml": readCompose(t), "herald.service": readUnit(t), "kubernetes.yaml": readManifests(t)}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// decode reads YAML. A member that into does not have is passed over.
func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// matches are the first groups of all matches.
func matches(pattern, text string) (found []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

// secretValues are values that each secret could have.
var secretValues = map[string]string{
	"TELEGRAM_BOT_TOKEN": telegramtest.Token, "TELEGRAM_WEBHOOK_SECRET": e2etest.WebhookSecret, "DISCORD_BOT_TOKEN": "token",
	"PARTNER_SECRET_KEY": "key", "PRICE_API_KEY": "key", "REDIS_URL": "redis://:password@redis:6379/0",
}

// filledIn is the environment of a deployment with all of its secrets, in files
// of their own.
func (d deployment) filledIn(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	environ := maps.Clone(d.environ)
	for name, path := range environ {
		if secret, isFile := strings.CutSuffix(name, "_FILE"); isFile {
			environ[name] = filepath.Join(dir, filepath.Base(path))
			if err := os.WriteFile(environ[name], []byte(secretValues[secret]+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, byHTTP := environ["DISCORD_PUBLIC_KEY"]; byHTTP {
		environ["DISCORD_PUBLIC_KEY"] = strings.Repeat("ab", 32)
	}
	var list []string
	for name, value := range environ {
		list = append(list, name+"="+value)
	}
	return list
}

func TestEachDeploymentNamesSettingsThatThereAre(t *testing.T) {
	settings := matches(`(?m)^#?([A-Z_]+)=`, read(t, "../config.example.env"))
	for file, d := range deployments(t) {
		names := slices.Collect(maps.Keys(d.environ))
		if d.envFile != "" {
			names = append(names, matches(`(?m)^#?([A-Z_]+)=`, read(t, d.envFile))...)
		}
		for _, name := range names {
			if !slices.Contains(settings, strings.TrimSuffix(name, "_FILE")) {
				t.Errorf("%s: %s is no setting", file, name)
			}
		}
		for name := range secretValues {
			if _, inTheOpen := d.environ[name]; inTheOpen {
				t.Errorf("%s: %s is not given as a file", file, name)
			}
		}
		if len(names) < 8 {
			t.Errorf("%s: only %v are found", file, names)
		}
	}
}

func TestEachDeploymentHasTheSecretsThatItNames(t *testing.T) {
	for file, d := range deployments(t) {
		var named []string
		for name, path := range d.environ {
			if strings.HasSuffix(name, "_FILE") {
				named = append(named, path)
			}
		}
		slices.Sort(named)
		slices.Sort(d.secrets)
		if !slices.Equal(named, d.secrets) || len(named) == 0 {
			t.Errorf("%s: the bot is to read %v and can read %v", file, named, d.secrets)
		}
	}
}

func TestEachDeploymentIsCompleteOnceItsSecretsAreThere(t *testing.T) {
	for file, d := range deployments(t) {
		if _, err := app.LoadToServe(d.filledIn(t), d.envFile); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestEachDeploymentLetsTheBotFinish(t *testing.T) {
	for file, d := range deployments(t) {
		if spare := d.stopsWithin - chat.DrainTime; spare < 3*time.Second || spare > 20*time.Second {
			t.Errorf("%s: the bot has %v to leave, and takes up to %v", file, d.stopsWithin, chat.DrainTime)
		}
	}
}

// TestEachDeploymentReachesTheBot serves a bot by each file's settings, beside
// fakes of the platforms, and calls what the file calls.
func TestEachDeploymentReachesTheBot(t *testing.T) {
	image := read(t, "../Dockerfile")
	exposed := matches(`(?m)^EXPOSE (\d+)$`, image)
	listens := matches(`(?m)^ENV .*HTTP_ADDR=0\.0\.0\.0:(\d+)`, image)
	if len(exposed) != 1 || !slices.Equal(exposed, listens) {
		t.Fatalf("the image exposes %v and listens on %v", exposed, listens)
	}
	world, telegram, discord := e2etest.Sandbox(t), telegramtest.New(t), discordtest.New()
	t.Cleanup(discord.Close)
	for file, d := range deployments(t) {
		if d.port != "" && d.port != exposed[0] {
			t.Errorf("%s: asks port %s, the image listens on %s", file, d.port, exposed[0])
		}
		instead := append(e2etest.Settings(world), "TELEGRAM_API_URL="+telegram.URL, "DISCORD_API_URL="+discord.URL(),
			"DISCORD_BOT_TOKEN="+discord.Token, "REDIS_URL=", "DATA_DIR=")
		if _, byHTTP := d.environ["DISCORD_PUBLIC_KEY"]; byHTTP {
			instead = append(instead, "DISCORD_PUBLIC_KEY="+hex.EncodeToString(discord.PublicKey))
		}
		settings := slices.DeleteFunc(d.filledIn(t), func(setting string) bool {
			name, _, _ := strings.Cut(setting, "=")
			return slices.ContainsFunc(instead, func(s string) bool { return strings.HasPrefix(s, strings.TrimSuffix(name, "_FILE")+"=") })
		})
		bot := e2etest.Serve(t, slices.Concat(settings, instead), io.Discard)
		bot.AwaitReady(t)
		status := func(method, path string) int {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), method, bot.URL+path, bytes.NewReader(nil))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			return resp.StatusCode
		}
		for _, path := range d.routes {
			if got := status(http.MethodPost, path); got != http.StatusUnauthorized {
				t.Errorf("%s: an unsigned POST to %s has status %d", file, path, got)
			}
		}
		for _, path := range d.probes {
			if got := status(http.MethodGet, path); got != http.StatusOK {
				t.Errorf("%s: %s has status %d", file, path, got)
			}
		}
		want := 0
		if d.port != "" {
			want = 2
		}
		if len(d.routes) != want {
			t.Errorf("%s: %v can be called from outside, want %d paths", file, d.routes, want)
		}
		bot.Stop()
	}
}
