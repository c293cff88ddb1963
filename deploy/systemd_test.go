package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Where systemd puts what the unit names by %d and %S.
const credentials, states = "/run/credentials/herald.service", "/var/lib"

func readUnit(t *testing.T) deployment {
	t.Helper()
	unit := read(t, "herald.service")
	d := deployment{environ: map[string]string{}, envFile: "herald.example.env"}
	for _, line := range matches(`(?m)^Environment=(.*)$`, unit) {
		name, value, _ := strings.Cut(line, "=")
		d.environ[name] = strings.NewReplacer("%d", credentials, "%S", states).Replace(value)
	}
	for _, line := range matches(`(?m)^LoadCredential=(.*)$`, unit) {
		name, file, _ := strings.Cut(line, ":")
		if file != "/etc/herald/secrets/"+name {
			t.Errorf("the credential %s is in %s", name, file)
		}
		d.secrets = append(d.secrets, credentials+"/"+name)
	}
	stop, err := time.ParseDuration(matches(`(?m)^TimeoutStopSec=(.*)$`, unit)[0] + "s")
	if err != nil {
		t.Fatal(err)
	}
	d.stopsWithin = stop
	return d
}

func TestTheUnitIsNotStartedAgainWithWrongSettings(t *testing.T) {
	unit := read(t, "herald.service")
	for _, line := range []string{"Restart=on-failure", "RestartPreventExitStatus=2", "DynamicUser=yes", "Environment=DATA_DIR=%S/herald", "StateDirectory=herald"} {
		if !strings.Contains(unit, "\n"+line+"\n") {
			t.Errorf("the unit lacks %s", line)
		}
	}
}

// mostExposed is ten times the exposure that systemd-analyze may find: 0 is
// none, 96 that of a unit without any hardening.
const mostExposed = "15"

func TestSystemdFindsTheUnitRightAndHardened(t *testing.T) {
	if out, err := exec.Command("systemd-analyze", "--version").CombinedOutput(); err != nil {
		t.Skipf("there is no systemd-analyze here: %v %s", err, out)
	}
	// It looks for the program.
	unit := filepath.Join(t.TempDir(), "herald.service")
	text := strings.Replace(read(t, "herald.service"), "ExecStart=/usr/local/bin/herald", "ExecStart=/bin/true", 1)
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", unit}, {"security", "--offline=yes", "--threshold=" + mostExposed, unit}} {
		out, err := exec.Command("systemd-analyze", args...).CombinedOutput()
		if err != nil {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
		if args[0] == "verify" && len(out) > 0 {
			t.Errorf("systemd-analyze verify says:\n%s", out)
		}
	}
}
