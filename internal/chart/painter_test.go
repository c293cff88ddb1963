package chart

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// painter counts its drawings, which draw has made.
func painter(draw func(Picture) ([]byte, error)) (*Painter, *atomic.Int64) {
	p, drawn := NewPainter(), new(atomic.Int64)
	p.draw = func(picture Picture) ([]byte, error) {
		drawn.Add(1)
		return draw(picture)
	}
	return p, drawn
}

// ofTitle is a picture that differs from others by its title alone.
func ofTitle(n int) Picture {
	p := day(seen(5, 1), seen(0, 1))
	p.Title = fmt.Sprint(n)
	return p
}

func title(p Picture) ([]byte, error) { return []byte(p.Title), nil }

func TestPictureIsDrawnOnceForManyAskers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, drawn := painter(func(picture Picture) ([]byte, error) {
			time.Sleep(time.Second)
			return title(picture)
		})
		var askers sync.WaitGroup
		for range 100 {
			askers.Go(func() {
				if png, err := p.Draw(t.Context(), ofTitle(1)); err != nil || string(png) != "1" {
					t.Errorf("%q, %v", png, err)
				}
			})
		}
		askers.Wait()
		if _, err := p.Draw(t.Context(), ofTitle(1)); err != nil || drawn.Load() != 1 {
			t.Errorf("drawn %d times (%v)", drawn.Load(), err)
		}
	})
}

func TestTwoPicturesAreDrawnAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		p, drawn := painter(func(picture Picture) ([]byte, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return title(picture)
		})
		began := time.Now()
		var askers sync.WaitGroup
		for n := range 10 {
			askers.Go(func() { _, _ = p.Draw(t.Context(), ofTitle(n)) })
		}
		askers.Wait()
		if took := time.Since(began); drawn.Load() != 10 || most.Load() != 2 || took != 5*time.Second {
			t.Errorf("%d drawings, %d at a time, in %v", drawn.Load(), most.Load(), took)
		}
	})
}

func TestAskerWaitsNoLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, drawn := painter(func(picture Picture) ([]byte, error) {
			time.Sleep(time.Minute)
			return title(picture)
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		stays := make(chan []byte)
		go func() {
			synctest.Wait() // The one that leaves has begun it.
			png, _ := p.Draw(t.Context(), ofTitle(1))
			stays <- png
		}()
		began := time.Now()
		if _, err := p.Draw(ctx, ofTitle(1)); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if png := <-stays; string(png) != "1" || drawn.Load() != 1 {
			t.Errorf("the asker that stayed got %q of %d drawings", png, drawn.Load())
		}
	})
}

func TestWaitForATurnIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := painter(func(picture Picture) ([]byte, error) {
			time.Sleep(time.Minute)
			return title(picture)
		})
		for n := range atATime {
			go func() { _, _ = p.Draw(t.Context(), ofTitle(n)) }()
		}
		synctest.Wait()
		began := time.Now()
		if _, err := p.Draw(t.Context(), ofTitle(9)); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != drawLimit {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		time.Sleep(time.Minute)
	})
}

func TestDrawingThatPanicsIsAnError(t *testing.T) {
	p, drawn := painter(Draw)
	picture := ofTitle(1)
	picture.Money = func(float64) string { panic("a secret") }
	for n := 1; n <= 2*atATime; n++ {
		if _, err := p.Draw(t.Context(), picture); err == nil || strings.Contains(err.Error(), "a secret") || drawn.Load() != int64(n) {
			t.Fatalf("drawing %d of %d: %v", drawn.Load(), n, err)
		}
	}
	if png, err := p.Draw(t.Context(), ofTitle(2)); err != nil || len(png) == 0 {
		t.Errorf("after panics: %v", err)
	}
}

func TestFailuresAreNotRemembered(t *testing.T) {
	p, drawn := painter(Draw)
	for range 2 {
		if _, err := p.Draw(t.Context(), day()); !errors.Is(err, ErrTooFewPoints) {
			t.Error(err)
		}
	}
	if drawn.Load() != 2 {
		t.Errorf("%d drawings", drawn.Load())
	}
}

func TestPicturesThatDifferAreDrawnEach(t *testing.T) {
	p, drawn := painter(title)
	first := day(every(5, 24*60, 0)...)
	for i, change := range []func(*Picture){
		func(*Picture) {},
		func(p *Picture) { p.Language = "zh" },
		func(p *Picture) { p.Title = "BTC" },
		func(p *Picture) { p.From = p.From.Add(-6 * 24 * time.Hour) },
		func(p *Picture) { p.From, p.To = p.From.Add(5*time.Minute), p.To.Add(5*time.Minute) },
		func(p *Picture) { p.Points = p.Points[:len(p.Points)-1] },
		func(p *Picture) { p.Points = append(p.Points[1:len(p.Points):len(p.Points)], seen(-1, 1)) },
	} {
		for range 2 {
			picture := first
			change(&picture)
			if _, err := p.Draw(t.Context(), picture); err != nil || drawn.Load() != int64(i+1) {
				t.Errorf("change %d: drawn %d times (%v)", i, drawn.Load(), err)
			}
		}
	}
}

func TestPictureAFewSecondsLaterIsTheSame(t *testing.T) {
	p, drawn := painter(title)
	for range 10 {
		picture := day(every(5, 24*60, 0)...)
		picture.From, picture.To = picture.From.Add(time.Second), picture.To.Add(time.Second)
		_, _ = p.Draw(t.Context(), picture)
	}
	if drawn.Load() != 1 {
		t.Errorf("drawn %d times", drawn.Load())
	}
}

func TestRememberedPicturesAreBounded(t *testing.T) {
	for _, size := range []int{1, mostBytes / 10, mostBytes + 1} {
		p, drawn := painter(func(Picture) ([]byte, error) { return make([]byte, size), nil })
		for n := range 3 * mostPictures {
			_, _ = p.Draw(t.Context(), ofTitle(n))
			if n := len(p.remembered); n > mostPictures || n*size > mostBytes {
				t.Fatalf("%d pictures of %d bytes are remembered", n, size)
			}
		}
		_, _ = p.Draw(t.Context(), ofTitle(3*mostPictures-1))
		if again := drawn.Load() > 3*mostPictures; again != (size > mostBytes) {
			t.Errorf("size %d: the newest is drawn again: %v", size, again)
		}
	}
}
