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
	"math"
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

// fonts returns the regular fonts and the bold ones, in the order in which a letter is
// looked up. Each is safe for concurrent use.
var fonts = sync.OnceValue(func() map[bool][]*sfnt.Font {
	return map[bool][]*sfnt.Font{
		false: {parseFont("inter-Regular"), parseFont("cjk-Regular")},
		true:  {parseFont("inter-Bold"), parseFont("cjk-Bold")},
	}
})

// parseFont returns an embedded font. It panics if there is none with that name.
func parseFont(name string) *sfnt.Font {
	content, _ := fontFiles.ReadFile("fonts/" + name + ".otf")
	parsed, err := opentype.Parse(content)
	if err != nil {
		panic(fmt.Errorf("pricechart: font %s: %w", name, err))
	}
	return parsed
}

// style is how a text looks.
type style struct {
	size  float64 // pixels
	least float64 // pixels: no smaller even where the text is cut; 0: minText
	bold  bool
	color color.RGBA
	align float64 // 0: at the left of its place, 0.5: in the middle, 1: at the right
}

func (s style) rightAligned() style { s.align = 1; return s }

// position is a point on a canvas, in pixels from its upper left corner.
type position struct{ x, y float64 }

func xy(x, y float64) position { return position{x: x, y: y} }

// rect is a rectangle on a canvas, in pixels from its upper left corner.
type rect struct{ left, top, right, bottom float64 }

// row returns the place of one line of text: y is its middle.
func row(left, right, y float64) rect { return rect{left: left, top: y, right: right, bottom: y} }

func (r rect) middle() float64 { return (r.top + r.bottom) / 2 }

// inset returns the rectangle without so many pixels at its left and right.
func (r rect) inset(padding float64) rect {
	r.left += padding
	r.right -= padding
	return r
}

func (r rect) contains(p position) bool {
	return p.x >= r.left && p.x <= r.right && p.y >= r.top && p.y <= r.bottom
}

// outline returns a path around the rectangle. Its corners are round.
func (r rect) outline(radius float64) []position {
	steps := 1 + int(radius/3)
	path := make([]position, 0, 4*(steps+1))
	corners := []position{
		xy(r.right-radius, r.bottom-radius), xy(r.left+radius, r.bottom-radius), xy(r.left+radius, r.top+radius),
		xy(r.right-radius, r.top+radius),
	}
	for i, center := range corners {
		for k := range steps + 1 {
			sin, cos := math.Sincos(math.Pi / 2 * (float64(i) + float64(k)/float64(steps)))
			path = append(path, xy(center.x+radius*cos, center.y+radius*sin))
		}
	}
	return path
}

func disc(center position, radius float64) []position {
	around := rect{
		left:   center.x - radius,
		top:    center.y - radius,
		right:  center.x + radius,
		bottom: center.y + radius,
	}
	return around.outline(radius)
}

// strokeStep is how far apart the remembered positions of a line are, in pixels.
const strokeStep = 6

// canvas is a picture being drawn.
type canvas struct {
	*image.RGBA
	texts      []rect     // the places of all texts
	strokes    []position // of all straight lines, every strokeStep pixels
	rasterizer vector.Rasterizer
	glyphs     sfnt.Buffer
}

func newCanvas() *canvas {
	c := &canvas{RGBA: image.NewRGBA(image.Rect(0, 0, width, height))}
	draw.Draw(c.RGBA, c.Bounds(), image.NewUniform(background), image.Point{}, draw.Src)
	return c
}

// letters calls do with each letter of the text that a font has, and its face. A
// no-break space becomes a space.
func (c *canvas) letters(s style, text string, do func(font.Face, rune)) {
	faces := map[*sfnt.Font]font.Face{}
	for _, r := range text {
		if r == '\u00a0' || r == '\u202f' {
			r = ' '
		}
		for _, f := range fonts()[s.bold] {
			if glyph, err := f.GlyphIndex(&c.glyphs, r); err != nil || glyph == 0 {
				continue
			}
			if faces[f] == nil {
				faces[f], _ = opentype.NewFace(f, &opentype.FaceOptions{Size: s.size, DPI: 72}) // cannot fail
			}
			do(faces[f], r)
			break
		}
	}
}

// supported returns the name if the fonts have all of its letters, and otherwise "": a
// part of a name is another name.
func (c *canvas) supported(name string) string {
	found := 0
	c.letters(style{size: minText}, name, func(font.Face, rune) { found++ })
	if found < utf8.RuneCountInString(name) {
		return ""
	}
	return name
}

// textWidth returns the width of the text in pixels.
func (c *canvas) textWidth(s style, text string) float64 {
	var sum fixed.Int26_6
	c.letters(s, text, func(face font.Face, r rune) {
		advance, _ := face.GlyphAdvance(r)
		sum += advance
	})
	return float64(sum) / 64
}

// capitals is the height of a capital letter as a part of the font's size.
const capitals = 0.72

// text draws one line of text in the vertical middle of its place, and returns the row
// that it takes. A text that is too wide is drawn smaller, but not below its least size, and
// then cut.
func (c *canvas) text(s style, place rect, text string) rect {
	limit := place.right - place.left
	if full := c.textWidth(s, text); full > limit {
		s.size = max(cmp.Or(s.least, minText), math.Floor(s.size*limit/full))
	}
	for kept := []rune(text); c.textWidth(s, text) > limit+1 && len(kept) > 0; { // widths are rounded
		kept = kept[:len(kept)-1]
		text = string(kept) + "…"
	}
	taken := c.textWidth(s, text)
	x := place.left + s.align*(limit-taken)
	baseline := math.Round(place.middle() + s.size*capitals/2)
	d := font.Drawer{
		Dst: c.RGBA,
		Src: image.NewUniform(s.color),
		Dot: fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.Int26_6(baseline * 64)},
	}
	c.letters(s, text, func(face font.Face, r rune) {
		d.Face = face
		d.DrawString(string(r))
	})
	c.texts = append(c.texts, rect{left: x, top: baseline - s.size*capitals, right: x + taken, bottom: baseline})
	return row(x, x+taken, place.middle())
}

// fill fills closed paths. All must turn the same way where they overlap.
func (c *canvas) fill(ink color.RGBA, opacity float64, paths ...[]position) {
	low, high := xy(math.Inf(1), math.Inf(1)), xy(math.Inf(-1), math.Inf(-1))
	for _, path := range paths {
		for _, p := range path {
			low, high = xy(min(low.x, p.x), min(low.y, p.y)), xy(max(high.x, p.x), max(high.y, p.y))
		}
	}
	area := image.Rect(int(low.x), int(low.y), int(high.x)+1, int(high.y)+1).Intersect(c.Bounds())
	c.rasterizer.Reset(area.Dx(), area.Dy())
	inArea := func(p position) (x, y float32) {
		return float32(p.x) - float32(area.Min.X), float32(p.y) - float32(area.Min.Y)
	}
	for _, path := range paths {
		c.rasterizer.MoveTo(inArea(path[0]))
		for _, p := range path[1:] {
			c.rasterizer.LineTo(inArea(p))
		}
		c.rasterizer.ClosePath()
	}
	faded := color.NRGBA{R: ink.R, G: ink.G, B: ink.B, A: uint8(math.Round(255 * opacity))}
	c.rasterizer.Draw(c.RGBA, area, image.NewUniform(faded), image.Point{})
}

// pen is how a line looks.
type pen struct {
	ink       color.RGBA
	thickness float64 // pixels
	dash, gap float64 // pixels; without a gap the line is solid
}

// stroke draws a straight line. The line and its dashes have round ends.
func (c *canvas) stroke(p pen, a, b position) {
	length := max(math.Hypot(b.x-a.x, b.y-a.y), 1e-9)
	right := xy((b.x-a.x)/length, (b.y-a.y)/length)
	along := func(d float64) position { return xy(a.x+right.x*d, a.y+right.y*d) }
	for d := 0.0; d < length; d += strokeStep {
		c.strokes = append(c.strokes, along(d))
	}
	if p.gap == 0 {
		p.dash = length
	}
	radius := p.thickness / 2
	x, y := -right.y*radius, right.x*radius
	for start := 0.0; start < length; start += p.dash + p.gap {
		from, to := along(start), along(min(start+p.dash, length))
		sides := []position{xy(from.x+x, from.y+y), xy(from.x-x, from.y-y), xy(to.x-x, to.y-y), xy(to.x+x, to.y+y)}
		c.fill(p.ink, 1, disc(from, radius), disc(to, radius), sides)
	}
}

// blend returns the color that is part, from 0 to 1, of the way from a to b.
func blend(a, b color.RGBA, part float64) color.RGBA {
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + (float64(b)-float64(a))*part)) }
	return color.RGBA{R: mix(a.R, b.R), G: mix(a.G, b.G), B: mix(a.B, b.B), A: 255}
}

// png encodes the picture with the nearest colors of a palette, at most 256: in all its
// colors the picture would have more than twice the bytes.
func (c *canvas) png(palette color.Palette) ([]byte, error) {
	picture := image.NewPaletted(c.Bounds(), palette)
	nearest := map[[4]byte]uint8{} // a picture has some thousand colors
	var last [4]byte               // most pixels have the color of the one before
	var index uint8
	for i := range picture.Pix {
		if rgba := [4]byte(c.Pix[4*i:]); rgba != last {
			var found bool
			if index, found = nearest[rgba]; !found {
				index = uint8(palette.Index(color.RGBA{R: rgba[0], G: rgba[1], B: rgba[2], A: 255}))
				nearest[rgba] = index
			}
			last = rgba
		}
		picture.Pix[i] = index
	}
	var out bytes.Buffer
	// The best compression takes four times as long, and saves a twelfth.
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	err := encoder.Encode(&out, picture)
	return out.Bytes(), err
}
