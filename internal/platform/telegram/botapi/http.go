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
	"time"

	"herald/internal/transport"
)

// call is one request to the Bot API.
type call struct {
	method      string
	contentType string
	body        []byte
	timeout     time.Duration
}

// jsonCall returns a call with params, which must be valid as JSON.
func jsonCall(method string, params any) call {
	body, _ := json.Marshal(params)
	return call{method: method, contentType: "application/json", body: body, timeout: callTimeout}
}

// do makes a call that changes something. It succeeds if Telegram says that the call was
// carried out, whatever the result.
func (c *Client) do(ctx context.Context, method string, params any) error {
	_, err := change[struct{}](ctx, c, jsonCall(method, params))
	return err
}

// change is exchange for a call that changes something, which succeeds with any result.
func change[T any](ctx context.Context, c *Client, request call) (result T, err error) {
	if result, err = exchange[T](ctx, c, request); err != nil && ErrorOf(err).Kind == Unreadable {
		err = nil
	}
	return result, err
}

// sent holds the IDs of the message that a call returns.
type sent struct {
	ID          int64 `json:"message_id"`
	EphemeralID int64 `json:"ephemeral_message_id"`
}

// photoCall returns a call with params that uploads a picture too. Its body is a multipart form,
// in which strings stand as they are and all else as JSON,
// https://core.telegram.org/bots/api#making-requests.
func photoCall(method string, params any, png []byte) call {
	request := jsonCall(method, params)
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(request.body, &fields)
	var b bytes.Buffer // No write to it fails.
	w := multipart.NewWriter(&b)
	for name, value := range fields {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		_ = w.WriteField(name, text)
	}
	file, _ := w.CreateFormFile(pictureName, pictureName+".png")
	_, _ = file.Write(png)
	_ = w.Close()
	request.body, request.contentType = b.Bytes(), w.FormDataContentType()
	return request
}

// exchange makes one call and returns its result. It fails with *Error, even if the result
// is not a T.
func exchange[T any](ctx context.Context, c *Client, request call) (result T, err error) {
	ctx, cancel := context.WithTimeout(ctx, request.timeout)
	defer cancel()
	method := request.method
	// net/http can repeat such a body if nothing of the request was written.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/bot"+c.token.Reveal()+"/"+method, bytes.NewReader(request.body))
	if err != nil {
		return result, &Error{Method: method, Kind: NotSent, detail: "the request cannot be made"}
	}
	req.Header.Set("Content-Type", request.contentType)
	resp, err := c.http.Do(req)
	if err != nil {
		return result, lost(method, transport.Clean(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusInternalServerError {
		// Its body does not matter: proxies answer with pages of their own.
		return result, &Error{Method: method, Kind: OutcomeUnknown, detail: fmt.Sprintf("status %d", resp.StatusCode)}
	}
	return decode[T](method, resp.Body)
}

// apiAnswer is the form of every answer, https://core.telegram.org/bots/api#making-requests.
type apiAnswer[T any] struct {
	OK     bool `json:"ok"`
	Result T    `json:"result"`
	refusal
}

// refusal is the part of an answer that is not OK.
type refusal struct {
	Code        int    `json:"error_code"`
	Description string `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigratedTo int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// decode reads an answer and returns its result, as exchange does.
func decode[T any](method string, r io.Reader) (result T, err error) {
	body, err := io.ReadAll(r)
	if err != nil {
		return result, lost(method, err)
	}
	var a apiAnswer[T]
	err = json.Unmarshal(body, &a)
	_, mistyped := errors.AsType[*json.UnmarshalTypeError](err) // All other members are read.
	switch {
	case a.OK && mistyped:
		return result, &Error{Method: method, Kind: Unreadable}
	case err != nil:
		return result, notTheirs(method)
	case !a.OK:
		return result, apiError(method, &a.refusal)
	}
	return a.Result, nil
}
