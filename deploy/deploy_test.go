// Package deploy has files for operators, to deploy the bot by Docker Compose, systemd or Kubernetes.
// docs/deployment.md explains them. The package has only tests. They read the files as text, and check the settings,
// secrets, ports and paths that the files name. The tests of internal/e2e check the metrics in the alerts and in the
// dashboard.
package deploy

import (
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

// deployment is a way to run the bot. Fields that end in Pattern are regular expressions whose first group matches a
// part of the file.
type deployment struct {
	// file is the file that runs the bot.
	file string
	// settingPattern matches a setting. Its second group is the setting's value.
	settingPattern string
	// envFile has more settings. It is "" if there is no such file.
	envFile string
	// secretPattern matches the name of a secret that the bot can read. It is "" if the secrets are in envFile.
	secretPattern string
	// secretFolder is the folder where the bot finds these secrets, with a slash at its end.
	secretFolder string
	// gracePattern matches the number of seconds from SIGTERM to SIGKILL.
	gracePattern string
	// proxyFile decides which calls from the internet reach the bot. It is "" if none do.
	proxyFile string
	// routePattern matches a path that can be called from the internet, in proxyFile.
	routePattern string
	// portPattern matches a port of the bot, in proxyFile.
	portPattern string
}

var deployments = []deployment{
	{
		file:           "compose.yaml",
		settingPattern: `environment: \{([A-Z_]+): ([^}]*)\}`,
		envFile:        exampleFile,
		gracePattern:   `stop_grace_period: (\d+)s`,
	},
	{
		file:           "compose.replicas.yaml",
		settingPattern: `(?m)^    ([A-Z_]+): (.*)$`,
		envFile:        "herald.example.env",
		secretPattern:  `(?m)^    - ([a-z_]+)$`,
		secretFolder:   "/run/secrets/",
		gracePattern:   `stop_grace_period: (\d+)s`,
		proxyFile:      "Caddyfile",
		routePattern:   `[ \t](/(?:telegram|discord)/\w+)`,
		portPattern:    `herald-\d:(\d+)`,
	},
	{
		file:           "herald.service",
		settingPattern: `(?m)^Environment=([A-Z_]+)=(.*)$`,
		envFile:        exampleFile,
		secretPattern:  `(?m)^LoadCredential=([a-z_]+):/etc/herald/secrets/`,
		secretFolder:   "%d/",
		gracePattern:   `TimeoutStopSec=(\d+)`,
	},
	{
		file:           "kubernetes.yaml",
		settingPattern: `(?m)(?:^  |\{name: )([A-Z_]+)(?:: |, value: )"?([^}"\n]*)`,
		secretPattern:  `(?m)^  ([a-z_]+): ""$`,
		secretFolder:   "/run/secrets/herald/",
		gracePattern:   `terminationGracePeriodSeconds: (\d+)`,
		proxyFile:      "kubernetes.yaml",
		routePattern:   `- path: (\S+)`,
		portPattern:    `name: http, containerPort: (\d+)`,
	},
}

// exampleFile lists all settings, with their defaults and examples.
const exampleFile = "../config.example.env"

// matches returns the first group of each match of a pattern in a text, sorted.
func matches(pattern, text string) (found []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	slices.Sort(found)
	return found
}

// forEachDeployment runs a test for each deployment. text is the content of its file.
func forEachDeployment(t *testing.T, test func(t *testing.T, d deployment, text string)) {
	for _, d := range deployments {
		t.Run(d.file, func(t *testing.T) { test(t, d, configtest.Read(t, d.file)) })
	}
}

// setting is a setting in the file of a deployment.
type setting struct {
	name string
	// value is the setting's value or, if isFile is set, the path of the file with the value.
	value  string
	isFile bool
}

// settings returns the settings in the file of a deployment. It replaces variables such as ${HOST} by bot.example.org.
func (d deployment) settings(text string) (settings []setting) {
	variable := regexp.MustCompile(`\$\{[^}]*\}`)
	for _, match := range regexp.MustCompile(d.settingPattern).FindAllStringSubmatch(text, -1) {
		name, isFile := strings.CutSuffix(match[1], "_FILE")
		settings = append(settings, setting{
			name:   name,
			value:  variable.ReplaceAllString(match[2], "bot.example.org"),
			isFile: isFile,
		})
	}
	return settings
}

// exampleSecrets returns the secret settings and their examples.
func exampleSecrets(t *testing.T) map[string]string {
	t.Helper()
	examples := map[string]string{}
	secret := regexp.MustCompile(`Secret\.\n# ?(?:At the top: )?([A-Z_]+)=(?: # for example )?(\S+)`)
	for _, match := range secret.FindAllStringSubmatch(configtest.Read(t, exampleFile), -1) {
		examples[match[1]] = match[2]
	}
	return examples
}

func TestDeploymentsNameOnlySettingsAndHaveSecretsInFiles(t *testing.T) {
	known := append(matches(`(?m)^#?([A-Z_]+)=`, configtest.Read(t, exampleFile)), "GOTRACEBACK")
	secrets := exampleSecrets(t)
	forEachDeployment(t, func(t *testing.T, d deployment, text string) {
		for _, s := range d.settings(text) {
			if !slices.Contains(known, s.name) {
				t.Errorf("%s is not a setting", s.name)
			}
			// EVM_RPC_URL need not contain a key.
			if secrets[s.name] != "" && !s.isFile && s.name != "EVM_RPC_URL" {
				t.Errorf("%s is a secret, and not given as a file", s.name)
			}
		}
	})
}

func TestSettingsNameExactlyTheReadableSecretFiles(t *testing.T) {
	forEachDeployment(t, func(t *testing.T, d deployment, text string) {
		if d.secretPattern == "" {
			t.Skip("its secrets are in the env file")
		}
		var named []string
		for _, s := range d.settings(text) {
			if s.isFile {
				named = append(named, s.value)
			}
		}
		slices.Sort(named)
		readable := matches(d.secretPattern, text)
		for i := range readable {
			readable[i] = d.secretFolder + readable[i]
		}
		slices.Sort(readable)
		if !slices.Equal(named, readable) || len(named) < 4 {
			t.Errorf("the settings name %v, and the bot can read %v", named, readable)
		}
	})
}

// load loads the settings of a deployment as the bot does, with examples of the secrets.
func (d deployment) load(t *testing.T, text string) *app.Config {
	t.Helper()
	dir := t.TempDir()
	secrets := exampleSecrets(t)
	var environ []string
	for _, s := range d.settings(text) {
		switch {
		case s.isFile:
			file := filepath.Join(dir, s.name)
			if err := os.WriteFile(file, []byte(secrets[s.name]+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			environ = append(environ, s.name+"_FILE="+file)
		case s.name == "DISCORD_PUBLIC_KEY":
			environ = append(environ, s.name+"="+strings.Repeat("ab", 32))
		case s.name == "DATA_DIR":
			environ = append(environ, s.name+"="+dir)
		default:
			environ = append(environ, s.name+"="+s.value)
		}
	}
	if d.secretPattern == "" {
		environ = append(environ, "TELEGRAM_BOT_TOKEN=1:token", "PARTNER_SECRET_KEY=key")
	}
	if d.envFile == exampleFile { // The required settings are empty there.
		filled := configtest.Read(t, "herald.example.env")
		environ = append(environ, matches(`(?m)^([A-Z_]+=.*)$`, filled)...)
	}
	cfg, err := app.Load(environ, d.envFile, app.ToServe)
	if err != nil {
		t.Fatalf("the settings do not load, even with secrets: %v", err)
	}
	return cfg
}

func TestTheSettingsOfEachDeploymentLoadWithSecrets(t *testing.T) {
	forEachDeployment(t, func(t *testing.T, d deployment, text string) { d.load(t, text) })
}

func TestOnlyWebhooksCanBeCalledFromTheInternet(t *testing.T) {
	dockerfile := configtest.Read(t, "../Dockerfile")
	imagePorts := slices.Compact(matches(`(?m)(?:^EXPOSE |^ENV .*HTTP_ADDR=0\.0\.0\.0:)(\d+)`, dockerfile))
	if len(imagePorts) != 1 {
		t.Fatalf("the image listens on the ports %v, want one", imagePorts)
	}
	forEachDeployment(t, func(t *testing.T, d deployment, text string) {
		if d.proxyFile == "" {
			t.Skip("nothing can be called from the internet")
		}
		proxy := configtest.Read(t, d.proxyFile)
		webhooks := []string{"/discord/interactions", d.load(t, text).Telegram.WebhookPath}
		if got := matches(d.routePattern, proxy); !slices.Equal(got, webhooks) {
			t.Errorf("%v can be called from the internet, want %v", got, webhooks)
		}
		if ports := slices.Compact(matches(d.portPattern, proxy)); !slices.Equal(ports, imagePorts) {
			t.Errorf("the proxy calls the ports %v, and the image listens on %v", ports, imagePorts)
		}
	})
}

// filesOfGuide returns the files that an operator makes according to the section on systemd in docs/deployment.md, in
// the form of LoadCredential: "NAME:PATH".
func filesOfGuide(t *testing.T) (made []string) {
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

func TestTheSystemdUnitLoadsTheFilesOfTheGuide(t *testing.T) {
	unit := configtest.Read(t, "herald.service")
	loaded := matches(`(?m)^LoadCredential=(.*)$`, unit)
	if made := filesOfGuide(t); !slices.Equal(made, loaded) {
		t.Errorf("the guide makes %v, the unit loads %v", made, loaded)
	}
	for _, name := range matches(`%d/(\S+)`, unit) {
		isName := func(credential string) bool { return strings.HasPrefix(credential, name+":") }
		if !slices.ContainsFunc(loaded, isName) {
			t.Errorf("the unit does not load %s", name)
		}
	}
	if !strings.Contains(unit, "\nWorkingDirectory=/etc/herald\n") {
		t.Error("the unit does not start in /etc/herald")
	}
}

// The bot exits with status 2 if its settings are invalid, and systemd must not restart it then. By default, a Go
// program that panics also exits with status 2. With GOTRACEBACK=crash, a panic ends the bot by a signal instead.
func TestABotThatPanicsIsRestartedAndCounted(t *testing.T) {
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

// composeFiles maps each file for Docker Compose to the number of bots that it runs.
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

func TestEachDeploymentGivesTheBotTimeToStop(t *testing.T) {
	forEachDeployment(t, func(t *testing.T, d deployment, text string) {
		seconds, err := strconv.Atoi(matches(d.gracePattern, text)[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, sleep := range matches(`preStop: \{sleep: \{seconds: (\d+)`, text) {
			beforeSIGTERM, err := strconv.Atoi(sleep) // Kubernetes counts it as a part of the grace period.
			if err != nil {
				t.Fatal(err)
			}
			seconds -= beforeSIGTERM
		}
		spare := time.Duration(seconds)*time.Second - platform.DrainTime
		if spare < 3*time.Second || spare > 20*time.Second {
			t.Errorf("the bot has %d s to stop, and takes up to %v", seconds, platform.DrainTime)
		}
	})
}

func TestYAMLFilesAreValid(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	workflows, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(workflows) < 3 {
		t.Fatal(workflows, err)
	}
	for _, file := range append(files, workflows...) {
		documents := yaml.NewDecoder(strings.NewReader(configtest.Read(t, file)))
		var err error
		for err == nil {
			err = documents.Decode(new(map[string]any))
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestNoDeploymentCompilesTheBot(t *testing.T) {
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

func TestTheSystemdUnitRunsTheProgramOfTheGuide(t *testing.T) {
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

// maxExposure is ten times the maximum exposure that systemd-analyze may find: 15 is an exposure of 1.5. A unit without
// any hardening has 9.6.
const maxExposure = "15"

func TestSystemdFindsTheUnitValidAndHardened(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip(err)
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
