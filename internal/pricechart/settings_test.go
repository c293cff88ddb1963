package pricechart

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"herald/internal/config/configtest"
)

func TestALogoIsASmallPNG(t *testing.T) {
	encoded := func(m image.Image) string {
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	glass := image.NewNRGBA(image.Rect(0, 0, 1024, 512))
	glass.Set(1, 1, color.NRGBA{R: 255, A: 128})
	fine := encoded(glass)
	huge := encoded(image.NewPaletted(image.Rect(0, 0, 10_000, 1), color.Palette{color.White}))
	for name, test := range map[string]struct{ content, want string }{
		"wide, with an alpha channel": {fine, ""},
		"of one pixel":                {encoded(image.NewGray(image.Rect(0, 0, 1, 1))), ""},
		"of 1,025 pixels":             {encoded(image.NewGray(image.Rect(0, 0, 1, 1025))), "the image has 1 × 1025 pixels; at most 1024 a side are allowed"},
		"of 10,000 pixels":            {huge, "the image has 10000 × 1 pixels; at most 1024 a side are allowed"},
		"a text":                      {"<svg/>", "the file is not a PNG image"},
		"nothing":                     {"", "the file is not a PNG image"},
		"half a PNG":                  {fine[:len(fine)/2], "the file is a damaged PNG image"},
		"too many bytes":              {fine + strings.Repeat(" ", 256<<10), "the file is larger than 262144 bytes"},
	} {
		logo, err := readLogo(configtest.File(t, test.content))
		said := ""
		if err != nil {
			said = err.Error()
		}
		if said != test.want || err == nil && (logo.Bounds().Dx() > maxLogoWidth || logo.Bounds().Dy() != logoHeight) {
			t.Errorf("%s: %q, want %q", name, said, test.want)
		}
	}
	if _, err := readLogo("/nonexistent/logo.png"); err == nil || strings.Contains(err.Error(), "nonexistent") {
		t.Errorf("a file that is not there: %v", err)
	}
}
