package supply_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/service/rest/resttest"
	"herald/internal/service/supply"
)

func newClient(url string) *supply.Client {
	return supply.New(supply.Settings{URL: url}, query.NewCache(query.CacheConfig{CallTimeout: time.Minute}))
}

// fetch fetches the supply from the host at url, without the cache.
func fetch(t *testing.T, url string) (core.Supply, error) {
	t.Helper()
	return newClient(url).Supply.Fetch(t.Context(), struct{}{})
}

// fetchFrom fetches the supply from a host that answers with these bodies, without the cache.
func fetchFrom(t *testing.T, total, circulating string) (core.Supply, error) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/total-supply", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, total)
	})
	mux.HandleFunc("GET /v1/circulating-supply", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, circulating)
	})
	return fetch(t, resttest.Serve(t, mux.ServeHTTP)+"/v1")
}

func TestEveryFormOfANumberIsReadExactly(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{" 98765432.1\r\n", "98765432.1"},
		{"\t1\n", "1"},
		{`"98765432.1"`, "98765432.1"},
		{`" 1 "`, "1"},
		{`{"result":"98765432.1"}`, "98765432.1"},
		{`{"result":1}`, "1"},
		{`{"data":98765432.1}`, "98765432.1"},
		{`{"data":"1"}`, "1"},
		{`1e+21`, "1000000000000000000000"},
		{`123456789012345678901.123456789012345678`, "123456789012345678901.123456789012345678"},
		{`5.000`, "5"},
	} {
		got, err := fetchFrom(t, test.body, test.body)
		if err != nil || got.Total.String() != test.want || got.Circulating.String() != test.want {
			t.Errorf("%s: got %v and %v, %v; want %s", test.body, got.Total, got.Circulating, err, test.want)
		}
	}
}

func TestTheTotalAndTheCirculatingSupplyAreNotConfused(t *testing.T) {
	got, err := fetchFrom(t, "98765432.1", "1")
	if err != nil || got.Total.String() != "98765432.1" || got.Circulating.String() != "1" {
		t.Errorf("got %v and %v, %v; want 98765432.1 and 1", got.Total, got.Circulating, err)
	}
}

func TestABodyThatIsNotASupplyIsMalformed(t *testing.T) {
	for _, text := range []string{
		`0`,
		`0.0`,
		`"0"`,
		`{"result":"0"}`,
		`{"data":0}`,
		`-1`,
		`"-5"`,
		`-0`,
		`Error calculating total supply`,
		`"Error calculating total supply"`,
		`{"result":"Max rate limit reached"}`,
		`NaN`,
		`"Infinity"`,
		`1e400`,
		`1e-999999999`,
		`98,765,432.1`,
		`"98,765,432.1"`,
		`1.234.567`,
		`0x10`,
		`1_000`,
		`007`,
		`null`,
		`true`,
		`""`,
		`[5]`,
		`{}`,
		`{"result":null}`,
		`{"result":[5]}`,
		`{"data":{"result":5}}`,
		`{"other":5}`,
		`{"Result":5}`,
		`{"result":5,"data":6}`,
		`{"result":5,"result":6}`,
		`{"error":"no node","result":5}`,
		`{"success":false,"data":5}`,
		`{"code":500,"data":"1"}`,
		`{"status":0,"message":"NOTOK","result":"5"}`,
		`5 6`,
		`<html>5</html>`,
		``,
	} {
		t.Log(text)
		_, err := fetchFrom(t, text, "5")
		resttest.WantReason(t, err, supply.Service, core.Malformed)
		_, err = fetchFrom(t, "5", text)
		resttest.WantReason(t, err, supply.Service, core.Malformed)
	}
}

func TestMoreInCirculationThanInTotalIsMalformed(t *testing.T) {
	_, err := fetchFrom(t, "5", "5.000000000000000001")
	resttest.WantReason(t, err, supply.Service, core.Malformed)
}

func TestTheEndOfTheConnectionMayEndASupply(t *testing.T) {
	for _, body := range []string{"987", "\uFEFF 987 ", `"987"`, "\uFEFF{\"result\":987}"} {
		url := resttest.Serve(t, resttest.Broken("HTTP/1.0 200 OK\r\n\r\n"+body))
		got, err := fetch(t, url)
		if err != nil || got.Total.String() != "987" {
			t.Errorf("%q: got %v, %v", body, got.Total, err)
		}
	}
}

func TestASupplyThatIsShorterThanItsLengthIsRefused(t *testing.T) {
	for _, body := range []string{"987", `{"result":987`} {
		url := resttest.Serve(t, resttest.Broken("HTTP/1.0 200 OK\r\nContent-Length: 14\r\n\r\n"+body))
		_, err := fetch(t, url)
		resttest.WantReason(t, err, supply.Service, core.Unreachable)
	}
}

func TestALoadedSupplyIsChecked(t *testing.T) {
	for _, test := range []struct {
		total, circulating int64
		isPossible         bool
	}{
		{total: 5, circulating: 5, isPossible: true},
		{total: 5, circulating: 1, isPossible: true},
		{total: 5, circulating: 6, isPossible: false},
		{total: 5, circulating: 0, isPossible: false},
		{total: 0, circulating: 0, isPossible: false},
	} {
		err := newClient("").Supply.Check(core.Supply{
			Total:       decimal.NewFromInt(test.total),
			Circulating: decimal.NewFromInt(test.circulating),
		})
		if (err == nil) != test.isPossible {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
