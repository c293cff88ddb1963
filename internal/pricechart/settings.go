package pricechart

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"

	"golang.org/x/image/draw"

	"herald/internal/config"
)

// Settings are what an operator chooses.
type Settings struct {
	// Logo is shown beside the title. It is nil if there is none.
	Logo image.Image
}

// Table declares the settings that fill s.
func (s *Settings) Table() []config.Setting {
	return []config.Setting{
		{
			Heading: "Charts",
			Name:    "TOKEN_LOGO",
			Example: "/etc/herald/logo.png",
			Set:     config.Field(&s.Logo, readLogo),
			Comment: "Path of a PNG file that is shown on charts: at most 256 KiB, and 1024 pixels a side. Unset: none.",
		},
	}
}

// The maximum size of the file, and of the image in it.
const (
	maxLogoBytes = 256 << 10
	maxLogoSide  = 1024 // pixels
)

// The size in which a logo is drawn, in pixels. A wide logo is drawn less high, so that it is not wider than
// maxLogoWidth.
const (
	logoHeight   = 80
	maxLogoWidth = 240
)

// readLogo reads a PNG file, and scales the image to the size in which it is drawn.
func readLogo(path string) (image.Image, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the file cannot be read: %w", config.WithoutPath(err))
	}
	if len(content) > maxLogoBytes {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxLogoBytes)
	}
	// Check the header first, because a few bytes can unpack to gigabytes.
	header, err := png.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return nil, errors.New("the file is not a PNG image")
	}
	if header.Width > maxLogoSide || header.Height > maxLogoSide {
		return nil, fmt.Errorf("the image has %d × %d pixels; at most %d a side are allowed",
			header.Width, header.Height, maxLogoSide)
	}
	whole, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		return nil, errors.New("the file is a damaged PNG image")
	}
	scale := min(maxLogoWidth/float64(header.Width), logoHeight/float64(header.Height))
	scaled := func(pixels int) int { return max(1, int(scale*float64(pixels))) }
	logo := image.NewRGBA(image.Rect(0, 0, scaled(header.Width), scaled(header.Height)))
	draw.CatmullRom.Scale(logo, logo.Bounds(), whole, whole.Bounds(), draw.Src, nil)
	return logo, nil
}
