package botapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"

	"herald/internal/transport"
)

// call makes one call with its parameters as JSON. It fails with *Error.
func call[T any](ctx context.Context, c *Client, method string, params any) (result T, err error) {
	resp, err := c.post(ctx, c.calls, method, params)
	if err != nil {
		return result, err
	}
	defer resp.Body.Close()
	return decodeAnswer[T](method, resp.Body)
}

// upload is call with a picture beside the parameters, as a form.
func upload[T any](ctx context.Context, c *Client, method string, png []byte, params any) (result T, err error) {
	body, contentType, err := form(params, png)
	if err != nil {
		return result, cannotBeMade(method)
	}
	resp, err := c.postBody(ctx, c.calls, method, contentType, body)
	if err != nil {
		return result, err
	}
	defer resp.Body.Close()
	return decodeAnswer[T](method, resp.Body)
}

// form writes parameters as a multipart form: strings as they are, all else as
// JSON, https://core.telegram.org/bots/api#making-requests.
func form(params any, png []byte) (body []byte, contentType string, err error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, "", err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, "", err
	}
	b := bytes.NewBuffer(make([]byte, 0, len(png)+len(raw)+2048))
	w := multipart.NewWriter(b)
	for name, value := range fields {
		text := string(value)
		if value[0] == '"' {
			if err := json.Unmarshal(value, &text); err != nil {
				return nil, "", err
			}
		}
		if err := w.WriteField(name, text); err != nil {
			return nil, "", err
		}
	}
	file, err := w.CreateFormFile(pictureName, pictureName+".png")
	if err != nil {
		return nil, "", err
	}
	if _, err := file.Write(png); err != nil {
		return nil, "", err
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return b.Bytes(), w.FormDataContentType(), nil
}

func cannotBeMade(method string) *Error {
	return &Error{Method: method, Kind: NotSent, detail: "the request cannot be made"}
}

// post sends one call's parameters as JSON. It fails with *Error.
func (c *Client) post(ctx context.Context, client *http.Client, method string, params any) (*http.Response, error) {
	body, err := json.Marshal(params)
	if err != nil {
		return nil, cannotBeMade(method)
	}
	return c.postBody(ctx, client, method, "application/json", body)
}

func (c *Client) postBody(ctx context.Context, client *http.Client, method, contentType string, body []byte) (*http.Response, error) {
	// net/http can repeat such a body if nothing of the request was written.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/bot"+c.token.Reveal()+"/"+method, bytes.NewReader(body))
	if err != nil {
		return nil, cannotBeMade(method)
	}
	req.Header.Set("Content-Type", contentType)
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

// unread is a result that does not matter.
type unread struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*unread) UnmarshalJSON([]byte) error { return nil }

func decodeAnswer[T any](method string, r io.Reader) (result T, err error) {
	body, err := io.ReadAll(r)
	if err != nil {
		return result, classifyError(method, err)
	}
	var a struct {
		apiAnswer
		Result T `json:"result"`
	}
	err = json.Unmarshal(body, &a)
	if _, form := errors.AsType[*json.UnmarshalTypeError](err); form && a.OK {
		// It is carried out, whatever else the server says about it.
		return a.Result, nil
	}
	if err != nil {
		return result, &Error{Method: method, Kind: OutcomeUnknown, detail: "the answer is not the Bot API's"}
	}
	if !a.OK {
		return result, apiError(method, a.apiAnswer)
	}
	return a.Result, nil
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
		req.GetBody = func() (io.ReadCloser, error) {
			if len(body) == 0 { // net/http takes any other empty body for one of unknown length.
				return http.NoBody, nil
			}
			return io.NopCloser(bytes.NewReader(body)), nil
		}
		req.Body, _ = req.GetBody()
	}
	return do(c.http, req)
}

// statusError is the answer of a server, or of a proxy before it, that could
// not carry out a call. Its body does not matter: proxies answer with pages of
// their own.
type statusError struct{ code int }

func (e *statusError) Error() string { return fmt.Sprintf("status %d", e.code) }
