package sandbox_test

import (
	"context"
	"errors"
	"math/big"
	"net/http"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/shopspring/decimal"

	"herald/internal/sandbox"
	"herald/internal/sandbox/sandboxtest"
)

func dial(t *testing.T, s *sandbox.Sandbox) *rpc.Client {
	t.Helper()
	client, err := rpc.DialOptions(t.Context(), s.Chain.URL(), rpc.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func ethCall(ctx context.Context, client *rpc.Client, to common.Address, data []byte) ([]byte, error) {
	var output hexutil.Bytes
	err := client.CallContext(ctx, &output, "eth_call", map[string]any{"to": to, "input": hexutil.Bytes(data)}, "latest")
	return output, err
}

func unpack(t *testing.T, method string, output []byte) any {
	t.Helper()
	values, err := sandboxtest.Contracts(t).Unpack(method, output)
	if err != nil {
		t.Fatalf("unpack %s: %v", method, err)
	}
	return values[0]
}

func units(tokens decimal.Decimal) *big.Int { return tokens.Shift(sandbox.Decimals).BigInt() }

func stakedIn(w sandbox.World, pool common.Address) *big.Int {
	for _, staked := range w.Staked {
		if staked.Pool.Address == pool {
			return units(staked.Amount)
		}
	}
	return new(big.Int)
}

func TestChainTellsItsIDAndBlock(t *testing.T) {
	s := start(t)
	client := dial(t, s)
	var id, block hexutil.Uint64
	var header struct{ Number, Timestamp hexutil.Uint64 }
	batch := []rpc.BatchElem{
		{Method: "eth_chainId", Result: &id},
		{Method: "eth_blockNumber", Result: &block},
		{Method: "eth_getBlockByNumber", Args: []any{"latest", false}, Result: &header},
	}
	if err := client.BatchCallContext(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	for _, call := range batch {
		if call.Error != nil {
			t.Errorf("%s: %v", call.Method, call.Error)
		}
	}
	if id != sandbox.ChainID || block == 0 || header.Number < block || header.Timestamp == 0 {
		t.Errorf("id %d, block %d, header %+v", id, block, header)
	}
	var future *struct{}
	if err := client.CallContext(t.Context(), &future, "eth_getBlockByNumber", block+1000, false); err != nil || future != nil {
		t.Errorf("a future block: %v, %v", future, err)
	}
}

func TestPoolsTellStakesOneByOne(t *testing.T) {
	s := start(t)
	client := dial(t, s)
	for _, pool := range s.World.Pools {
		for wallet, want := range map[common.Address]*big.Int{s.World.Staker: stakedIn(s.World, pool.Address), s.World.Idle: {}} {
			output, err := ethCall(t.Context(), client, pool.Address, sandboxtest.Pack(t, "currentStake", wallet))
			if err != nil {
				t.Fatal(err)
			}
			if got := unpack(t, "currentStake", output).(*big.Int); got.Cmp(want) != 0 {
				t.Errorf("%s: %v, want %v", pool.Name, got, want)
			}
		}
	}
}

func TestPoolsTellWithdrawals(t *testing.T) {
	s := start(t)
	client := dial(t, s)
	got := map[common.Address]*big.Int{}
	for _, pool := range s.World.Pools {
		output, err := ethCall(t.Context(), client, pool.Address, sandboxtest.Pack(t, "pendingWithdrawals", s.World.Staker))
		if err != nil {
			t.Fatal(err)
		}
		var entries []struct{ Amount, Block *big.Int }
		if err := sandboxtest.Contracts(t).UnpackIntoInterface(&entries, "pendingWithdrawals", output); err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if got[pool.Address] == nil {
				got[pool.Address] = new(big.Int)
			}
			got[pool.Address].Add(got[pool.Address], entry.Amount)
		}
	}
	if len(got) != len(s.World.Unbonding) {
		t.Errorf("withdrawals from %d pools, want %d", len(got), len(s.World.Unbonding))
	}
	for _, want := range s.World.Unbonding {
		if sum := got[want.Pool.Address]; sum == nil || sum.Cmp(units(want.Amount)) != 0 {
			t.Errorf("%s: %v, want %v", want.Pool.Name, sum, want.Amount)
		}
	}
}

func TestMulticallReadsAllPoolsAtOnce(t *testing.T) {
	s := start(t)
	nowhere := common.HexToAddress("0x01")
	calls := []sandboxtest.Call3{
		{Target: sandbox.MulticallAddress, AllowFailure: false, CallData: sandboxtest.Pack(t, "getChainId")},
		{Target: sandbox.MulticallAddress, AllowFailure: false, CallData: sandboxtest.Pack(t, "getBlockNumber")},
		{Target: sandbox.MulticallAddress, AllowFailure: false, CallData: sandboxtest.Pack(t, "getCurrentBlockTimestamp")},
		{Target: nowhere, AllowFailure: true, CallData: sandboxtest.Pack(t, "currentStake", s.World.Staker)},
		{Target: s.World.Pools[0].Address, AllowFailure: true, CallData: []byte{1, 2, 3, 4}},
	}
	own := len(calls)
	for _, pool := range s.World.Pools {
		calls = append(calls, sandboxtest.Call3{Target: pool.Address, AllowFailure: true, CallData: sandboxtest.Pack(t, "currentStake", s.World.Staker)})
	}
	output, err := ethCall(t.Context(), dial(t, s), sandbox.MulticallAddress, sandboxtest.Pack(t, "aggregate3", calls))
	if err != nil {
		t.Fatal(err)
	}
	var results []struct {
		Success    bool
		ReturnData []byte
	}
	if err := sandboxtest.Contracts(t).UnpackIntoInterface(&results, "aggregate3", output); err != nil {
		t.Fatal(err)
	}
	if len(results) != len(calls) {
		t.Fatalf("%d results of %d calls", len(results), len(calls))
	}
	if got := unpack(t, "getChainId", results[0].ReturnData).(*big.Int); got.Int64() != sandbox.ChainID {
		t.Errorf("chain id %v", got)
	}
	for i, method := range []string{"getBlockNumber", "getCurrentBlockTimestamp"} {
		if got := unpack(t, method, results[1+i].ReturnData).(*big.Int); got.Sign() <= 0 {
			t.Errorf("%s: %v", method, got)
		}
	}
	if nowhere := results[3]; !nowhere.Success || len(nowhere.ReturnData) != 0 {
		t.Errorf("an address without code: %+v, want success without data", nowhere)
	}
	if results[4].Success {
		t.Error("a pool answers a method it does not have")
	}
	for i, pool := range s.World.Pools {
		got := unpack(t, "currentStake", results[own+i].ReturnData).(*big.Int)
		if got.Cmp(stakedIn(s.World, pool.Address)) != 0 {
			t.Errorf("%s: %v", pool.Name, got)
		}
	}
}

func TestMulticallRevertsWhereFailureIsNotAllowed(t *testing.T) {
	s := start(t)
	calls := []sandboxtest.Call3{{Target: s.World.Pools[0].Address, CallData: []byte{1, 2, 3, 4}}}
	_, err := ethCall(t.Context(), dial(t, s), sandbox.MulticallAddress, sandboxtest.Pack(t, "aggregate3", calls))
	var coded rpc.DataError
	if !errors.As(err, &coded) || !strings.Contains(err.Error(), "Multicall3: call failed") {
		t.Fatalf("got %v", err)
	}
	reason, unpackErr := abi.UnpackRevert(hexutil.MustDecode(coded.ErrorData().(string)))
	if unpackErr != nil || reason != "Multicall3: call failed" {
		t.Errorf("revert data holds %q, %v", reason, unpackErr)
	}
}

func TestCodeStandsAtContractsAlone(t *testing.T) {
	s := start(t)
	client := dial(t, s)
	for at, deployed := range map[common.Address]bool{
		s.World.Pools[20].Address: true, sandbox.MulticallAddress: true, s.World.Staker: false,
	} {
		var code hexutil.Bytes
		if err := client.CallContext(t.Context(), &code, "eth_getCode", at, "latest"); err != nil || (len(code) > 0) != deployed {
			t.Errorf("%s: code %s, %v", at, code, err)
		}
	}
	if output, err := ethCall(t.Context(), client, s.World.Idle, sandboxtest.Pack(t, "currentStake", s.World.Staker)); err != nil || len(output) != 0 {
		t.Errorf("a call to a wallet: %x, %v", output, err)
	}
}

func TestChainRefusesWhatIsNoCall(t *testing.T) {
	s := start(t)
	for body, code := range map[string]string{
		`{`:   "-32700",
		`[]`:  "-32600",
		`[1]`: "-32600",
		`1`:   "-32600",
		`{"jsonrpc":"1.0","id":1,"method":"eth_chainId"}`:                       "-32600",
		`{"jsonrpc":"2.0","id":1,"method":"eth_sign"}`:                          "-32601",
		`{"jsonrpc":"2.0","id":1,"method":"eth_call"}`:                          "-32602",
		`{"jsonrpc":"2.0","id":1,"method":"eth_getCode","params":["0x12"]}`:     "-32602",
		`{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":[7]}`: "-32602",
	} {
		got, err := sandboxtest.Send(t.Context(), http.MethodPost, s.Chain.URL(), nil, body)
		if err != nil || !strings.Contains(got.Body, `"code":`+code+`,`) {
			t.Errorf("%s: got %s, %v; want code %s", body, got.Body, err, code)
		}
	}
}

func TestChainDoesNotAnswerNotifications(t *testing.T) {
	s := start(t)
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","method":"eth_chainId"}`:                                                     "",
		`[{"jsonrpc":"2.0","method":"eth_chainId"},{"jsonrpc":"2.0","id":"a","method":"eth_chainId"}]`: `[{"jsonrpc":"2.0","id":"a","result":"0x67932"}]`,
	} {
		got, err := sandboxtest.Send(t.Context(), http.MethodPost, s.Chain.URL(), nil, body)
		if err != nil || got.Body != want {
			t.Errorf("%s: got %q, %v; want %q", body, got.Body, err, want)
		}
	}
}
