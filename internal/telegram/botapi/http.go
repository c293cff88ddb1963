package botapi

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"herald/internal/transport"
)

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
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, transport.Clean(err)
	}
	if resp.StatusCode >= 500 {
		resp.Body.Close()
		return nil, &statusError{resp.StatusCode}
	}
	return resp, nil
}

// statusError is the answer of a server, or of a proxy before it, that could
// not carry out a call. Its body does not matter: proxies answer with pages of
// their own.
type statusError struct{ code int }

func (e *statusError) Error() string { return fmt.Sprintf("status %d", e.code) }
