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

// HTTP_ADDR may be the only setting that is right.
func TestHealthSaysInOneLineWhetherTheBotIsReady(t *testing.T) {
	var status int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		fmt.Fprint(w, "telegram: connected\ndiscord: \x1b\u202e\xffconnected\n", strings.Repeat("x", (status-200)<<10))
	}))
	defer server.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	for _, tt := range []struct {
		addr, says string // says is how the line begins
		status     int    // of /readyz; 0 if HTTP_ADDR is wrong
	}{
		{"127.0.0.1:" + port, "ready: telegram: connected, discord: connected\n", 200},
		{"0.0.0.0:" + port, "ready: ", 200},
		{"[::]:" + port, "ready: ", 200},
		{":" + port, "ready: ", 200},
		{":" + port, "not ready (status 503): telegram: connected, discord: connected, xxx", 503},
		{":" + port, "not ready (status 302): ", 302},
		{"127.0.0.1:1", "no bot answers at HTTP_ADDR: dial tcp 127.0.0.1:1: connect: connection refused\n", 503},
		{"\x1b:1", "no bot answers at HTTP_ADDR: ", 503},
		{"off", "HTTP_ADDR: is off, so there is nobody to ask; for example HTTP_ADDR=127.0.0.1:8080\n", 0},
		{canary, "HTTP_ADDR: must be host:port or off; for example HTTP_ADDR=0.0.0.0:8080\n", 0},
	} {
		status = tt.status
		var out strings.Builder
		err := Health(t.Context(), []string{"HTTP_ADDR=" + tt.addr, "PARTNER_SECRET_KEY_FILE=/nowhere", "PRICE_TTL=soon"}, "", &out)
		if err != nil {
			fmt.Fprintln(&out, err)
		}
		if told := out.String(); !strings.HasPrefix(told, tt.says) || strings.Count(told, "\n") != 1 || len(told) > 1200 ||
			!utf8.ValidString(told) || strings.ContainsAny(told, "\x1b\u202e") || (err == nil) != (status == 200) || errors.As(err, new(config.Errors)) != (status == 0) {
			t.Errorf("%q: %T: %q", tt.addr, err, told)
		}
	}
}

// The bot takes the request and then says nothing, or begins an answer that it does not end.
func TestHealthWaitsThreeSeconds(t *testing.T) {
	for says, answer := range map[string]string{"no bot answers at HTTP_ADDR: silent for 3s": "", "the answer broke off (status 200): telegram: conn": "HTTP/1.1 200 OK\r\n\r\ntelegram: conn"} {
		synctest.Test(t, func(t *testing.T) {
			slow := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				client, bot := net.Pipe()
				go func() {
					if _, err := http.ReadRequest(bufio.NewReader(bot)); err == nil && answer != "" { // A pipe passes on an empty write, too.
						_, _ = io.WriteString(bot, answer)
					}
				}()
				return client, nil
			}}
			start := time.Now()
			if err := askReady(t.Context(), slow, "127.0.0.1:8080", io.Discard); err == nil || err.Error() != says || time.Since(start) != 3*time.Second {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		})
	}
}
