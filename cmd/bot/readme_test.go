package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/telegram/telegramtest"
)

// section is what stands below a heading of a document, up to the next one of
// its level.
func section(t *testing.T, document, heading string) string {
	t.Helper()
	_, below, found := strings.Cut(document, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("there is no heading %q", heading)
	}
	below, _, _ = strings.Cut(below, "\n## ")
	return below
}

// typed are the lines to type that stand in the shell blocks of a text.
func typed(text string) (lines []string) {
	for _, block := range regexp.MustCompile("(?s)\n *```sh\n(.*?)\n *```").FindAllStringSubmatch(text, -1) {
		lines = append(lines, strings.Split(block[1], "\n")...)
	}
	return lines
}

// asked are the settings that a table of README asks for.
func asked(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if cell, _, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " |"); isRow {
			names = append(names, matches("`([A-Z_]+)`", cell)...)
		}
	}
	return names
}

// freshClone is what a stranger gets: what is committed or, where this is no
// repository of git, a copy.
func freshClone(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "herald")
	clone := exec.CommandContext(t.Context(), "git", "clone", "--quiet", repository, dir)
	if out, err := clone.CombinedOutput(); err != nil {
		t.Logf("copied, as it cannot be cloned: %v %s", err, out)
		if err := os.CopyFS(dir, os.DirFS(repository)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// fillIn sets what README asks for in the file that it has people copy. It sets
// the first setting of "this or that".
func fillIn(t *testing.T, file, section string, settings []string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(content), "\n")
	names := asked(section)
	for _, name := range names {
		given := slices.IndexFunc(settings, func(s string) bool { return strings.HasPrefix(s, name+"=") })
		at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimPrefix(l, "#"), name+"=") })
		switch {
		case name == "DISCORD_BOT_TOKEN": // or Telegram's
		case given < 0 || at < 0:
			t.Fatalf("README asks for %s, which this test cannot give or %s does not have", name, file)
		default:
			lines[at] = settings[given]
		}
	}
	if len(names) < 10 {
		t.Fatalf("README asks for %v alone", names)
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFromAFreshClone types what README says, and nothing else, up to the first
// answer in a group. Telegram and the services are stand-ins, of which README
// knows nothing: their addresses are in the environment.
func TestFromAFreshClone(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell, sh, to type into")
	}
	world := e2etest.Sandbox(t)
	fake := telegramtest.New(t)
	settings := e2etest.Settings(world, "TELEGRAM_BOT_TOKEN="+telegramtest.Token)

	began := time.Now()
	step := began
	took := func(what string, ended *os.ProcessState) {
		var processor time.Duration
		if ended != nil {
			processor = ended.UserTime() + ended.SystemTime()
		}
		t.Logf("%6.2f s, of processors %6.2f s: %s", time.Since(step).Seconds(), processor.Seconds(), what)
		step = time.Now()
	}
	dir := freshClone(t)
	took("git clone", nil)
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	setUp := section(t, string(readme), "Set it up")
	lines := typed(setUp)
	if len(lines) != 4 || !strings.HasPrefix(lines[3], "./bot run ") {
		t.Fatalf("README says to type %q", lines)
	}
	run := func(line string) *child {
		c := prepare(t, nil)
		c.cmd = exec.Command(shell, "-c", "exec "+line)
		c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = dir, c.stdout, c.stderr
		c.cmd.Env = append(os.Environ(), "TELEGRAM_API_URL="+fake.URL, "PRICE_API_URL="+world.Price.URL(), "HTTP_ADDR=127.0.0.1:0")
		c.start()
		return c
	}
	for _, line := range lines[:3] {
		c := run(line)
		<-c.exited
		if code := c.cmd.ProcessState.ExitCode(); code != exitOK {
			t.Fatalf("%s: exit code %d\n%s%s", line, code, c.stdout, c.stderr)
		}
		took(line, c.cmd.ProcessState)
		if file := filepath.Join(dir, "herald.env"); strings.HasPrefix(line, "cp ") {
			fillIn(t, file, setUp, settings)
		}
	}
	c := run(lines[3])
	c.awaitReady()
	fake.Push(telegramtest.Text(telegramtest.Group(e2etest.GroupID), telegramtest.Person(1), "/price"))
	sent := fake.WaitSent(1, e2etest.Patience)
	if len(sent) != 1 || sent[0].Chat != e2etest.GroupID || !strings.Contains(e2etest.Plain(sent[0].Text), e2etest.Price) {
		t.Fatalf("the group is told %+v\n%s", sent, c.stderr)
	}
	took(lines[3]+", up to the first answer", nil)
	t.Logf("%6.2f s in all", time.Since(began).Seconds())
}

// README's table asks for what has no default, and for what the price is best
// known by.
func TestReadmeAsksForEverySettingWithoutADefault(t *testing.T) {
	want := append(matches(`(?m)^([A-Z_]+)=`, read(t, "config.example.env")),
		"PRICE_API_KEY", "PRICE_TOKEN_ID", "TELEGRAM_BOT_TOKEN", "DISCORD_BOT_TOKEN")
	got := asked(section(t, read(t, "README.md"), "Set it up"))
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("README asks for %q, want %q", got, want)
	}
}

// A moderator's /help lists every form of every command.
func TestReadmeListsEveryCommand(t *testing.T) {
	code, help, _ := runDemo(t, "/as moderator\n/help\n")
	if code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	said := matches(`(?m)^  (/[a-z]+(?: <[a-z]+>)*) `, help)
	listed := matches("\\| `(/[a-z]+(?: <[a-z]+>)*)` \\|", section(t, read(t, "README.md"), "Commands"))
	if !slices.Equal(listed, said) {
		t.Errorf("README lists %q, /help %q", listed, said)
	}
	if len(said) == 0 {
		t.Error("/help says nothing")
	}
}

// README's transcript is the demo's, shortened where it says "…".
func TestReadmeShowsWhatTheDemoAnswers(t *testing.T) {
	steady := func(text string) string {
		return blockNote.ReplaceAllString(moment.ReplaceAllString(text, "N s ago"), "Block N")
	}
	answers := steady(read(t, "cmd/bot/testdata/demo.golden"))
	_, below, _ := strings.Cut(read(t, "README.md"), "\n```\n")
	transcript, _, _ := strings.Cut(below, "\n```\n")
	for line := range strings.SplitSeq(steady(transcript), "\n") {
		if line != "…" && !strings.Contains(answers, line+"\n") {
			t.Errorf("the demo does not show %q", line)
		}
	}
	if !strings.HasPrefix(transcript, "> /price\n") {
		t.Errorf("that is no transcript: %q", transcript)
	}
}
