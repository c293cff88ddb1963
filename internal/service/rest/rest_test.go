package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/service/rest"
	"herald/internal/service/rest/resttest"
)

var service = &core.Service{Name: "any"}

func TestEveryFaultBecomesATypedErrorWithoutSecrets(t *testing.T) {
	const secret, path, query = "s3cr3t", "/quotes", "key=abc"
	resttest.Check(t, func(ctx context.Context, baseURL string, timeout time.Duration) error {
		c := rest.New(service, timeout)
		resp, err := c.Do(ctx, rest.Request{
			Attempt: "quote",
			Base:    baseURL + path + "?" + query,
			Header:  http.Header{"X-Key": {secret}},
			Body:    []byte(secret),
		})
		if err != nil {
			return err
		}
		if _, err := rest.Parse(resp.Body); err != nil {
			return &core.Error{Service: service, Reason: core.Malformed, Err: err}
		}
		return nil
	}, secret, path, query)
}

func TestAFailedCallKeepsItsBodyAndIsNotRepeated(t *testing.T) {
	short := []byte(`{"code":7}`)
	largest := make([]byte, rest.MaxBody)
	tooLarge := make([]byte, rest.MaxBody+1)
	for status, test := range map[int]struct {
		body     []byte
		want     core.Reason
		wantBody []byte
	}{
		404: {body: short, want: core.Rejected, wantBody: short},
		503: {body: largest, want: core.Unreachable, wantBody: largest},
		200: {body: tooLarge, want: core.Malformed, wantBody: nil},
		429: {body: tooLarge, want: core.Limited, wantBody: nil},
	} {
		calls := 0
		url := resttest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
			calls++
			w.WriteHeader(status)
			w.Write(test.body)
		})
		resp, err := rest.New(service, time.Minute).Do(t.Context(), rest.Request{Base: url})
		failure, ok := errors.AsType[*core.Error](err)
		if !ok || failure.Service != service || failure.Reason != test.want || calls != 1 {
			t.Errorf("%d: got %v after %d calls, want %s after 1", status, err, calls, test.want)
		}
		if resp == nil || !bytes.Equal(resp.Body, test.wantBody) {
			t.Errorf("%d: the response is %.100v, want a body of %d bytes", status, resp, len(test.wantBody))
		}
	}
}

// HTTP has three ways to mark the end of an answer: a length, chunks, and the end of the connection. An answer that is
// shorter than announced is incomplete.
func TestAnswersEndInEveryWayOfHTTP(t *testing.T) {
	const noLength = "Server: old" // any header that does not tell the length
	const number = "98765"
	for name, test := range map[string]struct {
		serve http.HandlerFunc
		want  core.Reason // empty: the number is read
	}{
		"a length": {
			serve: thenClose("1.1", "Content-Length: 5", number),
			want:  "",
		},
		"the end of the connection": {
			serve: thenClose("1.1", "Connection: close", number),
			want:  "",
		},
		"the end of the connection, HTTP/1.0": {
			serve: thenClose("1.0", noLength, number),
			want:  "",
		},
		"chunks": {
			serve: inChunks("987", "65"),
			want:  "",
		},
		"chunks, after a byte order mark": {
			serve: inChunks("\uFEFF" + number),
			want:  "",
		},
		"shorter than the length": {
			serve: thenClose("1.1", "Content-Length: 9", number),
			want:  core.Unreachable,
		},
		"shorter than the length, HTTP/1.0": {
			serve: thenClose("1.0", "Content-Length: 9", number),
			want:  core.Unreachable,
		},
		"shorter than the chunk": {
			serve: thenClose("1.1", "Transfer-Encoding: chunked", "9\r\n"+number),
			want:  core.Unreachable,
		},
		"two byte order marks": {
			serve: inChunks("\uFEFF\uFEFF" + number),
			want:  core.Malformed,
		},
		"an empty body": {
			serve: thenClose("1.0", noLength, ""),
			want:  core.Malformed,
		},
	} {
		url := resttest.Serve(t, test.serve)
		got, err := rest.New(service, time.Minute).Figure(t.Context(), rest.Request{Base: url})
		if core.ReasonOf(err) != test.want || err == nil && got.String() != number {
			t.Errorf("%s: got %v, %v, want %q", name, got, err, test.want)
		}
	}
}

// thenClose returns a handler that answers with this version of HTTP, header and body, and then closes the connection.
func thenClose(version, header, body string) http.HandlerFunc {
	return resttest.Broken("HTTP/" + version + " 200 OK\r\n" + header + "\r\n\r\n" + body).ServeHTTP
}

// inChunks returns a handler that answers with these chunks.
func inChunks(chunks ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, chunk := range chunks {
			io.WriteString(w, chunk)
			w.(http.Flusher).Flush()
		}
	}
}

func TestATimeoutOfADialIsUnreachableAndOfAReadIsSlow(t *testing.T) {
	for op, want := range map[string]core.Reason{"dial": core.Unreachable, "read": core.SlowAnswer} {
		err := &net.OpError{Op: op, Err: context.DeadlineExceeded}
		if got := rest.CallError(service, err); got.Reason != want {
			t.Errorf("%s: %s, want %s", op, got.Reason, want)
		}
	}
}

func TestExponentsAreLimited(t *testing.T) {
	for exponent, allowed := range map[int32]bool{
		-201: false,
		-200: true,
		0:    true,
		200:  true,
		201:  false,
	} {
		n := decimal.New(1, exponent)
		if got := rest.IsBounded(n); got != allowed {
			t.Errorf("IsBounded(1e%d) = %t", exponent, got)
		}
		if err := rest.CheckFigure(n); (err == nil) != allowed {
			t.Errorf("CheckFigure(1e%d) = %v", exponent, err)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]any{
		" 98765432.1\r\n":      json.Number("98765432.1"),
		`"text"`:               "text",
		`null`:                 nil,
		`{"a":[true,{"b":1}]}`: map[string]any{"a": []any{true, map[string]any{"b": json.Number("1")}}},
		`{"code":0,"Code":5}`:  map[string]any{"code": json.Number("0"), "Code": json.Number("5")},
	} {
		got, err := rest.Parse([]byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Parse(%s) = %#v, %v; want %#v", text, got, err, want)
		}
	}
}

func TestParseRefusesAnythingButOneValueOfJSON(t *testing.T) {
	for _, text := range []string{
		"",
		"<html></html>",
		"Error calculating total supply",
		"1 2",
		`{"a":1}}`,
		`{"a":[1,`,
		"NaN",
		"98,765,432",
		"007",
		`{"a":1,"a":1}`,
		`{"a":1,"\u0061":1}`,
		`[{"a":{"b":1,"b":2}}]`,
		strings.Repeat("[", 300_000),
	} {
		if v, err := rest.Parse([]byte(text)); err == nil {
			t.Errorf("%.50s: got %#v, want an error", text, v)
		}
	}
}

func TestDecimal(t *testing.T) {
	for v, want := range map[any]string{
		json.Number("0.1"): "0.1",
		json.Number("123456789012345678901234567890.123456789"): "123456789012345678901234567890.123456789",
		json.Number("1e+21"):   "1000000000000000000000",
		json.Number("-2.5E-7"): "-0.00000025",
		" 5 ":                  "5",
	} {
		got, ok := rest.Decimal(v)
		if !ok || got.String() != want {
			t.Errorf("Decimal(%#v) = %v, %t; want %s", v, got, ok, want)
		}
	}
}

func TestDecimalRefusesOtherValues(t *testing.T) {
	for _, v := range []any{
		json.Number("1e400"),
		json.Number("1e-999999999"),
		json.Number(strings.Repeat("9", 101)),
		"",
		"NaN",
		"Infinity",
		"0x10",
		"1_000",
		"1,000",
		"+5",
		".5",
		"5.",
		"−5",
		"٣",
		nil,
		true,
		[]any{},
		map[string]any{},
	} {
		if got, ok := rest.Decimal(v); ok {
			t.Errorf("Decimal(%#v) = %v, want none", v, got)
		}
	}
}
