package chart

import (
	"sync"
	"testing"
)

// TestTheFontIsLoadedByMany finds a race of the first two to need the font, so it
// must be the first test to need it: go test -race -run TheFontIsLoaded.
func TestTheFontIsLoadedByMany(t *testing.T) {
	var many sync.WaitGroup
	for range 4 {
		many.Go(func() {
			if !CanDraw("0") {
				t.Error("the font has no digits")
			}
		})
		many.Go(func() {
			if _, err := Draw(day(seen(0, 1), seen(10, 2))); err != nil {
				t.Error(err)
			}
		})
	}
	many.Wait()
}
