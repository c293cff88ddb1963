package pricechart

import (
	"math"
	"time"
)

// sparks is the number of prices in a spark line.
const sparks = 40

// spark returns the last price of each fortieth of the period in USD, or NaN where the line
// has a gap. It returns nil if the picture has no line.
func (p picture) spark() (prices []float64) {
	if !p.hasLine() {
		return nil
	}
	price, next := math.NaN(), 0
	for i := range sparks {
		end := p.from.Add(p.period() / sparks * time.Duration(i+1))
		begun := next
		for ; next < len(p.points) && !p.points[next].At.After(end); next++ {
			price = p.points[next].Price.InexactFloat64()
		}
		if gap := next == begun && next < len(p.points) && !p.joined(next); gap {
			prices = append(prices, math.NaN())
		} else {
			prices = append(prices, price)
		}
	}
	return prices
}
