package main

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"herald/internal/config/configtest"
	"herald/internal/e2e/e2etest"
)

// These patterns match what differs from run to run. steady replaces it.
var (
	age       = regexp.MustCompile(`\d+ (s|min|h|day|days) ago|just now`)
	block     = regexp.MustCompile(`block [\d,]*\d`)
	clockTime = regexp.MustCompile(`\d\d:\d\d UTC`)
	since     = regexp.MustCompile(`since \w+ \d+`)
	reference = regexp.MustCompile(`Reference \w+`)
	// bothChecks matches a sentence with the times of two checks: "No stake found in … on … and …".
	bothChecks = regexp.MustCompile(`(?s)(No stake found in \S+ on).*?(comes\s+back\.)`)
)

// steady replaces what differs from run to run.
func steady(transcript string) string {
	transcript = age.ReplaceAllString(transcript, "N s ago")
	transcript = reference.ReplaceAllString(transcript, "Reference R")
	transcript = block.ReplaceAllString(transcript, "block N")
	transcript = bothChecks.ReplaceAllString(transcript, "$1 DAY and DAY … it comes back.")
	transcript = clockTime.ReplaceAllString(transcript, "HH:MM UTC")
	return since.ReplaceAllString(transcript, "since DAY")
}

var wallet = regexp.MustCompile(`0x[0-9A-Fa-f]{40}`)

// invalidSettings make bot run fail. The demo must ignore them, as it ignores every setting.
var invalidSettings = []string{
	"PARTNER_BASE_URL=not even a URL",
	"HTTP_ADDR=nowhere",
	"TELEGRAM_BOT_TOKEN=x",
	"DATA_DIR=/no/such/folder",
}

// awaitGreeting waits for the demo's greeting, and returns the two wallets that it names: one that stakes, and one that
// does not.
func awaitGreeting(t *testing.T, p *e2etest.Process) (staker, idle string) {
	t.Helper()
	p.Await("its greeting", func() bool { return strings.HasSuffix(p.Log.String(), "\n\n") })
	wallets := wallet.FindAllString(p.Log.String(), -1)
	if len(wallets) != 2 {
		t.Fatalf("the greeting names the wallets %q, want one that stakes and one that does not", wallets)
	}
	return wallets[0], wallets[1]
}

// demoLines returns the lines of a newcomer who tries everything. "[24h]" presses the button that begins with 24h.
func demoLines(staker, idle string) []string {
	return []string{
		"/help", "/start", "/price", "/price 7d", "[24h]", "[CoinMarketCap]", "/price 1y", "/supply",
		"/staked " + staker, "[Refresh]", "/staked", idle, "/staked 0x12",
		"/staked 0x52908400098527886e0F7030069857D2E4169EE7",
		"/mylogins", "/exists", "/exists 7000000003",
		"/verify " + staker, "/verify " + idle, "/verify", "[Open", idle,

		"/as unregistered", "/mylogins", "/exists", "/verify " + staker, "/join registered", "/join staker",

		"/as moderator", "/mylogins", "/exists @unregistered", "/exists 7000000001", "/exists GitHub 70001",
		"/exists Myspace 70001", "/verify 7000000001 " + staker, "/verify 7000000003 " + staker,

		"/as nobody", "/prices", "price", "", "[Nothing]",

		"/as registered", "/verify " + staker, "[Save", "/unstake", "/later", "/verify", "/later now", "/later",
		"/verify", "/stake", "/verify", "/join staker", "/forget", "/forget", "/later",
		"/fault chain", "/staked " + staker, "/fault chain", "/fault nothing",
	}
}

// demoTranscript runs the demo, types demoLines, and returns what a newcomer sees.
func demoTranscript(t *testing.T) string {
	t.Helper()
	demo := program([]string{"demo"}, invalidSettings...)
	keyboard, err := demo.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := e2etest.StartProcess(t, demo)
	lines := demoLines(awaitGreeting(t, p))
	// A line may have several answers. So a separator is typed after each line, and its answer shows where they end.
	const (
		separator       = "/join"
		separatorAnswer = "Type /join registered or /join staker.\n\n"
	)
	for _, line := range lines {
		if _, err := fmt.Fprintf(keyboard, "%s\n%s\n", line, separator); err != nil {
			t.Fatal(err)
		}
	}
	keyboard.Close()
	p.AwaitEnd()
	answers := strings.Split(p.Out.String(), separatorAnswer)
	if len(answers) != len(lines)+1 || answers[len(lines)] != "" {
		t.Fatalf("%d lines were answered with %d answers:\n%s", len(lines), len(answers)-1, p.Out.String())
	}
	var transcript strings.Builder
	transcript.WriteString(p.Log.String())
	for i, line := range lines {
		fmt.Fprintf(&transcript, "> %s\n%s", line, answers[i])
	}
	return steady(transcript.String())
}

// Each answer that README.md shows must also be in the transcript.
func TestDemoTranscript(t *testing.T) {
	t.Parallel()
	transcript := demoTranscript(t)
	configtest.Golden(t, "testdata/demo.golden", transcript, *update)
	readme := configtest.Read(t, "../../README.md")
	blocks := regexp.MustCompile("(?s)```\n(> .*?)```").FindAllStringSubmatch(readme, -1)
	if len(blocks) == 0 {
		t.Error("README.md shows no answers")
	}
	for _, block := range blocks {
		for _, answer := range strings.SplitAfter(steady(block[1])+"\n", "\n\n") {
			if !strings.Contains(transcript, answer) {
				t.Errorf("README.md shows what the demo does not print:\n%s", answer)
			}
		}
	}
}

func TestDemoOnAPageEndsWithControlC(t *testing.T) {
	t.Parallel()
	c := e2etest.StartProcess(t, program([]string{"demo", "--web"}, invalidSettings...))
	address := ""
	c.Await("its address", func() bool {
		address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(c.Out.String())
		return address != ""
	})
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if page, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(page), "<html") {
		t.Errorf("%v: %.200s", err, page)
	}
	c.Tell(syscall.SIGINT)
	c.AwaitEnd()
	if printed := c.Log.String(); printed != "" {
		t.Errorf("standard error:\n%s", printed)
	}
}
