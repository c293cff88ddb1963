package telegram

import (
	"context"
	"encoding/json"
	"runtime"
	"time"

	"github.com/go-telegram/bot"

	"herald/internal/platform/telegram/botapi"
)

const (
	// longPoll is how long Telegram may take to answer a getUpdates if nothing comes.
	longPoll = 50 * time.Second
	// commitTimeout limits the getUpdates of commit.
	commitTimeout = 900 * time.Millisecond
)

// An update that is not acknowledged stays in Telegram's queue, and the next getUpdates returns it again at once.
// Without a pause, the bot would poll the same updates in a busy loop. During the pause it answers some of them, and
// the next call acknowledges these.
const (
	// After a batch of n updates, the pause is n*pausePerUpdate, but at least minPause. For example, it is 20 ms after a
	// batch of 100. If the batch had new updates, the pause ends early once at most n/4 of its updates would come again.
	pausePerUpdate = 200 * time.Microsecond
	minPause       = 2 * time.Millisecond
	// sameOffsetPause is the minimum time between two calls for the same offset.
	sameOffsetPause = 100 * time.Millisecond
)

// poller takes updates by long polling, during one Run. Telegram keeps an update in its queue until the bot
// acknowledges it. The bot does so once the update and all before it are answered.
//
// Telegram returns at most a hundred updates that are not acknowledged, so a hundred of them hide all newer ones. Then
// the oldest ones that wait or hang are acknowledged early: see tracker in updates.go. This process still answers them,
// even on SIGTERM. They are lost if the process is killed, or if Telegram does not accept the answer before the drain
// ends.
//
// A join request is acknowledged once acceptJoin (join.go) has accepted it. If the bot then stops, the request stays
// open for moderators.
type poller struct {
	s       *session
	updates *tracker
	// lastSent is the offset that the last getUpdates sent, as alternate returned it.
	lastSent int64
}

func newPoller(s *session) *poller {
	return &poller{s: s, updates: newTracker(s.out.Saturated)}
}

// receive polls until ctx is done or the token is refused.
func (p *poller) receive(ctx context.Context) {
	p.deleteWebhook(ctx)
	// The first getUpdates returns at once, which shows early that Telegram can be reached.
	timeout := time.Duration(0)
	for ctx.Err() == nil {
		offset, _ := p.updates.nextOffset()
		called := time.Now()
		batch, err := p.getUpdates(ctx, offset, timeout)
		if err != nil {
			return
		}
		p.s.connected()
		p.updates.acknowledge(offset)
		if len(batch) == 0 {
			// The queue is empty, so no old ID can come again. After a week without updates, new IDs may be lower.
			p.updates.forgetIDs()
		}
		anyNew := p.dispatch(ctx, batch)
		p.pause(ctx, len(batch), anyNew)
		p.awaitOffset(ctx, offset, called.Add(sameOffsetPause))
		timeout = longPoll
	}
}

// deleteWebhook deletes the webhook of an earlier run. A webhook that is set later belongs to another process:
// getUpdates then fails with a conflict until that process deletes it.
func (p *poller) deleteWebhook(ctx context.Context) {
	_ = p.s.repeat(ctx, func() error {
		_, err := botapi.Change(ctx, p.s.adapter.api, (*bot.Bot).DeleteWebhook, &bot.DeleteWebhookParams{})
		return err
	}) // If this fails, so does the following getUpdates.
}

// getUpdates calls Telegram until a call succeeds. If no update is queued, the first call blocks for up to timeout.
// getUpdates fails if ctx is done or the token is refused.
func (p *poller) getUpdates(
	ctx context.Context, offset int64, timeout time.Duration,
) (batch []json.RawMessage, err error) {
	a := p.s.adapter
	err = p.s.repeat(ctx, func() (err error) {
		p.lastSent = alternate(offset, p.lastSent)
		batch, err = a.api.GetUpdates(ctx, p.lastSent, batchSize, timeout, a.allowedUpdates())
		if err != nil && ctx.Err() == nil {
			timeout = 0 // The next call returns at once if Telegram is back.
			a.ready.Store(false)
			a.Count("poll_failed")
		}
		return err
	})
	return batch, err
}

// alternate returns the offset to send in a getUpdates that asks for offset: offset or, if the last call sent that,
// offset-1. In a series of calls for offset 7, it returns 7, 6, 7, 6, and so on.
//
// If two calls within half a second send the same offset, Telegram returns only one update to the second (tdlib/
// telegram-bot-api 10.0, Client.cpp, process_get_updates_query). An update that hangs would then hide all others. For
// offset-1 Telegram returns the same updates, because the update with that ID is acknowledged already. If the call for
// offset did not arrive, that update comes once more. Then dispatch skips it as known.
func alternate(offset, lastSent int64) int64 {
	isFromEarliest := offset == fromEarliest // Telegram would drop updates at a negative offset.
	if offset == lastSent && !isFromEarliest {
		return offset - 1
	}
	return offset
}

// dispatch starts to answer each new update of a batch, and reports whether there was one. It blocks while too many
// updates are in flight.
func (p *poller) dispatch(ctx context.Context, batch []json.RawMessage) (anyNew bool) {
	for _, raw := range batch {
		if p.updates.isKnown(leadingID(raw)) {
			continue // begin checks this, too. But this check saves decoding the update again.
		}
		u, answerable := p.s.adapter.read(raw)
		if u.ID == 0 || !p.updates.begin(u.ID) {
			continue
		}
		anyNew = true
		switch {
		case !answerable:
			p.updates.advance(u.ID, stateDone)
		case u.Join != nil:
			p.passOn(u)
		case !p.start(ctx, u):
			return anyNew
		}
	}
	return anyNew
}

// passOn passes on a join request to be answered, and marks its update as done. Once the drain has begun, acceptJoin
// accepts none: the update then stays in Telegram's queue, and the next process gets it.
func (p *poller) passOn(u *update) {
	if p.s.acceptJoin(u.Join) {
		p.updates.advance(u.ID, stateDone)
	}
}

// start starts a goroutine that answers an update. It blocks while too many updates are in flight. It returns
// false, and starts none, if ctx ends or the drain has begun.
func (p *poller) start(ctx context.Context, u *update) bool {
	flight := p.s.adapter.inFlight.enter(ctx)
	if flight == nil {
		return false
	}
	u.onWait = func() {
		flight.stopRunning()
		p.updates.advance(u.ID, stateWaiting)
	}
	started := p.s.work.Go(func(id string) {
		growStack()
		answered := true // even after a panic, because the update would panic again
		defer func() {
			flight.leave()
			// An update that was not answered because of a stop stays in Telegram's queue for the next process. Without a
			// stop, it is marked as done all the same: this process would not answer it again, and it would hide newer ones.
			isForNextProcess := !answered && ctx.Err() != nil
			if !isForNextProcess {
				p.updates.advance(u.ID, stateDone)
			}
		}()
		u.command = p.s.parseRenamed(u)
		answered = p.s.respond(id, u)
	})
	if !started {
		flight.leave()
	}
	return started
}

// growStack grows the stack of a new goroutine to 16 KiB, which decoding an update and sending its answer need. A stack
// that grows later is copied with all its frames, several times for each command: TestSpeed shows the difference. The
// garbage collector halves the stack of a goroutine that waits.
//
//go:noinline
func growStack() {
	var room [8 << 10]byte // A stack of 8 KiB has no room for it, so it becomes 16 KiB.
	runtime.KeepAlive(&room)
}

// pause blocks after a batch of the given size, so that answers are delivered before the next call. If the batch had
// new updates, the pause ends early once at most size/4 known updates would come again.
func (p *poller) pause(ctx context.Context, size int, anyNew bool) {
	longest := max(minPause, pausePerUpdate*time.Duration(size))
	p.await(ctx, longest, func() bool {
		_, repeated := p.updates.nextOffset()
		return anyNew && repeated <= size/4
	})
}

// awaitOffset blocks until the next offset differs from that of the last call, or until the given time.
func (p *poller) awaitOffset(ctx context.Context, last int64, until time.Time) {
	p.await(ctx, time.Until(until), func() bool {
		offset, _ := p.updates.nextOffset()
		return offset != last
	})
}

// await blocks until ready returns true or ctx ends, but for at most d. It calls ready at the start, and whenever the
// state of an update has changed.
func (p *poller) await(ctx context.Context, d time.Duration, ready func() bool) {
	timeout := time.After(d)
	for !ready() {
		select {
		case <-p.updates.changed:
		case <-timeout:
			return
		case <-ctx.Done():
			return
		}
	}
}

// commit acknowledges the updates that were answered since the last getUpdates, within commitTimeout.
func (p *poller) commit(ctx context.Context) {
	offset := p.updates.finalOffset()
	if offset == fromEarliest {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	if _, err := p.s.adapter.api.GetUpdates(ctx, offset, 1, 0, p.s.adapter.allowedUpdates()); err != nil {
		p.s.adapter.Log.Warn("telegram: the last answers may be repeated at the next start", "err", err)
	}
}
