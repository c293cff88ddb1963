package deploy

import (
	"archive/zip"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
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

// commit writes files in dir, paths and contents in turn, and commits all that is there. Its
// author and time are always the same.
func commit(t *testing.T, dir string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(files[i+1]), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	must(t, dir, nil, "git", "add", "-A")
	date := []string{"GIT_AUTHOR_DATE=2026-11-27T12:00Z", "GIT_COMMITTER_DATE=2026-11-27T12:00Z"}
	must(t, dir, date, "git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false", "commit", "-qm", "first")
}

// repository returns a new git repository with one commit, which holds .ci and a changelog.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, ".ci"), os.DirFS("../.ci")); err != nil {
		t.Fatal(err)
	}
	must(t, dir, nil, "git", "init", "-q")
	commit(t, dir, "CHANGELOG.md", "## Unreleased\n\n- A.\n\n## 1.2.4 - 2026-11-28\n\n### Added\n\n"+
		"## 1.2.30\n\n- E.\n\n## 1.2.3 - 2026-11-27\n\n### Added\n\n- B.\n\n### Fixed\n\n- C.\n\n## 1.2.2\n\n- D.\n")
	return dir
}

func TestAReleaseRefusesWhatIsNoVersion(t *testing.T) {
	dir := repository(t)
	for _, version := range []string{"", "v", "1.2", "1.2.3.4", "vv1.2.3", "01.2.3", "1.2.3-rc.1", "1.2.3\n4", "latest", "--help"} {
		if code, printed := run(t, dir, nil, ".ci/release", version); code != 2 || !strings.Contains(printed, "For example: .ci/notes 1.2.3") {
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

func TestAReleaseTellsItsSectionOfTheChangelog(t *testing.T) {
	dir := repository(t)
	for version, want := range map[string]string{"v1.2.3": "### Added\n\n- B.\n\n### Fixed\n\n- C.", "1.2.2": "- D."} {
		if got := must(t, dir, nil, ".ci/notes", version); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
	for _, version := range []string{"1.2.4", "1.2.5"} {
		if code, printed := run(t, dir, nil, ".ci/release", version); code != 1 || strings.Count(printed, "\n") != 1 || !strings.Contains(printed, `below "## `+version+" - ") {
			t.Errorf("%s has nothing below its title: exit code %d\n%s", version, code, printed)
		}
	}
}

// There is no program to build here.
func TestAReleaseNamesItsRepository(t *testing.T) {
	dir := repository(t)
	must(t, dir, nil, "git", "remote", "add", "origin", "x")
	for want, remotes := range map[string][]string{
		"herald 1.2.3 of Acme/Herald for ":                              {"https://github.com/Acme/Herald", "https://github.com/Acme/Herald.git", "https://me@github.com/Acme/Herald", "git@github.com:Acme/Herald.git", "ssh://git@github.com/Acme/Herald.git"},
		"For example: GITHUB_REPOSITORY=owner/name .ci/release 1.2.3\n": {"https://github.com.example.org/Acme/Herald", "https://example.org/@github.com/Acme/Herald", "https://github.com/Acme", "Acme/Herald", "/srv/herald"},
	} {
		for _, remote := range remotes {
			must(t, dir, nil, "git", "remote", "set-url", "origin", remote)
			if _, printed := run(t, dir, []string{"GITHUB_REPOSITORY="}, ".ci/release", "1.2.3"); !strings.Contains(printed, want) {
				t.Errorf("%s:\n%s", remote, printed)
			}
		}
	}
}

func TestALinkedModuleWithoutALicenceIsRefused(t *testing.T) {
	dir := repository(t)
	commit(t, dir, "go.mod", "module herald\nrequire (\ngithub.com/ethereum/go-ethereum v1.0.0\nexample.org/m v1.0.0\n)\n"+
		"replace github.com/ethereum/go-ethereum => ./e\nreplace example.org/m => ./m\n",
		"e/go.mod", "module github.com/ethereum/go-ethereum\n", "m/go.mod", "module example.org/m\n", "m/m.go", "package m\n", "m/NOTICE", "",
		"cmd/bot/main.go", "package main\n\nimport _ \"example.org/m\"\n", "LICENSE", "", "internal/pricechart/fonts/OFL.txt", "", "internal/demo/fake/discord/spec.LICENSE", "")
	if code, printed := run(t, dir, nil, ".ci/notices"); code != 1 || !strings.Contains(printed, "example.org/m v1.0.0 has no licence in ") {
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

// build builds version 4.5.6 in a new clone of this repository, of a commit in which the
// changelog has a section for it, and returns the clone and the folder with the archives.
func build(t *testing.T, umask, zone, repository, remote string) (clone, folder string) {
	t.Helper()
	clone, out := t.TempDir(), t.TempDir()
	must(t, "..", nil, "git", "clone", "-q", ".", clone)
	must(t, clone, nil, "git", "remote", "set-url", "origin", remote)
	changes := configtest.Read(t, clone+"/CHANGELOG.md")
	commit(t, clone, "CHANGELOG.md", strings.Replace(changes, "\n## ", "\n## 4.5.6\n\n- A.\n\n## ", 1))
	targets := *releaseTargets
	if targets == "all" {
		targets = ""
	}
	must(t, clone, []string{"TZ=" + zone, "TARGETS=" + targets, "GITHUB_REPOSITORY=" + repository}, "bash", "-c", `umask "$0" && .ci/release v4.5.6 "$1"`, umask, out)
	return clone, out
}

// unpack returns a folder with what is in an archive. In a tar file, all must belong to user 0
// and group 0, without their names, and be as old as the commit; the program alone can be run.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	if strings.HasSuffix(archive, ".zip") {
		files, err := zip.OpenReader(archive)
		if err != nil {
			t.Fatal(err)
		}
		defer files.Close()
		if err := os.CopyFS(dir, files); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	right := regexp.MustCompile(`^(drwxr-xr-x 0/0 .*/|-rwxr-xr-x 0/0 .*/bot|-rw-r--r-- 0/0 .*\.\w+|-rw-r--r-- 0/0 .*/[A-Z]\w+)\n?$`)
	for line := range strings.Lines(must(t, "", []string{"TZ=UTC"}, "tar", "-tvzf", archive)) {
		if !right.MatchString(line) || !strings.Contains(line, " 2026-11-27 12:00 ") {
			t.Errorf("%s: wrong owner, mode or time: %s", archive, line)
		}
	}
	must(t, dir, nil, "tar", "-xpzf", archive)
	return dir
}

// holdsARelease checks what is in an archive of the clone, and runs the program of the one for
// this machine.
func holdsARelease(t *testing.T, clone, archive string) {
	t.Helper()
	name, program := strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), "bot"
	if base, zipped := strings.CutSuffix(name, ".zip"); zipped {
		name, program = base, "bot.exe"
	}
	dir := filepath.Join(unpack(t, archive), name)
	files := strings.Fields(must(t, clone, nil, "git", "ls-files", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md",
		"SECURITY.md", "config.example.env", "docs", "examples", "deploy", ":!*_test.go"))
	example := regexp.MustCompile(`(?m)(^|[^0-9.])1\.2\.3($|[^0-9])`)
	named := regexp.MustCompile(`^(README\.md|SECURITY\.md|docs/[^/]*\.md|deploy/.*)$`)
	for _, file := range files {
		want := regexp.MustCompile("(?m)^`GITHUB_REPOSITORY` is .*\n\n").ReplaceAllString(configtest.Read(t, clone+"/"+file), "")
		if named.MatchString(file) {
			want = strings.NewReplacer("ghcr.io/GITHUB_REPOSITORY", "ghcr.io/acme/herald", "GITHUB_REPOSITORY", "Acme/Herald").Replace(want)
			want = example.ReplaceAllString(want, "${1}4.5.6$2")
		}
		if configtest.Read(t, dir+"/"+file) != want {
			t.Errorf("%s: %s is not what is committed", name, file)
		}
		// A link or a picture within the archive, without what follows a #.
		for _, target := range matches(`(?:\]\(|(?:src|srcset|href)=")([^)"\s:#]+)[)"\s#]`, want) {
			if _, err := os.Stat(filepath.Join(dir, filepath.Dir(file), target)); err != nil && strings.HasSuffix(file, ".md") {
				t.Errorf("%s: %s links to %v", name, file, err)
			}
		}
	}
	files = append(files, program, "NOTICES.txt")
	found := strings.Fields(must(t, dir, nil, "find", ".", "-type", "f", "-printf", "%P\n"))
	slices.Sort(files)
	if !slices.Equal(slices.Sorted(slices.Values(found)), files) {
		t.Errorf("%s holds %v, want %v", name, found, files)
	}
	notices := configtest.Read(t, dir+"/NOTICES.txt")
	for _, licence := range strings.Fields(must(t, clone, nil, "git", "ls-files", "*LICENSE", "*OFL.txt")) {
		if !strings.Contains(notices, configtest.Read(t, clone+"/"+licence)) {
			t.Errorf("%s: NOTICES.txt lacks %s", name, licence)
		}
	}
	modules := matches(`\tdep\t(\S+\t\S+)`, must(t, dir, nil, "go", "version", "-m", program))
	for _, module := range modules {
		if title := strings.Replace(module, "\t", " ", 1); !strings.Contains(notices, "\n"+title+"\n") {
			t.Errorf("%s: NOTICES.txt lacks %s", name, title)
		}
	}
	want := "herald 4.5.6, commit " + must(t, clone, nil, "git", "rev-parse", "HEAD") + ", " + runtime.Version()
	if len(modules) == 0 || strings.HasSuffix(name, "_"+runtime.GOOS+"_"+runtime.GOARCH) && must(t, dir, nil, "./bot", "version") != want {
		t.Errorf("%s: the program is not %q, or of %d modules", name, want, len(modules))
	}
}

// It builds in two clones, one after the other, under another umask and in another time zone.
// One is told its repository, the other reads the remote.
func TestAReleaseIsTheSameBytesAgain(t *testing.T) {
	if *releaseTargets == "" {
		t.Skip("it builds archives with -release alone")
	}
	clone, folder := build(t, "077", "Asia/Tokyo", "Acme/Herald", "/srv/herald")
	_, other := build(t, "002", "America/New_York", "", "git@github.com:Acme/Herald.git")
	sums := configtest.Read(t, folder+"/SHA256SUMS")
	if again := configtest.Read(t, other+"/SHA256SUMS"); sums != again || sums == "" {
		t.Errorf("built twice, they differ:\n%s\n%s", sums, again)
	}
	for _, folder := range []string{folder, other} {
		must(t, folder, nil, "sha256sum", "--check", "--strict", "SHA256SUMS")
	}
	archives, err := filepath.Glob(folder + "/herald_*")
	if err != nil || len(archives) != strings.Count(sums, "\n") {
		t.Errorf("%d archives, and SHA256SUMS is\n%s", len(archives), sums)
	}
	for _, archive := range archives {
		holdsARelease(t, clone, archive)
	}
}
