package telegram

import (
	"context"
	"sync"
)

// places bounds the updates in flight: each holds a place. A chat gets a quarter of the
// places at most, so that no chat holds up all others.
type places struct {
	held chan struct{} // a token for each place that is held

	mu      sync.Mutex
	perChat map[int64]int
}

// place is what one update in flight holds.
type place struct {
	all  *places
	chat int64
	full bool
	free bool // guarded by places.mu
}

func newPlaces(n int) *places {
	return &places{held: make(chan struct{}, n), perChat: map[int64]int{}}
}

// hold returns a place for an update of a chat. It blocks while all places are held. It
// returns nil if ctx ends first, and a place that is Full if the chat holds its quarter.
func (p *places) hold(ctx context.Context, chatID int64) *place {
	select {
	case p.held <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.perChat[chatID] >= max(1, cap(p.held)/4) {
		<-p.held
		return &place{all: p, full: true, free: true}
	}
	p.perChat[chatID]++
	return &place{all: p, chat: chatID}
}

// Full reports whether the chat held its quarter already. The update then holds no place,
// and its command must not run.
func (p *place) Full() bool { return p.full }

// Free ends the hold. Later calls do nothing.
func (p *place) Free() {
	p.all.mu.Lock()
	defer p.all.mu.Unlock()
	if p.free {
		return
	}
	p.free = true
	if p.all.perChat[p.chat]--; p.all.perChat[p.chat] == 0 {
		delete(p.all.perChat, p.chat)
	}
	<-p.all.held
}
