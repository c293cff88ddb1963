package chat

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"herald/internal/ratelimit"
	"herald/internal/secret"
)

// DrainTime is how long Run of an Adapter may take to return after its context is done.
const DrainTime = 10 * time.Second

// When each step of Drain begins, counted from its start. Stopped commands have time to send an
// answer, and stopped sends have time to acknowledge their update.
const (
	commandsEndAfter = DrainTime - 3*time.Second
	sendsEndAfter    = DrainTime - 1500*time.Millisecond
	drainGivesUp     = DrainTime - time.Second
)

// maxIdle bounds the goroutines that wait for another update. They are reused because their
// stacks have grown already: a new stack grows three times while it answers.
const maxIdle = 128

// logEvery is how long Rarely lowers the level of an event that it has just let pass.
const logEvery = time.Minute

// Tasks are the updates in flight during one Run of an adapter. Do and Go give each an ID,
// and recover its panics. Tasks are safe for concurrent use.
type Tasks struct {
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

	idle   atomic.Int32         // goroutines that wait at toIdle
	toIdle chan func(id string) // from Go, without a buffer

	logged *ratelimit.Memory // by event, what Rarely has let pass

	mu       sync.Mutex
	closed   bool // Hold refuses updates
	inFlight sync.WaitGroup
}

// NewTasks returns Tasks without an update in flight. It takes the values of ctx, and not its
// end. A panic is logged, and counted as "panic". The caller must call Drain at the end.
func NewTasks(ctx context.Context, h Handler, log *slog.Logger, count func(event string)) *Tasks {
	t := &Tasks{
		Handler: h,
		log:     log,
		count:   count,
		toIdle:  make(chan func(id string)),
		logged:  ratelimit.NewMemory(),
	}
	ctx = context.WithoutCancel(ctx)
	t.Commands, t.stopCommands = context.WithCancel(ctx)
	t.Sends, t.stopSends = context.WithCancel(ctx)
	return t
}

// Do calls handle with a new ID for the update's Request, blocks until handle has ended, and
// returns true. After Drain it returns false at once.
func (t *Tasks) Do(handle func(id string)) bool {
	if !t.Hold() {
		return false
	}
	defer t.Release()
	t.Run(handle)
	return true
}

// Go does what Do does in another goroutine, and returns at once.
func (t *Tasks) Go(handle func(id string)) bool {
	if !t.Hold() {
		return false
	}
	select {
	case t.toIdle <- handle:
	default:
		go t.work(handle)
	}
	return true
}

// work runs handle, and then each handle that Go passes to this goroutine. Go has called Hold
// for each of them.
func (t *Tasks) work(handle func(id string)) {
	for handle != nil {
		t.Run(handle)
		t.Release()
		handle = t.awaitNext()
	}
}

// awaitNext blocks until Go passes on a handle, and returns it. It returns nil once Sends is
// done, and at once if maxIdle goroutines wait already.
func (t *Tasks) awaitNext() func(id string) {
	defer t.idle.Add(-1)
	if t.idle.Add(1) > maxIdle {
		return nil
	}
	select {
	case handle := <-t.toIdle:
		return handle
	case <-t.Sends.Done():
		return nil
	}
}

// Hold counts an update as in flight until Release is called, and returns true. After Drain it
// returns false. An update that waits without a goroutine is held, and then handled by Run.
func (t *Tasks) Hold() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.inFlight.Add(1)
	}
	return !t.closed
}

// Release ends one Hold.
func (t *Tasks) Release() { t.inFlight.Done() }

// Run calls handle with a new ID, and recovers its panic. The caller must hold the update, and
// release it afterwards: Run may be called several times for one update.
func (t *Tasks) Run(handle func(id string)) {
	id := rand.Text()[:10]
	t.Recover(id, func() { handle(id) })
}

// Recover calls f. It recovers a panic of f, and logs it with the ID of the update.
func (t *Tasks) Recover(id string, f func()) {
	defer t.recoverPanic(id, func() {})
	f()
}

// Handle calls render with the Handler's reply to req. If either panics, it calls render
// with SomethingWentWrong.
func (t *Tasks) Handle(req Request, render func(Reply)) {
	defer t.recoverPanic(req.ID, func() {
		wrong := SomethingWentWrong(req.ID)
		wrong.Language = t.Handler.Language(req, Public)
		render(wrong)
	})
	render(t.Handler.Handle(t.Commands, req))
}

// Claim claims the answer to an update in d. Unless req is nil, the same call counts a New
// update against the limits of req. Claim notes in req that this is done, so that the Router
// does not count it again.
func (t *Tasks) Claim(d Dedup, key string, req *Request) Progress {
	if req == nil {
		p, _ := d.Claim(t.Sends, key)
		return p
	}
	p, wait := d.Claim(t.Sends, key, t.Handler.Limits(*req)...)
	req.counted = true
	req.limited = wait
	return p
}

// AfterFunc is Recover in another goroutine after d, unless the timer is stopped before. f may
// still run when the update with this ID is done, so it must end once Sends is done.
func (t *Tasks) AfterFunc(d time.Duration, id string, f func()) *time.Timer {
	return time.AfterFunc(d, func() { t.Recover(id, f) })
}

// Rarely returns level if it has not done so for this event within the last minute, and
// otherwise slog.LevelInfo: what fails for one command often fails for all.
func (t *Tasks) Rarely(level slog.Level, event string) slog.Level {
	if t.logged.Allow(ratelimit.Limit{Key: event, Burst: 1, Every: logEvery}) {
		return level
	}
	return slog.LevelInfo
}

// recoverPanic logs and counts a panic, and then calls instead. The caller must defer it.
func (t *Tasks) recoverPanic(id string, instead func()) {
	if v := recover(); v != nil {
		t.count("panic")
		t.log.Error("panic while an update was handled", "id", id, "err", secret.PanicError(v))
		instead()
	}
}

// Cancel ends Commands and Sends at once. It is for a platform that takes no more answers.
func (t *Tasks) Cancel() {
	t.stopCommands()
	t.stopSends()
}

// Drain makes Do, Go and Hold refuse updates. It blocks until none is in flight and returns
// true, or returns false a second before DrainTime is over. Then it ends Commands and Sends.
func (t *Tasks) Drain() bool {
	defer t.Cancel()
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	defer time.AfterFunc(commandsEndAfter, t.stopCommands).Stop()
	defer time.AfterFunc(sendsEndAfter, t.stopSends).Stop()
	finished := make(chan struct{})
	go func() { t.inFlight.Wait(); close(finished) }()
	select {
	case <-finished:
		return true
	case <-time.After(drainGivesUp):
		return false
	}
}
