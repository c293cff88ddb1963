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

// newWork returns a Work that logs as JSON.
func newWork(log io.Writer, handler platform.Handler) *platform.Work {
	logger := slog.New(slog.NewJSONHandler(log, nil))
	return platform.NewWork(context.Background(), handler, logger, func(string) {})
}

// typed is what a user typed. No log may contain it.
const typed = "what somebody typed"

// panicTest is a Work and what it logs and shows.
type panicTest struct {
	*platform.Work
	log   bytes.Buffer
	shown []*chat.Reply
	id    string // of the request
	// logWhenShown is the log before the last reply was shown.
	logWhenShown string
}

// newPanicTest makes a Work. Its handler answers by reply.
func newPanicTest(reply func() *chat.Reply) *panicTest {
	p := &panicTest{}
	handler := &platformtest.Handler{Reply: func(context.Context, *chat.Request) *chat.Reply { return reply() }}
	p.Work = newWork(&p.log, handler)
	return p
}

// run answers one request by render, and calls after.
func (p *panicTest) run(render func(*chat.Reply), after func()) {
	p.Do(func(id string) {
		p.id = id
		p.Answer(&chat.Request{ID: id}, func(r *chat.Reply) {
			render(r)
			p.logWhenShown = p.log.String()
			p.shown = append(p.shown, r)
		})
		after()
	})
	p.Drain()
}

// checkLog checks that one line of the log has the panic, the reference and a stack.
func (p *panicTest) checkLog(t *testing.T, want string) {
	t.Helper()
	line := p.log.String()
	if strings.Count(line, "\n") != 1 {
		t.Errorf("got %q, want one line", line)
	}
	for _, part := range []string{want, p.id, "work_test.go"} {
		if !strings.Contains(line, part) {
			t.Errorf("got %s, want %s", line, part)
		}
	}
	if strings.Contains(line, typed) {
		t.Errorf("the log has what a user typed: %s", line)
	}
}

// checkReference checks that one reply was shown, which names the reference. It must be in the log by then.
func (p *panicTest) checkReference(t *testing.T) {
	t.Helper()
	if len(p.shown) != 1 {
		t.Fatalf("shown %+v", p.shown)
	}
	if !strings.Contains(p.logWhenShown, p.id) {
		t.Errorf("the reference %s is not in the log yet: %s", p.id, p.logWhenShown)
	}
	text := fmt.Sprint(p.shown[0])
	if !strings.Contains(fmt.Sprint(p.shown[0].Text), p.id) || strings.Contains(text, typed) {
		t.Errorf("shown %s, want the reference %s", text, p.id)
	}
}

func answerReply() *chat.Reply { return &chat.Reply{Title: chat.Say("answer")} }

func TestAPanicOfTheHandlerIsAnsweredWithItsReference(t *testing.T) {
	p := newPanicTest(func() *chat.Reply { panic(typed) })
	p.run(func(*chat.Reply) {}, func() {})
	p.checkLog(t, "panic with a string")
	p.checkReference(t)
}

func TestAPanicOfTheRendererIsAnsweredWithItsReference(t *testing.T) {
	p := newPanicTest(answerReply)
	p.run(func(r *chat.Reply) {
		if r.Title.Key == "answer" {
			panic(errors.New(typed))
		}
	}, func() {})
	p.checkLog(t, "panic with a *errors.errorString")
	p.checkReference(t)
}

// It is too late for another answer.
func TestAPanicOfTheAdapterIsLogged(t *testing.T) {
	p := newPanicTest(answerReply)
	p.run(func(*chat.Reply) {}, func() { _ = []int{}[len(typed)] })
	p.checkLog(t, "index out of range [19] with length 0")
	if len(p.shown) != 1 || p.shown[0].Title.Key != "answer" {
		t.Errorf("shown %+v", p.shown)
	}
}

// Commands are stopped early enough for their answers to be sent, and sends early enough for Drain to return in time.
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
		late := func(string) { t.Error("work runs after Drain") }
		if w.Go(late) || w.Do(late) {
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
		want := map[slog.Level]int{slog.LevelError: 3, slog.LevelWarn: 3, slog.LevelInfo: 244}
		if !maps.Equal(levels, want) {
			t.Errorf("levels %v, want %v", levels, want)
		}
	})
}
