package telegram

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// roundTripper carries a call of the adapter in place of the fake of Telegram, or on its way there.
type roundTripper func(*http.Request) (*http.Response, error)

// detour diverts the calls of one method until a time. The zero detour diverts no calls.
type detour struct {
	method string
	until  time.Time
	via    roundTripper
}

// RoundTrip carries a call of the adapter, and counts it by its method.
func (r *adapterTest) RoundTrip(req *http.Request) (*http.Response, error) {
	method := path.Base(req.URL.Path)
	r.events.Add(method)
	if method == r.detour.method && time.Now().Before(r.detour.until) {
		return r.detour.via(req)
	}
	return r.api.RoundTrip(req)
}

// divert makes via carry the calls of one method for a time. It replaces an earlier detour.
func (r *adapterTest) divert(method string, length time.Duration, via roundTripper) {
	r.detour = detour{method: method, until: time.Now().Add(length), via: via}
}

// rewrite replaces the body of each call of a method by the result of edit.
func (r *adapterTest) rewrite(method string, edit func(body []byte) []byte) {
	r.divert(method, time.Hour, func(req *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(edit(body)))
		return r.api.RoundTrip(req)
	})
}

// dropParams removes parameters from the calls of a method, as if the server were too old to know them.
func (r *adapterTest) dropParams(method string, names ...string) {
	r.divert(method, time.Hour, func(req *http.Request) (*http.Response, error) {
		_, mediaParams, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
		if boundary := mediaParams["boundary"]; boundary != "" {
			dropFormParams(req, boundary, names)
		} else {
			dropJSONParams(req, names)
		}
		return r.api.RoundTrip(req)
	})
}

// dropJSONParams removes parameters from a call whose body is a JSON object.
func dropJSONParams(req *http.Request, names []string) {
	var params map[string]json.RawMessage
	_ = json.NewDecoder(req.Body).Decode(&params)
	for _, name := range names {
		delete(params, name)
	}
	body, _ := json.Marshal(params)
	req.Body = io.NopCloser(bytes.NewReader(body))
}

// dropFormParams removes parameters from a call whose body is a multipart form.
func dropFormParams(req *http.Request, boundary string, names []string) {
	var body bytes.Buffer
	kept := multipart.NewWriter(&body)
	_ = kept.SetBoundary(boundary)
	form := multipart.NewReader(req.Body, boundary)
	for {
		part, err := form.NextPart()
		if err != nil {
			break
		}
		if !slices.Contains(names, part.FormName()) {
			field, _ := kept.CreatePart(part.Header)
			_, _ = io.Copy(field, part)
		}
	}
	_ = kept.Close()
	req.Body = io.NopCloser(&body)
}

// refuseMessages refuses messages that contain a text. Other messages take the detour that they took before, if any.
func (r *adapterTest) refuseMessages(text string) {
	const refusal = `{"ok":false,"error_code":400,"description":"Bad Request: can't parse entities"}`
	others := roundTripper(r.api.RoundTrip)
	if r.detour.method == "sendMessage" {
		others = r.detour.via
	}
	r.divert("sendMessage", time.Hour, func(req *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(req.Body)
		if bytes.Contains(body, []byte(text)) {
			return fixedAnswer(http.StatusBadRequest, refusal)(req)
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		return others(req)
	})
}

// fixedAnswer returns a server that answers every call with this status and body.
func fixedAnswer(status int, body string) roundTripper {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// limited returns a server that answers every call with 429, and asks to wait for this many seconds.
func limited(seconds int) roundTripper {
	const format = `{"ok":false,"error_code":429,"parameters":{"retry_after":%d}}`
	return fixedAnswer(http.StatusTooManyRequests, fmt.Sprintf(format, seconds))
}

// hangs is a server that never answers.
func hangs(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}
