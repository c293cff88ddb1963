package pricechart

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/shopspring/decimal"
)

func TestASparkHasThePriceOfEachFortiethOfThePeriod(t *testing.T) {
	from := time.Unix(1_700_000_000, 0).UTC()
	p := picture{from: from, to: from.Add(40 * time.Hour)}
	for hour := 0; hour <= 40; hour++ {
		if hour <= 10 || hour >= 20 { // and a gap of more than a twelfth
			p.points = append(p.points, point{At: from.Add(time.Duration(hour) * time.Hour), Price: decimal.NewFromInt(int64(hour))})
		}
	}
	var want []float64
	for hour := 1; hour <= 40; hour++ {
		if price := float64(hour); hour <= 10 || hour >= 20 {
			want = append(want, price)
		} else {
			want = append(want, math.NaN())
		}
	}
	if got := p.spark(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	p.points = p.points[:3]
	if got := p.spark(); got != nil {
		t.Errorf("without a line: %v", got)
	}
}
