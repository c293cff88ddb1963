package supply_test

import (
	"context"
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

// figures asks past the cache.
func figures(ctx context.Context, url string) (core.Supply, error) {
	return supply.New(supply.Settings{URL: url}, query.NewCache(query.CacheConfig{CallTimeout: time.Minute})).Supply.Fetch(ctx, struct{}{})
}

func ask(t *testing.T, total, circulating string) (core.Supply, error) {
	t.Helper()
	mux := http.NewServeMux()
	for path, body := range map[string]string{"/v1/total-supply": total, "/v1/circulating-supply": circulating} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
	}
	return figures(t.Context(), resttest.Serve(t, mux.ServeHTTP)+"/v1")
}

func TestEveryFormOfANumberIsReadExactly(t *testing.T) {
	for _, c := range []struct{ total, circulating, wantTotal, wantCirculating string }{
		{" 98765432.1\r\n", "\t1\n", "98765432.1", "1"},
		{`"98765432.1"`, `" 1 "`, "98765432.1", "1"},
		{`{"result":"98765432.1"}`, `{"result":1}`, "98765432.1", "1"},
		{`{"data":98765432.1}`, `{"data":"1"}`, "98765432.1", "1"},
		{`1e+21`, `123456789012345678901.123456789012345678`, "1000000000000000000000", "123456789012345678901.123456789012345678"},
		{`5`, `5.000`, "5", "5"},
	} {
		got, err := ask(t, c.total, c.circulating)
		if err != nil || got.Total.String() != c.wantTotal || got.Circulating.String() != c.wantCirculating {
			t.Errorf("%s and %s: got %v and %v, %v", c.total, c.circulating, got.Total, got.Circulating, err)
		}
	}
}

func TestWhatIsNoSupplyIsMalformed(t *testing.T) {
	for _, text := range []string{
		`0`, `0.0`, `"0"`, `{"result":"0"}`, `{"data":0}`, `-1`, `"-5"`, `-0`,
		`Error calculating total supply`, `"Error calculating total supply"`, `{"result":"Max rate limit reached"}`,
		`NaN`, `"Infinity"`, `1e400`, `1e-999999999`, `98,765,432.1`, `"98,765,432.1"`, `1.234.567`, `0x10`, `1_000`, `007`,
		`null`, `true`, `""`, `[5]`, `{}`, `{"result":null}`, `{"result":[5]}`, `{"data":{"result":5}}`, `{"other":5}`, `{"Result":5}`,
		`{"result":5,"data":6}`, `{"result":5,"result":6}`, `{"error":"no node","result":5}`, `{"success":false,"data":5}`,
		`{"code":500,"data":"1"}`, `{"status":0,"message":"NOTOK","result":"5"}`, `5 6`, `<html>5</html>`, ``,
	} {
		for _, pair := range [][2]string{{text, "5"}, {"5", text}} {
			t.Log(pair)
			_, err := ask(t, pair[0], pair[1])
			resttest.WantReason(t, err, supply.Service, core.Malformed)
		}
	}
	_, err := ask(t, "5", "5.000000000000000001")
	resttest.WantReason(t, err, supply.Service, core.Malformed)
}

func TestASupplyThatEndsWithTheConnectionIsRead(t *testing.T) {
	for _, body := range []string{"987", "\uFEFF 987 ", `"987"`, "\uFEFF{\"result\":987}"} {
		url := resttest.Serve(t, resttest.Broken("HTTP/1.0 200 OK\r\n\r\n"+body, false))
		if got, err := figures(t.Context(), url); err != nil || got.Total.String() != "987" {
			t.Errorf("%q: got %v, %v", body, got.Total, err)
		}
	}
	for _, body := range []string{"987", `{"result":987`} {
		url := resttest.Serve(t, resttest.Broken("HTTP/1.0 200 OK\r\nContent-Length: 14\r\n\r\n"+body, false))
		_, err := figures(t.Context(), url)
		resttest.WantReason(t, err, supply.Service, core.Unreachable)
	}
}

func TestALoadedSupplyIsChecked(t *testing.T) {
	check := supply.New(supply.Settings{}, query.NewCache(query.CacheConfig{CallTimeout: time.Minute})).Supply.Check
	for _, c := range []struct {
		total, circulating int64
		possible           bool
	}{{5, 5, true}, {5, 1, true}, {5, 6, false}, {5, 0, false}, {0, 0, false}} {
		err := check(core.Supply{Total: decimal.NewFromInt(c.total), Circulating: decimal.NewFromInt(c.circulating)})
		if (err == nil) != c.possible {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
