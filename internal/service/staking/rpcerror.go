package staking

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"herald/internal/core"
)

// rpcError is the error in a JSON-RPC answer (https://www.jsonrpc.org/specification#error_object). Nodes and their
// providers choose most codes and texts.
type rpcError struct {
	Code    errorCode `json:"code"`
	Message string    `json:"message"`
}

// UnmarshalJSON also accepts a text in place of the object, as the Message.
func (e *rpcError) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &e.Message)
	}
	type object rpcError
	return json.Unmarshal(data, (*object)(e))
}

// errorCode is the code of an rpcError. It is 0 if the code is missing or not a number.
type errorCode int

// UnmarshalJSON also accepts a number in a text.
func (c *errorCode) UnmarshalJSON(data []byte) error {
	text := string(data)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	n, _ := strconv.Atoi(text)
	*c = errorCode(n)
	return nil
}

var (
	// errUnknownBlock is Unreachable so that query retries the call. Behind a load balancer, one node may report a block
	// that another node does not have yet.
	errUnknownBlock = Service.Fail(core.Unreachable, errors.New("the node does not have the block"))
	// errExecution means that the node executed a call, and that the code failed.
	errExecution = errors.New("the call failed when it was executed")
	// errTooLarge means that the node refuses a request, or its answer, because of its size.
	errTooLarge = errors.New("the request or its answer is too large")
)

// executionReverted is the code of a reverted call
// (https://github.com/ethereum/execution-apis/blob/main/src/eth/execute.yaml).
const executionReverted = 3

// limitCodes are codes for too many calls in a time. Only the first is standard; providers chose the others. Most come
// with HTTP status 200.
var limitCodes = []errorCode{
	-32005, // https://eips.ethereum.org/EIPS/eip-1474#error-codes
	429,    // https://www.alchemy.com/docs/reference/throughput
	-32007, // https://www.quicknode.com/docs/error-references
	-32012,
	-32016,
	-32029,
	-32090,
	-32097,
}

// The texts of errors. Nodes send them with codes of all kinds.
var (
	executionText = regexp.MustCompile(`(?i)revert|out of gas|gas required|gas limit|opcode|` +
		`vm execution|execution (timeout|aborted|failed|error)`)
	// missingText is about a block, or its state, that the node does not have yet.
	missingText = regexp.MustCompile(`(?i)(header|block) not found|unknown block|missing trie node|` +
		`cannot query unfinalized data|no state available|block is out of range`)
	// limitText is about too many calls in a time.
	limitText = regexp.MustCompile(`(?i)\b429\b|\brate|quota|per (second|minute|day)`)
	// crowdText is about too many calls: in one batch if batchText also matches, and otherwise in a time.
	crowdText = regexp.MustCompile(`(?i)too many|capacity|throughput`)
	batchText = regexp.MustCompile(`(?i)batch`)
	sizeText  = regexp.MustCompile(`(?i)too (large|big|long)|oversized`)
)

// reason returns the error that e stands for, without the node's text. Its Reason is
//
//   - Limited for too many calls in a time,
//   - Unreachable for a block that the node does not have,
//   - Rejected otherwise, and then it wraps errExecution or errTooLarge if that is the cause.
func (e *rpcError) reason() *core.Error {
	failed := Service.Fail(core.Rejected, fmt.Errorf("JSON-RPC error %d", e.Code))
	isCrowded := e.says(crowdText) && !e.says(batchText)
	switch {
	case slices.Contains(limitCodes, e.Code):
		failed.Reason = core.Limited
	case e.Code == executionReverted, e.says(executionText):
		// This case comes before the cases of other texts, because a contract chooses the text of its revert.
		failed.Err = fmt.Errorf("%w: %w", failed.Err, errExecution)
	case e.says(missingText):
		return errUnknownBlock
	case e.says(limitText), isCrowded:
		failed.Reason = core.Limited
	case e.says(sizeText):
		failed.Err = fmt.Errorf("%w: %w", failed.Err, errTooLarge)
	}
	return failed
}

// says reports whether the error's message matches text.
func (e *rpcError) says(text *regexp.Regexp) bool { return text.MatchString(e.Message) }
