package chat

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"herald/internal/secret"
)

// DrainTime is how long an Adapter may take to finish the commands in hand
// after its context is done.
const DrainTime = 10 * time.Second

// How DrainTime is spent: commands still running are stopped early enough for
// their answers to be sent, and sends early enough for an adapter to
// acknowledge to its platform what was answered.
const (
	stopCommands = DrainTime - 3*time.Second
	stopSends    = DrainTime - 1500*time.Millisecond
	stopWaiting  = DrainTime - time.Second
)

// Tasks is what an adapter has in hand during one Run. Each update is worked on
// in Do or Go, which make its ID and keep a panic in the update that caused it.
type Tasks struct {
	// Handler answers the requests.
	Handler Handler
	// Commands bounds handlers, and Sends the calls that deliver answers. Both
	// outlive the context of Run while it drains.
	Commands, Sends context.Context

	log     *slog.Logger
	count   func(event string)
	stop    func()
	abandon func()

	mu     sync.Mutex
	closed bool
	inHand sync.WaitGroup
}

// NewTasks begins a Run with ctx. A panic is logged and counted as "panic".
// Drain must be called at the end.
func NewTasks(ctx context.Context, h Handler, log *slog.Logger, count func(event string)) *Tasks {
	w := &Tasks{Handler: h, log: log, count: count}
	ctx = context.WithoutCancel(ctx)
	w.Commands, w.stop = context.WithCancel(ctx)
	w.Sends, w.abandon = context.WithCancel(ctx)
	return w
}

// Do works on one update and returns when that is done, or false at once if
// nothing is taken any more. The ID is that of the update's Request.
func (w *Tasks) Do(work func(id string)) bool {
	if !w.begin() {
		return false
	}
	w.do(work)
	return true
}

// Go is Do in a goroutine of its own. It does not block.
func (w *Tasks) Go(work func(id string)) bool {
	if !w.begin() {
		return false
	}
	go w.do(work)
	return true
}

func (w *Tasks) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.inHand.Add(1)
	}
	return !w.closed
}

func (w *Tasks) do(work func(id string)) {
	defer w.inHand.Done()
	id := rand.Text()[:10]
	defer w.caught(id, func() {})
	work(id)
}

// Handle handles req and gives the reply to render. If either panics, render
// gets SomethingWentWrong.
func (w *Tasks) Handle(req Request, render func(Reply)) {
	defer w.caught(req.ID, func() {
		wrong := SomethingWentWrong(req.ID)
		wrong.Language = w.Handler.Language(req, false)
		render(wrong)
	})
	render(w.Handler.Handle(w.Commands, req))
}

// AfterFunc calls do after d, in a goroutine of its own and while the caller
// works on the update with this ID, unless the timer is stopped before.
func (w *Tasks) AfterFunc(d time.Duration, id string, do func()) *time.Timer {
	return time.AfterFunc(d, func() {
		defer w.caught(id, func() {})
		do()
	})
}

// caught is deferred. It logs a panic once, and then calls instead.
func (w *Tasks) caught(id string, instead func()) {
	if v := recover(); v != nil {
		w.count("panic")
		w.log.Error("panic while an update was handled", "id", id, "err", secret.PanicError(v))
		instead()
	}
}

// Cancel ends at once what is in hand, for a platform that takes no answers
// any more.
func (w *Tasks) Cancel() {
	w.stop()
	w.abandon()
}

// Drain takes nothing more and waits for what is in hand, for a second less
// than DrainTime at most. It reports whether everything was finished.
func (w *Tasks) Drain() bool {
	defer w.Cancel()
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	defer time.AfterFunc(stopCommands, w.stop).Stop()
	defer time.AfterFunc(stopSends, w.abandon).Stop()
	finished := make(chan struct{})
	go func() { w.inHand.Wait(); close(finished) }()
	late := time.NewTimer(stopWaiting)
	defer late.Stop()
	select {
	case <-finished:
		return true
	case <-late.C:
		return false
	}
}
