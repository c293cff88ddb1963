package chat

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"herald/internal/secret"
)

// DrainTime is how long Run of an Adapter may take to return after its context is done.
const DrainTime = 10 * time.Second

// Commands that still run are stopped early enough for their answers to be sent, and sends
// early enough for the answered updates to be acknowledged.
const (
	stopCommands = DrainTime - 3*time.Second
	stopSends    = DrainTime - 1500*time.Millisecond
	stopWaiting  = DrainTime - time.Second
)

// maxWaiting bounds the goroutines that wait for the next update. An answer lets a new
// goroutine's stack grow three times; one that has answered before has grown already.
const maxWaiting = 128

// logEvery is the least time between two lines about one event at its level.
const logEvery = time.Minute

// Tasks are the updates in flight during one Run of an adapter. Do and Go give each an ID,
// and recover its panics. Tasks are safe for concurrent use.
type Tasks struct {
	// Handler answers the requests.
	Handler Handler
	// Commands is the context of handlers, and Sends that of calls which deliver answers.
	// Drain ends both, some seconds after the context of Run.
	Commands, Sends context.Context

	log          *slog.Logger
	count        func(event string)
	stopCommands func()
	stopSends    func()
	// next passes an update to a goroutine that waits for one. waiting holds a token for each
	// of these goroutines.
	next    chan func(id string)
	waiting chan struct{}

	mu       sync.Mutex
	closed   bool
	logged   map[string]time.Time // when Rarely last returned the level of an event
	inFlight sync.WaitGroup
}

// NewTasks returns Tasks without an update in flight. A panic is logged, and counted as
// "panic". Drain must be called at the end.
func NewTasks(ctx context.Context, h Handler, log *slog.Logger, count func(event string)) *Tasks {
	t := &Tasks{
		Handler: h, log: log, count: count, logged: map[string]time.Time{},
		next: make(chan func(id string)), waiting: make(chan struct{}, maxWaiting),
	}
	ctx = context.WithoutCancel(ctx)
	t.Commands, t.stopCommands = context.WithCancel(ctx)
	t.Sends, t.stopSends = context.WithCancel(ctx)
	return t
}

// Do handles one update and returns true when that is done. After Drain it returns false
// at once. The ID is for the update's Request.
func (t *Tasks) Do(handle func(id string)) bool {
	if !t.Hold() {
		return false
	}
	defer t.Release()
	t.Run(handle)
	return true
}

// Go is Do in another goroutine. It does not block.
func (t *Tasks) Go(handle func(id string)) bool {
	if !t.Hold() {
		return false
	}
	select {
	case t.next <- handle:
	default:
		go t.work(handle)
	}
	return true
}

// work handles an update that is held, and then those that Go passes on. It returns after an
// update if maxWaiting others wait, and once Sends is done.
func (t *Tasks) work(handle func(id string)) {
	for {
		t.Run(handle)
		t.Release()
		select {
		case t.waiting <- struct{}{}:
		default:
			return
		}
		select {
		case handle = <-t.next:
			<-t.waiting
		case <-t.Sends.Done():
			return
		}
	}
}

// Hold counts an update as in flight until Release is called, for one that waits without a
// goroutine. After Drain it returns false.
func (t *Tasks) Hold() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.inFlight.Add(1)
	}
	return !t.closed
}

// Release ends a Hold.
func (t *Tasks) Release() { t.inFlight.Done() }

// Run is Do for an update that is held.
func (t *Tasks) Run(handle func(id string)) {
	id := rand.Text()[:10]
	defer t.recoverPanic(id, func() {})
	handle(id)
}

// Handle calls render with the Handler's reply to req. If either panics, it calls render
// with SomethingWentWrong.
func (t *Tasks) Handle(req Request, render func(Reply)) {
	defer t.recoverPanic(req.ID, func() {
		wrong := SomethingWentWrong(req.ID)
		wrong.Language = t.Handler.Language(req, false)
		render(wrong)
	})
	render(t.Handler.Handle(t.Commands, req))
}

// Claim claims the answer to an update in d. It counts a New one against the limits of req,
// unless req is nil, in the same call.
func (t *Tasks) Claim(d Dedup, key string, req *Request) Progress {
	if req == nil {
		p, _ := d.Claim(t.Sends, key)
		return p
	}
	p, wait := d.Claim(t.Sends, key, t.Handler.Limits(*req)...)
	req.counted, req.limited = true, wait
	return p
}

// AfterFunc calls f after d in a goroutine of its own, unless the timer is stopped. The
// update with this ID must be in flight until then.
func (t *Tasks) AfterFunc(d time.Duration, id string, f func()) *time.Timer {
	return time.AfterFunc(d, func() {
		defer t.recoverPanic(id, func() {})
		f()
	})
}

// Rarely returns level once a minute for each event, and otherwise slog.LevelInfo: what fails
// for one command often fails for all. The event is a constant.
func (t *Tasks) Rarely(level slog.Level, event string) slog.Level {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.logged[event]) < logEvery {
		return slog.LevelInfo
	}
	t.logged[event] = time.Now()
	return level
}

// recoverPanic logs a panic and then calls instead. It must be deferred.
func (t *Tasks) recoverPanic(id string, instead func()) {
	if v := recover(); v != nil {
		t.count("panic")
		t.log.Error("panic while an update was handled", "id", id, "err", secret.PanicError(v))
		instead()
	}
}

// Cancel ends Commands and Sends at once, for a platform that takes no more answers.
func (t *Tasks) Cancel() {
	t.stopCommands()
	t.stopSends()
}

// Drain makes Do and Go refuse updates, and waits at most a second less than DrainTime for
// those in flight. It reports whether all were finished.
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
