package chat_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
)

func newWork(log *bytes.Buffer, handler chat.Handler) *chat.Work {
	return chat.NewWork(context.Background(), handler, slog.New(slog.NewJSONHandler(log, nil)), func(string) {})
}

func TestAPanicStaysWithItsUpdateAndShowsNoForeignValue(t *testing.T) {
	const typed = "what somebody typed"
	for want, cause := range map[string]func(){
		"panic with a string":                                                    func() { panic(typed) },
		"panic with a *errors.errorString":                                       func() { panic(errors.New(typed)) },
		"panic: runtime error: index out of range [19] with length 0":            func() { _ = []int{}[len(typed)] },
		"panic: interface conversion: string is not error: missing method Error": func() { _ = any(typed).(error) },
	} {
		var log bytes.Buffer
		w := newWork(&log, &chattest.Handler{})
		w.Do(func(string) { cause() })
		w.Drain()
		text := log.String()
		if strings.Count(text, "\n") != 1 || !strings.Contains(text, want) || strings.Contains(text, typed) || !strings.Contains(text, "work_test.go") {
			t.Errorf("got %s, want %s and a stack", text, want)
		}
	}
}

func TestAPanicOfTheHandlerOrTheRendererIsAnsweredWithTheReference(t *testing.T) {
	for name, handler := range map[string]*chattest.Handler{
		"handler":  {Reply: func(context.Context, chat.Request) chat.Reply { panic("boom") }},
		"renderer": {Reply: func(context.Context, chat.Request) chat.Reply { return chat.Reply{Title: chat.Say("break it")} }},
	} {
		var log bytes.Buffer
		w := newWork(&log, handler)
		var shown []string
		w.Do(func(id string) {
			w.Answer(chat.Request{ID: id}, func(r chat.Reply) {
				if r.Title.Key == "break it" {
					panic("boom")
				}
				shown = append(shown, r.Text.Key)
				if !strings.Contains(log.String(), id) || !strings.Contains(fmt.Sprint(r.Text), id) {
					t.Errorf("%s: no reference %s in %+v or in %s", name, id, r, log.String())
				}
			})
		})
		w.Drain()
		if len(shown) != 1 {
			t.Errorf("%s: shown %q", name, shown)
		}
	}
}

// A command that never ends by itself is stopped early enough to be answered,
// and a send that never ends early enough to leave in time.
func TestDrainStopsCommandsThenSendsAndLeavesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork(new(bytes.Buffer), &chattest.Handler{})
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
			t.Error("finished, with an update in hand")
		}
		synctest.Wait()
		if took := time.Since(start); commands >= sends || sends >= took || took >= chat.DrainTime {
			t.Errorf("commands stopped after %v, sends after %v, left after %v", commands, sends, took)
		}
		if w.Go(func(string) { t.Error("taken while draining") }) || w.Do(func(string) { t.Error("taken while draining") }) {
			t.Error("work is taken after Drain")
		}
	})
}

func TestDrainWaitsNoLongerThanItMust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork(new(bytes.Buffer), &chattest.Handler{})
		start := time.Now()
		w.Go(func(string) { time.Sleep(time.Second) })
		if finished := w.Drain(); !finished || time.Since(start) != time.Second {
			t.Errorf("finished %v after %v", finished, time.Since(start))
		}
		if w.Sends.Err() == nil {
			t.Error("the contexts outlive the Run")
		}
	})
}
