package botapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"herald/internal/transport"
)

// call makes one call with its parameters as JSON, and drops the result. It
// fails with *Error.
func (c *Client) call(ctx context.Context, method string, params any) error {
	resp, err := c.post(ctx, c.calls, method, params)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return decodeAnswer(method, resp.Body)
}

// post sends one call's parameters as JSON. It fails with *Error.
func (c *Client) post(ctx context.Context, client *http.Client, method string, params any) (*http.Response, error) {
	cannotBeMade := &Error{Method: method, Kind: NotSent, detail: "the request cannot be made"}
	body, err := json.Marshal(params)
	if err != nil {
		return nil, cannotBeMade
	}
	// net/http can repeat such a body if nothing of the request was written.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/bot"+c.token.Reveal()+"/"+method, bytes.NewReader(body))
	if err != nil {
		return nil, cannotBeMade
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := do(client, req)
	if err != nil {
		return nil, classifyError(method, err)
	}
	return resp, nil
}

// apiAnswer is the form of every answer but for the result,
// https://core.telegram.org/bots/api#making-requests.
type apiAnswer struct {
	OK          bool   `json:"ok"`
	Code        int    `json:"error_code"`
	Description string `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigratedTo int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

func decodeAnswer(method string, r io.Reader) error {
	body, err := io.ReadAll(r)
	if err != nil {
		return classifyError(method, err)
	}
	var a apiAnswer
	if err := json.Unmarshal(body, &a); err != nil {
		return &Error{Method: method, Kind: OutcomeUnknown, detail: "the answer is not the Bot API's"}
	}
	if !a.OK {
		return apiError(method, a)
	}
	return nil
}

// do makes a request. A status of 500 or more is a *statusError.
func do(client *http.Client, req *http.Request) (*http.Response, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, transport.Clean(err)
	}
	if resp.StatusCode >= http.StatusInternalServerError {
		resp.Body.Close()
		return nil, &statusError{resp.StatusCode}
	}
	return resp, nil
}

// bufferedClient is the HTTP client under the library. It buffers each body,
// which the library streams, so that net/http can repeat a request of which
// nothing was written to a connection that had been closed meanwhile.
type bufferedClient struct{ http *http.Client }

func (c bufferedClient) Do(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
		req = req.Clone(req.Context())
		req.ContentLength = int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
	}
	return do(c.http, req)
}

// statusError is the answer of a server, or of a proxy before it, that could
// not carry out a call. Its body does not matter: proxies answer with pages of
// their own.
type statusError struct{ code int }

func (e *statusError) Error() string { return fmt.Sprintf("status %d", e.code) }
