package staking

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"

	"github.com/ethereum/go-ethereum/rpc"

	"herald/internal/core"
	"herald/internal/service/rest"
	"herald/internal/transport"
)

// strictTransport is the RoundTripper below go-ethereum's client. It refuses two things
// that the client accepts: an answer to another call, and two answers to one call. It
// reports two things that the client hides: the code of an error for a whole batch, and
// Retry-After. It makes at most core.MaxCalls calls at once, even on one connection of
// HTTP/2; others wait.
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

// message is the part of a JSON-RPC request or response that is read here
// (https://www.jsonrpc.org/specification).
type message struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error,omitempty"`
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
// calls in question, or two belong to one call. Messages may be missing.
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
			return nil, codeError(failed.Code, failed.Message)
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
	errNotBlock   = malformed("the block number is impossible")
	errNotTime    = malformed("the newest block has no possible time: the node's clock or this machine's is wrong")
	errReverted   = Service.Fail(core.Rejected, errors.New("the pool reverted the call"))
	// errUnknownBlock is Unreachable so that core repeats the call: behind a load balancer,
	// one node names a block that another does not know yet.
	errUnknownBlock = Service.Fail(core.Unreachable, errors.New("the node does not know the block"))
)

// errUnsupported means that the node does not support Multicall3. read then uses another
// method.
var errUnsupported = errors.New("the node does not support Multicall3")

func malformed(problem string) *core.Error {
	return Service.Fail(core.Malformed, errors.New(problem))
}

// codeError returns the error that a JSON-RPC code stands for, without the node's text.
func codeError(code int, text string) *core.Error {
	failed := Service.Fail(core.Rejected, fmt.Errorf("JSON-RPC error %d", code))
	switch {
	case code == -32005, // https://eips.ethereum.org/EIPS/eip-1474#error-codes
		code == 429: // https://www.alchemy.com/docs/reference/throughput
		failed.Reason = core.Limited
	case unknownBlock.MatchString(text):
		return errUnknownBlock
	}
	return failed
}

// unknownBlock matches the text of an error about a block that the node does not have yet.
// geth sends it with -32000, and other nodes with other codes.
var unknownBlock = regexp.MustCompile(`(?i)(header|block) not found|unknown block`)

// failure returns why a call failed, without the URL that net/http adds and without the
// node's text.
func failure(err error) *core.Error {
	if known, ok := errors.AsType[*core.Error](err); ok {
		return known
	}
	if refusal, ok := errors.AsType[rpc.Error](err); ok {
		return codeError(refusal.ErrorCode(), refusal.Error())
	}
	_, broken := errors.AsType[*transport.Error](err)
	if broken || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return rest.CallError(Service, err)
	}
	return errNotJSONRPC // go-ethereum could not decode the result
}
