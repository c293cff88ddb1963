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

// run runs a command in dir, and returns its exit code and output. It skips the test if there is no
// such program.
func run(t *testing.T, dir string, environ []string, name string, args ...string) (code int, printed string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), environ...)
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip(err)
	}
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// must runs a command in dir, and returns its output. It ends the test if the command fails.
func must(t *testing.T, dir string, environ []string, name string, args ...string) string {
	t.Helper()
	code, printed := run(t, dir, environ, name, args...)
	if code != 0 {
		t.Fatalf("%s %q: exit code %d\n%s", name, args, code, printed)
	}
	return strings.TrimSpace(printed)
}

// commit writes files in dir, given by their paths, and commits everything there. The author and the
// time are always the same.
func commit(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for path, content := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must(t, dir, nil, "git", "add", "-A")
	identity := []string{
		"GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_AUTHOR_DATE=2026-11-27T12:00Z",
		"GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@example.org",
		"GIT_COMMITTER_DATE=2026-11-27T12:00Z",
	}
	must(t, dir, identity, "git", "-c", "commit.gpgsign=false", "commit", "-qm", "first")
}

// changelog has a section of 1.2.4 without an entry.
const changelog = `## Unreleased

- A.

## 1.2.4 - 2026-11-28

### Added

## 1.2.30

- E.

## 1.2.3 - 2026-11-27

### Added

- B.

### Fixed

- C.

## 1.2.2

- D.
`

// repository returns a new git repository with one commit, of .ci and a changelog.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, ".ci"), os.DirFS("../.ci")); err != nil {
		t.Fatal(err)
	}
	must(t, dir, nil, "git", "init", "-q")
	commit(t, dir, map[string]string{"CHANGELOG.md": changelog})
	return dir
}

func TestAReleaseRefusesWhatIsNotAVersion(t *testing.T) {
	dir := repository(t)
	for _, version := range []string{
		"", "v", "1.2", "1.2.3.4", "vv1.2.3", "01.2.3", "1.2.3-rc.1", "1.2.3\n4", "latest", "--help",
	} {
		code, printed := run(t, dir, nil, ".ci/release", version)
		if code != 2 || !strings.Contains(printed, "For example: .ci/notes 1.2.3") {
			t.Errorf("%q: exit code %d\n%s", version, code, printed)
		}
	}
}

func TestAReleaseRefusesUncommittedFiles(t *testing.T) {
	dir := repository(t)
	if err := os.WriteFile(filepath.Join(dir, "new.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, printed := run(t, dir, nil, ".ci/release", "v1.2.3")
	if code != 1 || !strings.Contains(printed, "Commit these first") || !strings.Contains(printed, "new.go") {
		t.Errorf("exit code %d\n%s", code, printed)
	}
}

func TestNotesAreTheVersionsSectionOfTheChangelog(t *testing.T) {
	dir := repository(t)
	for version, want := range map[string]string{
		"v1.2.3": "### Added\n\n- B.\n\n### Fixed\n\n- C.",
		"1.2.2":  "- D.",
	} {
		if got := must(t, dir, nil, ".ci/notes", version); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}

func TestAReleaseNeedsASectionOfTheChangelog(t *testing.T) {
	dir := repository(t)
	for name, version := range map[string]string{"an empty section": "1.2.4", "no section": "1.2.5"} {
		code, printed := run(t, dir, nil, ".ci/release", version)
		explained := strings.Count(printed, "\n") == 1 && strings.Contains(printed, `below "## `+version+" - ")
		if code != 1 || !explained {
			t.Errorf("%s: exit code %d\n%s", name, code, printed)
		}
	}
}

// releaseFrom returns what .ci/release prints if the repository has this remote. It has no program to
// build.
func releaseFrom(t *testing.T, remote string) string {
	t.Helper()
	dir := repository(t)
	must(t, dir, nil, "git", "remote", "add", "origin", remote)
	_, printed := run(t, dir, []string{"GITHUB_REPOSITORY="}, ".ci/release", "1.2.3")
	return printed
}

func TestAReleaseReadsItsRepositoryFromTheRemote(t *testing.T) {
	for _, remote := range []string{
		"https://github.com/Acme/Herald",
		"https://github.com/Acme/Herald.git",
		"https://me@github.com/Acme/Herald",
		"git@github.com:Acme/Herald.git",
		"ssh://git@github.com/Acme/Herald.git",
	} {
		if printed := releaseFrom(t, remote); !strings.Contains(printed, "herald 1.2.3 of Acme/Herald for ") {
			t.Errorf("%s:\n%s", remote, printed)
		}
	}
}

func TestAReleaseAsksForItsRepositoryIfTheRemoteIsNotOnGitHub(t *testing.T) {
	const want = "For example: GITHUB_REPOSITORY=owner/name .ci/release 1.2.3\n"
	for _, remote := range []string{
		"https://github.com.example.org/Acme/Herald",
		"https://example.org/@github.com/Acme/Herald",
		"https://github.com/Acme",
		"Acme/Herald",
		"/srv/herald",
	} {
		if printed := releaseFrom(t, remote); !strings.Contains(printed, want) {
			t.Errorf("%s:\n%s", remote, printed)
		}
	}
}

func TestALinkedModuleWithoutALicenceIsRefused(t *testing.T) {
	dir := repository(t)
	commit(t, dir, map[string]string{
		"go.mod": "module herald\nrequire (\ngithub.com/ethereum/go-ethereum v1.0.0\nexample.org/m v1.0.0\n)\n" +
			"replace github.com/ethereum/go-ethereum => ./e\nreplace example.org/m => ./m\n",
		"e/go.mod":                          "module github.com/ethereum/go-ethereum\n",
		"m/go.mod":                          "module example.org/m\n",
		"m/m.go":                            "package m\n",
		"m/NOTICE":                          "",
		"cmd/bot/main.go":                   "package main\n\nimport _ \"example.org/m\"\n",
		"LICENSE":                           "",
		"internal/pricechart/fonts/OFL.txt": "",
		"internal/demo/fake/discord/spec.LICENSE": "",
	})
	code, printed := run(t, dir, nil, ".ci/notices")
	if code != 1 || !strings.Contains(printed, "example.org/m v1.0.0 has no licence in ") {
		t.Errorf("exit code %d\n%s", code, printed)
	}
}

func TestAnOlderReleaseMovesNoImageTagBack(t *testing.T) {
	dir := repository(t)
	for _, tag := range []string{
		"v1.2.3", "v1.2.10", "v1.10.0", "v2.0.0", "v2.0.1-rc.1", "v11.0.0-rc.1", "vendor", "9.9.9",
	} {
		must(t, dir, nil, "git", "tag", tag)
	}
	for version, want := range map[string]string{
		"v1.2.3":  "1.2.3",
		"v1.2.10": "1.2.10 1.2",
		"1.10.0":  "1.10.0 1.10 1",
		"v2.0.0":  "2.0.0 2.0 2 latest",
	} {
		got := strings.Join(strings.Fields(must(t, dir, nil, ".ci/image-tags", version)), " ")
		if got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

// build builds version 4.5.6 in a new clone of this repository, of a commit in which the changelog has
// a section for it. It returns the clone, and the folder with the archives.
func build(t *testing.T, umask, zone, repository, remote string) (clone, folder string) {
	t.Helper()
	clone, out := t.TempDir(), t.TempDir()
	must(t, "..", nil, "git", "clone", "-q", ".", clone)
	must(t, clone, nil, "git", "remote", "set-url", "origin", remote)
	changes := configtest.Read(t, clone+"/CHANGELOG.md")
	changes = strings.Replace(changes, "\n## ", "\n## 4.5.6\n\n- A.\n\n## ", 1)
	commit(t, clone, map[string]string{"CHANGELOG.md": changes})
	targets := *releaseTargets
	if targets == "all" {
		targets = ""
	}
	environ := []string{"TZ=" + zone, "TARGETS=" + targets, "GITHUB_REPOSITORY=" + repository}
	must(t, clone, environ, "bash", "-c", `umask "$0" && .ci/release v4.5.6 "$1"`, umask, out)
	return clone, out
}

// tarEntry matches a line of a tar file that lists a folder, the program or another file with the right
// mode. All belong to user 0 and group 0, without their names.
var tarEntry = regexp.MustCompile(
	`^(drwxr-xr-x 0/0 .*/|-rwxr-xr-x 0/0 .*/bot|-rw-r--r-- 0/0 .*\.\w+|-rw-r--r-- 0/0 .*/[A-Z]\w+)\n?$`)

// unpack returns a folder with the files of an archive. In a tar file, each must match tarEntry and
// have the time of the commit.
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
	for line := range strings.Lines(must(t, "", []string{"TZ=UTC"}, "tar", "-tvzf", archive)) {
		if !tarEntry.MatchString(line) || !strings.Contains(line, " 2026-11-27 12:00 ") {
			t.Errorf("%s: wrong owner, mode or time: %s", archive, line)
		}
	}
	must(t, dir, nil, "tar", "-xpzf", archive)
	return dir
}

// release is an unpacked archive.
type release struct {
	*testing.T
	clone   string // the repository that it was built from
	name    string // of its folder, such as herald_4.5.6_linux_amd64
	dir     string
	program string // bot, or bot.exe
}

func openRelease(t *testing.T, clone, archive string) release {
	t.Helper()
	r := release{T: t, clone: clone, program: "bot"}
	base, zipped := strings.CutSuffix(filepath.Base(archive), ".zip")
	if zipped {
		r.program = "bot.exe"
	}
	r.name = strings.TrimSuffix(base, ".tar.gz")
	r.dir = filepath.Join(unpack(t, archive), r.name)
	return r
}

// committed returns the files of the repository that belong in an archive.
func (r release) committed() []string {
	r.Helper()
	return strings.Fields(must(r.T, r.clone, nil, "git", "ls-files",
		"README.md",
		"LICENSE",
		"CHANGELOG.md",
		"CONTRIBUTING.md",
		"SECURITY.md",
		"config.example.env",
		"docs",
		"examples",
		"deploy",
		":!*_test.go"))
}

var (
	repositoryNote = regexp.MustCompile("(?m)^`GITHUB_REPOSITORY` is .*\n\n")
	exampleVersion = regexp.MustCompile(`(?m)(^|[^0-9.])1\.2\.3($|[^0-9])`)
	// filledIn matches files that name the version and the repository.
	filledIn = regexp.MustCompile(`^(README\.md|SECURITY\.md|docs/[^/]*\.md|deploy/.*)$`)
	filler   = strings.NewReplacer(
		"ghcr.io/GITHUB_REPOSITORY", "ghcr.io/acme/herald",
		"GITHUB_REPOSITORY", "Acme/Herald",
	)
	// localLink finds links and pictures within the archive, without what follows a #.
	localLink = `(?:\]\(|(?:src|srcset|href)=")([^)"\s:#]+)[)"\s#]`
)

// verifyFile fails the test unless a file is as committed, with the version and the repository filled
// in, and its links lead to files of the archive.
func (r release) verifyFile(file string) {
	r.Helper()
	want := repositoryNote.ReplaceAllString(configtest.Read(r.T, r.clone+"/"+file), "")
	if filledIn.MatchString(file) {
		want = exampleVersion.ReplaceAllString(filler.Replace(want), "${1}4.5.6$2")
	}
	if configtest.Read(r.T, r.dir+"/"+file) != want {
		r.Errorf("%s: %s is not what is committed", r.name, file)
	}
	if !strings.HasSuffix(file, ".md") {
		return
	}
	for _, target := range matches(localLink, want) {
		if _, err := os.Stat(filepath.Join(r.dir, filepath.Dir(file), target)); err != nil {
			r.Errorf("%s: %s links to %v", r.name, file, err)
		}
	}
}

// verifyFiles fails the test unless the archive has exactly the files that belong in it.
func (r release) verifyFiles() {
	r.Helper()
	want := append(r.committed(), r.program, "NOTICES.txt")
	slices.Sort(want)
	got := strings.Fields(must(r.T, r.dir, nil, "find", ".", "-type", "f", "-printf", "%P\n"))
	slices.Sort(got)
	if !slices.Equal(got, want) {
		r.Errorf("%s has the files %v, want %v", r.name, got, want)
	}
}

// verifyNotices fails the test unless NOTICES.txt has every licence of the repository, and names every
// module.
func (r release) verifyNotices(modules []string) {
	r.Helper()
	notices := configtest.Read(r.T, r.dir+"/NOTICES.txt")
	for _, licence := range strings.Fields(must(r.T, r.clone, nil, "git", "ls-files", "*LICENSE", "*OFL.txt")) {
		if !strings.Contains(notices, configtest.Read(r.T, r.clone+"/"+licence)) {
			r.Errorf("%s: NOTICES.txt lacks %s", r.name, licence)
		}
	}
	for _, module := range modules {
		if title := strings.Replace(module, "\t", " ", 1); !strings.Contains(notices, "\n"+title+"\n") {
			r.Errorf("%s: NOTICES.txt lacks %s", r.name, title)
		}
	}
}

// verifyVersion runs the program if it is for this machine, and fails the test unless it names its version.
func (r release) verifyVersion() {
	r.Helper()
	if !strings.HasSuffix(r.name, "_"+runtime.GOOS+"_"+runtime.GOARCH) {
		return
	}
	commit := must(r.T, r.clone, nil, "git", "rev-parse", "HEAD")
	want := "herald 4.5.6, commit " + commit + ", " + runtime.Version()
	if got := must(r.T, r.dir, nil, "./bot", "version"); got != want {
		r.Errorf("%s: the program is %q, want %q", r.name, got, want)
	}
}

// verify fails the test unless the archive has the right files, and a program with its notices.
func (r release) verify() {
	r.Helper()
	for _, file := range r.committed() {
		r.verifyFile(file)
	}
	r.verifyFiles()
	modules := matches(`\tdep\t(\S+\t\S+)`, must(r.T, r.dir, nil, "go", "version", "-m", r.program))
	if len(modules) == 0 {
		r.Errorf("%s: the program has no modules", r.name)
	}
	r.verifyNotices(modules)
	r.verifyVersion()
}

// The clones have another umask and another time zone. One is given its repository, the other reads it
// from the remote.
func TestAReleaseIsTheSameBytesAgain(t *testing.T) {
	if *releaseTargets == "" {
		t.Skip("it builds archives only with -release")
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
		openRelease(t, clone, archive).verify()
	}
}
