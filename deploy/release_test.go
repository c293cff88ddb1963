package deploy

import (
	"archive/zip"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"herald/internal/config/configtest"
)

var releaseTargets = flag.String("release", "", `build archives for these targets, such as "linux/amd64 windows/amd64"`)

// run runs a command in dir and returns its exit code and what it printed. It skips the
// test where there is no such program.
func run(t *testing.T, dir string, environ []string, name string, args ...string) (code int, printed string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), environ...)
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip(err)
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// must runs a command in dir and returns what it printed. The test fails if it fails.
func must(t *testing.T, dir string, environ []string, name string, args ...string) string {
	t.Helper()
	code, printed := run(t, dir, environ, name, args...)
	if code != 0 {
		t.Fatalf("%s %q: exit code %d\n%s", name, args, code, printed)
	}
	return strings.TrimSpace(printed)
}

// repository returns a new git repository with one commit, which holds .ci.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, ".ci"), os.DirFS("../.ci")); err != nil {
		t.Fatal(err)
	}
	must(t, dir, nil, "git", "init", "-q")
	must(t, dir, nil, "git", "add", "-A")
	must(t, dir, nil, "git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false", "commit", "-qm", "first")
	return dir
}

func TestAReleaseRefusesWhatIsNoVersion(t *testing.T) {
	dir := repository(t)
	for _, version := range []string{"", "v", "1.2", "1.2.3.4", "vv1.2.3", "01.2.3", "1.2.3-rc.1", "1.2.3\n4", "latest", "--help"} {
		if code, printed := run(t, dir, nil, ".ci/release", version); code != 2 || !strings.Contains(printed, "For example: .ci/release 1.2.3") {
			t.Errorf("%q: exit code %d\n%s", version, code, printed)
		}
	}
}

func TestAReleaseRefusesWhatIsNotCommitted(t *testing.T) {
	dir := repository(t)
	if err := os.WriteFile(filepath.Join(dir, "new.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, printed := run(t, dir, nil, ".ci/release", "v1.2.3"); code != 1 || !strings.Contains(printed, "Commit these first") || !strings.Contains(printed, "new.go") {
		t.Errorf("exit code %d\n%s", code, printed)
	}
}

func TestAnOlderReleaseMovesNoImageTagBack(t *testing.T) {
	dir := repository(t)
	for _, tag := range []string{"v1.2.3", "v1.2.10", "v1.10.0", "v2.0.0", "v2.0.1-rc.1", "v11.0.0-rc.1", "vendor", "9.9.9"} {
		must(t, dir, nil, "git", "tag", tag)
	}
	for version, want := range map[string]string{
		"v1.2.3": "1.2.3", "v1.2.10": "1.2.10 1.2", "1.10.0": "1.10.0 1.10 1", "v2.0.0": "2.0.0 2.0 2 latest",
	} {
		if got := strings.Fields(must(t, dir, nil, ".ci/image-tags", version)); strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", version, got, want)
		}
	}
}

// build builds version 1.2.3 of what is committed, in a clone of its own, and returns the
// folder with the archives.
func build(t *testing.T, umask, zone string) (folder string) {
	t.Helper()
	clone, out := t.TempDir(), t.TempDir()
	must(t, "..", nil, "git", "clone", "-q", ".", clone)
	targets := *releaseTargets
	if targets == "all" {
		targets = ""
	}
	must(t, clone, []string{"TZ=" + zone, "TARGETS=" + targets}, "bash", "-c", `umask "$0" && .ci/release v1.2.3 "$1"`, umask, out)
	return out
}

// unpack returns what is in an archive. In a tar file, all must belong to user 0 and group 0,
// without their names.
func unpack(t *testing.T, archive string) fs.FS {
	t.Helper()
	if strings.HasSuffix(archive, ".zip") {
		files, err := zip.OpenReader(archive)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { files.Close() })
		return files
	}
	for line := range strings.Lines(must(t, "", nil, "tar", "-tvzf", archive)) {
		if !strings.Contains(line, " 0/0 ") {
			t.Errorf("%s: not of user 0 and group 0: %s", archive, line)
		}
	}
	dir := t.TempDir()
	must(t, dir, nil, "tar", "-xpzf", archive)
	return os.DirFS(dir)
}

// holdsARelease checks what is in an archive, and runs the program of the one for this
// machine.
func holdsARelease(t *testing.T, archive string) {
	t.Helper()
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), ".zip")
	program := name + "/bot"
	if strings.Contains(name, "windows") {
		program += ".exe"
	}
	want := map[string]fs.FileMode{name: fs.ModeDir | 0o755, program: 0o755}
	if strings.HasSuffix(archive, ".zip") {
		want[name] = fs.ModeDir | 0o555 // as package zip shows every folder
	}
	files := unpack(t, archive)
	for _, file := range []string{"README.md", "LICENSE", "config.example.env", "deploy/herald.service"} {
		path := name + "/" + filepath.Base(file)
		want[path] = 0o644
		if content, err := fs.ReadFile(files, path); err != nil || string(content) != must(t, "..", nil, "git", "show", "HEAD:"+file)+"\n" {
			t.Errorf("%s: %s is not what is committed: %v", name, file, err)
		}
	}
	committed := must(t, "..", nil, "git", "log", "-1", "--format=%ct")
	found := 0
	err := fs.WalkDir(files, name, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if found++; err != nil || info.Mode() != want[path] || fmt.Sprint(info.ModTime().Unix()) != committed {
			t.Errorf("%s has mode %v and is of %v: %v", path, info.Mode(), info.ModTime(), err)
		}
		return nil
	})
	if err != nil || found != len(want) {
		t.Errorf("%s holds %d files, want %d: %v", name, found, len(want), err)
	}
	if strings.HasSuffix(name, "_"+runtime.GOOS+"_"+runtime.GOARCH) {
		tellsVersion(t, files, program)
	}
}

func tellsVersion(t *testing.T, files fs.FS, program string) {
	t.Helper()
	content, err := fs.ReadFile(files, program)
	path := filepath.Join(t.TempDir(), "bot")
	if err := errors.Join(err, os.WriteFile(path, content, 0o700)); err != nil {
		t.Fatal(err)
	}
	want := "herald 1.2.3, commit " + must(t, "..", nil, "git", "rev-parse", "HEAD") + ", " + runtime.Version()
	if got := must(t, "", nil, path, "version"); got != want {
		t.Errorf("the program says %q, want %q", got, want)
	}
}

// It builds in two clones, one after the other, under another umask and in another time zone.
func TestAReleaseIsTheSameBytesAgain(t *testing.T) {
	if *releaseTargets == "" {
		t.Skip("it builds archives with -release alone")
	}
	folders := []string{build(t, "077", "Asia/Tokyo"), build(t, "002", "America/New_York")}
	sums := configtest.Read(t, folders[0]+"/SHA256SUMS")
	if again := configtest.Read(t, folders[1]+"/SHA256SUMS"); sums != again || sums == "" {
		t.Errorf("built twice, they differ:\n%s\n%s", sums, again)
	}
	for _, folder := range folders {
		must(t, folder, nil, "sha256sum", "--check", "--strict", "SHA256SUMS")
	}
	archives, err := filepath.Glob(folders[0] + "/herald_*")
	if err != nil || len(archives) != strings.Count(sums, "\n") {
		t.Errorf("%d archives, and SHA256SUMS is\n%s", len(archives), sums)
	}
	for _, archive := range archives {
		holdsARelease(t, archive)
	}
}
