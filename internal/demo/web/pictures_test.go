//go:build pictures

package web_test

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "take README's pictures anew; needs a font with emoji, such as Debian's fonts-noto-color-emoji")

const (
	images = "../../../docs/images"
	// inputs lists the page's files as they were when the pictures were taken.
	inputs = images + "/inputs.txt"
)

// sums are the SHA-256 of the page's files, a line for each.
func sums(t *testing.T) []byte {
	t.Helper()
	paths, err := filepath.Glob("page/*")
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(content), filepath.ToSlash(path))
	}
	return lines.Bytes()
}

func TestPicturesAreCurrent(t *testing.T) {
	for _, picture := range []struct {
		name          string
		width, height int64
		scheme, asked string
	}{
		{"demo-light.png", 1400, 1000, "light", "/price 24h"},
		{"demo-dark.png", 1400, 1000, "dark", "/price 24h"},
		{"demo-phone.png", 390, 800, "light", "/price 24h"},
	} {
		file := filepath.Join(images, picture.name)
		if *update {
			taken := take(t, picture.width, picture.height, picture.scheme, picture.asked)
			if err := os.WriteFile(file, taken, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		// What README shows has to load fast.
		if info, err := os.Stat(file); err != nil || info.Size() > 250_000 {
			t.Errorf("%s is missing or too large: %+v, %v", file, info, err)
		}
	}
	if *update {
		if err := os.WriteFile(inputs, sums(t), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if taken, err := os.ReadFile(inputs); err != nil || !bytes.Equal(taken, sums(t)) {
		t.Errorf("the page has changed: take its pictures again with go test -tags pictures ./internal/demo/web -run Pictures -update (%v)", err)
	}
}

// take takes a picture of the demo after something was asked.
func take(t *testing.T, width, height int64, scheme, asked string) []byte {
	t.Helper()
	p := open(t)
	p.do("another size", chromedp.EmulateViewport(width, height))
	p.load()
	if !eval[bool](p, `hasEmoji()`) {
		t.Fatal("no font has emoji: install one, such as Debian's fonts-noto-color-emoji")
	}
	p.scheme(scheme)
	p.ask("/exists")
	p.ask(asked)
	p.do("leave the input", chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	p.until("the charts", `[...document.images].every((one) => one.complete)`)
	picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

// scheme has the system prefer "light" or "dark".
func (p *page) scheme(scheme string) {
	p.Helper()
	p.do("prefer "+scheme, call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}))
}
