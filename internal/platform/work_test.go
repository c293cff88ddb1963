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

// newWork returns a Work that logs to log, as JSON.
func newWork(log io.Writer, handler platform.Handler) *platform.Work {
	logger := slog.New(slog.NewJSONHandler(log, nil))
	return platform.NewWork(context.Background(), handler, logger, func(string) {})
}

// typed is what a user typed. The value of a panic may contain it, but neither the log nor an answer may.
const typed = "what somebody typed"

// panicTest runs one request in a Work, and records what the Work logs and shows.
type panicTest struct {
	*platform.Work
	log   bytes.Buffer
	shown []*chat.Reply
	id    string // the request's ID, which the user reads as the reference
	// logWhenShown is the log at the time when the last reply was shown.
	logWhenShown string
}

// newPanicTest returns a panicTest whose handler calls reply.
func newPanicTest(reply func() *chat.Reply) *panicTest {
	p := &panicTest{}
	handler := &platformtest.Handler{Reply: func(context.Context, *chat.Request) *chat.Reply { return reply() }}
	p.Work = newWork(&p.log, handler)
	return p
}

// run answers one request. It calls render with each reply before the reply counts as shown, and after once the request
// is answered.
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

// checkLog checks that the log is one line, with the text want, the reference and a stack.
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

// checkReference checks that one reply was shown, which names the reference. The reference must be in the log before
// the reply is shown.
func (p *panicTest) checkReference(t *testing.T) {
	t.Helper()
	if len(p.shown) != 1 {
		t.Fatalf("shown %+v", p.shown)
	}
	if !strings.Contains(p.logWhenShown, p.id) {
		t.Errorf("the reference %s is not in the log yet: %s", p.id, p.logWhenShown)
	}
	if !strings.Contains(fmt.Sprint(p.shown[0].Text), p.id) {
		t.Errorf("shown %+v, want the reference %s", p.shown[0], p.id)
	}
	if strings.Contains(fmt.Sprint(p.shown[0]), typed) {
		t.Errorf("the reply has what a user typed: %+v", p.shown[0])
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

// The answer is already shown, so the panic is not answered.
func TestAPanicAfterTheAnswerIsLogged(t *testing.T) {
	p := newPanicTest(answerReply)
	p.run(func(*chat.Reply) {}, func() { _ = []int{}[len(typed)] })
	p.checkLog(t, "index out of range [19] with length 0")
	if len(p.shown) != 1 || p.shown[0].Title.Key != "answer" {
		t.Errorf("shown %+v", p.shown)
	}
}

// Commands ends early enough for the answers to be sent, and Sends early enough for Drain to return in time.
func TestDrainEndsCommandsThenSendsThenReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork(io.Discard, &platformtest.Handler{})
		start := time.Now()
		var commandsTook, sendsTook time.Duration // from start until the context ended
		finish := make(chan struct{})
		defer close(finish)
		w.Go(func(string) {
			<-w.Commands.Done()
			commandsTook = time.Since(start)
			<-w.Sends.Done()
			sendsTook = time.Since(start)
			<-finish
		})
		if w.Drain() {
			t.Error("Drain returned true with a task in flight")
		}
		synctest.Wait()
		drainTook := time.Since(start)
		isInOrder := commandsTook < sendsTook && sendsTook < drainTook && drainTook < platform.DrainTime
		if !isInOrder {
			t.Errorf("Commands ended after %v, Sends after %v, Drain after %v", commandsTook, sendsTook, drainTook)
		}
		late := func(string) { t.Error("a task runs after Drain") }
		if w.Go(late) || w.Do(late) {
			t.Error("a task is accepted after Drain")
		}
	})
}

func TestRarelyKeepsTheLevelOncePerMinuteAndEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork(io.Discard, &platformtest.Handler{})
		defer w.Drain()
		levels := map[slog.Level]int{}
		for range 125 { // a little more than two minutes
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
