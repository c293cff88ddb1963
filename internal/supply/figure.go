package supply

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"herald/internal/rest"
)

// figure is one of the two numbers that the host knows.
type figure struct {
	name string
	path string
	// members are those of an object that hold it.
	members []string
}

var (
	wrappers = []string{"result", "data", "value", "supply"}
	total    = figure{"total supply", "/total-supply", append([]string{
		"total", "totalSupply", "total_supply"}, wrappers...)}
	circulating = figure{"circulating supply", "/circulating-supply", append([]string{
		"circulating", "circulatingSupply", "circulating_supply"}, wrappers...)}
)

// parse reads an answer. complete is set if it cannot have been cut off
// unnoticed.
func (f figure) parse(body []byte, complete bool) (decimal.Decimal, error) {
	v, err := rest.Parse(body)
	if errors.Is(err, rest.ErrNotJSON) {
		err = errors.New("neither a plain number nor JSON")
	}
	if err != nil {
		return decimal.Decimal{}, err
	}
	if _, bare := v.(json.Number); bare && !complete {
		return decimal.Decimal{}, errors.New("a bare number that may have been cut off")
	}
	for {
		object, ok := v.(map[string]any)
		if !ok {
			break
		}
		if v, err = f.member(object); err != nil {
			return decimal.Decimal{}, err
		}
	}
	amount, ok := rest.Decimal(v)
	if !ok {
		return decimal.Decimal{}, errors.New("not a number")
	}
	return amount, checkAmount(amount)
}

// member is the only member of object that may hold the figure.
func (f figure) member(object map[string]any) (any, error) {
	if failed(object) {
		return nil, errors.New("an object that reports an error")
	}
	var found any
	for _, name := range f.members {
		switch v := object[name]; {
		case v == nil:
		case found != nil:
			return nil, errors.New("an object with more than one number to choose from")
		default:
			found = v
		}
	}
	if found == nil {
		return nil, errors.New("an object without the number")
	}
	return found, nil
}

// What members of an object beside the figure say if all is well, in lower case.
var (
	noErrors     = []string{"null", "false", ""}
	trueFlags    = []string{"true", "1"}
	successCodes = []string{"0", "200"}
	goodStatuses = []string{"true", "1", "200", "ok", "success"}

	goodMessage = regexp.MustCompile(`^(null$|ok|success|$)`)
	badMessage  = regexp.MustCompile(`not ?ok|error|fail`)
)

// failed reports whether an object says of what it holds that it is no answer,
// or does not say clearly that it is one. Names count in any case. A message in
// words of the host's own needs another member that reports success.
func failed(object map[string]any) bool {
	successful, unclear := false, false
	for name, v := range object {
		var good []string
		said := lowerText(v)
		switch strings.ToLower(name) {
		case "error", "errors", "err", "failed", "iserror", "is_error":
			if !slices.Contains(noErrors, said) {
				return true
			}
			continue
		case "message", "msg":
			unclear = unclear || !goodMessage.MatchString(said)
			if badMessage.MatchString(said) {
				return true
			}
			continue
		case "success", "ok":
			good = trueFlags
		case "code", "statuscode", "status_code", "errorcode", "error_code", "errno":
			good = successCodes
		case "status":
			good = goodStatuses
		default:
			continue
		}
		if !slices.Contains(good, said) {
			return true
		}
		successful = true
	}
	return unclear && !successful
}

// lowerText is what a member says; of an object or a list, that it is one.
func lowerText(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case map[string]any, []any:
		return "compound"
	}
	return strings.ToLower(strings.TrimSpace(rest.Text(v)))
}
