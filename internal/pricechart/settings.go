package pricechart

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"

	"golang.org/x/image/draw"

	"herald/internal/config"
)

// Settings are what an operator chooses.
type Settings struct {
	// Logo is shown beside the title. It is already scaled. It is nil if there is none.
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

// The size of a drawn logo, in pixels. A logo is drawn logoHeight high, or lower if it would otherwise be wider than
// maxLogoWidth.
const (
	logoHeight   = 80
	maxLogoWidth = 240
)

// readLogo reads a PNG file, and scales the image to the size in which it is drawn. The error does not repeat path.
func readLogo(path string) (image.Image, error) {
	content, err := readLogoFile(path)
	if err != nil {
		return nil, err
	}
	// Check the header first, because a few bytes can unpack to gigabytes.
	header, err := png.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return nil, errors.New("the file is not a PNG image")
	}
	if header.Width > maxLogoSide || header.Height > maxLogoSide {
		return nil, fmt.Errorf("the image has %d × %d pixels; each side may have at most %d",
			header.Width, header.Height, maxLogoSide)
	}
	whole, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		return nil, errors.New("the file is a damaged PNG image")
	}
	return scaledLogo(whole), nil
}

// readLogoFile returns the content of a file of at most maxLogoBytes.
func readLogoFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the file cannot be read: %w", config.WithoutPath(err))
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxLogoBytes+1))
	if err != nil {
		return nil, fmt.Errorf("the file cannot be read: %w", config.WithoutPath(err))
	}
	if len(content) > maxLogoBytes {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxLogoBytes)
	}
	return content, nil
}

// scaledLogo returns a logo in the size in which it is drawn.
func scaledLogo(whole image.Image) image.Image {
	size := whole.Bounds().Size()
	scale := min(maxLogoWidth/float64(size.X), logoHeight/float64(size.Y))
	// Without max, a logo of 1024 × 1 pixels would be 0 high.
	scaled := func(pixels int) int { return max(1, int(scale*float64(pixels))) }
	logo := image.NewRGBA(image.Rect(0, 0, scaled(size.X), scaled(size.Y)))
	draw.CatmullRom.Scale(logo, logo.Bounds(), whole, whole.Bounds(), draw.Src, nil)
	return logo
}
