package platform

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/claim"
	"herald/internal/ratelimit"
	"herald/internal/secret"
)

// DrainTime is how long Run of an Adapter may take to return after its context is done.
const DrainTime = 10 * time.Second

// The steps of Drain, as times after its start.
const (
	// commandsEndAfter is when Commands ends. Stopped commands can then still send an answer until sendsEndAfter.
	commandsEndAfter = DrainTime - 3*time.Second
	// sendsEndAfter is when Sends ends. Stopped sends can then still acknowledge their update until drainEndsAfter.
	sendsEndAfter = DrainTime - 1500*time.Millisecond
	// drainEndsAfter is when Drain returns, even if tasks are in flight.
	drainEndsAfter = DrainTime - time.Second
)

// Work runs the tasks of one Run of an adapter. Most tasks handle an update. Work gives each task an ID, recovers its
// panics, and waits for all tasks at the end. It is safe for concurrent use.
type Work struct {
	// Handler answers the requests.
	Handler Handler
	// Commands is the context of handlers. Drain ends it after commandsEndAfter.
	Commands context.Context
	// Sends is the context of calls that deliver answers. Drain ends it after sendsEndAfter.
	Sends context.Context

	log          *slog.Logger
	count        func(event string)
	stopCommands func()
	stopSends    func()
	logged       *ratelimit.Memory // counts for Rarely, by event

	mu       sync.Mutex
	draining bool // Go and Do refuse tasks
	inFlight sync.WaitGroup
}

// NewWork returns a Work with nothing in flight. Its contexts have the values of ctx, but do not end with it. Work logs
// a panic, and counts it as "panic". The caller must call Drain at the end.
func NewWork(ctx context.Context, h Handler, log *slog.Logger, count func(event string)) *Work {
	w := &Work{Handler: h, log: log, count: count, logged: ratelimit.NewMemory()}
	ctx = context.WithoutCancel(ctx)
	w.Commands, w.stopCommands = context.WithCancel(ctx)
	w.Sends, w.stopSends = context.WithCancel(ctx)
	return w
}

// Go calls do with a new ID in another goroutine, and returns true at once. Once Drain was called, Go returns false and
// does not call do.
func (w *Work) Go(do func(id string)) bool {
	if !w.begin() {
		return false
	}
	go func() {
		defer w.inFlight.Done()
		w.run(do)
	}()
	return true
}

// Do calls do with a new ID, and returns true once do has returned. Once Drain was called, Do returns false and does
// not call do.
func (w *Work) Do(do func(id string)) bool {
	if !w.begin() {
		return false
	}
	defer w.inFlight.Done()
	w.run(do)
	return true
}

// begin counts a task as in flight and returns true. It returns false once Drain was called.
func (w *Work) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.draining {
		return false
	}
	w.inFlight.Add(1)
	return true
}

func (w *Work) run(do func(id string)) {
	id := rand.Text()[:10]
	defer w.recoverPanic(id, nil)
	do(id)
}

// Recover calls f. If f panics, Recover logs and counts that, with the ID of the task that f belongs to.
func (w *Work) Recover(id string, f func()) {
	defer w.recoverPanic(id, nil)
	f()
}

// Answer calls render with the Handler's reply to req. If the Handler or render panics, Answer calls render with
// chat.SomethingWentWrong. A second panic is left to the task, which recovers it.
func (w *Work) Answer(req *chat.Request, render func(*chat.Reply)) {
	defer w.recoverPanic(req.ID, func() {
		wrong := chat.SomethingWentWrong(req.ID)
		wrong.Language = w.Handler.Language(req, chat.Public)
		render(wrong)
	})
	render(w.Handler.Handle(w.Commands, req))
}

// Claim claims the answer to an update under key, and returns the progress of that answer. Unless req is nil, the same
// call counts req against its limits if the progress is claim.New. Claim then sets req.Counted, so that the Handler
// does not count req again, and req.Wait, which is how long the limits make the sender wait.
func (w *Work) Claim(claims claim.Claims, key string, req *chat.Request) claim.Progress {
	if req == nil {
		progress, _ := claims.Claim(w.Sends, key)
		return progress
	}
	progress, wait := claims.Claim(w.Sends, key, w.Handler.Limits(req)...)
	req.Counted = true
	req.Wait = wait
	return progress
}

// AfterFunc calls Recover(id, f) in another goroutine after d, unless the timer is stopped before. Drain does not wait
// for f, so f must return once Sends is done.
func (w *Work) AfterFunc(d time.Duration, id string, f func()) *time.Timer {
	return time.AfterFunc(d, func() { w.Recover(id, f) })
}

// Rarely returns level for the first of an event's log lines in a minute, and slog.LevelInfo for the others. What fails
// for one command often fails for all.
func (w *Work) Rarely(level slog.Level, event string) slog.Level {
	if w.logged.Allow(ratelimit.Limit{Key: event, Burst: 1, Every: time.Minute}) {
		return level
	}
	return slog.LevelInfo
}

// recoverPanic recovers a panic, if there is one, logs and counts it, and then calls instead unless that is nil. The
// caller must defer it.
func (w *Work) recoverPanic(id string, instead func()) {
	v := recover()
	if v == nil {
		return
	}
	w.count("panic")
	w.log.Error("panic while an update was handled", "id", id, "err", secret.PanicError(v))
	if instead != nil {
		instead()
	}
}

// Cancel ends Commands and Sends at once. An adapter calls it if the platform accepts no more answers.
func (w *Work) Cancel() {
	w.stopCommands()
	w.stopSends()
}

// Drain makes Go and Do refuse tasks, and blocks until none is in flight. It returns false if some still are after
// drainEndsAfter. Commands and Sends have ended when it returns.
func (w *Work) Drain() bool {
	defer w.Cancel()
	w.mu.Lock()
	w.draining = true
	w.mu.Unlock()
	defer time.AfterFunc(commandsEndAfter, w.stopCommands).Stop()
	defer time.AfterFunc(sendsEndAfter, w.stopSends).Stop()
	finished := make(chan struct{})
	go func() {
		w.inFlight.Wait()
		close(finished)
	}()
	select {
	case <-finished:
		return true
	case <-time.After(drainEndsAfter):
		return false
	}
}
