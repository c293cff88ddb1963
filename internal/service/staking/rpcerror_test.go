package staking

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"herald/internal/core"
)

// errorObjects are error objects of nodes and their providers, with the reason that each stands for.
var errorObjects = map[string]core.Reason{
	`{"code":-32005,"message":"limit exceeded"}`:                                              core.Limited,
	`{"code":-32007,"message":"50 a second are allowed"}`:                                     core.Limited,
	`{"code":-32012,"message":"credits"}`:                                                     core.Limited,
	`{"code":-32016,"message":"over it"}`:                                                     core.Limited,
	`{"code":-32029,"message":"later"}`:                                                       core.Limited,
	`{"code":-32090,"message":"retry in 10s"}`:                                                core.Limited,
	`{"code":-32097,"message":"the plan"}`:                                                    core.Limited,
	`{"code":429,"message":"compute units"}`:                                                  core.Limited,
	`{"code":"-32007","message":"a code as text"}`:                                            core.Limited,
	`{"code":-32000,"message":"429 from upstream"}`:                                           core.Limited,
	`{"code":-32000,"message":"rate limited"}`:                                                core.Limited,
	`{"code":-32603,"message":"Request rate exceeded"}`:                                       core.Limited,
	`{"code":-32000,"message":"Too many requests"}`:                                           core.Limited,
	`{"code":-32000,"message":"over the capacity of your plan"}`:                              core.Limited,
	`{"code":-32000,"message":"daily quota reached"}`:                                         core.Limited,
	`{"message":"10 requests per second"}`:                                                    core.Limited,
	`"rate limit"`:                                                                            core.Limited,
	`{"code":-32000,"message":"header not found"}`:                                            core.Unreachable,
	`{"code":-32000,"message":"missing trie node 7c1d (path ) state 0x429 is not available"}`: core.Unreachable,
	`{"code":-32000,"message":"cannot query unfinalized data"}`:                               core.Unreachable,
	`{"code":-32001,"message":"No state available for block 7"}`:                              core.Unreachable,
	`{"code":-32000,"message":"block is out of range"}`:                                       core.Unreachable,
	`{"code":-32001,"message":"Block not found: 1000"}`:                                       core.Unreachable,
	`{"code":-32600,"message":"batch rate limit exceeded"}`:                                   core.Limited,
	`{"code":3,"message":"block not found"}`:                                                  core.Rejected,
	`{"code":-32000,"message":"request too large"}`:                                           core.Rejected,
	`{"code":3,"message":"execution reverted: too many requests"}`:                            core.Rejected,
	`{"code":-32000,"message":"execution reverted: rate"}`:                                    core.Rejected,
	`{"code":-32600,"message":"too many calls in the batch"}`:                                 core.Rejected,
	`{"code":-32000,"message":"the batch is above the capacity"}`:                             core.Rejected,
	`{"code":-32601,"message":"the method does not exist"}`:                                   core.Rejected,
	`{"code":31,"message":"your plan allows 3 at a time"}`:                                    core.Rejected,
	`{"code":-32000,"message":"cannot generate it: block 14291 of 42900"}`:                    core.Rejected,
}

func TestEveryErrorOfANodeHasItsReason(t *testing.T) {
	for text, want := range errorObjects {
		var e rpcError
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := e.reason(); got.Reason != want || strings.Contains(got.Error(), "rate") {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
}

// failWith returns a node.respond that answers each request with this status and error object.
func failWith(status int, object string) func(http.ResponseWriter, []byte) {
	return func(w http.ResponseWriter, correct []byte) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, idIn(correct), object)
	}
}

var anyID = regexp.MustCompile(`"id":(\d+)`)

// idIn returns the ID of a single answer, and null for a batch.
func idIn(correct []byte) string {
	found := anyID.FindSubmatch(correct)
	if found == nil || correct[0] == '[' {
		return "null"
	}
	return string(found[1])
}

func TestALimitCostsOneRequestAndKeepsMulticall(t *testing.T) {
	t.Parallel() // The client waits before it retries.
	for object, reason := range errorObjects {
		if reason == core.Limited {
			wantOneRequest(t, failWith(http.StatusOK, object), core.Limited)
		}
	}
	for _, status := range []int{http.StatusForbidden, http.StatusInternalServerError} {
		wantOneRequest(t, failWith(status, `{"code":-32007,"message":"50 a second are allowed"}`), core.Limited)
	}
}

// wantOneRequest fails the test unless the client makes only one request for 52 wallets and one for another wallet. The
// node refuses both, for this reason. After that, the client must still use Multicall3.
func wantOneRequest(t *testing.T, respond func(http.ResponseWriter, []byte), reason core.Reason) {
	t.Helper()
	node, pools := countingNode(t)
	node.respond = respond
	c := newClient(t, node, pools)
	for _, a := range stakesOf(t.Context(), t, c, 52) {
		wantReason(t, a.Err, reason)
	}
	_, err := c.Stakes.Fetch(t.Context(), ann)
	refused := wantReason(t, err, reason)
	if node.trips != 2 || !c.usesMulticall() {
		t.Errorf("%v: %d round trips, want 2; Multicall3 in use: %t", refused, node.trips, c.usesMulticall())
	}
}

func TestAnUnknownRefusalKeepsMulticall(t *testing.T) {
	for object, reason := range errorObjects {
		var e rpcError
		_ = json.Unmarshal([]byte(object), &e)
		if reason != core.Rejected || errors.Is(e.reason(), errExecution) || errors.Is(e.reason(), errTooLarge) {
			continue
		}
		wantOneRequest(t, failWith(http.StatusOK, object), core.Rejected)
	}
}

// The first eight pools are read. The node limits the other calls, and may leave some of them unanswered.
func TestCallsThatABatchLimitsAreNotMadeOneByOne(t *testing.T) {
	for name, answered := range map[string]int{"all answered": singleCalls, "half answered": 30} {
		n, c := stakersWithoutMulticall(t)
		n.respond = onBatches(func(w http.ResponseWriter, answers []map[string]any) {
			for _, limited := range answers[stakesIndex+8:] {
				delete(limited, "result")
				limited["error"] = nodeError(-32007)
			}
			writeJSON(w, answers[:answered])
		})
		stake, err := c.Stakes.Fetch(t.Context(), ann)
		if err != nil || n.trips != batchTrips || stake.Checked != 8 || stake.StakerStatus() != core.Undetermined {
			t.Errorf("%s: %d round trips, %d pools, %v", name, n.trips, stake.Checked, err)
		}
		for _, unread := range stake.Failed {
			wantReason(t, unread.Err, core.Limited)
		}
	}
}

const (
	// refusal has a code that only one provider uses.
	refusal = `{"code":31,"message":"your plan allows 3 at a time"}`
	// refusalAsText has its code as a text, as some nodes send it.
	refusalAsText = `{"code":"-32600","message":"no batch"}`
)

// refuseBatches makes the node answer batches with this status and error object.
func (n *node) refuseBatches(status int, object string) {
	fail := failWith(status, object)
	n.respond = onBatches(func(w http.ResponseWriter, _ []map[string]any) { fail(w, []byte("[]")) })
}

func TestCallsOfARefusedBatchAreMadeOneByOne(t *testing.T) {
	for _, test := range []struct {
		status int
		object string
	}{
		{http.StatusOK, refusal},
		{http.StatusOK, refusalAsText},
		{http.StatusOK, `"no batch"`},
		{http.StatusBadRequest, refusal},
		{http.StatusForbidden, refusal},
		{http.StatusForbidden, refusalAsText},
		{http.StatusRequestEntityTooLarge, refusal},
		{http.StatusInternalServerError, refusal},
		{http.StatusInternalServerError, refusalAsText},
	} {
		n, c := stakersWithoutMulticall(t)
		n.refuseBatches(test.status, test.object)
		if got := n.tripsOf(func() { wantStaker(t, c) }); got != oneByOneTrips {
			t.Errorf("%d %s: %d round trips, want %d", test.status, test.object, got, oneByOneTrips)
		}
	}
}

func TestABatchWithALimitOrADeniedKeyIsNotRetried(t *testing.T) {
	for _, test := range []struct {
		status int
		object string
		want   core.Reason
	}{
		{http.StatusTooManyRequests, refusal, core.Limited},
		{http.StatusTooManyRequests, `{"code":-32000,"message":"gas limit of a second"}`, core.Limited},
		{http.StatusPaymentRequired, refusal, core.Limited},
		{http.StatusUnauthorized, refusal, core.Denied},
	} {
		n, c := stakersWithoutMulticall(t)
		n.refuseBatches(test.status, test.object)
		_, err := c.Stakes.Fetch(t.Context(), ann)
		wantReason(t, err, test.want)
		if n.trips != batchTrips {
			t.Errorf("%d %s: %d round trips, want %d", test.status, test.object, n.trips, batchTrips)
		}
	}
}

func TestAnErrorPageIsJudgedByItsStatus(t *testing.T) {
	for status, want := range map[int]core.Reason{
		500: core.Unreachable,
		403: core.Denied,
		429: core.Limited,
	} {
		n, c := stakersWithoutMulticall(t)
		n.respond = onBatches(func(w http.ResponseWriter, _ []map[string]any) {
			w.WriteHeader(status)
			io.WriteString(w, "<html>spoiled</html>")
		})
		_, err := c.Stakes.Fetch(t.Context(), ann)
		wantReason(t, err, want)
		if n.trips != batchTrips {
			t.Errorf("%d: %d round trips, want %d", status, n.trips, batchTrips)
		}
	}
}

func TestASingleCallThatIsForbiddenIsDenied(t *testing.T) {
	n, c := stakersWithoutMulticall(t)
	n.respond = failWith(http.StatusForbidden, `{"code":-32000,"message":"no such key"}`)
	_, err := c.Stakes.Fetch(t.Context(), ann)
	wantReason(t, err, core.Denied)
}

func TestALimitKeepsRetryAfter(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusForbidden, http.StatusTooManyRequests} {
		n, c := stakersWithoutMulticall(t)
		fail := failWith(status, `{"code":-32007,"message":"spoiled"}`)
		n.respond = func(w http.ResponseWriter, correct []byte) {
			w.Header().Set("Retry-After", "7")
			fail(w, correct)
		}
		_, err := c.Stakes.Fetch(t.Context(), ann)
		if got := wantReason(t, err, core.Limited).RetryAfter; got.Seconds() != 7 {
			t.Errorf("%d: %v, want 7s", status, got)
		}
	}
}

var shortQuantity = regexp.MustCompile(`"0x([0-9a-f]{1,12})"`)

func TestUnusualFormsOfAnAnswerAreRead(t *testing.T) {
	for name, change := range map[string]func(correct string) string{
		"leading zeros": func(correct string) string {
			padded := shortQuantity.ReplaceAllString(correct, `"0x000$1"`)
			return strings.ReplaceAll(padded, "0x00060806040", "0x60806040") // A contract's code has no padding.
		},
		"IDs as texts": func(correct string) string {
			return anyID.ReplaceAllString(correct, `"id":"$1"`)
		},
	} {
		inEveryWay(t, func(t *testing.T, _ contracts, n *node, c *Client) {
			n.respond = func(w http.ResponseWriter, correct []byte) {
				io.WriteString(w, change(string(correct)))
			}
			wantStaker(t, c)
			found, err := c.Probe(t.Context(), "")
			if err != nil || found.ChainID.Int64() != testChain || found.Block != n.Block() {
				t.Errorf("%s: %+v, %v", name, found, err)
			}
		})
	}
}

func TestAQuantityIsHexadecimal(t *testing.T) {
	for text, want := range map[string]int64{
		"0x0":        0,
		"0x00":       0,
		"0x0012d687": 1_234_567,
		"0x02ba":     698,
	} {
		var q quantity
		if err := q.UnmarshalText([]byte(text)); err != nil || q.toInt().Int64() != want {
			t.Errorf("%q: %d, %v, want %d", text, q.toInt(), err, want)
		}
	}
	for _, text := range []string{"", "0x", "12", "0x-1", "0x1_0", "0xg"} {
		var q quantity
		if err := q.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: %d, want an error", text, q.toInt())
		}
	}
}

// A request for 52 wallets may be too large for a proxy in front of the node.
func TestARequestThatIsTooLargeIsHalved(t *testing.T) {
	for name, refuse := range map[string]func(w http.ResponseWriter){
		"status 413": func(w http.ResponseWriter) { w.WriteHeader(http.StatusRequestEntityTooLarge) },
		"an error": func(w http.ResponseWriter) {
			io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"request too large"}}`)
		},
	} {
		node, pools := countingNode(t)
		node.respond = func(w http.ResponseWriter, correct []byte) {
			if len(correct) > 26*21*600 { // 600 bytes for each pool of 26 wallets
				refuse(w)
				return
			}
			w.Write(correct)
		}
		c := newClient(t, node, pools)
		wantStakes(t, c, 52)
		if node.trips != 3 || !c.usesMulticall() {
			t.Errorf("%s: %d round trips, want 3; Multicall3 in use: %t", name, node.trips, c.usesMulticall())
		}
	}
}

// missingStates returns the errorObjects about a block that a node does not have yet.
func missingStates() (objects []string) {
	for object, reason := range errorObjects {
		if reason == core.Unreachable {
			objects = append(objects, object)
		}
	}
	slices.Sort(objects)
	return objects
}
