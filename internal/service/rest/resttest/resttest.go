// Package resttest breaks the connection, the transfer and the answer of a
// service in every way that its client has to survive, on real servers.
package resttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/core"
)

// Time limits of the calls that Check makes: ample, but for the faults that
// never answer, where it is enough to connect in.
const (
	ample = time.Minute
	short = 200 * time.Millisecond
)

// fault is a way in which a service fails to answer.
type fault struct {
	name       string
	want       core.Reason
	retryAfter time.Duration
	serve      http.HandlerFunc
	url        string // of one that cannot be spoken to, in place of serve
}

// discard takes what net/http's servers say of their broken connections.
var discard = log.New(io.Discard, "", 0)

// Check meets a client, which makes a call with that time limit to a service at
// baseURL, with every fault: it must fail with the *core.Error of
// that fault, whose text holds none of the secrets, nothing of the URL but its
// host, and nothing that the service said. The secrets include the paths and
// queries that the client asks for. Then it cancels a call halfway.
func Check(t *testing.T, ask func(ctx context.Context, baseURL string, timeout time.Duration) error, secrets ...string) {
	t.Helper()
	secrets = append(slices.Clip(secrets), echoed, "://", "?")
	for _, f := range faults(t) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			if f.serve != nil {
				server := httptest.NewUnstartedServer(f.serve)
				server.Config.ErrorLog = discard
				server.Start()
				defer server.Close()
				f.url = server.URL
			}
			timeout := ample
			if f.want == core.SlowAnswer {
				timeout = short
			}
			checkError(t, ask(t.Context(), f.url, timeout), f, secrets)
		})
	}
	t.Run("redirect to another host", func(t *testing.T) {
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
		defer other.Close()
		server := httptest.NewServer(http.RedirectHandler(other.URL+"/"+echoed, http.StatusTemporaryRedirect))
		defer server.Close()
		checkError(t, ask(t.Context(), server.URL, ample), fault{want: core.Malformed}, secrets)
	})
	t.Run("cancelled halfway", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			cancel(errors.New(echoed))
			hang(w, r)
		}))
		defer server.Close()
		err := ask(ctx, server.URL, ample)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want one that is context.Canceled", err)
		}
		NoLeak(t, err, echoed)
	})
}

func checkError(t *testing.T, err error, f fault, secrets []string) {
	t.Helper()
	if failure := WantReason(t, err, nil, f.want, secrets...); failure.RetryAfter != f.retryAfter {
		t.Errorf("got %v, retry after %v; want %v", err, failure.RetryAfter, f.retryAfter)
	}
}

// WantReason ends the test unless err is an error of the service, nil for any,
// with that reason. It fails the test as NoLeak does.
func WantReason(t *testing.T, err error, service *core.Service, want core.Reason, secrets ...string) *core.Error {
	t.Helper()
	failure, ok := errors.AsType[*core.Error](err)
	if !ok || service != nil && failure.Service != service || failure.Reason != want {
		t.Fatalf("got %v, want %s", err, want)
	}
	NoLeak(t, err, secrets...)
	return failure
}

// NoLeak fails the test if the text of err, or of any error in it, holds one of
// the secrets, or if there is a *url.Error in it.
func NoLeak(t *testing.T, err error, secrets ...string) {
	t.Helper()
	var address *url.Error
	if errors.As(err, &address) {
		t.Error("the error holds a *url.Error")
	}
	for ; err != nil; err = errors.Unwrap(err) {
		text := fmt.Sprintf("%v %+v %#v", err, err, err)
		for _, s := range secrets {
			if s != "" && strings.Contains(text, s) {
				t.Errorf("the error holds %q: %s", s, text)
			}
		}
	}
}
