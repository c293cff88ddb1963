package fault

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Front stands before any server and lets everything through until it is armed.
type Front struct {
	*httptest.Server
	mu   sync.Mutex
	echo *Echo
	// only is the one call that the fault meets; "" is all.
	only string
	// met are the calls that the fault has met.
	met map[string]bool
	// lasts is done when the fault ends.
	lasts context.Context
	end   context.CancelFunc
}

// NewFront stands before the server at a URL until the test ends. A path in it
// takes the place of every request's.
func NewFront(t testing.TB, behind string) *Front {
	t.Helper()
	target, err := url.Parse(behind)
	if err != nil {
		t.Fatal(err)
	}
	through := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if target.Path != "" {
				r.Out.URL.Path = target.Path
			}
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ErrorLog:     log.New(io.Discard, "", 0),
	}
	f := &Front{end: func() {}}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		armed, lasts := f.meets(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
		if armed == nil {
			through.ServeHTTP(w, r)
			return
		}
		dump, err := httputil.DumpRequest(r, true)
		if err != nil {
			dump = []byte(err.Error())
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(lasts, cancel)()
		armed.Serve(w, r.WithContext(ctx), "http://"+r.Host+r.URL.RequestURI()+"\n"+string(dump))
	}))
	f.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.Start()
	t.Cleanup(func() {
		f.Arm(nil, "")
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

// Arm begins an echo of one call, or of all with ""; nil ends it.
func (f *Front) Arm(with *Echo, only string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end()
	f.echo, f.only, f.met = with, only, map[string]bool{}
	f.lasts, f.end = context.WithCancel(context.Background())
}

// meets is the fault that meets a call, which is the last part of its path.
func (f *Front) meets(call string) (with *Echo, lasts context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.echo == nil || f.only != "" && f.only != call {
		return nil, nil
	}
	f.met[call] = true
	return f.echo, f.lasts
}

// HasMet reports whether the echo has met a call.
func (f *Front) HasMet(call string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.met[call]
}
