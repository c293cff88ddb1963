package partner_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"herald/internal/config/configtest"
	"herald/internal/core"
	"herald/internal/secret"
	"herald/internal/service/partner"
	"herald/internal/service/rest/resttest"
)

const document = "../../../docs/services.md"

// documentedValue returns a value of the table of the worked example.
func documentedValue(t *testing.T, row string) string {
	t.Helper()
	pattern := regexp.MustCompile("(?m)^\\| " + regexp.QuoteMeta(row) + " \\| `([^`]+)` \\|$")
	found := pattern.FindAllStringSubmatch(configtest.Read(t, document), -1)
	if len(found) != 1 {
		t.Fatalf("the document has %d rows %q", len(found), row)
	}
	return found[0][1]
}

// sentRequest is a request as the service received it.
type sentRequest struct {
	method, path string
	header       http.Header
	body         string
}

// sendDocumented makes the request of the worked example with the real client, from the document's app ID, secret key,
// timestamp and inner string: the JSON that is signed.
func sendDocumented(t *testing.T) sentRequest {
	t.Helper()
	var sent sentRequest
	url := resttest.Serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = sentRequest{method: r.Method, path: r.URL.Path, header: r.Header, body: string(body)}
	})
	millis, err := strconv.ParseInt(documentedValue(t, "timestamp"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	var inner struct {
		Platform string `json:"platform"`
		UID      string `json:"platform_uid"`
	}
	if err := json.Unmarshal([]byte(documentedValue(t, "inner string")), &inner); err != nil {
		t.Fatal(err)
	}
	client := newClient(partner.Settings{
		URL:       url,
		AppID:     documentedValue(t, "app ID"),
		SecretKey: secret.New(documentedValue(t, "secret key")),
	})
	client.SetClock(func() time.Time { return time.UnixMilli(millis) })
	id := core.Identity{Platform: inner.Platform, UID: inner.UID}
	_, _ = client.Accounts.Fetch(t.Context(), id) // The server answers nothing.
	return sent
}

func TestTheDocumentedSignatureIsTheClients(t *testing.T) {
	sent := sendDocumented(t)
	inner, timestamp := documentedValue(t, "inner string"), documentedValue(t, "timestamp")
	signed := timestamp + sent.method + sent.path + inner
	for row, want := range map[string]string{
		"path":          sent.path,
		"timestamp":     sent.header.Get("timestamp"),
		"app ID":        sent.header.Get("appid"),
		"signed string": signed,
		"`sign`":        sent.header.Get("sign"),
	} {
		if got := documentedValue(t, row); got != want {
			t.Errorf("%s is %q in the document, and the client has %q", row, got, want)
		}
	}
	if want := `{"requestBody":` + strconv.Quote(inner) + `}`; sent.body != want {
		t.Errorf("the client sent %s, want %s", sent.body, want)
	}
	command := fmt.Sprintf("printf '%%s' '%s' |\n\topenssl dgst -sha256 -hmac '%s' -binary | base64",
		signed, documentedValue(t, "secret key"))
	if got := resttest.Examples(t, document)["partner-openssl"]; got != command {
		t.Errorf("the command is\n%s\nwant\n%s", got, command)
	}
}

func TestTheDocumentedRequestIsTheClients(t *testing.T) {
	sent := sendDocumented(t)
	example := resttest.Examples(t, document)["partner-request"]
	// The example has no Content-Length. Without one, ReadRequest would take the request to have no body.
	_, body, _ := strings.Cut(example, "\n\n")
	text := strings.Replace(example, "\n\n", fmt.Sprintf("\nContent-Length: %d\n\n", len(body)), 1)
	written, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	writtenBody, err := io.ReadAll(written.Body)
	if err != nil || string(writtenBody) != sent.body || written.Method != sent.method || written.URL.Path != sent.path {
		t.Errorf("%v, and the client sent %s %s with %s", err, sent.method, sent.path, sent.body)
	}
	written.Header.Del("Content-Length")
	headers := slices.Sorted(maps.Keys(written.Header))
	if want := []string{"Appid", "Content-Type", "Sign", "Timestamp"}; !slices.Equal(headers, want) {
		t.Errorf("the headers are %q, want %q", headers, want)
	}
	for name := range written.Header {
		if got, want := written.Header.Get(name), sent.header.Get(name); got != want {
			t.Errorf("%s is %q, and the client sent %q", name, got, want)
		}
	}
}
