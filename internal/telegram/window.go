package telegram

import (
	"sync"
	"time"
)

// windowSize bounds the updates in hand. It is also the most that one
// getUpdates answers, https://core.telegram.org/bots/api#getupdates, so while
// that many stand unanswered at the head of the queue nothing behind them can
// be seen.
const windowSize = 100

// patience is how long an answer may wait for its turn while a full window
// keeps everybody else waiting.
const patience = 2 * time.Second

// job is one update in hand.
type job struct {
	arrived time.Time
	// shed is closed to tell the job not to wait for its turn any longer.
	shed chan struct{}

	mu      sync.Mutex
	waiting time.Time // since when it waits for its turn; zero is not
	isShed  bool
}

func (j *job) wait(since time.Time) {
	j.mu.Lock()
	j.waiting = since
	j.mu.Unlock()
}

func (j *job) shedIfWaiting(before time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.isShed && !j.waiting.IsZero() && j.waiting.Before(before) {
		j.isShed = true
		close(j.shed)
	}
}

// window is the part of Telegram's queue that this process knows: which
// updates are in hand, and which are answered but cannot be acknowledged yet
// because an earlier one is in hand. Telegram acknowledges by one number
// below which all is answered.
type window struct {
	mu     sync.Mutex
	inHand map[int64]*job
	done   map[int64]struct{}
	next   int64 // what to ask for when nothing is in hand
	closed bool
	jobs   sync.WaitGroup
	// moved gets a token when the earliest update in hand is answered.
	moved chan struct{}
}

func newWindow() *window {
	return &window{inHand: map[int64]*job{}, done: map[int64]struct{}{}, moved: make(chan struct{}, 1)}
}

// begin takes an update into hand. It answers nil for one that is known, and
// while the window is full or closed.
func (w *window) begin(id int64) *job {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, answered := w.done[id]
	if answered || w.inHand[id] != nil || w.closed || len(w.inHand) >= windowSize {
		return nil
	}
	j := &job{arrived: time.Now(), shed: make(chan struct{})}
	w.inHand[id] = j
	w.jobs.Add(1)
	return j
}

// full tells whether there is no room for another update.
func (w *window) full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.inHand) >= windowSize
}

// end closes what begin opened. An update that is not settled holds its place:
// nothing from it on is acknowledged by this process.
func (w *window) end(id int64, settled bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.jobs.Done()
	if !settled {
		return
	}
	first := w.first() == id
	delete(w.inHand, id)
	w.done[id] = struct{}{}
	if first {
		select {
		case w.moved <- struct{}{}:
		default:
		}
	}
}

// release closes what begin opened and forgets the update.
func (w *window) release(id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.inHand, id)
	w.jobs.Done()
}

// first is the earliest update in hand. It is called with w.mu held and
// something in hand.
func (w *window) first() int64 {
	found := false
	var first int64
	for id := range w.inHand {
		if !found || id < first {
			first, found = id, true
		}
	}
	return first
}

// offset is the lowest update that is not answered, and whether anything is in
// hand.
func (w *window) offset() (offset int64, busy bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.inHand) == 0 {
		for id := range w.done {
			w.next = max(w.next, id+1)
		}
		clear(w.done)
		return w.next, false
	}
	first := w.first()
	for id := range w.done {
		if id < first {
			w.next = max(w.next, id+1)
			delete(w.done, id)
		}
	}
	return first, true
}

// forget drops the place in the queue, once everything in it is acknowledged.
func (w *window) forget() {
	w.mu.Lock()
	w.next = 0
	w.mu.Unlock()
}

// shedWaiting ends the waiting of jobs that have waited for their turn longer
// than others should have to wait for them.
func (w *window) shedWaiting() {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := time.Now().Add(-patience)
	for _, j := range w.inHand {
		j.shedIfWaiting(before)
	}
}

// close takes nothing more; its channel is closed when nothing is in hand.
func (w *window) close() <-chan struct{} {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	idle := make(chan struct{})
	go func() { w.jobs.Wait(); close(idle) }()
	return idle
}
