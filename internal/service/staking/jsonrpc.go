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

// rpcClient makes calls of JSON-RPC over HTTP (https://www.jsonrpc.org/specification). It makes
// at most query.MaxCalls requests at once, even on one connection of HTTP/2; others wait. Its
// errors are for failure.
type rpcClient struct {
	url    string
	http   *http.Client
	places chan struct{} // holds one value for each request in flight
	lastID atomic.Uint64
}

func newRPCClient(endpoint string, client *http.Client) (*rpcClient, error) {
	if _, err := url.Parse(endpoint); err != nil {
		return nil, errors.New("the endpoint of the chain cannot be used")
	}
	return &rpcClient{url: endpoint, http: client, places: make(chan struct{}, query.MaxCalls)}, nil
}

// rpcCall is one call of a batch and, once it is made, its result or its error.
type rpcCall struct {
	method string
	args   []any
	result any // a pointer, for json.Unmarshal
	err    error
}

// errUnanswered is the err of a call that the answer to a batch lacks.
var errUnanswered = errors.New("the node did not answer this call of a batch")

func (c rpcCall) isUnanswered() bool { return errors.Is(c.err, errUnanswered) }

// isLimited reports whether the node refused the call because there were too many.
func (c rpcCall) isLimited() bool { return c.err != nil && failure(c.err).Reason == core.Limited }

// call makes one call, and decodes its result.
func (c *rpcClient) call(ctx context.Context, result any, method string, args ...any) error {
	asked := c.request(method, args)
	answers, err := c.post(ctx, single, []request{asked})
	if err == nil {
		err = answers[asked.ID].decode(result)
	}
	return asking(method, err)
}

// callBatch makes all calls in one request, and sets their results or errors. It returns an
// error if that is about the request as a whole; calls are then unchanged.
func (c *rpcClient) callBatch(ctx context.Context, calls []rpcCall) error {
	var asked []request
	for _, call := range calls {
		asked = append(asked, c.request(call.method, call.args))
	}
	answers, err := c.post(ctx, batch, asked)
	if err != nil {
		return asking("a batch of "+methodsOf(calls), err)
	}
	for i := range calls {
		answer, answered := answers[asked[i].ID]
		if !answered {
			calls[i].err = errUnanswered
			continue
		}
		calls[i].err = asking(calls[i].method, answer.decode(calls[i].result))
	}
	return nil
}

// methodsOf returns the methods of calls in order, those that follow themselves once.
func methodsOf(calls []rpcCall) string {
	var methods []string
	for _, call := range calls {
		methods = append(methods, call.method)
	}
	return strings.Join(slices.Compact(methods), ", ")
}

// askedError is the error of a call, with the method that was called.
type askedError struct {
	asked string
	err   error
}

// asking returns err, if it is not nil, with what was asked.
func asking(asked string, err error) error {
	if err == nil {
		return nil
	}
	return &askedError{asked: asked, err: err}
}

func (e *askedError) Error() string { return e.err.Error() }

func (e *askedError) Unwrap() error { return e.err }

// form is the form of a body: one message, or a list of them.
type form int

const (
	single form = iota
	batch
)

// request is a JSON-RPC request.
type request struct {
	Version string      `json:"jsonrpc"`
	ID      json.Number `json:"id"`
	Method  string      `json:"method"`
	Params  []any       `json:"params,omitempty"`
}

// request returns a request with an ID of its own.
func (c *rpcClient) request(method string, args []any) request {
	id := strconv.FormatUint(c.lastID.Add(1), 10)
	return request{Version: "2.0", ID: json.Number(id), Method: method, Params: args}
}

// post sends the requests, and returns the answers by ID, as checkAnswer does. A single form
// has one request.
func (c *rpcClient) post(ctx context.Context, sent form, asked []request) (map[json.Number]message, error) {
	var question any = asked
	if sent == single {
		question = asked[0]
	}
	body, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	select {
	case c.places <- struct{}{}:
		defer func() { <-c.places }()
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
		err = statusError(sent, answer, resp.StatusCode, failed)
	} else if err == nil {
		answers, err = checkAnswer(sent, asked, answer)
	}
	if limited, ok := errors.AsType[*core.Error](err); ok && limited.Reason == core.Limited {
		limited.RetryAfter = transport.RetryAfter(resp.Header)
	}
	return answers, err
}

// statusError returns the error of an answer whose status is a failure. That is failed, which stands
// for the status alone, unless the body is a JSON-RPC error that says more.
func statusError(sent form, answer []byte, status int, failed *core.Error) error {
	if status == http.StatusRequestEntityTooLarge {
		failed.Err = fmt.Errorf("%w: %w", failed.Err, errTooLarge)
		return failed
	}
	answers, received, err := parseMessages(answer)
	if err != nil || received == batch || answers[0].Error == nil {
		return failed
	}
	said := answers[0].Error.reason()
	switch {
	case failed.Reason == core.Limited, status == http.StatusUnauthorized:
		return failed
	case said.Reason != core.Rejected, errors.Is(said, errExecution), errors.Is(said, errTooLarge):
		return said
	case sent == batch && (status == http.StatusForbidden || status >= http.StatusInternalServerError):
		// Rejected: some nodes refuse a batch so, and answer its calls one by one.
		return said
	}
	return failed
}

// message is the part of a JSON-RPC response that is read here.
type message struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

// id returns the ID as a number, because some nodes return a number as a text.
func (m message) id() json.Number { return json.Number(bytes.Trim(m.ID, `"`)) }

// decode decodes the result, or returns the error that the message reports.
func (m message) decode(result any) error {
	if m.Error != nil {
		return m.Error.reason()
	}
	if json.Unmarshal(m.Result, result) != nil {
		return errNotJSONRPC
	}
	return nil
}

// parseMessages reads one message or a batch.
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

// checkAnswer returns the messages of an answer by ID. It fails if one of them belongs to none
// of the requests, or if two belong to one; also if the answer is one error, for the only
// request or for a whole batch. Messages may be missing.
func checkAnswer(sent form, asked []request, answer []byte) (map[json.Number]message, error) {
	messages, received, err := parseMessages(answer)
	if err != nil {
		return nil, err
	}
	open := make(map[json.Number]bool, len(asked))
	for _, r := range asked {
		open[r.ID] = true
	}
	if received == single && messages[0].Error != nil {
		// An error about the request as a whole has no ID.
		first := messages[0].id()
		if sent == batch || first == "" || first == "null" || open[first] {
			return nil, messages[0].Error.reason()
		}
	}
	if sent != received {
		return nil, errMismatch
	}
	answers := make(map[json.Number]message, len(messages))
	for _, m := range messages {
		id := m.id()
		if !open[id] {
			return nil, errMismatch
		}
		delete(open, id)
		answers[id] = m
	}
	return answers, nil
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

// failedTo returns why a call failed, as failure does, with what was attempted and, if the call was
// sent, its method.
func failedTo(attempt string, err error) *core.Error {
	failed := failure(err).During(attempt)
	called, is := errors.AsType[*askedError](err)
	if is && !transport.NeverSent(err) {
		failed.Asked = called.asked
	}
	return failed
}

// failure returns why a call failed, without the URL that net/http adds and without the
// node's text.
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
