package telegram

import (
	"context"
	"sync"
)

// places bounds the updates in flight: each holds a place. A chat gets a quarter of the
// places at most, so that no chat holds up all others.
type places struct {
	taken chan struct{} // a token for each place that is held

	mu      sync.Mutex
	perChat map[int64]int
}

func newPlaces(n int) *places {
	return &places{taken: make(chan struct{}, n), perChat: map[int64]int{}}
}

// take takes a place and returns the function that frees it; later calls do nothing. It
// blocks while all places are taken. It returns nil if ctx ends first, or if the chat
// already holds its quarter.
func (p *places) take(ctx context.Context, chatID int64) (free func()) {
	select {
	case p.taken <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.perChat[chatID] >= max(1, cap(p.taken)/4) {
		<-p.taken
		return nil
	}
	p.perChat[chatID]++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.perChat[chatID]--; p.perChat[chatID] == 0 {
			delete(p.perChat, chatID)
		}
		<-p.taken
	})
}
