package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"herald/internal/config"
)

// health calls Health, with invalid values for all settings but HTTP_ADDR. It returns what Health writes or, as a line,
// its error. It fails the test unless that is a single short line without control characters.
func health(t *testing.T, addr string) (line string, err error) {
	t.Helper()
	var out strings.Builder
	settings := []string{"HTTP_ADDR=" + addr, "PARTNER_SECRET_KEY_FILE=/nowhere", "PRICE_TTL=soon"}
	err = Health(t.Context(), settings, "", &out)
	if err != nil {
		fmt.Fprintln(&out, err)
	}
	line = out.String()
	if strings.Count(line, "\n") != 1 || len(line) > 1200 {
		t.Errorf("HTTP_ADDR=%q: want a short line, got %q", addr, line)
	}
	if !utf8.ValidString(line) || strings.ContainsAny(line, "\x1b\u202e") {
		t.Errorf("HTTP_ADDR=%q: control characters in %q", addr, line)
	}
	return line, err
}

// serveReadyz starts a server that answers with this status, and returns its port. The body has control characters. It
// is long unless the status is 200.
func serveReadyz(t *testing.T, status int) (port string) {
	t.Helper()
	padding := strings.Repeat("x", (status-http.StatusOK)<<10) // none for 200
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		fmt.Fprint(w, "telegram: connected\ndiscord: \x1b\u202e\xffconnected\n", padding)
	}))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestHealthPrintsThatABotIsReady(t *testing.T) {
	port := serveReadyz(t, http.StatusOK)
	for _, host := range []string{"127.0.0.1", "0.0.0.0", "[::]", ""} {
		line, err := health(t, host+":"+port)
		if err != nil || line != "ready: telegram: connected, discord: connected\n" {
			t.Errorf("host %q: %q, %v", host, line, err)
		}
	}
}

func TestHealthReturnsTheStatusOfABotThatIsNotReady(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusServiceUnavailable: "not ready (status 503): telegram: connected, discord: connected, xxx",
		http.StatusFound:              "not ready (status 302): ",
	} {
		line, err := health(t, ":"+serveReadyz(t, status))
		if err == nil || errors.As(err, new(config.Errors)) || !strings.HasPrefix(line, want) {
			t.Errorf("status %d: %T, %q, want %s…", status, err, line, want)
		}
	}
}

func TestHealthReturnsThatNoBotAnswers(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:1": "no bot answers at HTTP_ADDR: dial tcp 127.0.0.1:1: connect: connection refused\n",
		"\x1b:1":      "no bot answers at HTTP_ADDR: ",
	} {
		line, err := health(t, addr)
		if err == nil || errors.As(err, new(config.Errors)) || !strings.HasPrefix(line, want) {
			t.Errorf("HTTP_ADDR=%q: %T, %q, want %s…", addr, err, line, want)
		}
	}
}

func TestHealthReturnsAnInvalidAddressAsConfigErrors(t *testing.T) {
	for addr, want := range map[string]string{
		"off":  "HTTP_ADDR: is off, so there is nobody to ask; for example HTTP_ADDR=127.0.0.1:8080\n",
		canary: "HTTP_ADDR: must be host:port or off; for example HTTP_ADDR=0.0.0.0:8080\n",
	} {
		line, err := health(t, addr)
		if !errors.As(err, new(config.Errors)) || line != want {
			t.Errorf("HTTP_ADDR=%q: %T, %q, want %q", addr, err, line, want)
		}
	}
}

// dialSilentBot returns a transport. It connects to a bot that reads the request, writes answer, and then stays silent.
func dialSilentBot(answer string) *http.Transport {
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, bot := net.Pipe()
		go func() {
			_, err := http.ReadRequest(bufio.NewReader(bot))
			if err != nil || answer == "" { // An empty write to a pipe would block its reader, too.
				return
			}
			_, _ = io.WriteString(bot, answer)
		}()
		return client, nil
	}}
}

func TestHealthWaitsThreeSeconds(t *testing.T) {
	for answer, want := range map[string]string{
		"":                                      "no bot answers at HTTP_ADDR: silent for 3s",
		"HTTP/1.1 200 OK\r\n\r\ntelegram: conn": "the answer broke off (status 200): telegram: conn",
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			err := askReady(t.Context(), dialSilentBot(answer), "127.0.0.1:8080", io.Discard)
			if err == nil || err.Error() != want {
				t.Errorf("after the answer %q: %v, want %s", answer, err, want)
			}
			if waited := time.Since(start); waited != 3*time.Second {
				t.Errorf("after the answer %q it waited %v, want 3s", answer, waited)
			}
		})
	}
}
