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

// rpcClient makes calls of JSON-RPC over HTTP (https://www.jsonrpc.org/specification). The text of its errors may
// contain text of the node. Only errors that failure returns may be shown.
type rpcClient struct {
	url  string
	http *http.Client
	// inFlight holds one value for each HTTP request in flight, at most query.MaxCalls. It limits requests, not
	// connections: HTTP/2 carries many requests on one connection.
	inFlight chan struct{}
	lastID   atomic.Uint64
}

// newRPCClient returns a client for a node's endpoint. It fails if url.Parse cannot parse the endpoint.
func newRPCClient(endpoint string, client *http.Client) (*rpcClient, error) {
	if _, err := url.Parse(endpoint); err != nil {
		return nil, errors.New("the endpoint of the chain cannot be used")
	}
	return &rpcClient{url: endpoint, http: client, inFlight: make(chan struct{}, query.MaxCalls)}, nil
}

// rpcCall is a call of one of the node's methods. Making the call sets *result or err.
type rpcCall struct {
	method string
	args   []any
	result any // a pointer, for json.Unmarshal
	err    error
}

// errUnanswered is the error of a call that the node left out of its answer to a batch.
var errUnanswered = errors.New("the node did not answer this call of a batch")

// isUnanswered reports whether the node left the call out of its answer to a batch.
func (c rpcCall) isUnanswered() bool { return errors.Is(c.err, errUnanswered) }

// isLimited reports whether the node refused the call because there were too many calls.
func (c rpcCall) isLimited() bool { return c.err != nil && failure(c.err).Reason == core.Limited }

// lacksBlock reports whether the call failed because the node does not have the block yet.
func (c rpcCall) lacksBlock() bool { return errors.Is(c.err, errUnknownBlock) }

// call makes one call, and decodes its result into result, which is a pointer.
func (c *rpcClient) call(ctx context.Context, result any, method string, args ...any) error {
	sent := c.newRequest(method, args)
	messages, err := c.post(ctx, single, []request{sent})
	if err != nil {
		return err
	}
	// An answer to a single request always has its message.
	return withMethod(method, messages[sent.ID].decode(result))
}

// callBatch makes all calls in one HTTP request, and sets their results or errors. If the HTTP request as a whole
// fails, callBatch returns an error and does not change calls.
func (c *rpcClient) callBatch(ctx context.Context, calls []rpcCall) error {
	var sent []request
	for _, call := range calls {
		sent = append(sent, c.newRequest(call.method, call.args))
	}
	messages, err := c.post(ctx, batch, sent)
	if err != nil {
		return err
	}
	for i := range calls {
		m, isAnswered := messages[sent[i].ID]
		if !isAnswered {
			calls[i].err = errUnanswered
			continue
		}
		calls[i].err = withMethod(calls[i].method, m.decode(calls[i].result))
	}
	return nil
}

// methodError adds to the error of a call the method that was called.
type methodError struct {
	method string // for core.Error.Asked
	err    error
}

// withMethod returns err with the method that was called, or with methodsOf a batch. It returns nil if err is nil.
func withMethod(method string, err error) error {
	if err == nil {
		return nil
	}
	return &methodError{method: method, err: err}
}

func (e *methodError) Error() string { return e.err.Error() }

func (e *methodError) Unwrap() error { return e.err }

// bodyForm is the form of an HTTP body, of a request or an answer.
type bodyForm int

const (
	single bodyForm = iota // one message
	batch                  // a list of messages
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

// methodsOf returns the method of a single body, and "a batch of eth_chainId, eth_call" for a batch. Consecutive calls
// of one method are named once.
func methodsOf(form bodyForm, sent []request) string {
	if form == single {
		return sent[0].Method
	}
	var methods []string
	for _, r := range sent {
		methods = append(methods, r.Method)
	}
	return "a batch of " + strings.Join(slices.Compact(methods), ", ")
}

// post sends requests in one body of this form, and returns the messages of the answer by ID. A single body has exactly
// one request. post blocks until fewer than query.MaxCalls HTTP requests are in flight, and then until the answer is
// read. It fails if ctx is done while it waits, or if exchange fails. Only an error of exchange is a methodError,
// because nothing is sent before.
func (c *rpcClient) post(ctx context.Context, form bodyForm, sent []request) (map[json.Number]message, error) {
	select {
	case c.inFlight <- struct{}{}:
		defer func() { <-c.inFlight }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	messages, err := c.exchange(ctx, form, sent)
	return messages, withMethod(methodsOf(form, sent), err)
}

// exchange is post without the limit of requests in flight. It fails if the HTTP request fails, and as readAnswer does.
func (c *rpcClient) exchange(ctx context.Context, form bodyForm, sent []request) (map[json.Number]message, error) {
	var value any = sent
	if form == single {
		value = sent[0]
	}
	body, err := json.Marshal(value)
	if err != nil {
		return nil, err
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
	messages, err := readAnswer(form, sent, resp)
	if refusal, is := errors.AsType[*core.Error](err); is && refusal.Reason == core.Limited {
		refusal.RetryAfter = transport.RetryAfter(resp.Header)
	}
	return messages, err
}

// readAnswer returns the messages of the answer to requests by ID. It fails if the HTTP status is a failure, if the
// body cannot be read to its end, and as checkAnswer does.
func readAnswer(form bodyForm, sent []request, resp *http.Response) (map[json.Number]message, error) {
	body, readErr := io.ReadAll(resp.Body)
	body = bytes.TrimPrefix(body, rest.ByteOrderMark)
	// A failed status outweighs a body that was cut off.
	byStatus := rest.StatusError(Service, resp)
	if byStatus != nil {
		return nil, statusError(form, body, resp.StatusCode, byStatus)
	}
	if readErr != nil {
		return nil, readErr
	}
	return checkAnswer(form, sent, body)
}

// statusError returns the error of an answer whose HTTP status is a failure. byStatus is the error that the status
// stands for, and form is the form of the request's body.
//
//   - 413 always means errTooLarge.
//   - 401, 402 and 429 outweigh the body.
//   - Some nodes refuse every batch with 403 or 5xx. For a batch, any error in the body outweighs these, even if it is
//     Rejected, so that sendAll makes the calls one by one.
//   - Otherwise, an error in the body outweighs the status only if it says more than Rejected.
func statusError(form bodyForm, body []byte, status int, byStatus *core.Error) error {
	switch status {
	case http.StatusRequestEntityTooLarge:
		byStatus.Err = fmt.Errorf("%w: %w", byStatus.Err, errTooLarge)
		return byStatus
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusTooManyRequests:
		return byStatus
	}
	byBody := singleError(body)
	if byBody == nil {
		return byStatus
	}
	mayRefuseBatches := form == batch && refusesBatches(status)
	if saysMoreThanRejected(byBody) || mayRefuseBatches {
		return byBody
	}
	return byStatus
}

// singleError returns the error in a body that is one message. It returns nil if the body is anything else.
func singleError(body []byte) *core.Error {
	messages, form, err := parseMessages(body)
	if err != nil || form == batch || messages[0].Error == nil {
		return nil
	}
	return messages[0].Error.reason()
}

// saysMoreThanRejected reports whether the error of a body says why the node rejected a request.
func saysMoreThanRejected(byBody *core.Error) bool {
	return byBody.Reason != core.Rejected || errors.Is(byBody, errExecution) || errors.Is(byBody, errTooLarge)
}

// refusesBatches reports whether some nodes refuse every batch with this HTTP status.
func refusesBatches(status int) bool {
	return status == http.StatusForbidden || status >= http.StatusInternalServerError
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

// parseMessages reads the messages in a body, and returns the body's form. A single body has exactly one message.
func parseMessages(body []byte) (messages []message, form bodyForm, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		form = batch
		err = json.Unmarshal(body, &messages)
	} else {
		messages = make([]message, 1)
		err = json.Unmarshal(body, &messages[0])
	}
	if err != nil {
		err = errNotJSONRPC
	}
	return messages, form, err
}

// checkAnswer returns the messages in the body of an answer, by ID. sentForm is the form of the body with the requests.
// In a batch, the answer may lack the messages of some requests.
//
// If the answer is one error about everything that was sent, checkAnswer returns that error. It returns errMismatch if
// a message does not belong to a request, if two messages have the same ID, or if the answer does not have sentForm.
func checkAnswer(sentForm bodyForm, sent []request, body []byte) (map[json.Number]message, error) {
	messages, form, err := parseMessages(body)
	if err != nil {
		return nil, err
	}
	expected := make(map[json.Number]bool, len(sent)) // by ID
	for _, r := range sent {
		expected[r.ID] = true
	}
	if form == single && messages[0].Error != nil {
		id := messages[0].id()
		hasNoID := id == "" || id == "null" // An error about a request that the node could not read has no ID.
		if sentForm == batch || hasNoID || expected[id] {
			return nil, messages[0].Error.reason()
		}
	}
	if form != sentForm {
		return nil, errMismatch
	}
	byID := make(map[json.Number]message, len(messages))
	for _, m := range messages {
		id := m.id()
		if !expected[id] {
			return nil, errMismatch
		}
		delete(expected, id)
		byID[id] = m
	}
	return byID, nil
}

var (
	errNotJSONRPC = malformed("the answer is not JSON-RPC")
	errMismatch   = malformed("the answer is not to what was asked")
)

// malformed returns the error of an answer that does not have the expected form.
func malformed(problem string) *core.Error {
	return Service.Fail(core.Malformed, errors.New(problem))
}

// during returns the *core.Error of an attempt that failed with err, as failure does. attempt names what was asked,
// such as "total supply". If the call was sent, the error names its method.
func during(attempt string, err error) *core.Error {
	failed := failure(err).During(attempt)
	called, is := errors.AsType[*methodError](err)
	if is && !transport.NeverSent(err) {
		failed.Asked = called.method
	}
	return failed
}

// failure returns the *core.Error of a call that failed with err. Its text contains neither the URL that net/http adds
// nor text of the node.
func failure(err error) *core.Error {
	if known, is := errors.AsType[*core.Error](err); is {
		return known
	}
	_, isTransport := errors.AsType[*transport.Error](err)
	if isTransport || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return rest.CallError(Service, err)
	}
	return errNotJSONRPC
}
