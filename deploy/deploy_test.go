// Package deploy holds files to deploy the bot with Docker Compose, systemd and Kubernetes;
// docs/deployment.md explains them. The package has only tests: they check every setting, secret, port
// and path that a file names. internal/e2e checks the metrics of the alerts and the dashboard.
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

// deployment is a file that runs the bot, and patterns that find in it what the bot is given.
type deployment struct {
	file     string
	settings string // names and values of settings
	envFile  string // the file of further settings; "": none
	secrets  string // names of the secrets that the bot can read; "": they are in envFile
	folder   string // where these are, with a final slash
	grace    string // seconds from SIGTERM to SIGKILL
	proxy    string // the file that says what can be called from outside; "": nothing can
	routes   string // paths in proxy
	ports    string // ports of the bot in proxy
}

var deployments = []deployment{
	{
		file:     "compose.yaml",
		settings: `environment: \{([A-Z_]+): ([^}]*)\}`,
		envFile:  exampleFile,
		grace:    `stop_grace_period: (\d+)s`,
	},
	{
		file:     "compose.replicas.yaml",
		settings: `(?m)^    ([A-Z_]+): (.*)$`,
		envFile:  "herald.example.env",
		secrets:  `(?m)^    - ([a-z_]+)$`,
		folder:   "/run/secrets/",
		grace:    `stop_grace_period: (\d+)s`,
		proxy:    "Caddyfile",
		routes:   `[ \t](/(?:telegram|discord)/\w+)`,
		ports:    `herald-\d:(\d+)`,
	},
	{
		file:     "herald.service",
		settings: `(?m)^Environment=([A-Z_]+)=(.*)$`,
		envFile:  exampleFile,
		secrets:  `(?m)^LoadCredential=([a-z_]+):/etc/herald/secrets/`,
		folder:   "%d/",
		grace:    `TimeoutStopSec=(\d+)`,
	},
	{
		file:     "kubernetes.yaml",
		settings: `(?m)(?:^  |\{name: )([A-Z_]+)(?:: |, value: )"?([^}"\n]*)`,
		secrets:  `(?m)^  ([a-z_]+): ""$`,
		folder:   "/run/secrets/herald/",
		grace:    `terminationGracePeriodSeconds: (\d+)`,
		proxy:    "kubernetes.yaml",
		routes:   `- path: (\S+)`,
		ports:    `name: http, containerPort: (\d+)`,
	},
}

const exampleFile = "../config.example.env"

// forEachDeployment runs a test of each deployment, given the content of its file.
func forEachDeployment(t *testing.T, test func(t *testing.T, d deployment, text string)) {
	for _, d := range deployments {
		t.Run(d.file, func(t *testing.T) { test(t, d, configtest.Read(t, d.file)) })
	}
}

// value is a setting and its value in a deployment, or a secret and the path of its file.
type value struct {
	name   string
	text   string
	isFile bool
}

// values returns what a deployment gives the bot. Variables of the deployment are replaced.
func (d deployment) values(text string) (values []value) {
	variable := regexp.MustCompile(`\$\{[^}]*\}`)
	for _, match := range regexp.MustCompile(d.settings).FindAllStringSubmatch(text, -1) {
		name, isFile := strings.CutSuffix(match[1], "_FILE")
		values = append(values, value{
			name:   name,
			text:   variable.ReplaceAllString(match[2], "bot.example.org"),
			isFile: isFile,
		})
	}
	return values
}

// exampleSecrets returns the example of each secret setting.
func exampleSecrets(t *testing.T) map[string]string {
	t.Helper()
	examples := map[string]string{}
	secret := regexp.MustCompile(`Secret\.\n# ?(?:At the top: )?([A-Z_]+)=(?: # for example )?(\S+)`)
	for _, match := range secret.FindAllStringSubmatch(configtest.Read(t, exampleFile), -1) {
		examples[match[1]] = match[2]
	}
	return examples
}

func TestEachDeploymentNamesSettings(t *testing.T) {
	known := append(matches(`(?m)^#?([A-Z_]+)=`, configtest.Read(t, exampleFile)), "GOTRACEBACK")
	secrets := exampleSecrets(t)
	forEachDeployment(t, func(t *testing.T, d deployment, text string) {
		for _, v := range d.values(text) {
			if !slices.Contains(known, v.name) {
				t.Errorf("%s is not a setting", v.name)
			}
			// EVM_RPC_URL need not contain a key.
			if secrets[v.name] != "" && !v.isFile && v.name != "EVM_RPC_URL" {
				t.Errorf("%s is a secret, and not given as a file", v.name)
			}
		}
	})
}

func TestTheBotCanReadExactlyTheSecretsThatItIsGiven(t *testing.T) {
	forEachDeployment(t, func(t *testing.T, d deployment, text string) {
		if d.secrets == "" {
			t.Skip("its secrets are in the env file")
		}
		var given []string
		for _, v := range d.values(text) {
			if v.isFile {
				given = append(given, v.text)
			}
		}
		slices.Sort(given)
		readable := matches(d.secrets, text)
		for i := range readable {
			readable[i] = d.folder + readable[i]
		}
		slices.Sort(readable)
		if !slices.Equal(given, readable) || len(given) < 4 {
			t.Errorf("the bot is given %v and can read %v", given, readable)
		}
	})
}

// load loads the settings of a deployment, with its secrets filled in.
func (d deployment) load(t *testing.T, text string) *app.Config {
	t.Helper()
	dir := t.TempDir()
	secrets := exampleSecrets(t)
	var environ []string
	for _, v := range d.values(text) {
		switch {
		case v.isFile:
			file := filepath.Join(dir, v.name)
			if err := os.WriteFile(file, []byte(secrets[v.name]+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			environ = append(environ, v.name+"_FILE="+file)
		case v.name == "DISCORD_PUBLIC_KEY":
			environ = append(environ, v.name+"="+strings.Repeat("ab", 32))
		case v.name == "DATA_DIR":
			environ = append(environ, v.name+"="+dir)
		default:
			environ = append(environ, v.name+"="+v.text)
		}
	}
	if d.secrets == "" {
		environ = append(environ, "TELEGRAM_BOT_TOKEN=1:token", "PARTNER_SECRET_KEY=key")
	}
	if d.envFile == exampleFile { // The required settings are empty there.
		filled := configtest.Read(t, "herald.example.env")
		environ = append(environ, matches(`(?m)^([A-Z_]+=.*)$`, filled)...)
	}
	cfg, err := app.Load(environ, d.envFile, app.ToServe)
	if err != nil {
		t.Fatalf("once its secrets are filled in: %v", err)
	}
	return cfg
}

func TestEachDeploymentLoadsOnceItsSecretsAreFilledIn(t *testing.T) {
	forEachDeployment(t, func(t *testing.T, d deployment, text string) { d.load(t, text) })
}

func TestOnlyWebhooksCanBeCalledFromOutside(t *testing.T) {
	dockerfile := configtest.Read(t, "../Dockerfile")
	image := slices.Compact(matches(`(?m)(?:^EXPOSE |^ENV .*HTTP_ADDR=0\.0\.0\.0:)(\d+)`, dockerfile))
	if len(image) != 1 {
		t.Fatalf("the image listens on the ports %v, want one", image)
	}
	forEachDeployment(t, func(t *testing.T, d deployment, text string) {
		if d.proxy == "" {
			t.Skip("nothing can be called from outside")
		}
		proxy := configtest.Read(t, d.proxy)
		webhooks := []string{"/discord/interactions", d.load(t, text).Telegram.WebhookPath}
		if got := matches(d.routes, proxy); !slices.Equal(got, webhooks) {
			t.Errorf("%v can be called from outside, want %v", got, webhooks)
		}
		if ports := slices.Compact(matches(d.ports, proxy)); !slices.Equal(ports, image) {
			t.Errorf("the ports %v are called, the image listens on %v", ports, image)
		}
	})
}

// madeByGuide returns the files that the guide to systemd says to make, in the form of LoadCredential.
func madeByGuide(t *testing.T) (made []string) {
	t.Helper()
	_, guide, _ := strings.Cut(configtest.Read(t, "../docs/deployment.md"), "\n## systemd\n")
	guide, _, _ = strings.Cut(guide, "\n## ")
	for _, edited := range []string{"/etc/herald/herald.env", "/etc/herald/secrets/$name"} {
		if !strings.Contains(guide, "sudoedit "+edited+"\n") {
			t.Errorf("the guide does not edit %s", edited)
		}
	}
	for _, names := range matches(`for name in (.*); do`, guide) {
		for _, name := range strings.Fields(names) {
			made = append(made, name+":/etc/herald/secrets/"+name)
		}
	}
	made = append(made, "herald.env:/etc/herald/herald.env")
	slices.Sort(made)
	return made
}

func TestTheUnitReadsTheFilesOfTheGuide(t *testing.T) {
	unit := configtest.Read(t, "herald.service")
	loaded := matches(`(?m)^LoadCredential=(.*)$`, unit)
	if made := madeByGuide(t); !slices.Equal(made, loaded) {
		t.Errorf("the guide makes %v, the unit loads %v", made, loaded)
	}
	for _, name := range matches(`%d/(\S+)`, unit) {
		if !slices.ContainsFunc(loaded, func(l string) bool { return strings.HasPrefix(l, name+":") }) {
			t.Errorf("the unit does not load %s", name)
		}
	}
	if !strings.Contains(unit, "\nWorkingDirectory=/etc/herald\n") {
		t.Error("the unit does not start in /etc/herald")
	}
}

// A Go program that panics exits with status 2 by default, the status for invalid settings.
func TestABotThatPanicsIsRestartedAndSeen(t *testing.T) {
	unit := configtest.Read(t, "herald.service")
	for _, line := range []string{
		"Restart=on-failure",
		"RestartPreventExitStatus=2",
		"Environment=GOTRACEBACK=crash",
		"LimitCORE=0",
	} {
		if !strings.Contains(unit, "\n"+line+"\n") {
			t.Errorf("the unit lacks %s", line)
		}
	}
	if strings.Contains(unit, "ProcSubset") {
		t.Error("without /proc/stat there is no process_start_time_seconds, so HeraldRestarts never fires")
	}
}

// composeFiles lists the files for Docker Compose, and how many bots each runs.
var composeFiles = map[string]int{"compose.yaml": 1, "compose.replicas.yaml": 2}

func TestContainersKeepTheirDataInAVolume(t *testing.T) {
	owned := matches(`--chown=65532:65532 \S+ (/\S+)`, configtest.Read(t, "../Dockerfile"))
	if len(owned) != 1 {
		t.Fatalf("the bot's user owns %v, want one folder", owned)
	}
	for file, bots := range composeFiles {
		text := configtest.Read(t, file)
		if folders := matches(`DATA_DIR: ([^\s}]+)`, text); !slices.Equal(folders, owned) {
			t.Errorf("%s: DATA_DIR is %v, and the bot's user owns %v", file, folders, owned)
		}
		volumes := matches(`volumes: \["[a-z0-9-]+:(`+owned[0]+`)"\]`, text)
		if len(volumes) < bots {
			t.Errorf("%s: %d volumes at %s for %d bots", file, len(volumes), owned[0], bots)
		}
	}
}

func TestContainersCheckTheirHealthAsTheImageDoes(t *testing.T) {
	health := matches(`(?m)^HEALTHCHECK .* CMD \["(.*)"\]$`, configtest.Read(t, "../Dockerfile"))
	if len(health) != 1 {
		t.Fatalf("the image has %d health checks", len(health))
	}
	want := strings.ReplaceAll(health[0], `"`, "")
	for file := range composeFiles {
		checks := matches(`healthcheck: \{test: \[CMD, ([^\]]*)\]`, configtest.Read(t, file))
		if !slices.Equal(checks, []string{want}) {
			t.Errorf("%s: %v is run, want %s", file, checks, want)
		}
	}
}

func TestEachDeploymentLetsTheBotFinish(t *testing.T) {
	forEachDeployment(t, func(t *testing.T, d deployment, text string) {
		seconds, err := strconv.Atoi(matches(d.grace, text)[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, sleep := range matches(`preStop: \{sleep: \{seconds: (\d+)`, text) {
			before, err := strconv.Atoi(sleep)
			if err != nil {
				t.Fatal(err)
			}
			seconds -= before
		}
		spare := time.Duration(seconds)*time.Second - platform.DrainTime
		if spare < 3*time.Second || spare > 20*time.Second {
			t.Errorf("the bot has %d s to leave, and takes up to %v", seconds, platform.DrainTime)
		}
	})
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
	texts := map[string]string{"docs/deployment.md": configtest.Read(t, "../docs/deployment.md")}
	for _, d := range deployments {
		texts[d.file] = configtest.Read(t, d.file)
	}
	for file, text := range texts {
		if needs := matches(`(?m)(go build|go run|go install|--build\b|^ +build:)`, text); len(needs) > 0 {
			t.Errorf("%s has %v", file, needs)
		}
	}
}

func TestTheUnitRunsTheProgramThatTheGuideInstalls(t *testing.T) {
	installed := matches(`install -m 0755 bot (\S+)`, configtest.Read(t, "../docs/deployment.md"))
	run := matches(`(?m)^ExecStart=(\S+)`, configtest.Read(t, "herald.service"))
	if len(run) != 1 || !slices.Equal(installed, run) {
		t.Errorf("the program is installed as %v, and the unit runs %v", installed, run)
	}
}

func TestDocumentsNameArchivesThatAReleaseHas(t *testing.T) {
	targets := matches(`(?m)^for target in (.*)$`, configtest.Read(t, "../.ci/release"))
	built := matches(`\b((?:linux|darwin|windows)/(?:amd64|arm64))\b`, targets[0])
	documents := configtest.Read(t, "../README.md") + configtest.Read(t, "../docs/deployment.md")
	for _, target := range matches(`herald_1\.2\.3_(\w+)\.(?:tar\.gz|zip)`, documents) {
		if !slices.Contains(built, strings.Replace(target, "_", "/", 1)) {
			t.Errorf("the documents name an archive for %s, and a release has %v", target, built)
		}
	}
}

// maxExposure is ten times the exposure that systemd-analyze may find: from 0 to 96, for a unit without any
// hardening.
const maxExposure = "15"

func TestSystemdFindsTheUnitValidAndHardened(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		return // Nothing is tested without it.
	}
	unit := filepath.Join(t.TempDir(), "herald.service")
	text := configtest.Read(t, "herald.service")
	// systemd-analyze looks for the program.
	text = strings.Replace(text, "ExecStart=/usr/local/bin/herald", "ExecStart=/bin/true", 1)
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("systemd-analyze", "verify", unit).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	security := []string{"security", "--offline=yes", "--threshold=" + maxExposure, unit}
	out, err = exec.Command("systemd-analyze", security...).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}
