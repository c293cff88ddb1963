package fault

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"

	"herald/internal/service/rest/resttest"
)

// Echo answers a request in place of any server. Its answer repeats the whole
// request, credentials included, wherever there is room for text: that is how
// secrets get into logs.
type Echo struct {
	Name  string
	Serve func(w http.ResponseWriter, r *http.Request, echo string)
}

// Echoes returns what a server can do to a call. elsewhere is where redirects lead.
func Echoes(elsewhere string) []Echo {
	broken := func(name, format string) Echo {
		return Echo{Name: name, Serve: func(w http.ResponseWriter, r *http.Request, echo string) {
			raw := fmt.Sprintf(format, oneLine(echo))
			resttest.Broken(raw, raw == "")(w, r)
		}}
	}
	says := func(status int, kind, format string) Echo {
		return Echo{Name: fmt.Sprint(status, " ", kind), Serve: func(w http.ResponseWriter, _ *http.Request, echo string) {
			quoted := string(mustJSON(echo))
			answering(status, kind, strings.ReplaceAll(format, "ECHO", quoted[1:len(quoted)-1]))(exchange{w: w})
		}}
	}
	// Every service finds its own error in it.
	const errors = `{"ok":false,"error_code":400,"description":"ECHO","code":40001,"message":"ECHO",` +
		`"status":{"error_code":1001,"error_message":"ECHO"},"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"ECHO","data":"ECHO"}}`
	return []Echo{
		broken("reset before the answer", "%.0s"),
		broken("reset within the answer", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n{\"code\":\"%s"),
		broken("a status line", "HTTP/1.1 %s\r\n\r\n"),
		broken("a header", "HTTP/1.1 200 OK\r\nbad header %s\r\n\r\n"),
		broken("a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\n"),
		broken("not HTTP", "%s\r\n"),
		{Name: "no answer", Serve: func(_ http.ResponseWriter, r *http.Request, _ string) {
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}},
		{Name: "a redirect", Serve: func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, elsewhere+r.URL.RequestURI(), http.StatusTemporaryRedirect)
		}},
		says(http.StatusOK, "application/json", errors),
		says(http.StatusOK, "text/html", "<html><title>ECHO</title></html>"),
		says(http.StatusOK, "application/json", `"ECHO"`),
		says(http.StatusNotFound, "text/plain", "cannot do ECHO"),
		says(http.StatusConflict, "application/json", strings.Replace(errors, "400", "409", 1)),
		says(http.StatusTooManyRequests, "application/json", errors),
		says(http.StatusBadGateway, "text/html", "<html><title>ECHO</title></html>"),
	}
}

// dump returns all of a request, credentials included, as error pages repeat it.
func dump(r *http.Request) string {
	all, err := httputil.DumpRequest(r, true)
	if err != nil {
		return err.Error()
	}
	return "http://" + r.Host + r.URL.RequestURI() + "\n" + string(all)
}

func oneLine(s string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(s) }

// EchoingRedis listens until the test ends and refuses every command with what it
// was sent.
func EchoingRedis(t testing.TB) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	refuse := func(conn net.Conn) {
		defer conn.Close()
		buffer := make([]byte, 4096)
		for n, err := conn.Read(buffer); err == nil; n, err = conn.Read(buffer) {
			_, _ = fmt.Fprintf(conn, "-ERR %s\r\n", oneLine(string(buffer[:n])))
		}
	}
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			go refuse(conn)
		}
	}()
	return l.Addr().String()
}

// Proxy stands before any server and lets everything through until it is armed.
type Proxy struct {
	*httptest.Server
	mu   sync.Mutex
	echo *Echo
	only string          // the one call that the echo meets; "" is all
	met  map[string]bool // the calls that the echo has met
	// lasts is done when the echo ends.
	lasts context.Context
	end   context.CancelFunc
}

// NewProxy stands before the server at a URL until the test ends. A path in the URL
// replaces every request's.
func NewProxy(t testing.TB, behind string) *Proxy {
	t.Helper()
	target, err := url.Parse(behind)
	if err != nil {
		t.Fatal(err)
	}
	quiet := log.New(io.Discard, "", 0)
	through := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if target.Path != "" {
				r.Out.URL.Path = target.Path
			}
		},
		ErrorLog: quiet, // the client is answered with 502
	}
	f := &Proxy{end: func() {}}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		echo, lasts := f.meets(path.Base(r.URL.Path))
		if echo == nil {
			through.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(lasts, cancel)()
		echo.Serve(w, r.WithContext(ctx), dump(r))
	}))
	f.Config.ErrorLog = quiet
	f.Start()
	t.Cleanup(func() {
		f.Arm(nil, "")
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

// Arm begins an echo of one call, or of all with ""; nil ends it.
func (f *Proxy) Arm(with *Echo, only string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end()
	f.echo, f.only, f.met = with, only, map[string]bool{}
	f.lasts, f.end = context.WithCancel(context.Background())
}

// meets returns the echo that meets a call, or nil. A call is named by the last part
// of its path.
func (f *Proxy) meets(call string) (with *Echo, lasts context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.echo == nil || f.only != "" && f.only != call {
		return nil, nil
	}
	f.met[call] = true
	return f.echo, f.lasts
}

// HasMet reports whether the echo has met a call.
func (f *Proxy) HasMet(call string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.met[call]
}
