//go:build pictures

package web_test

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false,
	"take README's pictures again; needs a font with emoji, such as Debian's fonts-noto-color-emoji")

const (
	// images is the folder with README's pictures.
	images = "../../../docs/images"
	// inputs is the file with the sums of the page's files from which the pictures were taken.
	inputs = images + "/inputs.txt"
)

// sums returns the SHA-256 of each of the page's files, in the format of sha256sum.
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

// picture is a picture in README.
type picture struct {
	name          string      // of its file
	selector      string      // a CSS selector of the element that it shows
	width, height int64       // of the window, in pixels
	scheme        string      // "light" or "dark"
	talk          func(*page) // asks the questions that the picture shows
}

func talkAboutPrice(p *page) { p.askAll("/exists", "/price 24h") }

func talkAboutRole(p *page) {
	p.askAll("/verify STAKER")
	p.press("Save address", "You have Staker here")
}

var pictures = []picture{
	{
		name:     "price-light.png",
		selector: "#discord",
		width:    960,
		height:   1035,
		scheme:   "light",
		talk:     talkAboutPrice,
	},
	{
		name:     "price-dark.png",
		selector: "#discord",
		width:    960,
		height:   1035,
		scheme:   "dark",
		talk:     talkAboutPrice,
	},
	{
		name:     "role-light.png",
		selector: "#telegram",
		width:    960,
		height:   1035,
		scheme:   "light",
		talk:     talkAboutRole,
	},
	{
		name:     "role-dark.png",
		selector: "#telegram",
		width:    960,
		height:   1035,
		scheme:   "dark",
		talk:     talkAboutRole,
	},
	{
		name:     "demo-phone.png",
		selector: "body",
		width:    390,
		height:   800,
		scheme:   "light",
		talk:     talkAboutPrice,
	},
}

// write opens a new page, takes the picture, and writes it to a file.
func (pic picture) write(t *testing.T, file string) {
	t.Helper()
	p := open(t)
	p.do("set the window's size", chromedp.EmulateViewport(pic.width, pic.height, chromedp.EmulateScale(1.5)))
	p.preferScheme(pic.scheme)
	p.load()
	pic.talk(p)
	if err := os.WriteFile(file, p.take(pic.selector), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestPicturesAreCurrent(t *testing.T) {
	if *update {
		for _, pic := range pictures {
			pic.write(t, filepath.Join(images, pic.name))
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
		t.Error("the page has changed: take its pictures again with " +
			"go test -tags pictures ./internal/demo/web -run Pictures -update")
	}
}

// README must load fast.
func TestPicturesAreSmall(t *testing.T) {
	const maxSize = 200_000 // bytes
	for _, pic := range pictures {
		info, err := os.Stat(filepath.Join(images, pic.name))
		if err != nil {
			t.Error(err)
			continue
		}
		if info.Size() > maxSize {
			t.Errorf("%s has %d bytes, want at most %d", pic.name, info.Size(), maxSize)
		}
	}
}

// take returns a PNG of the first element that a CSS selector finds.
func (p *page) take(selector string) []byte {
	p.Helper()
	if !eval[bool](p, `hasEmoji()`) {
		p.Fatal("no font has emoji: install one, such as Debian's fonts-noto-color-emoji")
	}
	p.do("remove the focus", chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	p.waitForImages()
	picture, err := chromedp.Run(p.ctx, chromedp.Screenshot(chromedp.CSS(selector)))
	if err != nil {
		p.Fatal(err)
	}
	return picture
}

// waitForImages waits until all images are loaded.
func (p *page) waitForImages() {
	p.Helper()
	p.until("the images", `[...document.images].every((image) => image.complete)`)
}

// preferScheme sets the system's color scheme to "light" or "dark".
func (p *page) preferScheme(scheme string) {
	p.Helper()
	p.do("prefer "+scheme, call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}))
}

// askAll sends texts to both sides, and waits for the answers to each before the next one. It replaces STAKER by a
// wallet that stakes, and IDLE by one that does not.
func (p *page) askAll(texts ...string) {
	p.Helper()
	wallets := strings.NewReplacer("STAKER", p.wallet(stakerWallet), "IDLE", p.wallet(idleWallet))
	for _, text := range texts {
		p.ask(wallets.Replace(text))
	}
}

// press presses the latest button with this label on both sides, and waits until a message on each contains want.
func (p *page) press(label, want string) {
	p.Helper()
	eval[bool](p, fmt.Sprintf("pressLabel(%q)", label))
	p.until(want, fmt.Sprintf("isShown(%q)", want))
}
