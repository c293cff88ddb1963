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
	body, err := json.Marshal(params)
	if err != nil {
		return result, cannotBeMade(method)
	}
	answer, err := c.exchange(ctx, method, "application/json", body)
	if err != nil {
		return result, err
	}
	return decode[T](method, answer)
}

// sent is what is read of the message that a call returns.
type sent struct {
	ID          int64 `json:"message_id"`
	EphemeralID int64 `json:"ephemeral_message_id"`
}

// do makes a call that changes something. One that was carried out has succeeded,
// whatever it returns.
func do(ctx context.Context, c *Client, method string, params any) error {
	_, err := show(ctx, c, method, params)
	return err
}

// show is do for a call that returns a message.
func show(ctx context.Context, c *Client, method string, params any) (m sent, err error) {
	result, err := call[json.RawMessage](ctx, c, method, params)
	if err == nil {
		_ = json.Unmarshal(result, &m)
	}
	return m, err
}

// upload is show with a picture beside the parameters, as a multipart form: strings
// as they are, all else as JSON, https://core.telegram.org/bots/api#making-requests.
func upload(ctx context.Context, c *Client, method string, params any, png []byte) (m sent, err error) {
	raw, err := json.Marshal(params)
	var fields map[string]json.RawMessage
	if err != nil || json.Unmarshal(raw, &fields) != nil {
		return m, cannotBeMade(method)
	}
	var b bytes.Buffer // which no write to fails
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
	answer, err := c.exchange(ctx, method, w.FormDataContentType(), b.Bytes())
	if err != nil {
		return m, err
	}
	result, err := decode[json.RawMessage](method, answer)
	if err == nil {
		_ = json.Unmarshal(result, &m)
	}
	return m, err
}

func cannotBeMade(method string) *Error {
	return &Error{Method: method, Kind: NotSent, detail: "the request cannot be made"}
}

// exchange makes one call that is no poll and reads the whole answer. It fails with
// *Error.
func (c *Client) exchange(ctx context.Context, method, contentType string, body []byte) ([]byte, error) {
	resp, err := c.post(ctx, c.calls, method, contentType, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, lost(method, err)
	}
	return answer, nil
}

// post makes the request of one call. It fails with *Error.
func (c *Client) post(ctx context.Context, client *http.Client, method, contentType string, body []byte) (*http.Response, error) {
	// net/http can repeat such a body if nothing of the request was written.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/bot"+c.token.Reveal()+"/"+method, bytes.NewReader(body))
	if err != nil {
		return nil, cannotBeMade(method)
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := client.Do(req)
	if err != nil {
		return nil, lost(method, transport.Clean(err))
	}
	if resp.StatusCode >= http.StatusInternalServerError {
		// Its body does not matter: proxies answer with pages of their own.
		resp.Body.Close()
		return nil, &Error{Method: method, Kind: OutcomeUnknown, detail: fmt.Sprintf("status %d", resp.StatusCode)}
	}
	return resp, nil
}

// lost returns the error of a call that got no answer, or not the whole of one.
func lost(method string, err error) *Error {
	e := &Error{Method: method, Kind: OutcomeUnknown}
	if broken, ok := errors.AsType[*transport.Error](err); ok {
		e.cause = broken
	}
	if transport.NeverSent(err) {
		e.Kind = NotSent
	}
	return e
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

func notTheirs(method string) *Error {
	return &Error{Method: method, Kind: OutcomeUnknown, detail: "the answer is not the Bot API's"}
}

func decode[T any](method string, body []byte) (result T, err error) {
	var a struct {
		apiAnswer
		Result T `json:"result"`
	}
	if json.Unmarshal(body, &a) != nil {
		return result, notTheirs(method)
	}
	if !a.OK {
		return result, apiError(method, a.apiAnswer)
	}
	return a.Result, nil
}
