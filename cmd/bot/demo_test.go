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

// The patterns match what differs from run to run, and wallets.
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

// greeted waits for the greeting and returns its two wallets: one that stakes, and one
// that does not.
func greeted(t *testing.T, p *e2etest.Process) (staker, idle string) {
	t.Helper()
	p.Await("its greeting", func() bool { return strings.HasSuffix(p.Log.String(), "\n\n") })
	wallets := wallet.FindAllString(p.Log.String(), -1)
	if len(wallets) != 2 {
		t.Fatalf("the greeting names the wallets %q, want one that stakes and one that does not", wallets)
	}
	return wallets[0], wallets[1]
}

// The transcript is what a newcomer sees who types these lines.
func TestDemoTranscript(t *testing.T) {
	t.Parallel()
	demo := program([]string{"demo"}, notOurs...)
	in, err := demo.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	c := e2etest.StartProcess(t, demo)
	staker, idle := greeted(t, c)
	lines := []string{
		"/help", "/start", "/price", "/price 7d", "[24h]", "[CoinMarketCap]", "/price 1y", "/supply",
		"/staked " + staker, "[Refresh]", "/staked", idle, "/staked 0x12",
		"/staked 0x52908400098527886e0F7030069857D2E4169EE7",
		"/mylogins", "/exists", "/exists 7000000003", "/verify " + staker, "/verify " + idle, "/verify", "[Open", idle,
		"/as unregistered", "/mylogins", "/exists", "/verify " + staker, "/join registered", "/join staker",
		"/as moderator", "/mylogins", "/exists @unregistered", "/exists 7000000001", "/exists GitHub 70001",
		"/exists Myspace 70001", "/verify 7000000001 " + staker, "/verify 7000000003 " + staker,
		"/as nobody", "/prices", "price", "", "[Nothing]",
		"/as registered", "/verify " + staker, "[Save", "/unstake", "/later", "/verify", "/later now", "/later",
		"/verify", "/stake", "/verify", "/join staker", "/forget", "/forget", "/later",
		"/fault chain", "/staked " + staker, "/fault chain", "/fault nothing",
	}
	// The answer to mark shows where the answers to the line before it end.
	const mark, end = "/join", "Type /join registered or /join staker.\n\n"
	for _, line := range lines {
		if _, err := fmt.Fprintf(in, "%s\n%s\n", line, mark); err != nil {
			t.Fatal(err)
		}
	}
	in.Close()
	c.Leaves()
	answers := strings.Split(c.Out.String(), end)
	if len(answers) != len(lines)+1 || answers[len(lines)] != "" {
		t.Fatalf("%d lines were answered with %d answers:\n%s", len(lines), len(answers)-1, c.Out.String())
	}
	var transcript strings.Builder
	transcript.WriteString(c.Log.String())
	for i, line := range lines {
		fmt.Fprintf(&transcript, "> %s\n%s", line, answers[i])
	}
	golden := steady(transcript.String())
	configtest.Golden(t, "testdata/demo.golden", golden, *update)
	shown := regexp.MustCompile("(?s)```\n(> .*?)```").FindAllStringSubmatch(configtest.Read(t, "../../README.md"), -1)
	for _, block := range shown {
		for _, answer := range strings.SplitAfter(steady(block[1])+"\n", "\n\n") {
			if !strings.Contains(golden, answer) {
				t.Errorf("README.md shows what the demo does not print:\n%s", answer)
			}
		}
	}
	if len(shown) == 0 {
		t.Error("README.md shows no answers")
	}
}

// steady returns a transcript with what differs from run to run replaced.
func steady(transcript string) string {
	transcript = moment.ReplaceAllString(transcript, "N s ago")
	transcript = reference.ReplaceAllString(transcript, "Reference R")
	transcript = blockNote.ReplaceAllString(transcript, "block N")
	transcript = bothTimes.ReplaceAllString(transcript, "$1 DAY and DAY … it comes back.")
	return sinceDay.ReplaceAllString(atTime.ReplaceAllString(transcript, "HH:MM UTC"), "since DAY")
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
	c.Leaves()
	if told := c.Log.String(); told != "" {
		t.Errorf("standard error:\n%s", told)
	}
}
