package fault

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"
	"time"

	"herald/internal/service/rest/resttest"
)

// Echo is a fault of any server. Its answer repeats the whole request, including credentials, wherever
// an answer has text: that is how secrets get into logs.
type Echo struct {
	Name  string
	serve func(w http.ResponseWriter, r *http.Request, echo string)
}

// ServeHTTP answers with the echo.
func (e Echo) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.serve(w, r, dump(r)) }

// Fault returns the echo as a fault of a service.
func (e Echo) Fault() Fault {
	return Fault{Name: e.Name, serve: func(x exchange) { e.ServeHTTP(x.w, x.r) }}
}

// silence is longer than a call of a service may take in the tests. It is short, because calls of a
// platform wait for it.
const silence = 500 * time.Millisecond

// Echoes returns one Echo for each way in which a call can fail. Redirects go to elsewhere.
func Echoes(elsewhere string) []Echo {
	broken := func(name, format string) Echo {
		return Echo{Name: name, serve: func(w http.ResponseWriter, r *http.Request, echo string) {
			raw := fmt.Sprintf(format, oneLine(echo))
			if raw == "" {
				resttest.Reset("")(w, r)
				return
			}
			resttest.Broken(raw)(w, r)
		}}
	}
	says := func(status int, kind, format string) Echo {
		return Echo{Name: fmt.Sprint(status, " ", kind), serve: func(w http.ResponseWriter, _ *http.Request, echo string) {
			quoted := string(mustJSON(echo))
			answering(status, kind, strings.ReplaceAll(format, "ECHO", quoted[1:len(quoted)-1]))(exchange{w: w})
		}}
	}
	// Every service finds its own error in it.
	const errors = `{"ok":false,"error_code":400,"description":"ECHO","code":40001,"message":"ECHO",` +
		`"status":{"error_code":1001,"error_message":"ECHO"},` +
		`"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"ECHO","data":"ECHO"}}`
	return []Echo{
		broken("reset before the answer", "%.0s"),
		broken("reset within the answer",
			"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n{\"code\":\"%s"),
		broken("a status line", "HTTP/1.1 %s\r\n\r\n"),
		broken("a header", "HTTP/1.1 200 OK\r\nbad header %s\r\n\r\n"),
		broken("a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\n"),
		broken("not HTTP", "%s\r\n"),
		{Name: "no answer", serve: func(http.ResponseWriter, *http.Request, string) {
			<-time.After(silence)
			panic(http.ErrAbortHandler)
		}},
		{Name: "a redirect", serve: func(w http.ResponseWriter, r *http.Request, _ string) {
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

// dump returns the whole request as text, including credentials, as error pages repeat it.
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
