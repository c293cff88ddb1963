package chart

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"herald/internal/panics"
)

const (
	// atATime is how many pictures are drawn at once: each keeps a processor
	// busy for tens of milliseconds.
	atATime = 2
	// drawLimit bounds a drawing with its wait for a turn, when nobody waits for
	// it any longer.
	drawLimit = 10 * time.Second
	// The pictures remembered.
	mostPictures = 32
	mostBytes    = 4 << 20
	// sameWithin is the part of the period by which the end of a remembered
	// picture may differ: about two pixels.
	sameWithin = 288
)

// Painter draws each picture once for all who ask for it, two pictures at a
// time, and remembers the last few. It is safe for concurrent use.
type Painter struct {
	draw  func(Picture) ([]byte, error)
	calls singleflight.Group
	turns chan struct{}

	mu         sync.Mutex
	remembered []painted // oldest first
}

// painted is a picture that was drawn.
type painted struct {
	key string
	png []byte
}

// keyOf is the same for pictures that look the same.
func keyOf(p Picture) string {
	var newest time.Time
	for _, point := range p.Points {
		if point.At.After(newest) {
			newest = point.At
		}
	}
	period := p.To.Sub(p.From)
	return fmt.Sprintf("%q %q %d %d %d %d", p.Language, p.Title,
		period, p.To.Truncate(period/sameWithin).Unix(), newest.Unix(), len(p.Points))
}

// NewPainter makes a Painter that remembers nothing yet.
func NewPainter() *Painter {
	return &Painter{draw: Draw, turns: make(chan struct{}, atATime)}
}

// Draw is the function Draw, or a picture that it drew before of the same period,
// language and points. It waits until ctx is done. The bytes are not the
// caller's to change.
func (p *Painter) Draw(ctx context.Context, picture Picture) ([]byte, error) {
	k := keyOf(picture)
	if png := p.recall(k); png != nil {
		return png, nil
	}
	call := p.calls.DoChan(k, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drawLimit)
		defer cancel()
		return p.drawOnce(ctx, k, picture)
	})
	select {
	case drawn := <-call:
		png, _ := drawn.Val.([]byte)
		return png, drawn.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// drawOnce draws the picture when it is its turn, and remembers it.
func (p *Painter) drawOnce(ctx context.Context, key string, picture Picture) (png []byte, err error) {
	// A drawing that ended since the asker looked has it.
	if png := p.recall(key); png != nil {
		return png, nil
	}
	select {
	case p.turns <- struct{}{}:
		defer func() { <-p.turns }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a turn to draw: %w", ctx.Err())
	}
	// Not the caller's goroutine: a panic here would end the process.
	defer func() {
		if v := recover(); v != nil {
			png, err = nil, panics.Error(v)
		}
	}()
	if png, err = p.draw(picture); err == nil {
		p.remember(key, png)
	}
	return png, err
}

// recall returns the remembered picture; nil if there is none.
func (p *Painter) recall(key string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.remembered {
		if r.key == key {
			return r.png
		}
	}
	return nil
}

// remember makes room for the picture at the cost of the oldest.
func (p *Painter) remember(key string, png []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remembered = append(p.remembered, painted{key, png})
	size := 0
	for i := len(p.remembered) - 1; i >= 0; i-- {
		size += len(p.remembered[i].png)
		if size > mostBytes || len(p.remembered)-i > mostPictures {
			p.remembered = slices.Delete(p.remembered, 0, i+1)
			return
		}
	}
}
