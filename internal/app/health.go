package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/ops"
)

// Health asks the bot that runs with these settings whether it is ready, and writes a line to w if it is. It ignores
// all settings but HTTP_ADDR. The error is a config.Errors if HTTP_ADDR is invalid or off, or if the file cannot be
// read. Any other error is one line: what /readyz answers, that its answer broke off, or that no bot answers.
func Health(ctx context.Context, environ []string, envFile string, w io.Writer) error {
	var settings ops.Settings
	given, mistakes := config.Collect(environ, envFile)
	if given != nil { // The file, if any, can be read. Other mistakes in it do not matter.
		mistakes = config.Given{"HTTP_ADDR": given["HTTP_ADDR"]}.Fill(settings.Table())
	}
	switch {
	case len(mistakes) > 0:
		return mistakes
	case settings.Addr == "":
		return config.Errors{"HTTP_ADDR: is off, so there is nobody to ask; for example HTTP_ADDR=127.0.0.1:8080"}
	}
	return askReady(ctx, &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 4 << 10}, settings.Addr, w)
}

// askReady asks /readyz at addr, and writes the answer to w. It fails if the status is not 200, or if the whole answer
// takes longer than 3 seconds. If addr has no host or an unspecified one, such as 0.0.0.0, it asks this machine.
//
// It uses a Transport instead of a Client, because a Transport does not follow redirects. transport should have no
// Proxy, so that it ignores the proxy in the environment.
func askReady(ctx context.Context, transport *http.Transport, addr string, w io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 3*time.Second, fmt.Errorf("silent for 3s"))
	defer cancel()
	readyz := http.Request{URL: &url.URL{Scheme: "http", Host: addr, Path: "/readyz"}, Header: http.Header{}}
	resp, err := transport.RoundTrip(readyz.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("no bot answers at HTTP_ADDR: %s", chat.OneLine(err.Error()))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	states := chat.OneLine(strings.ReplaceAll(strings.TrimSpace(string(body)), "\n", ", "))
	switch {
	case err != nil:
		return fmt.Errorf("the answer broke off (status %d): %s", resp.StatusCode, states)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("not ready (status %d): %s", resp.StatusCode, states)
	}
	_, err = fmt.Fprintln(w, "ready:", states)
	return err
}
