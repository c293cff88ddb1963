package partner

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"herald/internal/core"
	"herald/internal/service/rest"
)

// answer is the parsed body of a response.
type answer struct {
	code string // the API's own code, or noCode
	data any    // the data of a success; nil: null or missing
}

// noCode is the code of a success, and of an answer that could not be parsed.
const noCode = ""

// parse returns the answer in a body. If the code is not 0, parse returns the code and a Rejected error. It treats
// missing data as null, but fails if another member may be the answer.
func (e endpoint) parse(body []byte) (answer, error) {
	v, err := rest.Parse(body)
	if err != nil {
		return answer{}, e.fail(core.Malformed, err)
	}
	object, isObject := v.(map[string]any)
	if !isObject {
		return answer{}, e.malformed("not an object")
	}
	code := rest.Text(object["code"])
	// A refusal's code may be a text, but success is documented as the number 0.
	isTextZero := object["code"] == "0"
	if code == "" || isTextZero {
		return answer{}, e.malformed("no code that is a number")
	}
	if code != "0" {
		return answer{code: code}, e.fail(core.Rejected, errorWithCode(code))
	}
	data, hasData := object["data"]
	if hasData {
		return answer{data: data}, nil
	}
	delete(object, "success") // It repeats the code. mayBeAnswer would take its true for an answer.
	if slices.ContainsFunc(slices.Collect(maps.Values(object)), mayBeAnswer) {
		return answer{}, e.malformed("no data, and something else in its place")
	}
	return answer{}, nil
}

// errorWithCode returns the error of a code other than 0. It names a short number, which operators need for
// PARTNER_NOT_FOUND_CODES. A text or a long number may be a person's ID.
func errorWithCode(code string) error {
	const maxDigits = 6
	n, err := strconv.Atoi(code)
	if err != nil || len(code) > maxDigits {
		return errors.New("answered with a code other than 0")
	}
	return fmt.Errorf("answered with code %d", n)
}

// mayBeAnswer reports whether the value of an unknown member may be the answer: a DID, true, an object or a list. A
// message or a time cannot be.
func mayBeAnswer(v any) bool {
	switch v := v.(type) {
	case map[string]any, []any:
		return true
	case string:
		return didPattern.MatchString(v)
	}
	return v == true
}

// didPattern matches a DID: its method and an identifier of printable ASCII.
var didPattern = regexp.MustCompile(`^did:[A-Za-z0-9]+:[!-~]{1,255}$`)

// parseAccount returns the account in data. The account is unregistered if data is null or an object without members,
// or if its "did" is null or empty. parseAccount fails for any other data without a DID.
func parseAccount(data any) (core.Account, error) {
	user, isObject := data.(map[string]any)
	value, hasDID := user["did"]
	isEmpty := data == nil || (isObject && len(user) == 0)
	isEmptyDID := hasDID && (value == nil || value == "")
	if isEmpty || isEmptyDID {
		return core.Account{}, nil
	}
	did, _ := value.(string)
	if !didPattern.MatchString(did) {
		return core.Account{}, existenceCheck.malformed("no DID of the form did:<method>:<identifier>")
	}
	return core.Account{DID: did}, nil
}

// maxAge is the maximum age of a login that parseLogins returns.
const maxAge = 30 * 24 * time.Hour

// earliestLogin is the earliest possible time of a login. A number of minutes or days would be an earlier time.
var earliestLogin = time.Unix(1_000_000_000, 0)

// maxAhead is how far a login's time may be after now. A number of milliseconds would be a much later time.
const maxAhead = time.Hour

// parseLogins returns the logins of the past 30 days, newest first. data must be a list: null is an error. The names in
// a record may be empty, but must not be missing.
func parseLogins(data any, now time.Time) (logins []core.Login, err error) {
	records, isList := data.([]any)
	if !isList {
		return nil, loginHistory.malformed("data is not a list")
	}
	for _, record := range records {
		login, err := parseLogin(record, now)
		if err != nil {
			return nil, err
		}
		if !login.At.Before(now.Add(-maxAge)) {
			logins = append(logins, login)
		}
	}
	slices.SortStableFunc(logins, func(a, b core.Login) int { return b.At.Compare(a.At) })
	return logins, nil
}

// parseLogin returns the login in a record.
func parseLogin(v any, now time.Time) (core.Login, error) {
	record, _ := v.(map[string]any)
	dapp, hasDapp := record["dapp_name"].(string)
	platform, hasPlatform := record["login_platform"].(string)
	if !hasDapp || !hasPlatform {
		return core.Login{}, loginHistory.malformed("a login without the names of its dapp and platform")
	}
	seconds, err := strconv.ParseInt(rest.Text(record["login_time"]), 10, 64)
	at := time.Unix(seconds, 0).UTC()
	isPossible := !at.Before(earliestLogin) && !at.After(now.Add(maxAhead))
	if err != nil || !isPossible {
		return core.Login{}, loginHistory.malformed("a login without a possible time in Unix seconds")
	}
	return core.Login{Dapp: dapp, Platform: platform, At: at}, nil
}
