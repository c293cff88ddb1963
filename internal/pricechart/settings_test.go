package pricechart

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"runtime"
	"strings"
	"testing"

	"herald/internal/config/configtest"
)

// encoded returns an image as the content of a PNG file.
func encoded(t *testing.T, m image.Image) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// glass returns a large image with an alpha channel.
func glass() image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, 1024, 512))
	m.Set(1, 1, color.NRGBA{R: 255, A: 128})
	return m
}

func TestALogoIsScaled(t *testing.T) {
	for name, m := range map[string]image.Image{
		"wide, with an alpha channel": glass(),
		"of one pixel":                image.NewGray(image.Rect(0, 0, 1, 1)),
	} {
		logo, err := readLogo(configtest.File(t, encoded(t, m)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if size := logo.Bounds(); size.Dx() > maxLogoWidth || size.Dy() != logoHeight {
			t.Errorf("%s: scaled to %v", name, size)
		}
	}
}

func TestALogoThatIsNoSmallPNGIsRefused(t *testing.T) {
	good := encoded(t, glass())
	high := encoded(t, image.NewGray(image.Rect(0, 0, 1, 1025)))
	wide := encoded(t, image.NewPaletted(image.Rect(0, 0, 10_000, 1), color.Palette{color.White}))
	for _, test := range []struct {
		name    string
		content string
		want    string
	}{
		{"high", high, "the image has 1 × 1025 pixels; each side may have at most 1024"},
		{"wide", wide, "the image has 10000 × 1 pixels; each side may have at most 1024"},
		{"a text", "<svg/>", "the file is not a PNG image"},
		{"nothing", "", "the file is not a PNG image"},
		{"half a PNG", good[:len(good)/2], "the file is a damaged PNG image"},
		{"too many bytes", good + strings.Repeat(" ", 256<<10), "the file is larger than 262144 bytes"},
	} {
		_, err := readLogo(configtest.File(t, test.content))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestAHugeFileIsNotReadWhole(t *testing.T) {
	path := configtest.File(t, "")
	if err := os.Truncate(path, 64<<20); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readLogo(path)
	runtime.ReadMemStats(&after)
	if want := "the file is larger than 262144 bytes"; err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 16<<20 {
		t.Errorf("readLogo allocated %d bytes", allocated)
	}
}

func TestTheErrorOfAMissingLogoDoesNotNameIt(t *testing.T) {
	_, err := readLogo("/nonexistent/logo.png")
	if err == nil || strings.Contains(err.Error(), "nonexistent") {
		t.Errorf("got %v", err)
	}
}
