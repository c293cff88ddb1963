package telegram

import (
	"context"
	"sync"
)

// places are what updates in flight hold. A chat gets a quarter of them at most, so that
// no chat holds up all others.
type places struct {
	taken chan struct{} // a token for each

	mu      sync.Mutex
	perChat map[int64]int
}

func newPlaces(n int) *places {
	return &places{taken: make(chan struct{}, n), perChat: map[int64]int{}}
}

// take returns the function that frees a place, which does so once. It blocks while all
// are taken, until ctx ends. It returns nil if ctx ended, or if the chat holds as many as
// it may.
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
