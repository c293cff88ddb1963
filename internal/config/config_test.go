package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/secret"
)

const canary = "CANARY"

// sample is filled by its own table.
type sample struct {
	Name    string
	Key     secret.Value
	Mode    bool
	Address string
	Hook    string
	Pause   time.Duration
}

func (s *sample) table() []Setting {
	return []Setting{
		{Name: "NAME", Required: true, Example: "a-name", Set: Field(&s.Name, Visible)},
		{Name: "KEY", Secret: true, Example: "a-key", Set: Field(&s.Key, Hidden(Text))},
		{Name: "MODE", Default: "off", Example: "on", Set: Field(&s.Mode, OnOff)},
		{Name: "ADDRESS", Default: "here", Example: "there", Set: Field(&s.Address, Text)},
		{Name: "HOOK", Needs: []string{"KEY", "ADDRESS"}, Example: "a-hook", Set: Field(&s.Hook, Visible)},
		{Name: "OTHER_HOOK", Needs: []string{"ADDRESS"}, Example: "a-hook", Set: Field(&s.Hook, Visible)},
		{Name: "PAUSE", Default: "30s", Example: "1s", Set: Field(&s.Pause, Duration)},
	}
}

func readSample(envFile string, environ ...string) (sample, Errors) {
	var s sample
	given, wrong := Collect(environ, envFile)
	return s, append(wrong, given.Fill(s.table())...)
}

func mustRead(t *testing.T, envFile string, environ ...string) sample {
	t.Helper()
	s, mistakes := readSample(envFile, environ...)
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	return s
}

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhatIsNotGivenOrEmptyHasItsDefault(t *testing.T) {
	want := sample{Name: "x", Address: "here", Pause: 30 * time.Second}
	for _, environ := range [][]string{{"NAME=x"}, {"NAME=  x\t", "PAUSE= ", "KEY="}, {"NAME=x", "ADDRESS_FILE=" + write(t, "no secret")}} {
		if got := mustRead(t, "", environ...); got != want {
			t.Errorf("%q is read as %+v", environ, got)
		}
	}
}

func TestEnvironmentWinsOverEnvFile(t *testing.T) {
	file := write(t, "\ufeffNAME=file\nMODE=on\nKEY=from-the-env-file\n")
	secret := write(t, "from-a-secret-file\r\n")
	s := mustRead(t, file, "NAME=environment", "MODE=", "KEY=", "KEY_FILE="+secret)
	if s.Name != "environment" || !s.Mode || s.Key.Reveal() != "from-a-secret-file" {
		t.Errorf("read %+v", s)
	}
}

func TestMistakesNameTheSettingAndAnExample(t *testing.T) {
	hook := "KEY_FILE=" + write(t, "k")
	for _, test := range []struct {
		what    string
		environ []string
		want    []string
	}{
		{"nothing", nil, []string{"NAME: is required and not set; for example NAME=a-name"}},
		{"all at once, in order", []string{"MODE=" + canary, "NAME=" + canary + " x"},
			[]string{"NAME: must be visible ASCII characters without white space; character 7 is U+0020; for example NAME=a-name", "MODE: must be one of on, off; for example MODE=on"}},
		{"a secret twice", []string{"NAME=x", "KEY=" + canary, hook},
			[]string{"KEY: is set, and so is KEY_FILE; keep one of the two; for example KEY=a-key"}},
		{"a need that is not set", []string{"NAME=x", "HOOK=" + canary},
			[]string{"KEY: is needed by HOOK and not set; for example KEY=a-key"}},
		{"a need that is off", []string{"NAME=x", "HOOK=x", "OTHER_HOOK=x", hook, "ADDRESS=off"},
			[]string{"ADDRESS: is needed by HOOK and OTHER_HOOK and off; for example ADDRESS=there"}},
		{"a need that a file gives", []string{"NAME=x", "HOOK=x", hook}, nil},
		{"no secret file", []string{"NAME=x", "KEY_FILE=" + t.TempDir() + "/" + canary},
			[]string{"KEY: the file named by KEY_FILE cannot be opened: no such file or directory; for example KEY=a-key"}},
		{"a huge secret file", []string{"NAME=x", "KEY_FILE=" + write(t, strings.Repeat(canary, 20000))},
			[]string{"KEY: the file named by KEY_FILE is larger than 65536 bytes; for example KEY=a-key"}},
	} {
		if _, got := readSample("", test.environ...); !slices.Equal(got, test.want) {
			t.Errorf("%s: got\n%v\nwant\n%v", test.what, got, Errors(test.want))
		}
	}
}

func TestMistakesInAnEnvFileNameItsLine(t *testing.T) {
	noSecret := "KEY_FILE=" + t.TempDir() + "/" + canary
	for _, test := range []struct{ file, environ, want string }{
		{"NAME=x\nPAUSE=" + canary, "", "FILE:2: PAUSE: must be a duration"},
		{"\n# the name\nNAME= # soon", "", "FILE:3: NAME: is required and not set; for example NAME=a-name"},
		{"NAME=x\nKEY=" + canary + "\nKEY_FILE=/x", "", "FILE:2: KEY: is set, and so is KEY_FILE"},
		{"NAME=x\n" + noSecret, "", "FILE:2: KEY: the file named by KEY_FILE cannot be opened"},
		{"NAME=x\nHOOK=x", "", "FILE:2: KEY: is needed by HOOK and not set"},
		{"NAME=x\nKEY=x\nHOOK=x\nADDRESS=off", "", "FILE:4: ADDRESS: is needed by HOOK and off"},
		{"NAME=x\nKEY=x\nHOOK=x", "ADDRESS=off", "ADDRESS: is needed by HOOK and off"},
		{"NAME=x\nPAUSE=1s", "PAUSE=" + canary, "PAUSE: must be a duration"},
		{"PAUSE=1s\nNAME=x\nPAUSE=2s", "", "FILE:3: PAUSE: has another value on line 1; keep one of the two"},
	} {
		file := write(t, test.file)
		_, got := readSample(file, test.environ)
		if len(got) != 1 || !strings.HasPrefix(got[0], strings.Replace(test.want, "FILE", file, 1)) || strings.Contains(got[0], canary) {
			t.Errorf("%q: got\n%v\nwant %s", test.file, got, test.want)
		}
	}
}
