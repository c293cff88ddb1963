package botapi

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"herald/internal/demo/fake/transporttest"
)

// echo is a page of a server or a proxy that repeats the URL of the call, with the token.
const echo = "<html>no /bot" + token + "/getMe here</html>"

// serveHalf announces a long answer, but sends only the echo.
func serveHalf(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, echo)
}

// serveRawEcho sends the echo without HTTP headers.
func serveRawEcho(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_, _ = io.WriteString(conn, echo)
		conn.Close()
	}
}

// redirecting returns a server that redirects every call to a URL with the token, which nobody must follow.
func redirecting(t *testing.T) http.Handler {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect is followed")
	}))
	t.Cleanup(elsewhere.Close)
	return http.RedirectHandler(elsewhere.URL+"/bot"+token, http.StatusTemporaryRedirect)
}

// An error does not repeat the URL of its call or the text of the answer.
func TestTokenIsNotInErrors(t *testing.T) {
	clientOf := func(h http.Handler) *Client {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return newClient(t, server.URL, nil)
	}
	half := clientOf(http.HandlerFunc(serveHalf))
	for name, c := range map[string]*Client{
		"refused connection": newClient(t, transporttest.RefusedURL, nil),
		"no URL":             newClient(t, "http://127.0.0.1:%zz", nil),
		"no TLS":             newClient(t, "https"+strings.TrimPrefix(half.url, "http"), nil),
		"a redirect":         clientOf(redirecting(t)),
		"half an answer":     half,
		"no HTTP":            clientOf(http.HandlerFunc(serveRawEcho)),
		"a page with 200":    newClient(t, "http://bot.invalid", answer{status: 200, body: echo}),
		"a refusal":          newClient(t, "http://bot.invalid", refusing(400, echo, "")),
	} {
		for method, call := range everyCall() {
			err := call.do(t.Context(), c)
			if err == nil {
				t.Errorf("%s, %s: no error", name, method)
			}
			checkNoToken(t, name+", "+method, fmt.Sprintf("%v %+v %#v", err, err, err))
		}
	}
}

func TestTokenIsNotInThePrintedClient(t *testing.T) {
	c := newClient(t, "http://bot.invalid", nil)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		checkNoToken(t, verb, fmt.Sprintf(verb, c)+fmt.Sprintf(verb, *c))
	}
}

func checkNoToken(t *testing.T, name, text string) {
	t.Helper()
	_, secret, _ := strings.Cut(token, ":")
	if strings.Contains(text, secret) {
		t.Errorf("%s: the token is in %s", name, text)
	}
}
