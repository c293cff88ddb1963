package staking

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"

	"herald/internal/core"
	"herald/internal/service/rest"
)

// rpcCall is one call of JSON-RPC (https://www.jsonrpc.org/specification), and once
// made either its result or why there is none.
type rpcCall struct {
	Version string `json:"jsonrpc"`
	ID      int    `json:"id"` // of the call within its request
	Method  string `json:"method"`
	Params  []any  `json:"params"`

	result any // where to decode it
	err    *core.Error
}

func newCall(result any, method string, params ...any) *rpcCall {
	return &rpcCall{Version: "2.0", Method: method, Params: params, result: result}
}

// rpcAnswer is a JSON-RPC response, as far as it matters here.
type rpcAnswer struct {
	ID     json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// ask makes one call, by itself.
func (c *Client) ask(ctx context.Context, call *rpcCall) *core.Error {
	call.ID = 1
	if err := c.post(ctx, call, []*rpcCall{call}); err != nil {
		return err
	}
	return call.err
}

// askAll makes the calls as one batch. It fails if the batch was not answered as
// one. Errors of single calls are left in them.
func (c *Client) askAll(ctx context.Context, calls []*rpcCall) *core.Error {
	for i, call := range calls {
		call.ID = i + 1
	}
	return c.post(ctx, calls, calls)
}

// post sends the question, which is one call or a batch, and decodes what came for
// each of its calls.
func (c *Client) post(ctx context.Context, question any, calls []*rpcCall) *core.Error {
	body, _ := json.Marshal(question) // It holds nothing that could fail.
	resp, err := c.rest.Do(ctx, rest.Request{
		Attempt: calls[0].Method,
		URL:     c.settings.RPCURL.Reveal(),
		Header:  http.Header{"Content-Type": {"application/json"}},
		Body:    body,
	})
	if err != nil {
		failed, _ := errors.AsType[*core.Error](err)
		return failed
	}
	return decode(resp.Body, calls)
}

// decode reads the answers to the calls. It fails without an answer to each call,
// with two to one, with one to another call, and with one error for all.
func decode(body []byte, calls []*rpcCall) *core.Error {
	var answers []rpcAnswer
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		if json.Unmarshal(body, &answers) != nil {
			return errNotJSONRPC
		}
	} else {
		var only rpcAnswer
		if json.Unmarshal(body, &only) != nil {
			return errNotJSONRPC
		}
		if id := string(only.ID); only.Error != nil && (len(calls) > 1 || id == "" || id == "null") {
			return codeError(only.Error.Code, only.Error.Message)
		}
		answers = append(answers, only)
	}
	if len(answers) != len(calls) {
		return errMismatch
	}
	open := make(map[string]*rpcCall, len(calls))
	for _, call := range calls {
		open[strconv.Itoa(call.ID)] = call
	}
	for _, a := range answers {
		call := open[string(a.ID)]
		if call == nil {
			return errMismatch
		}
		delete(open, string(a.ID))
		if call.err = nil; a.Error != nil {
			call.err = codeError(a.Error.Code, a.Error.Message)
		} else if json.Unmarshal(a.Result, call.result) != nil {
			call.err = errNotJSONRPC
		}
	}
	return nil
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
var errUnsupported = Service.Fail(core.Rejected, errors.New("this way of reading does not work here"))

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
