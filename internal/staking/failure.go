package staking

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"herald/internal/core"
	"herald/internal/transport"
)

// malformed is an answer that is none, in our words.
type malformed string

func (m malformed) Error() string { return string(m) }

const (
	errNotJSONRPC = malformed("the answer is not JSON-RPC")
	errEnvelope   = malformed("the answer is not to what was asked")
	errNotBlock   = malformed("the block number is impossible")
)

var errReverted = errors.New("the pool reverted the call")

// errUnfit tells that a way of reading the pools does not work with this node,
// and the next is to be tried. It never leaves the package.
var errUnfit = errors.New("this way of reading does not work here")

// statusError is an HTTP status outside 2xx.
type statusError struct {
	status     int
	retryAfter time.Duration
}

func (e *statusError) Error() string { return fmt.Sprintf("HTTP status %d", e.status) }

func (e *statusError) reason() core.Reason {
	switch {
	case e.status == http.StatusTooManyRequests:
		return core.Limited
	case e.status == http.StatusUnauthorized, e.status == http.StatusForbidden:
		return core.Denied
	case e.status >= 500:
		return core.Unreachable
	default:
		return core.Rejected
	}
}

// codeError is a JSON-RPC error without its text.
type codeError struct{ code int }

func (e *codeError) Error() string { return fmt.Sprintf("JSON-RPC error %d", e.code) }

func (e *codeError) ErrorCode() int { return e.code }

func (e *codeError) reason() core.Reason {
	switch e.code {
	case -32005, // https://eips.ethereum.org/EIPS/eip-1474#error-codes
		429: // https://www.alchemy.com/docs/reference/throughput
		return core.Limited
	default:
		return core.Rejected
	}
}

type wrongChainError struct {
	got  *big.Int
	want uint64
}

func (e *wrongChainError) Error() string {
	return fmt.Sprintf("the node is of chain %d, but chain %d is configured", e.got, e.want)
}

type lagError struct{ behind uint64 }

func (e *lagError) Error() string {
	return fmt.Sprintf("the node lags %d blocks behind what was seen before", e.behind)
}

// failure turns every error into what a source fails with. Its text is ours,
// or that of the network; never the node's.
func failure(attempt string, err error) *core.Error {
	f := classify(err)
	f.Service = core.Chain
	f.Err = fmt.Errorf("%s: %w", attempt, f.Err)
	return f
}

// reason is why err is a failure.
func reason(err error) core.Reason { return classify(err).Reason }

// classify takes the known error out of what go-ethereum and net/http put around
// it, among others the URL.
func classify(err error) *core.Error {
	var (
		status     *statusError
		code       rpc.Error
		text       malformed
		wrongChain *wrongChainError
		lag        *lagError
		broken     *transport.Error
	)
	switch {
	case errors.As(err, &status):
		return &core.Error{Reason: status.reason(), RetryAfter: status.retryAfter, Err: status}
	case errors.As(err, &code):
		bare := &codeError{code.ErrorCode()}
		return &core.Error{Reason: bare.reason(), Err: bare}
	case errors.Is(err, errReverted):
		return &core.Error{Reason: core.Rejected, Err: errReverted}
	case errors.As(err, &text):
		return &core.Error{Reason: core.Malformed, Err: text}
	case errors.As(err, &wrongChain):
		return &core.Error{Reason: core.Malformed, Err: wrongChain}
	case errors.As(err, &lag):
		return &core.Error{Reason: core.Malformed, Err: lag}
	case errors.Is(err, transport.ErrBodyTooLarge):
		return &core.Error{Reason: core.Malformed, Err: transport.ErrBodyTooLarge}
	case errors.Is(err, transport.ErrRedirect):
		return &core.Error{Reason: core.Malformed, Err: transport.ErrRedirect}
	case errors.Is(err, context.DeadlineExceeded):
		return &core.Error{Reason: core.SlowAnswer, Err: context.DeadlineExceeded}
	case errors.Is(err, context.Canceled):
		return &core.Error{Reason: core.Unreachable, Err: context.Canceled}
	case errors.As(err, &broken):
		return &core.Error{Reason: core.Unreachable, Err: broken}
	default: // what is left are results that go-ethereum could not decode
		return &core.Error{Reason: core.Malformed, Err: errNotJSONRPC}
	}
}
