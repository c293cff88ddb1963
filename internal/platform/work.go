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

// When each step of Drain begins, counted from its start. Stopped commands have time to send an answer, and stopped
// sends have time to acknowledge their update.
const (
	commandsEndAfter = DrainTime - 3*time.Second
	sendsEndAfter    = DrainTime - 1500*time.Millisecond
	drainGivesUp     = DrainTime - time.Second
)

// Work is what is in flight during one Run of an adapter: mostly updates. It gives each an ID, recovers its panics, and
// waits for all of them at the end. It is safe for concurrent use.
type Work struct {
	// Handler answers the requests.
	Handler Handler
	// Commands is the context of handlers. Drain ends it 3 seconds before DrainTime is over.
	Commands context.Context
	// Sends is the context of calls that deliver answers. Drain ends it 1.5 seconds before.
	Sends context.Context

	log          *slog.Logger
	count        func(event string)
	stopCommands func()
	stopSends    func()
	logged       *ratelimit.Memory // by event, what Rarely has let pass

	mu       sync.Mutex
	drains   bool // no more work begins
	inFlight sync.WaitGroup
}

// NewWork returns Work with nothing in flight. It takes the values of ctx, and not its end. A panic is logged, and
// counted as "panic". The caller must call Drain at the end.
func NewWork(ctx context.Context, h Handler, log *slog.Logger, count func(event string)) *Work {
	w := &Work{Handler: h, log: log, count: count, logged: ratelimit.NewMemory()}
	ctx = context.WithoutCancel(ctx)
	w.Commands, w.stopCommands = context.WithCancel(ctx)
	w.Sends, w.stopSends = context.WithCancel(ctx)
	return w
}

// Go calls do with a new ID in another goroutine, and returns true at once. After Drain it returns false and calls
// nothing.
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

// Do calls do with a new ID, and returns true once do has returned. After Drain it returns false and calls nothing.
func (w *Work) Do(do func(id string)) bool {
	if !w.begin() {
		return false
	}
	defer w.inFlight.Done()
	w.run(do)
	return true
}

// begin counts work as in flight and returns true, or returns false after Drain.
func (w *Work) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.drains {
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

// Recover calls f. It recovers a panic of f, and logs it with the ID of the update.
func (w *Work) Recover(id string, f func()) {
	defer w.recoverPanic(id, nil)
	f()
}

// Answer calls render with the Handler's reply to req. If either panics, it calls render with SomethingWentWrong.
func (w *Work) Answer(req *chat.Request, render func(*chat.Reply)) {
	defer w.recoverPanic(req.ID, func() {
		wrong := chat.SomethingWentWrong(req.ID)
		wrong.Language = w.Handler.Language(req, chat.Public)
		render(wrong)
	})
	render(w.Handler.Handle(w.Commands, req))
}

// Claim claims the answer to an update. Unless req is nil, the same call counts a New update against the limits of req,
// and marks req as Counted.
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

// AfterFunc is Recover in another goroutine after d, unless the timer is stopped before. f may still run when the
// update with this ID is done, so it must end once Sends is done.
func (w *Work) AfterFunc(d time.Duration, id string, f func()) *time.Timer {
	return time.AfterFunc(d, func() { w.Recover(id, f) })
}

// Rarely returns level if it has not done so for this event within the last minute, and otherwise slog.LevelInfo: what
// fails for one command often fails for all.
func (w *Work) Rarely(level slog.Level, event string) slog.Level {
	if w.logged.Allow(ratelimit.Limit{Key: event, Burst: 1, Every: time.Minute}) {
		return level
	}
	return slog.LevelInfo
}

// recoverPanic logs and counts a panic, and then calls instead unless it is nil. The caller must defer it.
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

// Cancel ends Commands and Sends at once. It is for a platform that takes no more answers.
func (w *Work) Cancel() {
	w.stopCommands()
	w.stopSends()
}

// Drain makes Go and Do refuse work. It blocks until nothing is in flight and returns true, or returns false a second
// before DrainTime is over. Then it ends Commands and Sends.
func (w *Work) Drain() bool {
	defer w.Cancel()
	w.mu.Lock()
	w.drains = true
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
	case <-time.After(drainGivesUp):
		return false
	}
}
