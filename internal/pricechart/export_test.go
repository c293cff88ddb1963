package pricechart

import "herald/internal/chart"

// DrawBy has pictures drawn by another.
func (c *Charts) DrawBy(draw func(chart.Picture) ([]byte, error)) { c.draw = draw }
