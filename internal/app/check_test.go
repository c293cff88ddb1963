package app_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"herald/internal/app"
	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/sandbox/fault"
	"herald/internal/telegram/telegramtest"
)

// check checks with these settings and returns whether all is well and the
// table's rows by their first column.
func check(t *testing.T, e *e2etest.Everything, settings ...string) (ok bool, rows map[string]string) {
	t.Helper()
	bot := e2etest.New(t, append(e.Settings, settings...), slog.New(slog.DiscardHandler))
	var table bytes.Buffer
	err := bot.Check(t.Context(), &table)
	if err != nil && !errors.Is(err, app.ErrCheckFailed) {
		t.Fatal(err)
	}
	e.Secrets.MustNotShow(t, "the table", table.String())
	rows = map[string]string{}
	what := ""
	for line := range strings.Lines(table.String()) {
		if line == "\n" {
			break // what follows is the summary
		}
		if line[0] != ' ' {
			what, line, _ = strings.Cut(line, "  ")
		}
		rows[what] = strings.Join(append(strings.Fields(rows[what]), strings.Fields(line)...), " ")
	}
	return err == nil, rows
}

var asked = []string{"partner API", "price provider", "supply host", "staking pools", "Telegram", "Discord", "Redis"}

// result is the second word of a row: WHERE has no blank in it.
func result(row string) string {
	if words := strings.Fields(row); len(words) > 1 {
		return words[1]
	}
	return ""
}

func TestCheckOfSoundSettings(t *testing.T) {
	e := e2etest.NewEverything(t)
	ok, rows := check(t, e)
	if !ok {
		t.Error("the check failed")
	}
	for _, what := range asked {
		if result(rows[what]) != "ok" {
			t.Errorf("%s: %q, want ok", what, rows[what])
		}
	}
	if len(rows) != len(asked)+1 || !strings.HasPrefix(rows["WHAT"], "WHERE") {
		t.Errorf("the table is %q", rows)
	}
}

func TestCheckAsksOnlyWhatIsConfigured(t *testing.T) {
	e := e2etest.NewEverything(t)
	e.Settings = e2etest.Settings(e.World, e2etest.Polling(e.Telegram)...)
	ok, rows := check(t, e)
	if !ok || len(rows) != 6 {
		t.Errorf("ok %v, rows %q", ok, rows)
	}
}

// broken is one thing amiss, and what its row must tell.
type broken struct {
	name     string
	row      string
	wants    []string
	settings []string
	cause    func(*e2etest.Everything)
}

// TestCheckNamesWhatIsWrong also demands that everything else stays ok.
func TestCheckNamesWhatIsWrong(t *testing.T) {
	for _, test := range append(brokenServices(), append(brokenChains(), brokenPlatforms()...)...) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := e2etest.NewEverything(t)
			if test.cause != nil {
				test.cause(e)
			}
			ok, rows := check(t, e, test.settings...)
			if ok {
				t.Error("the check did not fail")
			}
			for _, what := range asked {
				want := "ok"
				if what == test.row {
					want = "WRONG"
				}
				if result(rows[what]) != want {
					t.Errorf("%s: %q, want %s", what, rows[what], want)
				}
			}
			for _, want := range test.wants {
				if !strings.Contains(rows[test.row], want) {
					t.Errorf("%s: %q does not tell %q", test.row, rows[test.row], want)
				}
			}
		})
	}
}

func TestCheckTellsOfAClockThatIsOff(t *testing.T) {
	for name, want := range map[string]string{
		"clock an hour fast":     `clock is (59|60|61) min behind`,
		"clock ten minutes slow": `clock is (9|10|11) min ahead`,
	} {
		e := e2etest.NewEverything(t)
		put(e, fault.Partner, name)
		ok, rows := check(t, e)
		// How long the answer takes to come is part of the measure.
		if row := rows["partner API"]; !ok || !regexp.MustCompile(want).MatchString(row) {
			t.Errorf("%s: ok %v, %q, want %q", name, ok, row, want)
		}
	}
}

func TestCheckWaitsNoLongerThanACommand(t *testing.T) {
	e := e2etest.NewEverything(t)
	for _, service := range []*fault.Service{e.World.Partner, e.World.Price, e.World.Supply, e.World.Chain} {
		service.SetFault(fault.Hang())
	}
	e.Telegram.Fail("getMe", telegramtest.Hang())
	e.Discord.Break(discordtest.Application, discordtest.Fault{Latency: time.Hour})
	start := time.Now()
	ok, rows := check(t, e, "COMMAND_TIMEOUT=300ms", "UPSTREAM_TIMEOUT=5m")
	if took := time.Since(start); took > time.Minute {
		t.Errorf("check took %v with a limit of 300 ms", took)
	}
	if ok {
		t.Error("the check did not fail")
	}
	for _, what := range asked[:6] {
		if result(rows[what]) != "WRONG" {
			t.Errorf("%s: %q", what, rows[what])
		}
	}
}

func TestCheckEndsWhenInterrupted(t *testing.T) {
	e := e2etest.NewEverything(t)
	e.World.Chain.SetFault(fault.Hang())
	ctx, stop := context.WithCancel(t.Context())
	stop()
	bot := e2etest.New(t, e.Settings, slog.New(slog.DiscardHandler))
	var table bytes.Buffer
	if err := bot.Check(ctx, &table); !errors.Is(err, app.ErrCheckFailed) {
		t.Errorf("%v:\n%s", err, &table)
	}
}
