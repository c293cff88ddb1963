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

// strictTransport is the RoundTripper below go-ethereum's client. It refuses what
// the client would take: an answer to another call, two answers to one call. And
// it reports what the client would hide: the code of an error that stands for a
// whole batch, and Retry-After.
type strictTransport struct{ next http.RoundTripper }

func (t strictTransport) RoundTrip(req *http.Request) (*http.Response, error) {
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

// message is a JSON-RPC request or response, as far as it matters here
// (https://www.jsonrpc.org/specification).
type message struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
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
		err = errNotJSONRPC
	}
	return all, batch, err
}

// checkAnswer returns the answer if each of its messages belongs to one of the
// calls in question, and no two to the same. There may be fewer messages than
// calls.
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
	// Written anew, because go-ethereum takes `"error":null` beside a result
	// for an error, and an error of any form for one with code 0.
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
	// errUnknownBlock: behind a load balancer one node names a block that another
	// does not know yet. It is Unreachable, so that core asks once more.
	errUnknownBlock = Service.Fail(core.Unreachable, errors.New("the node does not know the block"))
)

// errUnsupported means that a way of reading the pools does not work with this
// node, and the next is to be tried. It never leaves the package.
var errUnsupported = errors.New("this way of reading does not work here")

func malformed(problem string) *core.Error {
	return Service.Fail(core.Malformed, errors.New(problem))
}

// codeError is a JSON-RPC error. It does not repeat the node's text.
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

// unknownBlock is what nodes say of a block that has not reached them yet: geth
// with -32000, erigon and others with the like.
var unknownBlock = regexp.MustCompile(`(?i)(header|block) not found|unknown block`)

// failure is why a call failed, without what go-ethereum and net/http put around
// it, such as the URL. It never repeats what the node wrote.
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
	return errNotJSONRPC // what is left are results that go-ethereum could not decode
}
