package supply

import (
	"encoding/json"
	"errors"

	"github.com/shopspring/decimal"

	"herald/internal/service/rest"
)

// figure is one of the two numbers that the host knows.
type figure struct{ name, path string }

var (
	total       = figure{"total supply", "/total-supply"}
	circulating = figure{"circulating supply", "/circulating-supply"}
)

// parseFigure reads an answer: a number, or a text that is one, perhaps as the
// only member, "result" or "data", of an object. An object that says more may
// be saying that it failed. complete is set if the answer cannot have been cut
// off unnoticed.
func parseFigure(body []byte, complete bool) (decimal.Decimal, error) {
	v, err := rest.Parse(body)
	if errors.Is(err, rest.ErrNotJSON) {
		err = errors.New("neither a plain number nor JSON")
	}
	if err != nil {
		return decimal.Decimal{}, err
	}
	switch answer := v.(type) {
	case json.Number:
		if !complete {
			return decimal.Decimal{}, errors.New("a bare number that may have been cut off")
		}
	case map[string]any:
		for _, name := range []string{"result", "data"} {
			if member, there := answer[name]; there && len(answer) == 1 {
				v = member
			}
		}
	}
	amount, ok := rest.Decimal(v)
	if !ok {
		return decimal.Decimal{}, errors.New("not a number")
	}
	return amount, checkAmount(amount)
}
