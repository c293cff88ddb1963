package staking

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/service/rest"
	"herald/internal/transport"
)

// rpcClient makes calls of JSON-RPC over HTTP (https://www.jsonrpc.org/specification). At most query.MaxCalls
// requests are in flight, even on one connection of HTTP/2; others wait. Its errors may hold text of the node:
// failure makes them safe.
type rpcClient struct {
	url    string
	http   *http.Client
	slots  chan struct{} // holds one value for each request in flight
	lastID atomic.Uint64
}

// newRPCClient returns a client for a node's endpoint. It fails if the endpoint is not a URL.
func newRPCClient(endpoint string, client *http.Client) (*rpcClient, error) {
	if _, err := url.Parse(endpoint); err != nil {
		return nil, errors.New("the endpoint of the chain cannot be used")
	}
	return &rpcClient{url: endpoint, http: client, slots: make(chan struct{}, query.MaxCalls)}, nil
}

// rpcCall is a call of a method of the node and, once it was made, its result or its error.
type rpcCall struct {
	method string
	args   []any
	result any // a pointer, for json.Unmarshal
	err    error
}

// errUnanswered is the err of a call without an answer in the answer to a batch.
var errUnanswered = errors.New("the node did not answer this call of a batch")

func (c rpcCall) isUnanswered() bool { return errors.Is(c.err, errUnanswered) }

// isLimited reports whether the node refused the call because there were too many calls.
func (c rpcCall) isLimited() bool { return c.err != nil && failure(c.err).Reason == core.Limited }

// isOfUnknownBlock reports whether the call failed because the node does not have the block yet.
func (c rpcCall) isOfUnknownBlock() bool { return errors.Is(c.err, errUnknownBlock) }

// call makes one call, and decodes its result into result, which is a pointer.
func (c *rpcClient) call(ctx context.Context, result any, method string, args ...any) error {
	sent := c.newRequest(method, args)
	answers, err := c.post(ctx, single, []request{sent})
	if err == nil {
		err = answers[sent.ID].decode(result)
	}
	return withMethod(method, err)
}

// callBatch makes all calls in one HTTP request, and sets their results or errors. If the HTTP request as a whole
// fails, callBatch returns an error and does not change calls.
func (c *rpcClient) callBatch(ctx context.Context, calls []rpcCall) error {
	var sent []request
	for _, call := range calls {
		sent = append(sent, c.newRequest(call.method, call.args))
	}
	answers, err := c.post(ctx, batch, sent)
	if err != nil {
		return withMethod("a batch of "+methodsOf(calls), err)
	}
	for i := range calls {
		answer, isAnswered := answers[sent[i].ID]
		if !isAnswered {
			calls[i].err = errUnanswered
			continue
		}
		calls[i].err = withMethod(calls[i].method, answer.decode(calls[i].result))
	}
	return nil
}

// methodsOf returns the methods of calls in order, with commas. It names a method once for calls that follow each
// other.
func methodsOf(calls []rpcCall) string {
	var methods []string
	for _, call := range calls {
		methods = append(methods, call.method)
	}
	return strings.Join(slices.Compact(methods), ", ")
}

// methodError is the error of a call, with the method that was called.
type methodError struct {
	method string // for core.Error.Asked
	err    error
}

// withMethod returns err with the method that was called. It returns nil if err is nil.
func withMethod(method string, err error) error {
	if err == nil {
		return nil
	}
	return &methodError{method: method, err: err}
}

func (e *methodError) Error() string { return e.err.Error() }

func (e *methodError) Unwrap() error { return e.err }

// form is the form of an HTTP body.
type form int

const (
	single form = iota // one message
	batch              // a list of messages
)

// request is a JSON-RPC request.
type request struct {
	Version string      `json:"jsonrpc"`
	ID      json.Number `json:"id"`
	Method  string      `json:"method"`
	Params  []any       `json:"params,omitempty"`
}

// newRequest returns a request with a new ID.
func (c *rpcClient) newRequest(method string, args []any) request {
	id := strconv.FormatUint(c.lastID.Add(1), 10)
	return request{Version: "2.0", ID: json.Number(id), Method: method, Params: args}
}

// post sends requests in one body, and returns the answers by ID as checkAnswer does. If the form is single, there is
// one request. post blocks until fewer than query.MaxCalls requests are in flight, and then for the call.
func (c *rpcClient) post(ctx context.Context, f form, sent []request) (map[json.Number]message, error) {
	var value any = sent
	if f == single {
		value = sent[0]
	}
	body, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	answer = bytes.TrimPrefix(answer, rest.ByteOrderMark)
	var answers map[json.Number]message
	if failed := rest.StatusError(Service, resp); failed != nil {
		err = statusError(f, answer, resp.StatusCode, failed)
	} else if err == nil {
		answers, err = checkAnswer(f, sent, answer)
	}
	if limited, ok := errors.AsType[*core.Error](err); ok && limited.Reason == core.Limited {
		limited.RetryAfter = transport.RetryAfter(resp.Header)
	}
	return answers, err
}

// statusError returns the error of an answer to a body of form f if the answer's HTTP status is a failure. byStatus is
// the error that the status stands for. statusError returns byStatus unless the answer is a JSON-RPC error that says
// more.
func statusError(f form, answer []byte, status int, byStatus *core.Error) error {
	if status == http.StatusRequestEntityTooLarge {
		byStatus.Err = fmt.Errorf("%w: %w", byStatus.Err, errTooLarge)
		return byStatus
	}
	answers, received, err := parseMessages(answer)
	if err != nil || received == batch || answers[0].Error == nil {
		return byStatus
	}
	byBody := answers[0].Error.reason()
	switch {
	case byStatus.Reason == core.Limited, status == http.StatusUnauthorized:
		return byStatus
	case byBody.Reason != core.Rejected, errors.Is(byBody, errExecution), errors.Is(byBody, errTooLarge):
		return byBody
	case f == batch && (status == http.StatusForbidden || status >= http.StatusInternalServerError):
		// Some nodes refuse every batch with these statuses. byBody is Rejected, so sendAll makes the calls one by one.
		return byBody
	}
	return byStatus
}

// message is a JSON-RPC response, without its version.
type message struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

// id returns the ID as a number. Some nodes return a number as a text.
func (m message) id() json.Number { return json.Number(bytes.Trim(m.ID, `"`)) }

// decode decodes the result into result, which is a pointer. It returns the error that the message reports, if any.
func (m message) decode(result any) error {
	if m.Error != nil {
		return m.Error.reason()
	}
	if json.Unmarshal(m.Result, result) != nil {
		return errNotJSONRPC
	}
	return nil
}

// parseMessages reads one message or a batch, and reports which it was.
func parseMessages(body []byte) (all []message, received form, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		received = batch
		err = json.Unmarshal(body, &all)
	} else {
		all = make([]message, 1)
		err = json.Unmarshal(body, &all[0])
	}
	if err != nil {
		err = errNotJSONRPC
	}
	return all, received, err
}

// checkAnswer returns the messages in an answer to requests by ID. Messages may be missing. It fails if a message
// belongs to no request, or if two messages belong to the same request. It also fails if the answer is one error
// about the only request or about a whole batch.
func checkAnswer(f form, sent []request, answer []byte) (map[json.Number]message, error) {
	messages, received, err := parseMessages(answer)
	if err != nil {
		return nil, err
	}
	unanswered := make(map[json.Number]bool, len(sent)) // by ID
	for _, r := range sent {
		unanswered[r.ID] = true
	}
	if received == single && messages[0].Error != nil {
		// An error about the request as a whole has no ID.
		id := messages[0].id()
		if f == batch || id == "" || id == "null" || unanswered[id] {
			return nil, messages[0].Error.reason()
		}
	}
	if received != f {
		return nil, errMismatch
	}
	answers := make(map[json.Number]message, len(messages))
	for _, m := range messages {
		id := m.id()
		if !unanswered[id] {
			return nil, errMismatch
		}
		delete(unanswered, id)
		answers[id] = m
	}
	return answers, nil
}

var (
	errNotJSONRPC = malformed("the answer is not JSON-RPC")
	errMismatch   = malformed("the answer is not to what was asked")
)

// errUnsupported means that there is no Multicall3, or that its call failed when it was executed.
var errUnsupported = errors.New("Multicall3 does not answer")

func malformed(problem string) *core.Error {
	return Service.Fail(core.Malformed, errors.New(problem))
}

// failedTo returns the *core.Error of an attempt that failed with err, as failure does. If the call was sent, the error
// has its method.
func failedTo(attempt string, err error) *core.Error {
	failed := failure(err).During(attempt)
	called, is := errors.AsType[*methodError](err)
	if is && !transport.NeverSent(err) {
		failed.Asked = called.method
	}
	return failed
}

// failure returns the *core.Error of a call that failed with err. It holds neither the URL that net/http adds nor
// text of the node.
func failure(err error) *core.Error {
	if known, ok := errors.AsType[*core.Error](err); ok {
		return known
	}
	_, broken := errors.AsType[*transport.Error](err)
	if broken || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return rest.CallError(Service, err)
	}
	return errNotJSONRPC
}
