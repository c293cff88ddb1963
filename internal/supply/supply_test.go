package supply_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"herald/internal/core"
	"herald/internal/rest/resttest"
	"herald/internal/supply"
)

// figures asks past the cache.
func figures(ctx context.Context, url string, timeout time.Duration) (core.Supply, error) {
	return supply.New(supply.Settings{URL: url}, core.NewCache(core.CacheConfig{CallTimeout: timeout})).Supply.Ask(ctx, core.NoArgument{})
}

func ask(t *testing.T, total, circulating string) (core.Supply, error) {
	t.Helper()
	mux := http.NewServeMux()
	for path, body := range map[string]string{"/v1/total-supply": total, "/v1/circulating-supply": circulating} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
	}
	server := httptest.NewServer(mux)
	defer server.Close()
	return figures(t.Context(), server.URL+"/v1", time.Minute)
}

func TestEveryFormOfANumberIsRead(t *testing.T) {
	for _, c := range []struct{ total, circulating, wantTotal, wantCirculating string }{
		{`98765432.1`, `1`, "98765432.1", "1"},
		{" 98765432.1\r\n", "\t1\n", "98765432.1", "1"},
		{`"98765432.1"`, `" 1 "`, "98765432.1", "1"},
		{`{"result":"98765432.1"}`, `{"result":1}`, "98765432.1", "1"},
		{`{"data":98765432.1}`, `{"data":"1"}`, "98765432.1", "1"},
		{`{"data":{"result":"98765432.1"}}`, `{"data":{"data":{"value":1}}}`, "98765432.1", "1"},
		{`{"data":{"total_supply":5,"circulating_supply":4}}`, `{"data":{"totalSupply":5,"circulatingSupply":4}}`, "5", "4"},
		{`{"success":true,"error":null,"message":"OK","data":5}`, `{"error":"","result":"4"}`, "5", "4"},
		{`{"code":0,"data":5}`, `{"code":200,"data":"4"}`, "5", "4"},
		{`{"code":"0","message":"Supply of today","data":5}`, `{"Code":"200","Msg":"success","data":4}`, "5", "4"},
		{`{"ok":true,"result":5}`, `{"success":1,"result":"4"}`, "5", "4"},
		{`{"status":"1","message":"OK","result":"5"}`, `{"status":1,"message":"OK-Missing API key","result":"4"}`, "5", "4"},
		{`{"status":200,"data":5}`, `{"status":"success","data":{"status":true,"value":4}}`, "5", "4"},
		{`{"status":"OK","message":"","data":5}`, `{"message":null,"errors":false,"data":4}`, "5", "4"},
		{`{"message":"Successfully read","data":5}`, `{"msg":"ok","data":4}`, "5", "4"},
		{`{"jsonrpc":"2.0","id":1,"result":"5"}`, `{"error_code":0,"symbol":"HRD","decimals":18,"data":4}`, "5", "4"},
		{`1e+21`, `123456789012345678901.123456789012345678`, "1000000000000000000000", "123456789012345678901.123456789012345678"},
		{`5`, `5.000`, "5", "5"},
	} {
		got, err := ask(t, c.total, c.circulating)
		if err != nil || got.Total.String() != c.wantTotal || got.Circulating.String() != c.wantCirculating {
			t.Errorf("%s and %s: got %v and %v, %v", c.total, c.circulating, got.Total, got.Circulating, err)
		}
	}
}

// notNumbers are answers, of either figure, that tell no supply.
var notNumbers = []string{
	`0`, `0.0`, `"0"`, `{"result":"0"}`, `{"data":0}`, `-1`, `"-5"`, `-0`,
	`Error calculating total supply`, `"Error calculating total supply"`, `{"result":"Max rate limit reached"}`,
	`NaN`, `"NaN"`, `Infinity`, `"Infinity"`, `1e400`, `"1e400"`, `1e-999999999`,
	`98,765,432.1`, `"98,765,432.1"`, `1.234.567`, `0x10`, `"0x10"`, `1_000`, `007`,
	`null`, `true`, `""`, `[]`, `[5]`, `{}`, `{"result":null}`, `{"result":[5]}`, `{"result":{}}`, `{"other":5}`, `{"Result":5}`,
	`{"result":5,"data":6}`, `{"data":{"value":5,"supply":6}}`,
	`{"error":"no node","result":5}`, `{"success":false,"data":5}`, `{"data":{"error":{"code":1},"value":5}}`,
	`{"code":500,"data":"1"}`, `{"code":"500","data":1}`, `{"code":1,"data":1}`, `{"code":-1,"data":1}`, `{"code":null,"data":1}`, `{"code":{},"data":1}`,
	`{"Code":500,"data":"1"}`, `{"errno":7,"data":1}`, `{"error_code":1008,"data":1}`, `{"statusCode":503,"data":1}`, `{"code":0,"Code":5,"data":1}`,
	`{"ok":false,"result":3}`, `{"ok":0,"result":3}`, `{"ok":"no","result":3}`, `{"OK":false,"result":3}`, `{"ok":null,"result":3}`,
	`{"status":0,"message":"NOTOK","result":"5"}`, `{"status":"0","result":"5"}`, `{"status":"error","result":"5"}`, `{"status":500,"result":5}`,
	`{"status":false,"result":5}`, `{"status":{"error_code":0},"result":5}`, `{"message":"NOTOK","result":"5"}`, `{"status":"1","message":"NOTOK","result":"5"}`,
	`{"message":"Error calculating total supply","data":5}`, `{"code":0,"message":"fallback after an error","data":5}`, `{"message":"as of yesterday","data":5}`,
	`{"success":false,"result":5}`, `{"success":"false","data":5}`, `{"success":0,"data":5}`, `{"success":null,"data":5}`,
	`{"error":"upstream","data":5}`, `{"error":{},"data":5}`, `{"error":true,"data":5}`, `{"errors":["x"],"data":5}`, `{"err":"x","data":5}`, `{"Error":"x","data":5}`,
	`{"code":0,"data":{"code":500,"value":5}}`, `{"ok":true,"result":{"ok":false,"value":5}}`, `{"failed":true,"data":5}`,
	`{"result":5,"result":6}`, `5 6`, `<html>5</html>`, ``,
}

func TestWhatIsNoNumberIsMalformed(t *testing.T) {
	for _, text := range notNumbers {
		for _, pair := range [][2]string{{text, "5"}, {"5", text}} {
			_, err := ask(t, pair[0], pair[1])
			var failure *core.Error
			if !errors.As(err, &failure) || failure.Service != supply.Service || failure.Reason != core.Malformed {
				t.Errorf("%q and %q: got %v, want malformed", pair[0], pair[1], err)
			}
		}
	}
}

// untilClosed answers with a body whose end is that of the connection.
func untilClosed(protocol, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		io.WriteString(conn, protocol+" 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"+body)
		conn.Close()
	}
}

func TestABareNumberThatMayBeCutOffIsMalformed(t *testing.T) {
	for body, complete := range map[string]bool{
		"98765432.1": false, "987": false, " 987\r\n": false,
		`"987"`: true, `{"result":987}`: true, `{"data":{"value":"987"}}`: true, `"987`: false, `{"result":987`: false,
	} {
		for _, protocol := range []string{"HTTP/1.0", "HTTP/1.1"} {
			server := httptest.NewServer(untilClosed(protocol, body))
			got, err := figures(t.Context(), server.URL, time.Minute)
			server.Close()
			var failure *core.Error
			if complete && err != nil || !complete && (!errors.As(err, &failure) || failure.Reason != core.Malformed) {
				t.Errorf("%s %s: got %v, %v", protocol, body, got, err)
			}
		}
	}
}

func TestABareNumberOfAnnouncedLengthIsRead(t *testing.T) {
	whole := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "98765432.1") }
	for name, serve := range map[string]http.HandlerFunc{
		"Content-Length": whole,
		"chunks": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "987")
			w.(http.Flusher).Flush()
			io.WriteString(w, "65432.1")
		},
		"gzip": func(w http.ResponseWriter, r *http.Request) {
			var zipped bytes.Buffer
			z := gzip.NewWriter(&zipped)
			io.WriteString(z, "98765432.1")
			z.Close()
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(zipped.Bytes())
		},
		"HTTP/1.0 with a length": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			io.WriteString(conn, "HTTP/1.0 200 OK\r\nContent-Length: 10\r\n\r\n98765432.1")
			conn.Close()
		},
	} {
		server := httptest.NewServer(serve)
		got, err := figures(t.Context(), server.URL, time.Minute)
		server.Close()
		if err != nil || got.Total.String() != "98765432.1" {
			t.Errorf("%s: got %v, %v", name, got.Total, err)
		}
	}
}

func TestOneFiguresNameDoesNotTellTheOther(t *testing.T) {
	for _, pair := range [][2]string{{`{"circulating_supply":5}`, "5"}, {"5", `{"total_supply":5}`}} {
		if got, err := ask(t, pair[0], pair[1]); err == nil {
			t.Errorf("%v: got %v", pair, got)
		}
	}
}

func TestMoreCirculatingThanTotalIsMalformed(t *testing.T) {
	_, err := ask(t, "5", "5.000000000000000001")
	var failure *core.Error
	if !errors.As(err, &failure) || failure.Reason != core.Malformed {
		t.Errorf("got %v", err)
	}
}

func TestFiguresAreAskedAtOnce(t *testing.T) {
	var arrived atomic.Int32
	both := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if arrived.Add(1) == 2 {
			close(both)
		}
		select {
		case <-both:
		case <-r.Context().Done():
		}
		io.WriteString(w, "5")
	}))
	defer server.Close()
	if _, err := figures(t.Context(), server.URL, 10*time.Second); err != nil {
		t.Error(err)
	}
}

func TestEveryFaultBecomesATypedErrorWithoutSecrets(t *testing.T) {
	resttest.Check(t, func(ctx context.Context, baseURL string, timeout time.Duration) error {
		_, err := figures(ctx, baseURL+"/pr3f1x", timeout)
		return err
	}, "pr3f1x", "total-supply", "circulating-supply")
}
