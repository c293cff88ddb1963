package partner

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"herald/internal/core"
	"herald/internal/service/rest"
)

// endpoint is one of the API's two questions.
type endpoint struct{ name, path string }

var (
	existence = endpoint{name: "existence check", path: "/api/v1/partner/user/exists"}
	history   = endpoint{name: "login history", path: "/api/v1/partner/user/dapps/login/log"}
)

func (e endpoint) fail(reason core.Reason, err error) error {
	return Service.Fail(reason, err).During(e.name)
}

func (e endpoint) malformed(problem string) error { return e.fail(core.Malformed, errors.New(problem)) }

// answer is what the service said.
type answer struct {
	code string // the service's own, if it refused with one
	data any
}

// open reads the answer to a call that may have failed with err. The body of a
// status other than success counts only if the service understood the request and
// rejected it with a code.
func (e endpoint) open(resp *rest.Response, err error) (answer, error) {
	if err == nil {
		return e.parse(resp.Body)
	}
	if failure, ok := errors.AsType[*core.Error](err); ok && failure.Reason == core.Rejected {
		if got, named := e.parse(resp.Body); got.code != "" {
			return got, named
		}
	}
	return answer{}, err
}

// parse reads a body. Any code but 0 makes it a rejection.
func (e endpoint) parse(body []byte) (answer, error) {
	v, err := rest.Parse(body)
	if err != nil {
		return answer{}, e.fail(core.Malformed, err)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return answer{}, e.malformed("not an object")
	}
	switch code := rest.Text(object["code"]); {
	case code == "", object["code"] == "0":
		// A refusal's code may be a text. Success is promised as the number 0, so
		// what comes with "0" is not to be trusted.
		return answer{}, e.malformed("no code that is a number")
	case code != "0":
		return answer{code: code}, e.fail(core.Rejected, refusal(code))
	}
	return answer{data: object["data"]}, nil
}

// refusal names the code, so that an operator can list it, unless it is a number
// as long as somebody's ID or a text.
func refusal(code string) error {
	if n, err := strconv.Atoi(code); err == nil && len(code) <= 6 {
		return fmt.Errorf("answered with code %d", n)
	}
	return errors.New("answered with a code other than 0")
}

// did is the form of a DID: its method and an identifier of printable ASCII.
var did = regexp.MustCompile(`^did:[A-Za-z0-9]+:[!-~]{1,255}$`)

// parseAccount reads who somebody is. An object with members but without "did" is
// an answer of another form, and not a no.
func parseAccount(data any) (core.Account, error) {
	user, isObject := data.(map[string]any)
	id, named := user["did"]
	text, _ := id.(string)
	switch {
	case data == nil, isObject && len(user) == 0, named && (id == nil || id == ""):
		return core.Account{}, nil
	case !did.MatchString(text):
		return core.Account{}, existence.malformed("no DID of the form did:<method>:<identifier>")
	}
	return core.Account{DID: text}, nil
}

// maxAge is how far back logins count.
const maxAge = 30 * 24 * time.Hour

// A login's time is in seconds only if it lies between earliest and a little
// after now: a time in milliseconds would be in the far future, one in days or
// minutes in the far past.
var earliest = time.Unix(1_000_000_000, 0)

const maxAhead = time.Hour

// parseLogins reads the records, newest first.
func parseLogins(data any, now time.Time) ([]core.Login, error) {
	records, ok := data.([]any)
	if !ok {
		return nil, history.malformed("data is not a list")
	}
	var logins []core.Login
	for _, r := range records {
		login, err := parseLogin(r, now)
		if err != nil {
			return nil, err
		}
		if !login.At.Before(now.Add(-maxAge)) {
			logins = append(logins, login)
		}
	}
	slices.SortStableFunc(logins, func(a, b core.Login) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Dapp, b.Dapp))
	})
	return logins, nil
}

// parseLogin reads one record. Its names may be empty, but not missing.
func parseLogin(v any, now time.Time) (core.Login, error) {
	record, _ := v.(map[string]any)
	dapp, named := record["dapp_name"].(string)
	platform, placed := record["login_platform"].(string)
	if !named || !placed {
		return core.Login{}, history.malformed("a login without the names of its dapp and platform")
	}
	seconds, err := strconv.ParseInt(rest.Text(record["login_time"]), 10, 64)
	at := time.Unix(seconds, 0).UTC()
	if err != nil || at.Before(earliest) || at.After(now.Add(maxAhead)) {
		return core.Login{}, history.malformed("a login without a possible time in Unix seconds")
	}
	return core.Login{Dapp: dapp, Platform: platform, At: at}, nil
}
