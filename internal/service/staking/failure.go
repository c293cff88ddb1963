package staking

import (
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/rpc"

	"herald/internal/core"
	"herald/internal/service/rest"
	"herald/internal/transport"
)

var (
	errNotJSONRPC = malformed("the answer is not JSON-RPC")
	errMismatch   = malformed("the answer is not to what was asked")
	errNotBlock   = malformed("the block number is impossible")
	errNotTime    = malformed("the block's time is impossible")
	errReverted   = Service.Fail(core.Rejected, errors.New("the pool reverted the call"))
)

// errUnfit means that a way of reading the pools does not work with this node,
// and the next is to be tried. It never leaves the package.
var errUnfit = errors.New("this way of reading does not work here")

func malformed(problem string) *core.Error {
	return Service.Fail(core.Malformed, errors.New(problem))
}

func behind(problem string) *core.Error {
	return Service.Fail(core.Behind, errors.New(problem))
}

// codeError is a JSON-RPC error, without its text.
func codeError(code int) *core.Error {
	failed := Service.Fail(core.Rejected, fmt.Errorf("JSON-RPC error %d", code))
	switch code {
	case -32005, // https://eips.ethereum.org/EIPS/eip-1474#error-codes
		429: // https://www.alchemy.com/docs/reference/throughput
		failed.Reason = core.Limited
	}
	return failed
}

// failure is why a call failed, taken out of what go-ethereum and net/http put
// around it, among others the URL. Its text is ours, or that of the network;
// never the node's.
func failure(err error) *core.Error {
	if known, ok := errors.AsType[*core.Error](err); ok {
		return known
	}
	if refusal, ok := errors.AsType[rpc.Error](err); ok {
		return codeError(refusal.ErrorCode())
	}
	_, broken := errors.AsType[*transport.Error](err)
	if broken || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return rest.CallError(Service, err)
	}
	return errNotJSONRPC // what is left are results that go-ethereum could not decode
}
