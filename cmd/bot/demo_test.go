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

// Patterns of what differs from run to run, and of wallets.
var (
	moment    = regexp.MustCompile(`\d+ (s|min|h|day|days) ago|just now`)
	blockNote = regexp.MustCompile(`block [\d,]*\d`)
	atTime    = regexp.MustCompile(`\d\d:\d\d UTC`)
	sinceDay  = regexp.MustCompile(`since \w+ \d+`)
	bothTimes = regexp.MustCompile(`(?s)(No stake found in \S+ on).*?(comes\s+back\.)`)
	reference = regexp.MustCompile(`Reference \w+`)
	wallet    = regexp.MustCompile(`0x[0-9A-Fa-f]{40}`)
)

// notOurs are settings that the demo must ignore.
var notOurs = []string{
	"PARTNER_BASE_URL=not even a URL", "HTTP_ADDR=nowhere", "TELEGRAM_BOT_TOKEN=x", "DATA_DIR=/no/such/folder",
}

// awaitGreeting waits for the greeting, and returns its two wallets: one that stakes, and one that does
// not.
func awaitGreeting(t *testing.T, p *e2etest.Process) (staker, idle string) {
	t.Helper()
	p.Await("its greeting", func() bool { return strings.HasSuffix(p.Log.String(), "\n\n") })
	wallets := wallet.FindAllString(p.Log.String(), -1)
	if len(wallets) != 2 {
		t.Fatalf("the greeting names the wallets %q, want one that stakes and one that does not", wallets)
	}
	return wallets[0], wallets[1]
}

// demoLines returns what a newcomer types who tries everything.
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
	demo := program([]string{"demo"}, notOurs...)
	keyboard, err := demo.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := e2etest.StartProcess(t, demo)
	lines := demoLines(awaitGreeting(t, p))
	// The answer to mark shows where the answers to the line before it end.
	const mark, end = "/join", "Type /join registered or /join staker.\n\n"
	for _, line := range lines {
		if _, err := fmt.Fprintf(keyboard, "%s\n%s\n", line, mark); err != nil {
			t.Fatal(err)
		}
	}
	keyboard.Close()
	p.AwaitEnd()
	answers := strings.Split(p.Out.String(), end)
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

// README.md shows parts of the transcript.
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

// steady replaces what differs from run to run.
func steady(transcript string) string {
	transcript = moment.ReplaceAllString(transcript, "N s ago")
	transcript = reference.ReplaceAllString(transcript, "Reference R")
	transcript = blockNote.ReplaceAllString(transcript, "block N")
	transcript = bothTimes.ReplaceAllString(transcript, "$1 DAY and DAY … it comes back.")
	transcript = atTime.ReplaceAllString(transcript, "HH:MM UTC")
	return sinceDay.ReplaceAllString(transcript, "since DAY")
}

func TestDemoOnAPageEndsWithControlC(t *testing.T) {
	t.Parallel()
	c := e2etest.StartProcess(t, program([]string{"demo", "--web"}, notOurs...))
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
