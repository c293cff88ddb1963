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

var releaseTargets = flag.String("release", "",
	`build archives for these targets, such as "linux/amd64 windows/amd64", or for "all"`)

// run runs a command in dir, with additional environment variables, and returns its exit code and output. It skips the
// test if the program is not installed.
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

// mustRun is like run, but fails the test if the exit code is not 0. It returns the output without white space at the
// ends.
func mustRun(t *testing.T, dir string, environ []string, name string, args ...string) string {
	t.Helper()
	code, printed := run(t, dir, environ, name, args...)
	if code != 0 {
		t.Fatalf("%s %q: exit code %d\n%s", name, args, code, printed)
	}
	return strings.TrimSpace(printed)
}

// commitTime is the time of all commits that the tests make.
const commitTime = "2026-11-27T12:00Z"

// commit writes files in the repository in dir, given by their paths, and commits all changes there. The author and the
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
	mustRun(t, dir, nil, "git", "add", "-A")
	identity := []string{
		"GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_AUTHOR_DATE=" + commitTime,
		"GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@example.org",
		"GIT_COMMITTER_DATE=" + commitTime,
	}
	mustRun(t, dir, identity, "git", "-c", "commit.gpgsign=false", "commit", "-qm", "first")
}

// changelog is a changelog with sections of four versions. The section of 1.2.4 is empty.
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

// newRepository returns the folder of a new git repository. Its only commit has the folder .ci and a changelog.
func newRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, ".ci"), os.DirFS("../.ci")); err != nil {
		t.Fatal(err)
	}
	mustRun(t, dir, nil, "git", "init", "-q")
	commit(t, dir, map[string]string{"CHANGELOG.md": changelog})
	return dir
}

func TestAReleaseRefusesAnInvalidVersion(t *testing.T) {
	dir := newRepository(t)
	for _, version := range []string{
		"", "v", "1.2", "1.2.3.4", "vv1.2.3", "01.2.3", "1.2.3-rc.1", "1.2.3\n4", "latest", "--help",
	} {
		code, printed := run(t, dir, nil, ".ci/release", version) // It lets .ci/notes check the version.
		if code != 2 || !strings.Contains(printed, "For example: .ci/notes 1.2.3") {
			t.Errorf("%q: exit code %d\n%s", version, code, printed)
		}
	}
}

func TestAReleaseRefusesUncommittedFiles(t *testing.T) {
	dir := newRepository(t)
	if err := os.WriteFile(filepath.Join(dir, "new.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, printed := run(t, dir, nil, ".ci/release", "v1.2.3")
	if code != 1 || !strings.Contains(printed, "Commit these first") || !strings.Contains(printed, "new.go") {
		t.Errorf("exit code %d\n%s", code, printed)
	}
}

func TestNotesAreTheVersionsSectionOfTheChangelog(t *testing.T) {
	dir := newRepository(t)
	for version, want := range map[string]string{
		"v1.2.3": "### Added\n\n- B.\n\n### Fixed\n\n- C.",
		"1.2.2":  "- D.",
	} {
		if got := mustRun(t, dir, nil, ".ci/notes", version); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}

func TestAReleaseNeedsASectionOfTheChangelog(t *testing.T) {
	dir := newRepository(t)
	for name, version := range map[string]string{"an empty section": "1.2.4", "no section": "1.2.5"} {
		code, printed := run(t, dir, nil, ".ci/release", version)
		explained := strings.Count(printed, "\n") == 1 && strings.Contains(printed, `below "## `+version+" - ")
		if code != 1 || !explained {
			t.Errorf("%s: exit code %d\n%s", name, code, printed)
		}
	}
}

// releaseWithRemote returns what .ci/release prints if the repository has this remote. The release then fails, because
// the repository has no program.
func releaseWithRemote(t *testing.T, remote string) string {
	t.Helper()
	dir := newRepository(t)
	mustRun(t, dir, nil, "git", "remote", "add", "origin", remote)
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
		if printed := releaseWithRemote(t, remote); !strings.Contains(printed, "herald 1.2.3 of Acme/Herald for ") {
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
		if printed := releaseWithRemote(t, remote); !strings.Contains(printed, want) {
			t.Errorf("%s:\n%s", remote, printed)
		}
	}
}

// .ci/notices always names go-ethereum, and always prints LICENSE, OFL.txt and spec.LICENSE.
func TestAReleaseRefusesAModuleWithoutALicence(t *testing.T) {
	dir := newRepository(t)
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

func TestOnlyTheLatestReleaseOfALineMovesItsImageTags(t *testing.T) {
	dir := newRepository(t)
	for _, tag := range []string{
		"v1.2.3", "v1.2.10", "v1.10.0", "v2.0.0", "v2.0.1-rc.1", "v11.0.0-rc.1", "vendor", "9.9.9",
	} {
		mustRun(t, dir, nil, "git", "tag", tag)
	}
	for version, want := range map[string]string{
		"v1.2.3":  "1.2.3",
		"v1.2.10": "1.2.10 1.2",
		"1.10.0":  "1.10.0 1.10 1",
		"v2.0.0":  "2.0.0 2.0 2 latest",
	} {
		got := strings.Join(strings.Fields(mustRun(t, dir, nil, ".ci/image-tags", version)), " ")
		if got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

// machine is how the machine that builds a release is set up.
type machine struct {
	umask      string
	zone       string // the time zone
	repository string // GITHUB_REPOSITORY, or "" if it is not set
	remote     string // of the git repository
}

// build builds version 4.5.6 in a new clone of this repository, whose changelog has a section of 4.5.6. It returns the
// folders of the clone and of the archives.
func (m machine) build(t *testing.T) (clone, archives string) {
	t.Helper()
	clone, out := t.TempDir(), t.TempDir()
	mustRun(t, "..", nil, "git", "clone", "-q", ".", clone)
	mustRun(t, clone, nil, "git", "remote", "set-url", "origin", m.remote)
	changes := configtest.Read(t, clone+"/CHANGELOG.md")
	changes = strings.Replace(changes, "\n## ", "\n## 4.5.6\n\n- A.\n\n## ", 1)
	commit(t, clone, map[string]string{"CHANGELOG.md": changes})
	targets := *releaseTargets
	if targets == "all" {
		targets = ""
	}
	environ := []string{"TZ=" + m.zone, "TARGETS=" + targets, "GITHUB_REPOSITORY=" + m.repository}
	mustRun(t, clone, environ, "bash", "-c", `umask "$0" && .ci/release v4.5.6 "$1"`, m.umask, out)
	return clone, out
}

// tarEntry matches a line in the list of a tar file: a folder, the program or another file, with the right mode, and
// with user 0 and group 0 as owners.
var tarEntry = regexp.MustCompile(
	`^(drwxr-xr-x 0/0 .*/|-rwxr-xr-x 0/0 .*/bot|-rw-r--r-- 0/0 .*\.\w+|-rw-r--r-- 0/0 .*/[A-Z]\w+)\n?$`)

// unpack returns a folder with the files of an archive. It fails the test if an entry of a tar file does not match
// tarEntry, or does not have commitTime.
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
	for line := range strings.Lines(mustRun(t, "", []string{"TZ=UTC"}, "tar", "-tvzf", archive)) {
		if !tarEntry.MatchString(line) || !strings.Contains(line, " 2026-11-27 12:00 ") {
			t.Errorf("%s: wrong owner, mode or time: %s", archive, line)
		}
	}
	mustRun(t, dir, nil, "tar", "-xpzf", archive)
	return dir
}

// release is an unpacked archive.
type release struct {
	*testing.T
	clone   string // the folder of the repository that it was built from
	name    string // of the archive's only folder, such as herald_4.5.6_linux_amd64
	dir     string // the path of this folder
	program string // bot, or bot.exe
}

// openRelease unpacks an archive.
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

// committedFiles returns the files of the repository that belong in an archive.
func (r release) committedFiles() []string {
	r.Helper()
	return strings.Fields(mustRun(r.T, r.clone, nil, "git", "ls-files",
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
	// repositoryNote matches the paragraph that explains GITHUB_REPOSITORY. An archive's files do not have it.
	repositoryNote = regexp.MustCompile("(?m)^`GITHUB_REPOSITORY` is .*\n\n")
	// exampleVersion matches the version 1.2.3. In an archive, the files have the archive's version instead.
	exampleVersion = regexp.MustCompile(`(?m)(^|[^0-9.])1\.2\.3($|[^0-9])`)
	// filledIn matches the paths of the files in which .ci/release fills in the version and GITHUB_REPOSITORY.
	filledIn = regexp.MustCompile(`^(README\.md|SECURITY\.md|docs/[^/]*\.md|deploy/.*)$`)
	// repositoryFiller replaces GITHUB_REPOSITORY by the name of the repository.
	repositoryFiller = strings.NewReplacer(
		"ghcr.io/GITHUB_REPOSITORY", "ghcr.io/acme/herald",
		"GITHUB_REPOSITORY", "Acme/Herald",
	)
	// localLink matches a link or a picture in the archive. Its first group is the path, without the fragment after a #.
	localLink = `(?:\]\(|(?:src|srcset|href)=")([^)"\s:#]+)[)"\s#]`
)

// checkFile checks that a file is as committed, except that the version and the repository are filled in, and that its
// links lead to files of the archive.
func (r release) checkFile(file string) {
	r.Helper()
	want := repositoryNote.ReplaceAllString(configtest.Read(r.T, r.clone+"/"+file), "")
	if filledIn.MatchString(file) {
		want = exampleVersion.ReplaceAllString(repositoryFiller.Replace(want), "${1}4.5.6$2")
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

// checkFileNames checks that the archive has exactly the files that belong in it.
func (r release) checkFileNames() {
	r.Helper()
	want := append(r.committedFiles(), r.program, "NOTICES.txt")
	slices.Sort(want)
	got := strings.Fields(mustRun(r.T, r.dir, nil, "find", ".", "-type", "f", "-printf", "%P\n"))
	slices.Sort(got)
	if !slices.Equal(got, want) {
		r.Errorf("%s has the files %v, want %v", r.name, got, want)
	}
}

// checkNotices checks that NOTICES.txt has every licence of the repository, and names every module of the program.
func (r release) checkNotices(modules []string) {
	r.Helper()
	notices := configtest.Read(r.T, r.dir+"/NOTICES.txt")
	for _, licence := range strings.Fields(mustRun(r.T, r.clone, nil, "git", "ls-files", "*LICENSE", "*OFL.txt")) {
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

// checkVersion checks the version that the program prints, if the program is for this machine.
func (r release) checkVersion() {
	r.Helper()
	if !strings.HasSuffix(r.name, "_"+runtime.GOOS+"_"+runtime.GOARCH) {
		return
	}
	commit := mustRun(r.T, r.clone, nil, "git", "rev-parse", "HEAD")
	want := "herald 4.5.6, commit " + commit + ", " + runtime.Version()
	if got := mustRun(r.T, r.dir, nil, "./bot", "version"); got != want {
		r.Errorf("%s: the program is %q, want %q", r.name, got, want)
	}
}

// check checks the files of the archive, the program, and its notices.
func (r release) check() {
	r.Helper()
	for _, file := range r.committedFiles() {
		r.checkFile(file)
	}
	r.checkFileNames()
	modules := matches(`\tdep\t(\S+\t\S+)`, mustRun(r.T, r.dir, nil, "go", "version", "-m", r.program))
	if len(modules) == 0 {
		r.Errorf("%s: the program has no modules", r.name)
	}
	r.checkNotices(modules)
	r.checkVersion()
}

// Two machines with different umasks and time zones build the same release. One has GITHUB_REPOSITORY, and the other
// reads the repository from the remote.
func TestAReleaseHasTheSameBytesOnEveryMachine(t *testing.T) {
	if *releaseTargets == "" {
		t.Skip("it builds archives only with -release")
	}
	clone, folder := machine{
		umask:      "077",
		zone:       "Asia/Tokyo",
		repository: "Acme/Herald",
		remote:     "/srv/herald",
	}.build(t)
	_, otherFolder := machine{
		umask:  "002",
		zone:   "America/New_York",
		remote: "git@github.com:Acme/Herald.git",
	}.build(t)
	sums := configtest.Read(t, folder+"/SHA256SUMS")
	if otherSums := configtest.Read(t, otherFolder+"/SHA256SUMS"); sums != otherSums || sums == "" {
		t.Errorf("the machines have built different releases:\n%s\n%s", sums, otherSums)
	}
	for _, dir := range []string{folder, otherFolder} {
		mustRun(t, dir, nil, "sha256sum", "--check", "--strict", "SHA256SUMS")
	}
	archives, err := filepath.Glob(folder + "/herald_*")
	if err != nil || len(archives) != strings.Count(sums, "\n") {
		t.Errorf("the archives are %q, %v, and SHA256SUMS is\n%s", archives, err, sums)
	}
	for _, archive := range archives {
		openRelease(t, clone, archive).check()
	}
}
