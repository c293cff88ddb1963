package pricechart

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// The size of every picture, its margin, and the smallest text that can be read on
// a phone, in pixels.
const (
	width   = 1200
	height  = 800
	margin  = 48
	minText = 30
)

//go:embed fonts/*.otf
var fontFiles embed.FS

// fonts are those in which a letter is looked up, one after the other, regular and
// bold. Each is safe for concurrent use.
var fonts = sync.OnceValue(func() (all [2][2]*sfnt.Font) {
	for i, name := range []string{"inter-Regular", "cjk-Regular", "inter-Bold", "cjk-Bold"} {
		content, err := fontFiles.ReadFile("fonts/" + name + ".otf")
		if err == nil {
			all[i/2][i%2], err = opentype.Parse(content)
		}
		if err != nil {
			panic(fmt.Errorf("pricechart: font %s: %w", name, err))
		}
	}
	return all
})

// style is how a text looks.
type style struct {
	size  float64 // pixels
	bold  int     // 0 or 1
	color color.RGBA
}

// spot is a place on a canvas, in pixels.
type spot struct{ x, y float64 }

func xy(x, y float64) spot { return spot{x: x, y: y} }

// canvas is a picture being drawn.
type canvas struct {
	*image.RGBA
	rasterizer vector.Rasterizer
	glyphs     sfnt.Buffer
}

func newCanvas(background color.RGBA) *canvas {
	c := &canvas{RGBA: image.NewRGBA(image.Rect(0, 0, width, height))}
	draw.Draw(c.RGBA, c.Bounds(), image.NewUniform(background), image.Point{}, draw.Src)
	return c
}

// letters calls do with each letter of the text that a font has, and its face. A
// space that keeps words together is a space.
func (c *canvas) letters(s style, text string, do func(font.Face, rune)) {
	var faces [2]font.Face
	for _, r := range text {
		if r == '\u00a0' || r == '\u202f' {
			r = ' '
		}
		for i, f := range fonts()[s.bold] {
			if glyph, err := f.GlyphIndex(&c.glyphs, r); err != nil || glyph == 0 {
				continue
			}
			if faces[i] == nil {
				faces[i], _ = opentype.NewFace(f, &opentype.FaceOptions{Size: s.size, DPI: 72}) // cannot fail
			}
			do(faces[i], r)
			break
		}
	}
}

// drawable returns a name if fonts have all of its letters, or else nothing: a part
// of a name is another name.
func (c *canvas) drawable(name string) string {
	found := 0
	c.letters(style{size: minText}, name, func(font.Face, rune) { found++ })
	if found < utf8.RuneCountInString(name) {
		return ""
	}
	return name
}

// width returns how wide the text is.
func (c *canvas) width(s style, text string) float64 {
	var sum fixed.Int26_6
	c.letters(s, text, func(face font.Face, r rune) {
		advance, _ := face.GlyphAdvance(r)
		sum += advance
	})
	return float64(sum) / 64
}

// text draws on the line at y. align is 0 if the text begins at x, 1 if it ends
// there, and 0.5 if x is its middle. A text wider than limit is drawn smaller, and
// cut where even the smallest is too wide.
func (c *canvas) text(s style, x, y, align, limit float64, text string) {
	wide := c.width(s, text)
	if wide > limit {
		s.size = max(minText, math.Floor(s.size*limit/wide))
	}
	for short := []rune(text); c.width(s, text) > limit && len(short) > 0; text = string(short) + "…" {
		short = short[:len(short)-1]
	}
	x -= align * c.width(s, text)
	d := font.Drawer{Dst: c.RGBA, Src: image.NewUniform(s.color), Dot: fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.Int26_6(y * 64)}}
	c.letters(s, text, func(face font.Face, r rune) {
		d.Face = face
		d.DrawString(string(r))
	})
}

// fill fills closed paths. All must turn the same way where they overlap.
func (c *canvas) fill(ink color.RGBA, opacity float64, paths ...[]spot) {
	low, high := xy(math.Inf(1), math.Inf(1)), xy(math.Inf(-1), math.Inf(-1))
	for _, path := range paths {
		for _, p := range path {
			low, high = xy(min(low.x, p.x), min(low.y, p.y)), xy(max(high.x, p.x), max(high.y, p.y))
		}
	}
	box := image.Rect(int(low.x), int(low.y), int(high.x)+1, int(high.y)+1).Intersect(c.Bounds())
	c.rasterizer.Reset(box.Dx(), box.Dy())
	at := func(p spot) (x, y float32) {
		return float32(p.x) - float32(box.Min.X), float32(p.y) - float32(box.Min.Y)
	}
	for _, path := range paths {
		c.rasterizer.MoveTo(at(path[0]))
		for _, p := range path[1:] {
			c.rasterizer.LineTo(at(p))
		}
		c.rasterizer.ClosePath()
	}
	faded := color.NRGBA{R: ink.R, G: ink.G, B: ink.B, A: uint8(math.Round(255 * opacity))}
	c.rasterizer.Draw(c.RGBA, box, image.NewUniform(faded), image.Point{})
}

// box is a rectangle with round corners.
func box(x0, y0, x1, y1, radius float64) []spot {
	steps := 1 + int(radius/3)
	path := make([]spot, 0, 4*(steps+1))
	for i, c := range []spot{xy(x1-radius, y1-radius), xy(x0+radius, y1-radius), xy(x0+radius, y0+radius), xy(x1-radius, y0+radius)} {
		for k := range steps + 1 {
			sin, cos := math.Sincos(math.Pi / 2 * (float64(i) + float64(k)/float64(steps)))
			path = append(path, xy(c.x+radius*cos, c.y+radius*sin))
		}
	}
	return path
}

func disc(at spot, radius float64) []spot {
	return box(at.x-radius, at.y-radius, at.x+radius, at.y+radius, radius)
}

// stroke draws a line with round ends.
func (c *canvas) stroke(ink color.RGBA, wide float64, a, b spot) {
	length := max(math.Hypot(b.x-a.x, b.y-a.y), 1e-9)
	x, y := (a.y-b.y)/length*wide/2, (b.x-a.x)/length*wide/2
	c.fill(ink, 1, disc(a, wide/2), disc(b, wide/2), []spot{xy(a.x+x, a.y+y), xy(a.x-x, a.y-y), xy(b.x-x, b.y-y), xy(b.x+x, b.y+y)})
}

// dashes draws strokes of a length, and as many pixels apart, between two spots.
func (c *canvas) dashes(ink color.RGBA, wide, long, apart float64, a, b spot) {
	length := math.Hypot(b.x-a.x, b.y-a.y)
	on := func(d float64) spot { return xy(a.x+(b.x-a.x)*d/length, a.y+(b.y-a.y)*d/length) }
	for from := 0.0; from < length; from += long + apart {
		c.stroke(ink, wide, on(from), on(min(from+long, length)))
	}
}

// png reduces the picture to 240 colors and encodes it, which halves its size. The edges
// of letters and lines get the nearest of these colors.
func (c *canvas) png() ([]byte, error) {
	count := map[[4]byte]int{}
	for i := 0; i < len(c.Pix); i += 4 * 7 { // every seventh pixel is enough
		count[[4]byte(c.Pix[i:])]++
	}
	colors := slices.SortedFunc(maps.Keys(count), func(a, b [4]byte) int {
		return cmp.Or(count[b]-count[a], bytes.Compare(a[:], b[:]))
	})
	paletted := image.NewPaletted(c.Rect, nil)
	for _, p := range colors[:min(240, len(colors))] {
		paletted.Palette = append(paletted.Palette, color.RGBA{R: p[0], G: p[1], B: p[2], A: 255})
	}
	nearest := map[[4]byte]byte{}
	for i := range paletted.Pix {
		p := [4]byte(c.Pix[4*i:])
		index, known := nearest[p]
		if !known {
			index = byte(paletted.Palette.Index(color.RGBA{R: p[0], G: p[1], B: p[2], A: 255}))
			nearest[p] = index
		}
		paletted.Pix[i] = index
	}
	var out bytes.Buffer
	// The best compression takes four times as long, and saves a twelfth.
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	err := encoder.Encode(&out, paletted)
	return out.Bytes(), err
}
