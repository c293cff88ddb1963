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

// Echo is a fault that any server can have. Its answer repeats the whole request, including credentials, in one
// of its texts, such as the status line or an error message. That is how secrets get into logs.
type Echo struct {
	Name string
	// serve answers a request. echo is the request as text.
	serve func(w http.ResponseWriter, r *http.Request, echo string)
}

// ServeHTTP answers a request with the echo.
func (e Echo) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.serve(w, r, dump(r)) }

// Fault returns the echo as a fault that any service can have.
func (e Echo) Fault() Fault {
	return Fault{Name: e.Name, serve: func(x exchange) { e.ServeHTTP(x.w, x.r) }}
}

// Echoes returns one Echo for each way in which a call can fail. Redirects go to elsewhere.
func Echoes(elsewhere string) []Echo {
	// Every service finds its own error in anyError.
	const anyError = `{"ok":false,"error_code":400,"description":"ECHO","code":40001,"message":"ECHO",` +
		`"status":{"error_code":1001,"error_message":"ECHO"},` +
		`"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"ECHO","data":"ECHO"}}`
	return []Echo{
		{Name: "reset before the answer", serve: func(w http.ResponseWriter, r *http.Request, _ string) {
			resttest.Reset("")(w, r)
		}},
		echoRaw("reset within the answer",
			"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n{\"code\":\"ECHO"),
		echoRaw("a status line", "HTTP/1.1 ECHO\r\n\r\n"),
		echoRaw("a header", "HTTP/1.1 200 OK\r\nbad header ECHO\r\n\r\n"),
		echoRaw("a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nECHO\r\n"),
		echoRaw("not HTTP", "ECHO\r\n"),
		{Name: "no answer", serve: func(http.ResponseWriter, *http.Request, string) {
			<-time.After(silence)
			panic(http.ErrAbortHandler)
		}},
		{Name: "a redirect", serve: func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, elsewhere+r.URL.RequestURI(), http.StatusTemporaryRedirect)
		}},
		echoBody(http.StatusOK, "application/json", anyError),
		echoBody(http.StatusOK, "text/html", "<html><title>ECHO</title></html>"),
		echoBody(http.StatusOK, "application/json", `"ECHO"`),
		echoBody(http.StatusNotFound, "text/plain", "cannot do ECHO"),
		echoBody(http.StatusConflict, "application/json", strings.Replace(anyError, "400", "409", 1)),
		echoBody(http.StatusTooManyRequests, "application/json", anyError),
		echoBody(http.StatusBadGateway, "text/html", "<html><title>ECHO</title></html>"),
	}
}

// silence is longer than a call of a service may take in the tests. It is short, because calls of a
// platform wait for it.
const silence = 500 * time.Millisecond

// echoRaw returns an Echo that sends raw bytes instead of a response, with the request in place of ECHO, and
// closes the connection.
func echoRaw(name, raw string) Echo {
	return Echo{Name: name, serve: func(w http.ResponseWriter, r *http.Request, echo string) {
		resttest.Broken(strings.ReplaceAll(raw, "ECHO", oneLine(echo)))(w, r)
	}}
}

// echoBody returns an Echo that answers with a body, with the request in place of ECHO, quoted as in JSON.
func echoBody(status int, contentType, body string) Echo {
	name := fmt.Sprint(status, " ", contentType)
	return Echo{Name: name, serve: func(w http.ResponseWriter, _ *http.Request, echo string) {
		quoted := string(mustJSON(echo))
		escaped := quoted[1 : len(quoted)-1]
		answering(status, contentType, strings.ReplaceAll(body, "ECHO", escaped))(exchange{w: w})
	}}
}

// dump returns the whole request as text, including its URL and credentials.
func dump(r *http.Request) string {
	all, err := httputil.DumpRequest(r, true)
	if err != nil {
		return err.Error()
	}
	return "http://" + r.Host + r.URL.RequestURI() + "\n" + string(all)
}

// oneLine returns a text without line breaks.
func oneLine(s string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(s) }

// EchoingRedis starts a Redis server that refuses every command with an error that repeats the command. The
// server is closed when the test ends.
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
