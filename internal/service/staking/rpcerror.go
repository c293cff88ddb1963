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

// rpcError is the error of a JSON-RPC answer (https://www.jsonrpc.org/specification#error_object).
// Nodes and their providers choose most codes and texts themselves.
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

// errorCode is the code of an rpcError; 0 if there is none, or none that is a number.
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

// errUnknownBlock is Unreachable so that core repeats the call: behind a load balancer, one node
// names a block that another does not have yet.
var errUnknownBlock = Service.Fail(core.Unreachable, errors.New("the node does not have the block"))

// errExecution means that the node executed a call, and that the code failed.
var errExecution = errors.New("the call failed when it was executed")

// limitCodes are codes for too many calls. All but the last are the providers' own, and come with
// status 200.
var limitCodes = []errorCode{
	429,    // https://www.alchemy.com/docs/reference/throughput
	-32007, // https://www.quicknode.com/docs/error-references
	-32012,
	-32016,
	-32029,
	-32090,
	-32097,
	-32005, // https://eips.ethereum.org/EIPS/eip-1474#error-codes
}

// These match the texts of errors, which nodes send with codes of all kinds.
var (
	// missingBlock is about a block or state that the node does not have yet, or not any more.
	missingBlock = regexp.MustCompile(`(?i)(header|block) not found|unknown block|missing trie node|` +
		`cannot query unfinalized data|no state available|block is out of range`)
	// failedExecution is about the code that was executed. It comes before limitText, because a
	// contract chooses the text of its revert.
	failedExecution = regexp.MustCompile(`(?i)revert|out of gas|gas required|gas limit|opcode|` +
		`vm execution|execution (timeout|aborted|failed|error)`)
	// limitText is about too many calls in a time, in contrast to too many in a batch.
	limitText = regexp.MustCompile(`(?i)\b429\b|\brate|too many|capacity|quota|throughput|per (second|minute|day)`)
	batchText = regexp.MustCompile(`(?i)batch`)
)

// executionReverted is the code of a reverted call
// (https://github.com/ethereum/execution-apis/blob/main/src/eth/execute.yaml).
const executionReverted = 3

// reason returns the error that e stands for, without the node's text. An error that is not known
// is Rejected.
func (e *rpcError) reason() *core.Error {
	failed := Service.Fail(core.Rejected, fmt.Errorf("JSON-RPC error %d", e.Code))
	switch {
	case slices.Contains(limitCodes, e.Code):
		failed.Reason = core.Limited
	case missingBlock.MatchString(e.Message):
		return errUnknownBlock
	case e.Code == executionReverted, failedExecution.MatchString(e.Message):
		failed.Err = fmt.Errorf("%w: %w", failed.Err, errExecution)
	case limitText.MatchString(e.Message) && !batchText.MatchString(e.Message):
		failed.Reason = core.Limited
	}
	return failed
}
