package pricechart

import (
	"context"

	"herald/internal/chart"
)

// DrawBy has pictures drawn by another.
func (c *Charts) DrawBy(draw func(context.Context, chart.Picture) ([]byte, error)) { c.draw = draw }
