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

// do makes a call that changes something. One that was carried out has succeeded,
// whatever it returns.
func (c *Client) do(ctx context.Context, method string, params any) error {
	_, err := c.show(ctx, method, params, nil)
	return err
}

// sent is what is read of the message that a call returns.
type sent struct {
	ID          int64 `json:"message_id"`
	EphemeralID int64 `json:"ephemeral_message_id"`
}

// show is do for a call that returns a message. Unless png is nil, the picture goes
// beside the parameters.
func (c *Client) show(ctx context.Context, method string, params any, png []byte) (m sent, err error) {
	body, _ := json.Marshal(params) // All params here can be JSON.
	contentType := "application/json"
	if png != nil {
		body, contentType = form(body, png)
	}
	result, err := c.exchange(ctx, callTimeout, method, contentType, body)
	_ = json.Unmarshal(result, &m)
	return m, err
}

// read makes a call that asks for something.
func read[T any](ctx context.Context, c *Client, timeout time.Duration, method string, params any) (value T, err error) {
	body, _ := json.Marshal(params)
	result, err := c.exchange(ctx, timeout, method, "application/json", body)
	if err == nil && json.Unmarshal(result, &value) != nil {
		err = notTheirs(method)
	}
	return value, err
}

// form returns parameters and a picture as a multipart form and its type: strings as
// they are, all else as JSON, https://core.telegram.org/bots/api#making-requests.
func form(params, png []byte) (body []byte, contentType string) {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(params, &fields)
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
	return b.Bytes(), w.FormDataContentType()
}

// exchange makes one call and returns its result. It fails with *Error.
func (c *Client) exchange(ctx context.Context, timeout time.Duration, method, contentType string, body []byte) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// net/http can repeat such a body if nothing of the request was written.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/bot"+c.token.Reveal()+"/"+method, bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Method: method, Kind: NotSent, detail: "the request cannot be made"}
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, lost(method, transport.Clean(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusInternalServerError {
		// Its body does not matter: proxies answer with pages of their own.
		return nil, &Error{Method: method, Kind: OutcomeUnknown, detail: fmt.Sprintf("status %d", resp.StatusCode)}
	}
	return decode(method, resp.Body)
}

// apiAnswer is the form of every answer, https://core.telegram.org/bots/api#making-requests.
type apiAnswer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigratedTo int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

func decode(method string, r io.Reader) (json.RawMessage, error) {
	body, err := io.ReadAll(r)
	if errors.Is(err, transport.ErrBodyTooLarge) {
		return nil, &Error{Method: method, Kind: OutcomeUnknown, cause: &TooLargeError{First: firstID(body)}}
	}
	if err != nil {
		return nil, lost(method, err)
	}
	var a apiAnswer
	if json.Unmarshal(body, &a) != nil {
		return nil, notTheirs(method)
	}
	if !a.OK {
		return nil, apiError(method, a)
	}
	return a.Result, nil
}
