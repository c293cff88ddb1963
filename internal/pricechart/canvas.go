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

// Sizes in pixels.
const (
	width  = 1200 // of every picture
	height = 800
	margin = 48
	// minText is the smallest text that can be read on a phone.
	minText = 30
)

//go:embed fonts/*.otf
var fontFiles embed.FS

// regularFonts and boldFonts return the fonts of a weight. A letter is drawn with the first font that
// has the letter. Fonts are safe for concurrent use.
var (
	regularFonts = sync.OnceValue(func() []*sfnt.Font {
		return []*sfnt.Font{parseFont("inter-Regular"), parseFont("cjk-Regular")}
	})
	boldFonts = sync.OnceValue(func() []*sfnt.Font {
		return []*sfnt.Font{parseFont("inter-Bold"), parseFont("cjk-Bold")}
	})
)

// parseFont returns an embedded font. It panics if there is no font with that name.
func parseFont(name string) *sfnt.Font {
	content, _ := fontFiles.ReadFile("fonts/" + name + ".otf")
	parsed, err := opentype.Parse(content)
	if err != nil {
		panic(fmt.Errorf("pricechart: font %s: %w", name, err))
	}
	return parsed
}

// style is how a text looks. Sizes are in pixels.
type style struct {
	size    float64
	minSize float64 // a text that is too wide is not drawn smaller than this; 0 means minText
	bold    bool
	color   color.RGBA
	align   alignment
}

// alignment is the part of the free space of a row that is left of its text, from 0 to 1.
type alignment float64

const (
	alignLeft   alignment = 0
	alignCenter alignment = 0.5
	alignRight  alignment = 1
)

func (s style) aligned(to alignment) style {
	s.align = to
	return s
}

func (s style) fonts() []*sfnt.Font {
	if s.bold {
		return boldFonts()
	}
	return regularFonts()
}

// position is a point on a canvas, in pixels from its upper left corner.
type position struct{ x, y float64 }

func xy(x, y float64) position { return position{x: x, y: y} }

// rect is a rectangle on a canvas, in pixels from its upper left corner.
type rect struct{ left, top, right, bottom float64 }

// row returns the place of one line of text with its middle at y. The rectangle has no height.
func row(left, right, y float64) rect { return rect{left: left, top: y, right: right, bottom: y} }

func (r rect) middle() float64 { return (r.top + r.bottom) / 2 }

// inset returns the rectangle without padding pixels at its left and at its right.
func (r rect) inset(padding float64) rect {
	r.left += padding
	r.right -= padding
	return r
}

func (r rect) contains(p position) bool {
	return p.x >= r.left && p.x <= r.right && p.y >= r.top && p.y <= r.bottom
}

// outline returns a path around the rectangle with round corners of this radius.
func (r rect) outline(radius float64) []position {
	const quarterTurn = math.Pi / 2
	steps := 1 + int(radius/3) // of each corner
	path := make([]position, 0, 4*(steps+1))
	centers := []position{
		xy(r.right-radius, r.bottom-radius),
		xy(r.left+radius, r.bottom-radius),
		xy(r.left+radius, r.top+radius),
		xy(r.right-radius, r.top+radius),
	}
	for corner, center := range centers {
		for step := range steps + 1 {
			turns := float64(corner) + float64(step)/float64(steps)
			sin, cos := math.Sincos(quarterTurn * turns)
			path = append(path, xy(center.x+radius*cos, center.y+radius*sin))
		}
	}
	return path
}

// disc returns a path around a disc.
func disc(center position, radius float64) []position {
	around := rect{
		left:   center.x - radius,
		top:    center.y - radius,
		right:  center.x + radius,
		bottom: center.y + radius,
	}
	return around.outline(radius)
}

// strokeStep is the distance between the positions of a line that a canvas records, in pixels.
const strokeStep = 6

// canvas is the image on which a picture is drawn.
type canvas struct {
	*image.RGBA
	texts      []rect     // the places of all texts drawn so far, for tests
	strokes    []position // positions on all straight lines drawn so far, every strokeStep pixels
	rasterizer vector.Rasterizer
	glyphs     sfnt.Buffer
}

func newCanvas() *canvas {
	c := &canvas{RGBA: image.NewRGBA(image.Rect(0, 0, width, height))}
	draw.Draw(c.RGBA, c.Bounds(), image.NewUniform(background), image.Point{}, draw.Src)
	return c
}

// letters calls do with each letter of the text, and with the face in which to draw it. It skips letters
// that the fonts lack, and replaces non-breaking spaces by spaces.
func (c *canvas) letters(s style, text string, do func(font.Face, rune)) {
	faces := map[*sfnt.Font]font.Face{}
	for _, r := range text {
		if r == '\u00a0' || r == '\u202f' {
			r = ' '
		}
		for _, f := range s.fonts() {
			glyph, err := f.GlyphIndex(&c.glyphs, r)
			if err != nil || glyph == 0 {
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

// supported returns the name if the fonts have all of its letters. Otherwise it returns "", because a
// part of a name may be the name of somebody else.
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

// fitText makes the text fit into room pixels. It first reduces the size of the style, but not below
// the style's minimum. If that is not enough, it also cuts the text.
func (c *canvas) fitText(s style, room float64, text string) (style, string) {
	full := c.textWidth(s, text)
	if full > room {
		minSize := cmp.Or(s.minSize, minText)
		s.size = max(minSize, math.Floor(s.size*room/full))
	}
	const rounding = 1 // of widths
	kept := []rune(text)
	for len(kept) > 0 && c.textWidth(s, text) > room+rounding {
		kept = kept[:len(kept)-1]
		text = string(kept) + "…"
	}
	return s, text
}

// capitalHeight is the height of a capital letter as a part of the font's size.
const capitalHeight = 0.72

// text draws one line of text in the vertical middle of place, and returns the row that the text takes.
// If the text is too wide for place, fitText makes it fit.
func (c *canvas) text(s style, place rect, text string) rect {
	room := place.right - place.left
	s, text = c.fitText(s, room, text)
	taken := c.textWidth(s, text)
	x := place.left + float64(s.align)*(room-taken)
	baseline := math.Round(place.middle() + s.size*capitalHeight/2)
	d := font.Drawer{
		Dst: c.RGBA,
		Src: image.NewUniform(s.color),
		Dot: fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.Int26_6(baseline * 64)},
	}
	c.letters(s, text, func(face font.Face, r rune) {
		d.Face = face
		d.DrawString(string(r))
	})
	c.texts = append(c.texts, rect{left: x, top: baseline - s.size*capitalHeight, right: x + taken, bottom: baseline})
	return row(x, x+taken, place.middle())
}

// boundingBox returns the smallest rectangle of whole pixels around all paths.
func boundingBox(paths [][]position) image.Rectangle {
	left, top := math.Inf(1), math.Inf(1)
	right, bottom := math.Inf(-1), math.Inf(-1)
	for _, path := range paths {
		for _, p := range path {
			left = min(left, p.x)
			right = max(right, p.x)
			top = min(top, p.y)
			bottom = max(bottom, p.y)
		}
	}
	return image.Rect(int(left), int(top), int(right)+1, int(bottom)+1)
}

// fill fills closed paths with an opacity from 0 to 1. If paths overlap, all of them must have the same
// direction: clockwise, for example.
func (c *canvas) fill(ink color.RGBA, opacity float64, paths ...[]position) {
	area := boundingBox(paths).Intersect(c.Bounds())
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

// pen is how a line looks. Lengths are in pixels.
type pen struct {
	ink       color.RGBA
	thickness float64
	dash, gap float64 // the lengths of a dash and of the gap after it; the line is solid if gap is 0
}

// stroke draws a straight line. The line and its dashes have round ends.
func (c *canvas) stroke(p pen, a, b position) {
	length := max(math.Hypot(b.x-a.x, b.y-a.y), 1e-9) // not 0, so that a point is drawn as a disc
	direction := xy((b.x-a.x)/length, (b.y-a.y)/length)
	at := func(distance float64) position {
		return xy(a.x+direction.x*distance, a.y+direction.y*distance)
	}
	for distance := 0.0; distance < length; distance += strokeStep {
		c.strokes = append(c.strokes, at(distance))
	}
	if p.gap == 0 {
		p.dash = length
	}
	radius := p.thickness / 2
	side := xy(-direction.y*radius, direction.x*radius) // from the middle of the line to its edge
	for start := 0.0; start < length; start += p.dash + p.gap {
		from := at(start)
		to := at(min(start+p.dash, length))
		body := []position{
			xy(from.x+side.x, from.y+side.y),
			xy(from.x-side.x, from.y-side.y),
			xy(to.x-side.x, to.y-side.y),
			xy(to.x+side.x, to.y+side.y),
		}
		c.fill(p.ink, 1, disc(from, radius), disc(to, radius), body)
	}
}

// blend returns a mixture of two colors: a if part is 0, b if part is 1.
func blend(a, b color.RGBA, part float64) color.RGBA {
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + (float64(b)-float64(a))*part)) }
	return color.RGBA{R: mix(a.R, b.R), G: mix(a.G, b.G), B: mix(a.B, b.B), A: 255}
}

// png encodes the picture. It replaces each color by the nearest color of a palette, which has at most
// 256: with all its colors, the picture would have more than twice the bytes.
func (c *canvas) png(palette color.Palette) ([]byte, error) {
	picture := image.NewPaletted(c.Bounds(), palette)
	indices := map[[4]byte]uint8{} // index in palette by color; a picture has some thousand colors
	var previous [4]byte           // no pixel has this color, because all are opaque
	var index uint8
	for i := range picture.Pix {
		pixel := [4]byte(c.Pix[4*i:])
		if pixel != previous { // Most pixels have the color of their neighbor.
			known := false
			index, known = indices[pixel]
			if !known {
				index = uint8(palette.Index(color.RGBA{R: pixel[0], G: pixel[1], B: pixel[2], A: 255}))
				indices[pixel] = index
			}
			previous = pixel
		}
		picture.Pix[i] = index
	}
	var out bytes.Buffer
	// The best compression takes four times as long, and saves a twelfth.
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	err := encoder.Encode(&out, picture)
	return out.Bytes(), err
}
