package app_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"herald/internal/app"
	"herald/internal/app/e2e/e2etest"
	"herald/internal/sandbox/fault"
)

func TestCheckShowsNoSecretWhateverFails(t *testing.T) {
	s := e2etest.NewStage(t)
	settings := append(s.Settings(fault.EchoingRedis(t)), "COMMAND_TIMEOUT=600ms")
	for _, echo := range s.Echoes() {
		s.Cut(&echo)
		checkAllWrong(t, s, echo.Name, settings)
	}
	s.Cut(nil)
	for name, settings := range s.Unreachable(t) {
		checkAllWrong(t, s, name, settings)
	}
	if n := s.Strayed.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// checkAllWrong checks what must all be wrong, and looks at the table and at
// the errors themselves, from which nothing is struck out.
func checkAllWrong(t *testing.T, s *e2etest.Stage, name string, settings []string) {
	t.Helper()
	bot := e2etest.New(t, settings, slog.New(slog.DiscardHandler))
	var table bytes.Buffer
	err := bot.Check(t.Context(), &table)
	if !errors.Is(err, app.ErrCheckFailed) || strings.Count(table.String(), "WRONG") != 7 {
		t.Errorf("%s: %v, want 7 wrong:\n%s", name, err, &table)
	}
	s.Secrets().MustNotShow(t, name+": the table", table.String())
	s.Secrets().MustNotShow(t, name+": the error", fmt.Sprintf("%v %+[1]v", err))

	probed, err := app.Probe(t.Context(), bot)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range probed {
		if p.Err == nil {
			t.Errorf("%s: %s found nothing wrong", name, p.Title)
			continue
		}
		text := fmt.Sprintf("%v\n%+[1]v\n%#[1]v\n%s\n%s", p.Err, p.Learned, p.Advice)
		for err := p.Err; err != nil; err = errors.Unwrap(err) {
			text += fmt.Sprintf("\n%v %+[1]v", err)
		}
		s.Secrets().MustNotShow(t, name+": the error of "+p.Title, text)
	}
}
