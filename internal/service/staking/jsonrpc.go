package staking

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"herald/internal/service/rest"
)

// strictTransport is the RoundTripper below go-ethereum's client. It refuses
// what that would take: an answer to a call that was not asked, two answers to
// one call. And it reports what that would hide: the code of an error that
// stands for a whole batch, and Retry-After.
type strictTransport struct{ next http.RoundTripper }

func (t strictTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	asked, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	defer asked.Close()
	question, err := io.ReadAll(asked)
	if err != nil {
		return nil, err
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if refusal := rest.StatusError(Service, resp); refusal != nil {
		return nil, refusal
	}
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if answer, err = checkAnswer(question, answer); err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	return resp, nil
}

// message is a JSON-RPC request or response, as far as it matters here
// (https://www.jsonrpc.org/specification).
type message struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Code int `json:"code"`
	} `json:"error,omitempty"`
}

// parseMessages reads one message, or a batch.
func parseMessages(body []byte) (all []message, batch bool, err error) {
	if batch = bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")); batch {
		err = json.Unmarshal(body, &all)
	} else {
		all = make([]message, 1)
		err = json.Unmarshal(body, &all[0])
	}
	if err != nil {
		return nil, batch, errNotJSONRPC
	}
	return all, batch, nil
}

// checkAnswer is the answer, if each of its messages is to one of the calls in
// question, and no two are to the same. There may be fewer messages than calls.
func checkAnswer(question, answer []byte) ([]byte, error) {
	calls, batch, err := parseMessages(question)
	if err != nil {
		return nil, err
	}
	answers, several, err := parseMessages(answer)
	if err != nil {
		return nil, err
	}
	if !several {
		id, failed := string(answers[0].ID), answers[0].Error
		if failed != nil && (batch || id == "" || id == "null") {
			return nil, codeError(failed.Code)
		}
	}
	if batch != several {
		return nil, errMismatch
	}
	open := make(map[string]bool, len(calls))
	for _, call := range calls {
		open[string(call.ID)] = true
	}
	for _, m := range answers {
		if !open[string(m.ID)] {
			return nil, errMismatch
		}
		delete(open, string(m.ID))
	}
	// Written anew, because go-ethereum takes `"error":null` beside a result
	// for an error, and an error of any form for one with code 0.
	if several {
		return json.Marshal(answers)
	}
	return json.Marshal(answers[0])
}
