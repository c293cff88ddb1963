package rest_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
	"herald/internal/rest"
	"herald/internal/rest/resttest"
	"herald/internal/transport/transporttest"
)

var service = &core.Service{Name: "any"}

func TestEveryFaultBecomesATypedErrorWithoutSecrets(t *testing.T) {
	const secret, path, query = "s3cr3t", "/quotes", "key=abc"
	resttest.Check(t, func(ctx context.Context, baseURL string, timeout time.Duration) error {
		c := rest.New(service, timeout)
		resp, err := c.Do(ctx, rest.Request{
			Attempt: "quote",
			Method:  http.MethodPost,
			URL:     baseURL + path + "?" + query,
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

func TestAnswerCarriesDateAndBody(t *testing.T) {
	var got *http.Request
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Date", "Fri, 20 Nov 2026 12:00:00 GMT")
		w.WriteHeader(201)
		io.WriteString(w, "answer")
	}))
	defer server.Close()
	header := http.Header{"X-Key": {"k"}}
	resp, err := rest.New(service, time.Minute).Do(t.Context(), rest.Request{
		Attempt: "quote", Method: http.MethodPost, URL: server.URL, Header: header, Body: []byte("question"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC); !resp.Date.Equal(want) || string(resp.Body) != "answer" {
		t.Errorf("got %v, %q", resp.Date, resp.Body)
	}
	if got.Header.Get("X-Key") != "k" || string(body) != "question" {
		t.Errorf("the service got %v, %q", got.Header, body)
	}
	if len(header) != 1 {
		t.Errorf("the caller's header was changed: %v", header)
	}
}

func TestRefusalKeepsItsBody(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(404)
		io.WriteString(w, `{"code":7}`)
	}))
	defer server.Close()
	resp, err := rest.New(service, time.Minute).Do(t.Context(), rest.Request{URL: server.URL})
	var failure *core.Error
	if !errors.As(err, &failure) || failure.Service != service || failure.Reason != core.Rejected {
		t.Errorf("got %v", err)
	}
	if resp == nil || string(resp.Body) != `{"code":7}` {
		t.Errorf("got %+v", resp)
	}
}

func TestRefusalWithABodyPastTheBoundHasNone(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(429)
		w.Write(make([]byte, rest.MaxBody+1))
	}))
	defer server.Close()
	resp, err := rest.New(service, time.Minute).Do(t.Context(), rest.Request{URL: server.URL})
	var failure *core.Error
	if !errors.As(err, &failure) || failure.Reason != core.Limited || resp == nil || resp.Body != nil {
		t.Errorf("got %v, %+v", err, resp)
	}
}

func TestOneCallIsOneAttempt(t *testing.T) {
	calls := make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls <- struct{}{}
		w.WriteHeader(503)
	}))
	defer server.Close()
	rest.New(service, time.Minute).Do(t.Context(), rest.Request{URL: server.URL})
	if len(calls) != 1 {
		t.Errorf("%d requests were sent", len(calls))
	}
}

func TestCallersDeadlineIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transporttest.NewNetwork(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := rest.New(service, time.Minute).Do(ctx, rest.Request{URL: transporttest.URL})
		var failure *core.Error
		if !errors.As(err, &failure) || failure.Reason != core.SlowAnswer || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAnswerIsCompleteIfItsEndIsAnnounced(t *testing.T) {
	flushed := func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "98765")
		w.(http.Flusher).Flush()
	}
	for name, c := range map[string]struct {
		serve    http.HandlerFunc
		http2    bool
		complete bool
	}{
		"length":                   {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "98765") }, false, true},
		"chunks":                   {flushed, false, true},
		"HTTP/2, without a length": {flushed, true, true},
		"end of the connection": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n98765")
			conn.Close()
		}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(c.serve)
			defer server.Close()
			if server.EnableHTTP2 = c.http2; c.http2 {
				server.StartTLS()
				transporttest.ChangeDefault(t, func(d *http.Transport) {
					d.TLSClientConfig = &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
				})
			} else {
				server.Start()
			}
			resp, err := rest.New(service, time.Minute).Do(t.Context(), rest.Request{URL: server.URL})
			if err != nil || resp.Complete != c.complete || string(resp.Body) != "98765" {
				t.Errorf("got %+v, %v", resp, err)
			}
		})
	}
}

// TestAnAnswerComesInSpiteOfASilentConnection asks as a command does.
func TestAnAnswerComesInSpiteOfASilentConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := transporttest.NewNetwork(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "answer") })
		cache := core.NewCache(core.CacheConfig{CallTimeout: 5 * time.Second, Timeout: 20 * time.Second, MaxItems: 1, Observer: silent{}})
		client := rest.New(service, cache.CallTimeout)
		question := core.NewCached(core.NewBreaker(cache, service, time.Second), core.Question[int, string]{
			Name: "question", TTL: time.Second,
			Ask: func(ctx context.Context, _ int) (string, error) {
				resp, err := client.Do(ctx, rest.Request{URL: transporttest.URL})
				if err != nil {
					return "", err
				}
				return string(resp.Body), nil
			},
		})
		for i := range 2 {
			start := time.Now()
			if got, err := question.Get(t.Context(), i); err != nil || got.Value != "answer" || time.Since(start) > 5*time.Second {
				t.Errorf("question %d: got %+v, %v after %v", i, got, err, time.Since(start))
			}
			n.Silence()
		}
		time.Sleep(5 * time.Second) // until the last connection is given up
	})
}

type silent struct{}

func (silent) Call(*core.Service, string, time.Duration) {}
func (silent) Lookup(string, string, time.Duration)      {}
