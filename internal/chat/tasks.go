package chat

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"herald/internal/secret"
)

// DrainTime is how long an Adapter may take to finish the commands in flight after
// its context is done.
const DrainTime = 10 * time.Second

// How DrainTime is spent: commands that still run are stopped early enough to send
// their answers, and sends early enough to acknowledge what was answered.
const (
	stopCommands = DrainTime - 3*time.Second
	stopSends    = DrainTime - 1500*time.Millisecond
	stopWaiting  = DrainTime - time.Second
)

// Tasks are the updates in flight during one Run of an adapter. Do and Go make the
// ID of each, and keep a panic to the update that caused it.
type Tasks struct {
	// Handler answers the requests.
	Handler Handler
	// Commands bounds handlers, and Sends the calls that deliver answers. Both
	// outlive the context of Run while it drains.
	Commands, Sends context.Context

	log          *slog.Logger
	count        func(event string)
	stopCommands func()
	stopSends    func()

	mu       sync.Mutex
	closed   bool
	inFlight sync.WaitGroup
}

// NewTasks begins a Run with ctx. A panic is logged and counted as "panic". Drain
// must be called at the end.
func NewTasks(ctx context.Context, h Handler, log *slog.Logger, count func(event string)) *Tasks {
	t := &Tasks{Handler: h, log: log, count: count}
	ctx = context.WithoutCancel(ctx)
	t.Commands, t.stopCommands = context.WithCancel(ctx)
	t.Sends, t.stopSends = context.WithCancel(ctx)
	return t
}

// Do handles one update and returns when that is done, or false at once while
// Tasks drain. The ID is for the update's Request.
func (t *Tasks) Do(handle func(id string)) bool {
	if !t.start() {
		return false
	}
	t.run(handle)
	return true
}

// Go is Do in a goroutine of its own. It does not block.
func (t *Tasks) Go(handle func(id string)) bool {
	if !t.start() {
		return false
	}
	go t.run(handle)
	return true
}

func (t *Tasks) start() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.inFlight.Add(1)
	}
	return !t.closed
}

func (t *Tasks) run(handle func(id string)) {
	defer t.inFlight.Done()
	id := rand.Text()[:10]
	defer t.recoverPanic(id, func() {})
	handle(id)
}

// Handle has the Handler answer req, and calls render with the reply. If either
// panics, it calls render with SomethingWentWrong.
func (t *Tasks) Handle(req Request, render func(Reply)) {
	defer t.recoverPanic(req.ID, func() {
		wrong := SomethingWentWrong(req.ID)
		wrong.Language = t.Handler.Language(req, false)
		render(wrong)
	})
	render(t.Handler.Handle(t.Commands, req))
}

// AfterFunc calls f after d in a goroutine of its own, unless the timer is stopped
// before. The caller must still be handling the update with this ID.
func (t *Tasks) AfterFunc(d time.Duration, id string, f func()) *time.Timer {
	return time.AfterFunc(d, func() {
		defer t.recoverPanic(id, func() {})
		f()
	})
}

// recoverPanic is deferred. It logs a panic, and then calls instead.
func (t *Tasks) recoverPanic(id string, instead func()) {
	if v := recover(); v != nil {
		t.count("panic")
		t.log.Error("panic while an update was handled", "id", id, "err", secret.PanicError(v))
		instead()
	}
}

// Cancel ends what is in flight at once, for a platform that takes no answers any
// more.
func (t *Tasks) Cancel() {
	t.stopCommands()
	t.stopSends()
}

// Drain starts nothing more and waits for what is in flight, a second less than
// DrainTime at most. It reports whether everything was finished.
func (t *Tasks) Drain() bool {
	defer t.Cancel()
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	defer time.AfterFunc(stopCommands, t.stopCommands).Stop()
	defer time.AfterFunc(stopSends, t.stopSends).Stop()
	finished := make(chan struct{})
	go func() { t.inFlight.Wait(); close(finished) }()
	select {
	case <-finished:
		return true
	case <-time.After(stopWaiting):
		return false
	}
}
