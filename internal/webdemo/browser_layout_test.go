package webdemo_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// screens are those on which one must get by, in pixels.
var screens = []struct{ width, height int64 }{{1400, 900}, {360, 640}, {320, 300}}

func TestANoteCoversNothingToPress(t *testing.T) {
	for _, screen := range screens {
		t.Run(fmt.Sprintf("%dx%d", screen.width, screen.height), func(t *testing.T) {
			p := open(t, screen.width, screen.height)
			p.ask("/price")
			p.write("/nope")
			p.keys(kb.Enter)
			p.until("the note", `document.getElementById("toast").textContent === "Discord: There is no command /nope here."`)
			for _, covered := range eval[[]string](p, `covered()`) {
				t.Errorf("the note covers %s", covered)
			}
			if eval[bool](p, `(({ x, y }) => document.elementFromPoint(x + 1, y + 1).closest("#toast"))(document.getElementById("toast").getBoundingClientRect()) !== null`) {
				t.Error("a press on the note does not reach what is below it")
			}
		})
	}
}

func TestASmallScreenHasRoomForTheChatAboveTheInput(t *testing.T) {
	for _, screen := range screens {
		t.Run(fmt.Sprintf("%dx%d", screen.width, screen.height), func(t *testing.T) {
			p := open(t, screen.width, screen.height)
			p.ask("/price")
			if !eval[bool](p, `document.getElementById("text").getBoundingClientRect().bottom <= innerHeight`) {
				t.Error("the input is below what is seen")
			}
			share := eval[float64](p, `(({ top, bottom }) => (bottom - Math.max(top, 0)) / innerHeight)(document.querySelector("#telegram .log").getBoundingClientRect())`)
			if share < 0.4 {
				t.Errorf("the chat has %.0f %% of the height", 100*share)
			}
		})
	}
}
