package botapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"

	"herald/internal/transport"
)

// libraryHTTP is the HTTP client below the library.
type libraryHTTP struct{ client *Client }

// Do makes a call of the library. It fails with *Error if Telegram did not carry the call out,
// or if nobody knows. net/http can send the request again if the server never read it, because
// the library sets GetBody.
func (l libraryHTTP) Do(req *http.Request) (*http.Response, error) {
	answer, err := exchange(l.client.http, req)
	if err != nil {
		return nil, err
	}
	if slices.Contains(sending, path.Base(req.URL.Path)) {
		answer = onlyIDs(answer)
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(answer))}, nil
}

// sending lists the methods that return a message as it stands now.
var sending = []string{"sendMessage", "sendPhoto", "editMessageText", "editMessageMedia"}

// onlyIDs returns an answer with only the IDs of its message, or the same answer if it has no
// message. The bot reads nothing else of a message that it sent, and all of it takes the library
// twice as long to decode (BenchmarkSentMessage).
func onlyIDs(answer []byte) []byte {
	var a struct {
		Result struct {
			ID          int `json:"message_id"`
			EphemeralID int `json:"ephemeral_message_id"`
		} `json:"result"`
	}
	if json.Unmarshal(answer, &a) != nil {
		return answer
	}
	const form = `{"ok":true,"result":{"message_id":%d,"ephemeral_message_id":%d}}`
	return fmt.Appendf(nil, form, a.Result.ID, a.Result.EphemeralID)
}

// call makes a call that the library lacks by client, with params as JSON, and returns its
// result. It fails with *Error, even if the result is not a T.
func call[T any](ctx context.Context, c *Client, client *http.Client, method string, params any) (result T, err error) {
	body, _ := json.Marshal(params) // It fails for no type that this package passes.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/bot"+c.token.Reveal()+"/"+method, bytes.NewReader(body))
	if err != nil {
		return result, &Error{Method: method, Kind: NotSent, detail: impossible}
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := exchange(client, req)
	if err != nil {
		return result, err
	}
	carriedOut := struct {
		Result *T `json:"result"`
	}{&result}
	if json.Unmarshal(answer, &carriedOut) != nil {
		return result, &Error{Method: method, Kind: Unreadable}
	}
	return result, nil
}

// change is like call, for a method that changes something. It succeeds if Telegram carried the
// call out, whatever the result.
func change(ctx context.Context, c *Client, method string, params any) error {
	_, err := call[json.RawMessage](ctx, c, c.http, method, params)
	return err
}

// exchange sends a request and returns the answer, which says that Telegram carried the call
// out. It fails with *Error. It blocks until the whole answer is read.
func exchange(client *http.Client, req *http.Request) (answer []byte, err error) {
	method := path.Base(req.URL.Path)
	resp, err := client.Do(req)
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
	return answer, refused(method, answer)
}

// beginsOK is how the Bot API server begins each answer to a call that it carried out.
var beginsOK = []byte(`{"ok":true,`)

// refused returns the error of an answer, or nil if Telegram carried the call out. The form of
// every answer is at https://core.telegram.org/bots/api#making-requests.
func refused(method string, answer []byte) error {
	if bytes.HasPrefix(answer, beginsOK) {
		return nil // This spares a look at the whole answer.
	}
	var a struct {
		OK bool `json:"ok"`
		refusal
	}
	_ = json.Unmarshal(answer, &a) // If it fails, it still reads the members that have the right type.
	switch {
	case a.OK:
		return nil
	case a.Code == 0:
		return &Error{Method: method, Kind: OutcomeUnknown, detail: "the answer is not the Bot API's"}
	}
	return apiError(method, &a.refusal)
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
