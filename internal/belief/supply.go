package belief

import (
	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// SupplyDoubt is a figure of a Supply that contradicts the price provider's count, as a figure in base units does.
type SupplyDoubt struct {
	// Total is set if the figure is the total, and not the circulating supply.
	Total bool
	Count decimal.Decimal // the provider's
}

// JudgeSupply returns a SupplyDoubt if a figure of s is a thousand times the provider's count in q or more, or a
// thousandth or less. It returns nil if no count is known. If the price of q is doubtful, q must have no market cap.
func JudgeSupply(q core.Quote, s core.Supply) *SupplyDoubt {
	circulating := q.Circulating.Decimal
	if !q.Circulating.Valid {
		circulating, _ = tokenCount(q)
	}
	if contradictsCount(s.Circulating, circulating) {
		return &SupplyDoubt{Count: circulating}
	}
	if total := q.Total.Decimal; contradictsCount(s.Total, total) {
		return &SupplyDoubt{Total: true, Count: total}
	}
	return nil
}

// contradictsCount reports whether a figure contradicts a count, which is zero if it is unknown.
func contradictsCount(figure, count decimal.Decimal) bool {
	return count.IsPositive() && areApart(figure, count, supplyContradiction)
}
