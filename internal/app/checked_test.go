package app_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"herald/internal/app"
	"herald/internal/app/e2e/e2etest"
	"herald/internal/sandbox/fault"
)

// changing is what differs from run to run: ports, times, the newest block, and
// so the widths of columns, which TestCheckTable is about.
var changing = []struct {
	is *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:12345"},
	{regexp.MustCompile(`\d+ ms  `), "12 ms  "},
	{regexp.MustCompile(`\d+ ms\n`), "12 ms\n"},
	{regexp.MustCompile(`fastest call: [\d.]+ ms`), "fastest call: 0.1 ms"},
	{regexp.MustCompile(`just now|\b\d+ (s|min) ago`), "40 s ago"},
	{regexp.MustCompile(`block 1,000,\d\d\d`), "block 1,000,000"},
	{regexp.MustCompile(`(\S) {2,}`), "$1  "},
	{regexp.MustCompile(`(?m)^ {10,}`), "          "},
}

// TestCheckPrints compares the whole table, written with -update.
func TestCheckPrints(t *testing.T) {
	for _, test := range []struct {
		name  string
		cause func(*e2etest.Everything)
	}{
		{"sound", func(*e2etest.Everything) {}},
		{"no_platform", func(e *e2etest.Everything) { e.Settings = e2etest.Settings(e.World) }},
		{"several_wrong", func(e *e2etest.Everything) {
			put(e, fault.Supply, "circulating above total")
			e.Settings = append(e.Settings, "PRICE_API_KEY=another-price-key")
			e.Telegram.Revoke()
			e.Redis.Close()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := e2etest.NewEverything(t)
			test.cause(e)
			bot := e2etest.New(t, e.Settings, slog.New(slog.DiscardHandler))
			var table bytes.Buffer
			if err := bot.Check(t.Context(), &table); (test.name == "sound") != (err == nil) || err != nil && !errors.Is(err, app.ErrCheckFailed) {
				t.Error(err)
			}
			got := table.String()
			for _, c := range changing {
				got = c.is.ReplaceAllString(got, c.by)
			}
			golden := filepath.Join("testdata", "check", test.name+".golden")
			if *app.Update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(golden); err != nil || string(want) != got {
				t.Errorf("%v; the table is not %s, which go test ./internal/app -update writes:\n%s", err, golden, got)
			}
			for line := range strings.Lines(got) {
				if n := len(strings.TrimRight(line, "\n")); n > 100 {
					t.Errorf("a line has %d characters: %s", n, line)
				}
			}
		})
	}
}
