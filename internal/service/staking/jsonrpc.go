package staking

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/ethereum/go-ethereum/rpc"

	"herald/internal/core"
	"herald/internal/service/rest"
	"herald/internal/transport"
)

// strictTransport is the RoundTripper below go-ethereum's client. It refuses two things
// that the client accepts: an answer to another call, and two answers to one call. It
// reports three things that the client hides: the error in a body with another status than
// 200, the code of an error for a whole batch, and Retry-After. It makes at most core.MaxCalls
// calls at once, even on one connection of HTTP/2; others wait.
type strictTransport struct {
	next  http.RoundTripper
	calls chan struct{} // holds one value for each call
}

func newStrictTransport(next http.RoundTripper) strictTransport {
	return strictTransport{next: next, calls: make(chan struct{}, core.MaxCalls)}
}

func (t strictTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case t.calls <- struct{}{}:
		defer func() { <-t.calls }()
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	asked, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	question, _ := io.ReadAll(asked) // It is in memory.
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	answer = bytes.TrimPrefix(answer, rest.ByteOrderMark)
	if failed := rest.StatusError(Service, resp); failed != nil {
		err = statusError(question, answer, resp.StatusCode, failed)
	} else if err == nil {
		answer, err = checkAnswer(question, answer)
	}
	if limited, ok := errors.AsType[*core.Error](err); ok && limited.Reason == core.Limited {
		limited.RetryAfter = transport.RetryAfter(resp.Header)
	}
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	return resp, nil
}

// statusError returns the error of an answer whose status is a failure. That is failed, which stands
// for the status alone, unless the body is a JSON-RPC error that says more.
func statusError(question, answer []byte, status int, failed *core.Error) error {
	if status == http.StatusRequestEntityTooLarge {
		failed.Err = fmt.Errorf("%w: %w", failed.Err, errTooLarge)
		return failed
	}
	answers, several, err := parseMessages(answer)
	if err != nil || several || answers[0].Error == nil {
		return failed
	}
	_, batch, err := parseMessages(question)
	if err != nil {
		return err
	}
	said := answers[0].Error.reason()
	switch {
	case failed.Reason == core.Limited, status == http.StatusUnauthorized:
		return failed
	case said.Reason != core.Rejected, errors.Is(said, errExecution), errors.Is(said, errTooLarge):
		return said
	case batch && (status == http.StatusForbidden || status >= http.StatusInternalServerError):
		// Rejected: some nodes refuse a batch so, and answer its calls one by one.
		return said
	}
	return failed
}

// message is the part of a JSON-RPC request or response that is read here
// (https://www.jsonrpc.org/specification).
type message struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *rpcError       `json:"error,omitempty"`
}

// parseMessages reads one message or a batch, and reports which.
func parseMessages(body []byte) (all []message, batch bool, err error) {
	if batch = bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")); batch {
		err = json.Unmarshal(body, &all)
	} else {
		all = make([]message, 1)
		err = json.Unmarshal(body, &all[0])
	}
	if err != nil {
		err = errNotJSONRPC
	}
	return all, batch, err
}

// checkAnswer returns answer, rewritten. It fails if a message in it belongs to none of the
// calls in question, or if two belong to one call; also if the answer is one error, for the only
// call or for a whole batch. Messages may be missing.
func checkAnswer(question, answer []byte) ([]byte, error) {
	calls, batch, err := parseMessages(question)
	if err != nil {
		return nil, err
	}
	answers, several, err := parseMessages(answer)
	if err != nil {
		return nil, err
	}
	open := make(map[string]bool, len(calls))
	for _, call := range calls {
		open[string(call.ID)] = true
	}
	for i := range answers {
		// Some nodes return a number as a text.
		answers[i].ID = bytes.Trim(answers[i].ID, `"`)
	}
	if !several && answers[0].Error != nil {
		// An error about the request as a whole has no ID.
		id := string(answers[0].ID)
		if batch || id == "" || id == "null" || open[id] {
			return nil, answers[0].Error.reason()
		}
	}
	if batch != several {
		return nil, errMismatch
	}
	for _, m := range answers {
		if !open[string(m.ID)] {
			return nil, errMismatch
		}
		delete(open, string(m.ID))
	}
	// Rewritten, because go-ethereum takes `"error":null` beside a result for an error,
	// and an error of any form for one with code 0.
	if several {
		return json.Marshal(answers)
	}
	return json.Marshal(answers[0])
}

var (
	errNotJSONRPC = malformed("the answer is not JSON-RPC")
	errMismatch   = malformed("the answer is not to what was asked")
)

// errUnsupported means that Multicall3 is not there, or that its call fails when it is executed.
var errUnsupported = errors.New("Multicall3 does not answer")

func malformed(problem string) *core.Error {
	return Service.Fail(core.Malformed, errors.New(problem))
}

// failure returns why a call failed, without the URL that net/http adds and without the
// node's text.
func failure(err error) *core.Error {
	if known, ok := errors.AsType[*core.Error](err); ok {
		return known
	}
	if said, ok := errors.AsType[rpc.Error](err); ok {
		return (&rpcError{Code: errorCode(said.ErrorCode()), Message: said.Error()}).reason()
	}
	_, broken := errors.AsType[*transport.Error](err)
	if broken || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return rest.CallError(Service, err)
	}
	return errNotJSONRPC // go-ethereum could not decode the result
}
