package botapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"

	"herald/internal/transport"
)

// callState records whether Telegram carried out a call of the library, because the library's errors do not say so.
// Call passes a callState to Do in the request's context, and Do sets it.
type callState struct {
	// carriedOut is the method that Telegram carried out, or "".
	carriedOut string
}

type callStateKey struct{}

// inContext returns a context that passes s to Do.
func (s *callState) inContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, callStateKey{}, s)
}

// errorOf returns the *Error for an error of the library, or nil for nil. An error that does not come from Do means
// that the library could not build the request or, if Telegram carried out the call, that it could not read the result.
func (s *callState) errorOf(err error) error {
	if err == nil {
		return nil
	}
	if fromDo, ok := errors.AsType[*Error](err); ok {
		return fromDo
	}
	if s.carriedOut != "" {
		return &Error{Method: s.carriedOut, Kind: Unreadable}
	}
	return impossible("a call of the library")
}

// libraryHTTP is the HTTP client below the library.
type libraryHTTP struct{ http *http.Client }

// Do makes a call of the library. It fails with *Error unless Telegram carried the call out and the answer has a
// result. The library's requests have a GetBody, so net/http repeats a request that the server did not process
// (HTTP/2's GOAWAY).
func (l libraryHTTP) Do(req *http.Request) (*http.Response, error) {
	answer, err := exchange(l.http, req)
	if err != nil {
		return nil, err
	}
	method := path.Base(req.URL.Path)
	if s, ok := req.Context().Value(callStateKey{}).(*callState); ok {
		s.carriedOut = method
	}
	if slices.Contains(returnMessages, method) {
		answer = onlyID(answer)
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(answer))}, nil
}

// returnMessages lists the methods that return the message that they sent or edited.
var returnMessages = []string{"sendMessage", "sendPhoto", "editMessageText", "editMessageMedia"}

// messageIDs is what the bot reads of a message that it sent.
type messageIDs struct {
	ID          int `json:"message_id"`
	EphemeralID int `json:"ephemeral_message_id"`
}

// onlyID shortens an answer to the ID of its message. If it has none, onlyID returns the answer as it is. Decoding the
// whole message would take the library twice as long (BenchmarkSentMessage).
func onlyID(answer []byte) []byte {
	var a struct {
		Result messageIDs `json:"result"`
	}
	if json.Unmarshal(answer, &a) != nil || a.Result.ID == 0 {
		return answer
	}
	return fmt.Appendf(nil, `{"ok":true,"result":{"message_id":%d}}`, a.Result.ID)
}

// ownCall calls a method through hc and without the library, with params as JSON, and returns the result. It fails with
// *Error, even if Telegram carried the call out and only the result is not a T.
func ownCall[T any](ctx context.Context, c *Client, hc *http.Client, method string, params any) (result T, err error) {
	body, err := json.Marshal(params)
	if err != nil {
		return result, impossible(method)
	}
	url := c.url + "/bot" + c.token.Reveal() + "/" + method
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return result, impossible(method)
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := exchange(hc, req)
	if err != nil {
		return result, err
	}
	var a struct {
		Result T `json:"result"`
	}
	if json.Unmarshal(answer, &a) != nil {
		return a.Result, &Error{Method: method, Kind: Unreadable}
	}
	return a.Result, nil
}

// ownChange is like ownCall, for a method that changes something. It succeeds if Telegram carried the call out,
// whatever the result.
func ownChange(ctx context.Context, c *Client, method string, params any) error {
	_, err := ownCall[json.RawMessage](ctx, c, c.http, method, params)
	return unlessCarriedOut(err)
}

// exchange sends req and returns the whole answer. It fails with *Error unless the answer says that Telegram carried
// the call out, and has a result.
func exchange(hc *http.Client, req *http.Request) (answer []byte, err error) {
	method := path.Base(req.URL.Path)
	resp, err := hc.Do(req)
	if err != nil {
		return nil, lost(method, transport.Clean(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusInternalServerError {
		// Its body does not matter: proxies answer with pages of their own.
		return nil, &Error{Method: method, Kind: OutcomeUnknown, detail: fmt.Sprintf("status %d", resp.StatusCode)}
	}
	answer, err = io.ReadAll(resp.Body)
	if err != nil {
		return nil, lost(method, err)
	}
	// Below 500, the status says nothing that the answer does not.
	return answer, answerError(method, answer)
}

// resultBegins is how the Bot API server begins each answer to a call that it carried out.
var resultBegins = []byte(`{"ok":true,"result":`)

// answerError returns the error in an answer, or nil if the answer says that Telegram carried the call out, and has a
// result. https://core.telegram.org/bots/api#making-requests describes the form of every answer.
func answerError(method string, answer []byte) error {
	result, ok := bytes.CutPrefix(answer, resultBegins)
	if ok && !bytes.HasPrefix(bytes.TrimLeft(result, " \t\r\n"), []byte("null")) {
		return nil // A long answer need not be decoded twice.
	}
	var a struct {
		OK     bool            `json:"ok"`
		Result json.RawMessage `json:"result"`
		refusal
	}
	_ = json.Unmarshal(answer, &a) // If it fails, it still reads the members that have the right type.
	switch {
	case a.OK && (a.Result == nil || string(a.Result) == "null"):
		return &Error{Method: method, Kind: Unreadable}
	case a.OK:
		return nil
	case a.Code == 0:
		return &Error{Method: method, Kind: OutcomeUnknown, detail: "the answer is not the Bot API's"}
	}
	return refused(method, &a.refusal)
}

// refusal is the part of an answer that explains why it is not OK.
type refusal struct {
	Code        int    `json:"error_code"`
	Description string `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigratedTo int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}
