package belief

import (
	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// SupplyDoubt says that a figure of a Supply contradicts the price provider's count, for example because the figure
// is in base units.
type SupplyDoubt struct {
	// IsTotal is true if the figure is the total supply. Otherwise it is the circulating supply.
	IsTotal bool
	Count   decimal.Decimal // the provider's
}

// supplyContradiction is the factor from which on two counts of tokens contradict each other. It is higher than the one
// of prices, because providers count tokens differently.
const supplyContradiction = 1000

// JudgeSupply returns a SupplyDoubt if a figure of s is at least a thousand times the provider's count in q, or at
// most a thousandth of it. It returns nil if no count is known. If the price of q is doubtful, q must have no market
// cap.
func JudgeSupply(q core.Quote, s core.Supply) *SupplyDoubt {
	circulating := q.Circulating.Decimal
	if !q.Circulating.Valid {
		circulating, _ = tokenCount(q)
	}
	if contradictsCount(s.Circulating, circulating) {
		return &SupplyDoubt{Count: circulating}
	}
	total := q.Total.Decimal
	if contradictsCount(s.Total, total) {
		return &SupplyDoubt{IsTotal: true, Count: total}
	}
	return nil
}

// contradictsCount reports whether a figure contradicts a count. A count of zero is unknown, and contradicts nothing.
func contradictsCount(figure, count decimal.Decimal) bool {
	return count.IsPositive() && areApart(figure, count, supplyContradiction)
}
