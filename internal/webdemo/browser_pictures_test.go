package webdemo_test

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "take README's pictures anew; needs a font with emoji, such as Debian's fonts-noto-color-emoji")

const (
	images = "../../docs/images"
	// inputs lists what the pictures show, as it was when they were taken.
	inputs = images + "/inputs.txt"
	// What README shows has to load fast and to fit on a screen.
	maxBytes = 250_000
	maxWidth = 1400
)

// shown are the files that decide what is seen in the pictures.
var shown = []string{
	"page/*",
	"../telegram/testdata/en/healthy.golden", "../telegram/testdata/en/charts.golden",
	"../discord/testdata/en/healthy.golden", "../discord/testdata/en/charts.golden",
}

// sums are the SHA-256 of what is shown, a line for each file.
func sums(t *testing.T) []byte {
	t.Helper()
	var lines bytes.Buffer
	for _, pattern := range shown {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: no such file: %v", pattern, err)
		}
		for _, path := range paths {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(content), filepath.ToSlash(path))
		}
	}
	return lines.Bytes()
}

var pictures = []struct {
	name          string
	width, height int64
	scheme        string
	asked         string
}{
	{"demo-light.png", 1400, 1000, "light", "/price 7d"},
	{"demo-dark.png", 1400, 1000, "dark", "/price 7d"},
	{"demo-phone.png", 390, 800, "light", "/price"},
}

func TestThePicturesAreCurrent(t *testing.T) {
	if *update {
		for _, picture := range pictures {
			t.Run(picture.name, func(t *testing.T) {
				picture := take(t, picture.width, picture.height, picture.scheme, picture.asked)
				if err := os.WriteFile(filepath.Join(images, filepath.Base(t.Name())), picture, 0o644); err != nil {
					t.Fatal(err)
				}
			})
		}
		if err := os.WriteFile(inputs, sums(t), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	taken, err := os.ReadFile(inputs)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(taken, sums(t)) {
		t.Error("what the pictures in docs/images show has changed: take them again with go test ./internal/webdemo -run Pictures -update")
	}
	for _, picture := range pictures {
		content, err := os.ReadFile(filepath.Join(images, picture.name))
		if err != nil {
			t.Error(err)
			continue
		}
		size, err := png.DecodeConfig(bytes.NewReader(content))
		if err != nil || size.Width > maxWidth || len(content) > maxBytes {
			t.Errorf("%s is %d pixels wide and has %d bytes: %v", picture.name, size.Width, len(content), err)
		}
	}
}

// take takes a picture of the demo after something was asked.
func take(t *testing.T, width, height int64, scheme, asked string) []byte {
	t.Helper()
	p := open(t, width, height)
	if !eval[bool](p, `hasEmoji()`) {
		t.Fatal("no font has emoji: install one, such as Debian's fonts-noto-color-emoji")
	}
	p.scheme(scheme)
	p.ask("/exists")
	p.ask(asked)
	p.run(`document.activeElement.blur()`)
	p.until("the charts", `[...document.images].every((one) => one.complete)`)
	picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	return picture
}
