package telegramtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

const (
	ann   = 501
	bob   = 502
	group = -1001
)

// answer is the answer to a call.
type answer struct {
	OK          bool            `json:"ok"`
	Description string          `json:"description"`
	Result      json.RawMessage `json:"result"`
}

// sentID is the ID in an answer, which must be OK.
func (a answer) sentID(t *testing.T) int64 {
	t.Helper()
	var m struct {
		ID int64 `json:"message_id"`
	}
	if err := json.Unmarshal(a.Result, &m); err != nil || !a.OK {
		t.Fatalf("%+v: %v", a, err)
	}
	return m.ID
}

func (s *Server) post(t *testing.T, method, kind string, body io.Reader) (a answer) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/bot"+Token+"/"+method, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	resp, err := s.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a
}

// do makes a call with its parameters as JSON.
func (s *Server) do(t *testing.T, method, params string) answer {
	t.Helper()
	return s.post(t, method, "application/json", strings.NewReader(params))
}

// upload makes a call with a file beside its parameters.
func (s *Server) upload(t *testing.T, method string, params map[string]string, file string, content []byte) answer {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, value := range params {
		_ = w.WriteField(name, value) // a buffer takes everything
	}
	part, _ := w.CreateFormFile(file, "file")
	_, _ = part.Write(content)
	_ = w.Close()
	return s.post(t, method, w.FormDataContentType(), &b)
}

// picture is a PNG of this size.
func picture(width, height int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// simulated runs a test beside a server in simulated time.
func simulated(t *testing.T, test func(*testing.T, *Server)) {
	synctest.Test(t, func(t *testing.T) { test(t, NewInMemory(t)) })
}

func quote(s string) string { raw, _ := json.Marshal(s); return string(raw) }

// keyboard is the reply_markup with one button of these members.
func keyboard(members string) string {
	return fmt.Sprintf(`"reply_markup":{"inline_keyboard":[[{"text":"Press",%s}]]}`, members)
}
