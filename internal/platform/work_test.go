package platform_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/platform"
	"herald/internal/platform/platformtest"
)

func newWork(log io.Writer, handler platform.Handler) *platform.Work {
	return platform.NewWork(context.Background(), handler, slog.New(slog.NewJSONHandler(log, nil)), func(string) {})
}

// TestAPanicIsAnsweredWithItsReference, be it of the
// handler, of the renderer or, where nothing can be answered, of the adapter.
func TestAPanicIsAnsweredWithItsReference(t *testing.T) {
	const typed = "what somebody typed"
	for place, want := range []string{"panic with a string", "panic with a *errors.errorString", "index out of range [19] with length 0"} {
		var log bytes.Buffer
		w := newWork(&log, &platformtest.Handler{Reply: func(context.Context, *chat.Request) *chat.Reply {
			if place == 0 {
				panic(typed)
			}
			return &chat.Reply{Title: chat.Say("answer")}
		}})
		var shown []*chat.Reply
		w.Do(func(id string) {
			w.Answer(&chat.Request{ID: id}, func(r *chat.Reply) {
				if place == 1 && r.Title.Key == "answer" {
					panic(errors.New(typed))
				}
				shown = append(shown, r)
				if place < 2 && (!strings.Contains(log.String(), id) || !strings.Contains(fmt.Sprint(r.Text), id)) {
					t.Errorf("no reference %s in %+v or in %s", id, r, log.String())
				}
			})
			if place == 2 {
				_ = []int{}[len(typed)]
			}
		})
		w.Drain()
		line := log.String()
		if strings.Count(line, "\n") != 1 || !strings.Contains(line, want) || strings.Contains(line+fmt.Sprint(shown), typed) || !strings.Contains(line, "work_test.go") {
			t.Errorf("got %s, want %s and a stack", line, want)
		}
		if len(shown) != 1 {
			t.Errorf("%s: shown %+v", want, shown)
		}
	}
}

// A command that never ends by itself is stopped early enough to be answered,
// and a send that never ends early enough to leave in time.
func TestDrainStopsCommandsThenSendsAndLeavesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork(io.Discard, &platformtest.Handler{})
		start := time.Now()
		var commands, sends time.Duration
		left := make(chan struct{})
		defer close(left)
		w.Go(func(string) {
			<-w.Commands.Done()
			commands = time.Since(start)
			<-w.Sends.Done()
			sends = time.Since(start)
			<-left
		})
		if w.Drain() {
			t.Error("finished, with an update in flight")
		}
		synctest.Wait()
		if took := time.Since(start); commands >= sends || sends >= took || took >= platform.DrainTime {
			t.Errorf("commands stopped after %v, sends after %v, left after %v", commands, sends, took)
		}
		if w.Go(func(string) { t.Error("taken while draining") }) || w.Do(func(string) { t.Error("taken while draining") }) {
			t.Error("work is taken after Drain")
		}
	})
}

func TestOneFailureAMinuteHasItsLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork(io.Discard, &platformtest.Handler{})
		defer w.Drain()
		levels := map[slog.Level]int{}
		for range 125 {
			levels[w.Rarely(slog.LevelError, "failed")]++
			levels[w.Rarely(slog.LevelWarn, "late")]++
			time.Sleep(time.Second)
		}
		if want := map[slog.Level]int{slog.LevelError: 3, slog.LevelWarn: 3, slog.LevelInfo: 244}; !maps.Equal(levels, want) {
			t.Errorf("levels %v, want %v", levels, want)
		}
	})
}
