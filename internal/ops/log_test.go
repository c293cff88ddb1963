package ops_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
	"herald/internal/ops"
)

var chain = &core.Service{Name: "chain"}

// logged returns what happens to these errors, each logged a second after the one
// before: W for a warning, i for level info, and - for nothing. more is the newest
// warning's count.
func logged(t *testing.T, level slog.Level, errs ...error) (levels, more string) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(ops.RareWarnings(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level}))).With("platform", "x").WithGroup("g")
		for _, err := range errs {
			out.Reset()
			log.Warn("command", "id", time.Now().String(), "err", err)
			line := out.String()
			switch {
			case strings.Contains(line, "level=WARN"):
				_, more, _ = strings.Cut(line, "g.more=")
				levels += "W"
			case strings.Contains(line, "level=INFO") && strings.Contains(line, "g.err="):
				levels += "i"
			case line == "":
				levels += "-"
			}
			time.Sleep(time.Second)
		}
	})
	return levels, strings.TrimSpace(more)
}

func TestOnlyOneLineAMinuteAndCauseIsAWarning(t *testing.T) {
	fail := func(r core.Reason, what string) error {
		return fmt.Errorf("wrapped: %w", chain.Fail(r, errors.New(what)))
	}
	slow, paused := fail(core.SlowAnswer, "read"), fail(core.Paused, "too early")
	port := func(n int) error { return fmt.Errorf("read 127.0.0.1:%d->10.0.0.1:443: closed", n) }
	many := make([]error, 125)
	for i := range many {
		many[i] = slow
	}
	minute := strings.Repeat("i", 59)
	for name, tt := range map[string]struct {
		errs         []error
		levels, more string
	}{
		"for two minutes":            {many, "W" + minute + "W" + minute + "Wiiii", "59"},
		"the same service and cause": {[]error{slow, fail(core.SlowAnswer, "of another wallet")}, "Wi", ""},
		"another cause":              {[]error{slow, fail(core.Denied, "read"), slow}, "WWi", ""},
		"left alone meanwhile":       {[]error{paused, slow, paused, slow}, "iWii", ""},
		"of no service":              {[]error{port(5000), port(5001), errors.New("refused with status 403")}, "WiW", ""},
		"a panic in one place":       {[]error{errors.New("panic: nil map\ngoroutine 1"), errors.New("panic: nil map\ngoroutine 2")}, "Wi", ""},
	} {
		if levels, more := logged(t, slog.LevelInfo, tt.errs...); levels != tt.levels || more != tt.more {
			t.Errorf("%s: %s, %q more", name, levels, more)
		}
	}
	if levels, _ := logged(t, slog.LevelWarn, slow, slow); levels != "W-" {
		t.Errorf("at level warn: %s", levels)
	}
	var out bytes.Buffer
	log := slog.New(ops.RareWarnings(slog.NewTextHandler(&out, nil)))
	for range 3 {
		log.Warn("trying again", "err", errors.New("closed"))
	}
	if n := strings.Count(out.String(), "\n"); n != 1 {
		t.Errorf("without a reference: %d lines", n)
	}
}

func TestTheCausesThatAreRememberedAreBounded(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(ops.RareWarnings(slog.NewTextHandler(&out, nil)))
	for i := range 1001 {
		log.Error("x", "err", fmt.Errorf("reason %d", i))
	}
	log.Error("x", "err", errors.New("reason 0"))
	if n := strings.Count(out.String(), "reason 0\""); n != 2 {
		t.Errorf("logged %d times at its level", n)
	}
}
