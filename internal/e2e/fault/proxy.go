package fault

import (
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
	"time"

	"herald/internal/service/rest/resttest"
)

// Echo is a fault of any server. Its answer repeats the whole request, with credentials,
// wherever there is room for text: that is how secrets get into logs.
type Echo struct {
	Name  string
	Serve func(w http.ResponseWriter, r *http.Request, echo string)
}

// silence is longer than a call of a service may take in the tests, and short, because calls
// of a platform wait for it.
const silence = 500 * time.Millisecond

// Echoes returns one Echo for each way in which a call can fail. Redirects go to elsewhere.
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
		{Name: "no answer", Serve: func(http.ResponseWriter, *http.Request, string) {
			<-time.After(silence)
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

// dump returns the whole request as text, with credentials, as error pages repeat it.
func dump(r *http.Request) string {
	all, err := httputil.DumpRequest(r, true)
	if err != nil {
		return err.Error()
	}
	return "http://" + r.Host + r.URL.RequestURI() + "\n" + string(all)
}

func oneLine(s string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(s) }

// EchoingRedis starts a server that refuses every command of Redis, and repeats the command
// in its error. The server is closed when the test ends.
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

// Proxy passes every request on to a server until it is armed with an Echo.
type Proxy struct {
	*httptest.Server
	mu   sync.Mutex
	echo *Echo
	only string          // the only call that the echo answers; "" is every call
	met  map[string]bool // the calls that the echo has answered
}

// NewProxy starts a proxy of the server at a URL, which is closed when the test ends. A path
// in the URL replaces every request's path.
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
	f := &Proxy{}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if echo := f.meets(path.Base(r.URL.Path)); echo != nil {
			echo.Serve(w, r, dump(r))
			return
		}
		through.ServeHTTP(w, r)
	}))
	f.Config.ErrorLog = quiet
	f.Start()
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

// Arm has an echo answer one call, or every call if only is ""; nil disarms.
func (f *Proxy) Arm(with *Echo, only string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.echo, f.only, f.met = with, only, map[string]bool{}
}

// meets returns the echo that answers a call, or nil. A call is named by the last part of
// its path.
func (f *Proxy) meets(call string) *Echo {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.echo == nil || f.only != "" && f.only != call {
		return nil
	}
	f.met[call] = true
	return f.echo
}

// HasMet reports whether the echo has answered a call.
func (f *Proxy) HasMet(call string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.met[call]
}
