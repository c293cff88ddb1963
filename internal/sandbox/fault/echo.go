package fault

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Echo answers a request in place of any server. What it says repeats the whole
// request, credentials included, wherever there is room for text: that is how
// secrets get into logs.
type Echo struct {
	Name  string
	Serve func(w http.ResponseWriter, r *http.Request, echo string)
}

// Echoes are what a server can do to a call. elsewhere is where redirects lead.
func Echoes(elsewhere string) []Echo {
	broken := func(name, format string) Echo {
		return Echo{name, func(w http.ResponseWriter, _ *http.Request, echo string) {
			raw := fmt.Sprintf(format, oneLine(echo))
			exchange{w: w}.breakOff([]byte(raw), raw == "")
		}}
	}
	says := func(status int, kind, format string) Echo {
		return Echo{fmt.Sprint(status, " ", kind), func(w http.ResponseWriter, _ *http.Request, echo string) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			quoted := mustJSON(echo)
			_, _ = io.WriteString(w, strings.ReplaceAll(format, "ECHO", string(quoted[1:len(quoted)-1])))
		}}
	}
	redirects := func(status int) Echo {
		return Echo{fmt.Sprint("redirect ", status), func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, elsewhere+r.URL.RequestURI(), status)
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
		broken("a length", "HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n"),
		broken("a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\n"),
		broken("not HTTP", "%s\r\n"),
		{"more than the answer", func(w http.ResponseWriter, _ *http.Request, echo string) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = fmt.Fprintf(conn, "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}%s", echo)
				// Until the client has enough, which a reader of the head alone never has.
				_ = conn.SetReadDeadline(time.Now().Add(time.Second))
				_, _ = io.Copy(io.Discard, conn)
				conn.Close()
			}
		}},
		{"no answer", func(_ http.ResponseWriter, r *http.Request, _ string) {
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}},
		redirects(http.StatusFound), redirects(http.StatusTemporaryRedirect), redirects(http.StatusPermanentRedirect),
		says(http.StatusOK, "application/json", errors),
		says(http.StatusOK, "text/html", "<html><title>ECHO</title></html>"),
		says(http.StatusOK, "application/json", `"ECHO"`),
		says(http.StatusBadRequest, "application/json", errors),
		says(http.StatusForbidden, "application/json", errors),
		says(http.StatusNotFound, "text/plain", "cannot do ECHO"),
		says(http.StatusConflict, "application/json", strings.Replace(errors, "400", "409", 1)),
		says(http.StatusTooManyRequests, "application/json", errors),
		says(http.StatusInternalServerError, "application/json", errors),
		says(http.StatusBadGateway, "text/html", "<html><title>ECHO</title></html>"),
		{"oversized", func(w http.ResponseWriter, r *http.Request, echo string) {
			w.Header().Set("Content-Type", "application/json")
			// More than anybody reads: Telegram's batches may have 16 MiB.
			for block := strings.Repeat(echo, 1+(1<<20)/len(echo)); r.Context().Err() == nil; {
				if _, err := io.WriteString(w, block); err != nil {
					return
				}
			}
		}},
	}
}

func oneLine(s string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(s) }

// EchoingRedis listens until the test ends and refuses every command with what
// it was sent.
func EchoingRedis(t testing.TB) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buffer := make([]byte, 4096)
				for {
					n, err := conn.Read(buffer)
					if err != nil {
						return
					}
					_, _ = fmt.Fprintf(conn, "-ERR %s\r\n", oneLine(string(buffer[:n])))
				}
			}()
		}
	}()
	return l.Addr().String()
}
