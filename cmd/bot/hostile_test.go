package main

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
	"strings"
	"sync"
	"testing"
	"time"
)

// fault answers a request in place of the service. What it says repeats the
// whole request, credentials included, wherever there is room for text.
type fault struct {
	name  string
	serve func(w http.ResponseWriter, r *http.Request, echo string)
}

// faultsOfAnswers are what a server can do to a call. elsewhere is where
// redirects lead.
func faultsOfAnswers(elsewhere string) []fault {
	broken := func(name, format string) fault {
		return fault{name, func(w http.ResponseWriter, _ *http.Request, echo string) {
			cutOff(w, fmt.Sprintf(format, oneLine(echo)))
		}}
	}
	says := func(status int, kind, format string) fault {
		return fault{fmt.Sprint(status, " ", kind), func(w http.ResponseWriter, _ *http.Request, echo string) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			io.WriteString(w, strings.ReplaceAll(format, "ECHO", inner(jsonOf(echo))))
		}}
	}
	redirects := func(status int) fault {
		return fault{fmt.Sprint("redirect ", status), func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, elsewhere+r.URL.RequestURI(), status)
		}}
	}
	// Every service finds its own error in it.
	const errors = `{"ok":false,"error_code":400,"description":"ECHO","code":40001,"message":"ECHO",` +
		`"status":{"error_code":1001,"error_message":"ECHO"},"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"ECHO","data":"ECHO"}}`
	return []fault{
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
				fmt.Fprintf(conn, "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}%s", echo)
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

// cutOff writes raw bytes and resets the connection.
func cutOff(w http.ResponseWriter, raw string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	io.WriteString(conn, raw)
	if tcp, ok := conn.(*net.TCPConn); ok && raw == "" {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

// front stands before a server and lets everything through until it is armed.
type front struct {
	*httptest.Server
	mu    sync.Mutex
	fault *fault
	// only is the one call that the fault meets; "" is all.
	only string
	// met are the calls that the fault has met.
	met map[string]bool
	// lasts is done when the fault ends.
	lasts context.Context
	end   context.CancelFunc
}

func newFront(t *testing.T, behind string) *front {
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
	f := &front{end: func() {}}
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
		armed.serve(w, r.WithContext(ctx), "http://"+r.Host+r.URL.RequestURI()+"\n"+string(dump))
	}))
	f.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.Start()
	t.Cleanup(func() {
		f.arm(nil, "")
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

// arm begins a fault of one call, or of all with ""; nil ends it.
func (f *front) arm(with *fault, only string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end()
	f.fault, f.only, f.met = with, only, map[string]bool{}
	f.lasts, f.end = context.WithCancel(context.Background())
}

// meets is the fault that meets a call, which is the last part of its path.
func (f *front) meets(call string) (with *fault, lasts context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault == nil || f.only != "" && f.only != call {
		return nil, nil
	}
	f.met[call] = true
	return f.fault, f.lasts
}

func (f *front) hasMet(call string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.met[call]
}

// hostileRedis refuses every command with what it was sent.
func hostileRedis(t *testing.T) (addr string) {
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
					fmt.Fprintf(conn, "-ERR %s\r\n", oneLine(string(buffer[:n])))
				}
			}()
		}
	}()
	return l.Addr().String()
}
