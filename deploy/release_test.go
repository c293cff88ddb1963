package deploy

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

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

// build builds version 1.2.3 of what is committed, in a clone of its own, and returns
// each file that it makes.
func build(t *testing.T, umask, zone string) map[string][]byte {
	t.Helper()
	clone, out := t.TempDir(), t.TempDir()
	must(t, "..", nil, "git", "clone", "-q", ".", clone)
	targets := *releaseTargets
	if targets == "all" {
		targets = ""
	}
	must(t, clone, []string{"TZ=" + zone, "TARGETS=" + targets}, "bash", "-c", `umask "$0" && .ci/release v1.2.3 "$1"`, umask, out)
	files := make(map[string][]byte)
	for _, file := range entries(t, out) {
		files[file] = []byte(configtest.Read(t, filepath.Join(out, file)))
	}
	return files
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range found {
		names = append(names, entry.Name())
	}
	return names
}

// packed is a file in an archive.
type packed struct {
	mode     fs.FileMode
	modified time.Time
	content  []byte
}

// unpack returns what is in an archive, by path.
func unpack(t *testing.T, name string, archive []byte) map[string]packed {
	t.Helper()
	if strings.HasSuffix(name, ".zip") {
		return unzip(t, archive)
	}
	return untar(t, archive)
}

func unzip(t *testing.T, archive []byte) map[string]packed {
	t.Helper()
	reader, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]packed)
	for _, f := range reader.File {
		opened, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(opened)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = packed{f.Mode(), f.Modified, content}
	}
	return files
}

// untar also checks that each file belongs to user 0 and group 0, without their names.
func untar(t *testing.T, archive []byte) map[string]packed {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files, reader := make(map[string]packed), tar.NewReader(unzipped)
	for {
		h, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil || h.Uid != 0 || h.Gid != 0 || h.Uname+h.Gname != "" {
			t.Fatalf("%s belongs to %d %q and %d %q: %v", h.Name, h.Uid, h.Uname, h.Gid, h.Gname, err)
		}
		files[h.Name] = packed{h.FileInfo().Mode(), h.ModTime, content}
	}
}

// holdsARelease checks what is in an archive, and runs the program of the one for this
// machine.
func holdsARelease(t *testing.T, name string, archive []byte) {
	t.Helper()
	folder, program, files := strings.TrimSuffix(strings.TrimSuffix(name, ".tar.gz"), ".zip"), "bot", unpack(t, name, archive)
	if strings.Contains(name, "windows") {
		program = "bot.exe"
	}
	want := map[string]fs.FileMode{"": fs.ModeDir | 0o755, program: 0o755}
	for _, file := range []string{"README.md", "LICENSE", "config.example.env", "deploy/herald.service"} {
		want[filepath.Base(file)] = 0o644
		if got := files[folder+"/"+filepath.Base(file)]; string(got.content) != must(t, "..", nil, "git", "show", "HEAD:"+file)+"\n" {
			t.Errorf("%s: %s is not what is committed", name, file)
		}
	}
	committed := must(t, "..", nil, "git", "log", "-1", "--format=%ct")
	for path, file := range files {
		if mode, wanted := want[strings.TrimPrefix(path, folder+"/")]; !wanted || file.mode != mode || fmt.Sprint(file.modified.Unix()) != committed {
			t.Errorf("%s: %s has mode %v and is of %v", name, path, file.mode, file.modified)
		}
	}
	if len(files) != len(want) {
		t.Errorf("%s holds %d files, want %d", name, len(files), len(want))
	}
	if strings.Contains(name, "_"+runtime.GOOS+"_"+runtime.GOARCH+".") {
		tellsVersion(t, files[folder+"/"+program].content)
	}
}

func tellsVersion(t *testing.T, program []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bot")
	if err := os.WriteFile(path, program, 0o700); err != nil {
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
	first, second := build(t, "077", "Asia/Tokyo"), build(t, "002", "America/New_York")
	if !maps.EqualFunc(first, second, bytes.Equal) {
		t.Errorf("built twice, they differ:\n%s\n%s", first["SHA256SUMS"], second["SHA256SUMS"])
	}
	var sums strings.Builder
	for _, name := range slices.Sorted(maps.Keys(first)) {
		if name != "SHA256SUMS" {
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(first[name]), name)
			holdsARelease(t, name, first[name])
		}
	}
	if got := string(first["SHA256SUMS"]); got != sums.String() || got == "" {
		t.Errorf("SHA256SUMS is\n%s\nwant\n%s", got, &sums)
	}
}
