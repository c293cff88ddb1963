// Package deploy holds files to deploy the bot with Docker Compose, systemd and
// Kubernetes; docs/deployment.md explains them. It has tests only: they look up every
// setting, secret, port and path that a file names. internal/e2e looks up the metrics of
// the alerts and the dashboard.
package deploy

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"herald/internal/app"
	"herald/internal/config/configtest"
	"herald/internal/platform"
)

// matches returns the first group of each match, sorted.
func matches(pattern, text string) (found []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	slices.Sort(found)
	return found
}

// deployments holds patterns that find the bot's settings in each file.
var deployments = []struct {
	file     string
	settings string // name and value
	envFile  string // of further settings
	secrets  string // the name of a secret that the bot can read; empty: they are in the env file
	folder   string // where secrets are
	grace    string // seconds until the bot is killed
	proxy    string // the file that says what is called from outside; empty: nothing is
	routes   string // the paths there
	ports    string // where the proxy and the probes ask
}{
	{"compose.yaml", `environment: \{([A-Z_]+): ([^}]*)\}`, "../config.example.env", "", "", `stop_grace_period: (\d+)s`, "", "", ""},
	{"compose.replicas.yaml", `(?m)^    ([A-Z_]+): (.*)$`, "herald.example.env", `(?m)^    - ([a-z_]+)$`, "/run/secrets/", `stop_grace_period: (\d+)s`,
		"Caddyfile", `[ \t](/(?:telegram|discord)/\w+)`, `herald-\d:(\d+)`},
	{"herald.service", `(?m)^Environment=([A-Z_]+)=(.*)$`, "../config.example.env", `(?m)^LoadCredential=([a-z_]+):/etc/herald/secrets/`, "%d/",
		`TimeoutStopSec=(\d+)`, "", "", ""},
	{"kubernetes.yaml", `(?m)(?:^  |\{name: )([A-Z_]+)(?:: |, value: )"?([^}"\n]*)`, "", `(?m)^  ([a-z_]+): ""$`, "/run/secrets/herald/",
		`terminationGracePeriodSeconds: (\d+)`, "kubernetes.yaml", `- path: (\S+)`, `name: http, containerPort: (\d+)`},
}

func TestEachDeploymentNamesWhatThereIs(t *testing.T) {
	example, secretValues := configtest.Read(t, "../config.example.env"), map[string]string{}
	known := append(matches(`(?m)^#?([A-Z_]+)=`, example), "GOTRACEBACK")
	for _, found := range regexp.MustCompile(`Secret\.\n# ?(?:At the top: )?([A-Z_]+)=(?: # for example )?(\S+)`).FindAllStringSubmatch(example, -1) {
		secretValues[found[1]] = found[2]
	}
	image := slices.Compact(matches(`(?m)(?:^EXPOSE |^ENV .*HTTP_ADDR=0\.0\.0\.0:)(\d+)`, configtest.Read(t, "../Dockerfile")))
	for _, d := range deployments {
		text, dir := configtest.Read(t, d.file), t.TempDir()
		var environ, files []string
		for _, found := range regexp.MustCompile(d.settings).FindAllStringSubmatch(text, -1) {
			name, value := found[1], regexp.MustCompile(`\$\{[^}]*\}`).ReplaceAllString(found[2], "bot.example.org")
			setting, isFile := strings.CutSuffix(name, "_FILE")
			// EVM_RPC_URL need not hold a key.
			if !slices.Contains(known, setting) || !isFile && secretValues[name] != "" && name != "EVM_RPC_URL" {
				t.Errorf("%s: %s is no setting, or a secret that is not given as a file", d.file, name)
			}
			switch {
			case isFile:
				files = append(files, value)
				value = filepath.Join(dir, setting)
				if err := os.WriteFile(value, []byte(secretValues[setting]+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			case name == "DISCORD_PUBLIC_KEY":
				value = strings.Repeat("ab", 32)
			case name == "DATA_DIR":
				value = dir
			}
			environ = append(environ, name+"="+value)
		}
		if d.secrets == "" {
			environ = append(environ, "TELEGRAM_BOT_TOKEN=1:token", "PARTNER_SECRET_KEY=key")
		} else {
			secrets := matches(d.secrets, text)
			for i := range secrets {
				secrets[i] = d.folder + secrets[i]
			}
			slices.Sort(files)
			if !slices.Equal(files, secrets) || len(files) < 4 {
				t.Errorf("%s: the bot is to read %v and can read %v", d.file, files, secrets)
			}
		}
		if d.envFile == "../config.example.env" { // What is required is empty there.
			environ = append(environ, matches(`(?m)^([A-Z_]+=.*)$`, configtest.Read(t, "herald.example.env"))...)
		}
		cfg, err := app.Load(environ, d.envFile, app.ToServe)
		if err != nil {
			t.Errorf("%s: once its secrets are there: %v", d.file, err)
			continue
		}
		if d.proxy == "" {
			continue
		}
		proxy := configtest.Read(t, d.proxy)
		if got := matches(d.routes, proxy); !slices.Equal(got, []string{"/discord/interactions", cfg.Telegram.WebhookPath}) {
			t.Errorf("%s: %v can be called from outside", d.file, got)
		}
		if ports := slices.Compact(matches(d.ports, proxy)); len(image) != 1 || !slices.Equal(ports, image) {
			t.Errorf("%s: ports %v are asked, the image listens on %v", d.file, ports, image)
		}
	}
}

func TestTheUnitReadsTheFilesOfTheGuide(t *testing.T) {
	unit := configtest.Read(t, "herald.service")
	_, guide, _ := strings.Cut(configtest.Read(t, "../docs/deployment.md"), "\n## systemd\n")
	guide, _, _ = strings.Cut(guide, "\n## ")
	var made []string
	for _, name := range strings.Fields(strings.Join(matches(`for name in (.*); do`, guide), " ")) {
		made = append(made, name+":/etc/herald/secrets/"+name)
	}
	if strings.Contains(guide, "sudoedit /etc/herald/herald.env\n") && strings.Contains(guide, "sudoedit /etc/herald/secrets/$name\n") {
		made = append(made, "herald.env:/etc/herald/herald.env")
	}
	loaded := matches(`(?m)^LoadCredential=(.*)$`, unit)
	slices.Sort(made)
	if !slices.Equal(made, slices.Sorted(slices.Values(loaded))) {
		t.Errorf("the guide makes %v, the unit loads %v", made, loaded)
	}
	for _, name := range matches(`%d/(\S+)`, unit) {
		if !slices.ContainsFunc(loaded, func(l string) bool { return strings.HasPrefix(l, name+":") }) || !strings.Contains(unit, "\nWorkingDirectory=/etc/herald\n") {
			t.Errorf("the unit does not load %s, or is started elsewhere", name)
		}
	}
}

// A Go program that panics exits with status 2 by default, as one does whose settings are wrong.
func TestABotThatPanicsIsRestartedAndSeen(t *testing.T) {
	unit := configtest.Read(t, "herald.service")
	for _, line := range []string{"Restart=on-failure", "RestartPreventExitStatus=2", "Environment=GOTRACEBACK=crash", "LimitCORE=0"} {
		if !strings.Contains(unit, "\n"+line+"\n") {
			t.Errorf("the unit lacks %s", line)
		}
	}
	if strings.Contains(unit, "ProcSubset") {
		t.Error("without /proc/stat there is no process_start_time_seconds, so HeraldRestarts never fires")
	}
}

func TestContainersKeepTheirDataAndAskTheBotForItsHealth(t *testing.T) {
	image := configtest.Read(t, "../Dockerfile")
	owned, health := matches(`--chown=65532:65532 \S+ (/\S+)`, image), matches(`(?m)^HEALTHCHECK .* CMD \["(.*)"\]$`, image)
	for file, bots := range map[string]int{"compose.yaml": 1, "compose.replicas.yaml": 2} {
		text := configtest.Read(t, file)
		if folders := matches(`DATA_DIR: ([^\s}]+)`, text); !slices.Equal(folders, owned) || len(matches(`volumes: \["[a-z0-9-]+:(`+owned[0]+`)"\]`, text)) < bots {
			t.Errorf("%s: DATA_DIR is %v, and the bot's user owns %v", file, folders, owned)
		}
		if asks := matches(`healthcheck: \{test: \[CMD, ([^\]]*)\]`, text); len(asks) != 1 || len(health) != 1 || asks[0] != strings.ReplaceAll(health[0], `"`, "") {
			t.Errorf("%s: %v is run, and by the image %v", file, asks, health)
		}
	}
}

func TestEachDeploymentLetsTheBotFinish(t *testing.T) {
	for _, d := range deployments {
		text := configtest.Read(t, d.file)
		seconds, err := strconv.Atoi(matches(d.grace, text)[0])
		for _, sleep := range matches(`preStop: \{sleep: \{seconds: (\d+)`, text) {
			before, _ := strconv.Atoi(sleep)
			seconds -= before
		}
		if spare := time.Duration(seconds)*time.Second - platform.DrainTime; err != nil || spare < 3*time.Second || spare > 20*time.Second {
			t.Errorf("%s: the bot has %d s to leave, and takes up to %v", d.file, seconds, platform.DrainTime)
		}
	}
}

func TestEachFileIsYAML(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	workflows, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(workflows) < 3 {
		t.Fatal(workflows, err)
	}
	for _, file := range append(files, workflows...) {
		documents := yaml.NewDecoder(bytes.NewReader([]byte(configtest.Read(t, file))))
		for err = nil; err == nil; {
			err = documents.Decode(new(map[string]any))
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestNoDeploymentNeedsACompiler(t *testing.T) {
	guide := configtest.Read(t, "../docs/deployment.md")
	texts := map[string]string{"docs/deployment.md": guide}
	for _, d := range deployments {
		texts[d.file] = configtest.Read(t, d.file)
	}
	for file, text := range texts {
		if needs := matches(`(?m)(go build|go run|go install|--build\b|^ +build:)`, text); len(needs) > 0 {
			t.Errorf("%s has %v", file, needs)
		}
	}
	if installed, run := matches(`install -m 0755 bot (\S+)`, guide), matches(`(?m)^ExecStart=(\S+)`, texts["herald.service"]); len(run) != 1 || !slices.Equal(installed, run) {
		t.Errorf("the program is installed as %v, and the unit runs %v", installed, run)
	}
	built := matches(`\b((?:linux|darwin|windows)/(?:amd64|arm64))\b`, matches(`(?m)^for target in (.*)$`, configtest.Read(t, "../.ci/release"))[0])
	for _, target := range matches(`herald_1\.2\.3_(\w+)\.(?:tar\.gz|zip)`, configtest.Read(t, "../README.md")+guide) {
		if !slices.Contains(built, strings.Replace(target, "_", "/", 1)) {
			t.Errorf("the documents name an archive for %s, and a release has %v", target, built)
		}
	}
}

// maxExposure is ten times the exposure that systemd-analyze may find, from 0 to 96, for a
// unit without any hardening.
const maxExposure = "15"

// Where there is no systemd-analyze, nothing is tested.
func TestSystemdFindsTheUnitRightAndHardened(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		return
	}
	// It looks for the program.
	unit := filepath.Join(t.TempDir(), "herald.service")
	text := strings.Replace(configtest.Read(t, "herald.service"), "ExecStart=/usr/local/bin/herald", "ExecStart=/bin/true", 1)
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", unit}, {"security", "--offline=yes", "--threshold=" + maxExposure, unit}} {
		if out, err := exec.Command("systemd-analyze", args...).CombinedOutput(); err != nil || args[0] == "verify" && len(out) > 0 {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}
