package services

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/service/staking/evmabi"
)

// ask makes one request, in memory.
func ask(h http.Handler, method, path string, header http.Header, body string) (status int, answer string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header = header
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestTheWorldIsPossible(t *testing.T) {
	w := New().World
	for i, login := range w.Logins {
		age := time.Since(login.At)
		if age < 0 || age > 30*24*time.Hour || i > 0 && login.At.After(w.Logins[i-1].At) {
			t.Errorf("login %d is %v old, or newer than the one before it", i, age)
		}
	}
	for _, account := range slices.Concat(w.Registered.Accounts, w.Newcomer.Accounts, w.Unregistered.Accounts) {
		if _, err := core.NewIdentity(account.Platform, account.UID); err != nil {
			t.Errorf("%s account: %v", account.Platform, err)
		}
	}
	past := w.Past()
	day := slices.IndexFunc(past, func(q core.Quote) bool { return q.LastUpdated.Equal(w.Quote.LastUpdated.Add(-24 * time.Hour)) })
	change := w.Quote.Price.Div(past[day].Price).Sub(decimal.NewFromInt(1)).Shift(2)
	if change.Sub(w.Quote.Change24h.Decimal).Abs().GreaterThan(decimal.RequireFromString("0.001")) {
		t.Errorf("in a day it changed by %s %%", change)
	}
}

func TestAServiceFailsWhenItIsTold(t *testing.T) {
	s := New()
	for fault, want := range map[string]string{
		"down": "503 Service Unavailable\n", "nonsense": "200 <html><title>Welcome", "": `200 {"status":{"error_co`,
	} {
		err := s.Price.Fail(fault)
		status, body := ask(s.Price, "GET", "/v1/cryptocurrency/quotes/latest?id="+TokenID, http.Header{}, "")
		if got := fmt.Sprintf("%d %.20s", status, body); err != nil || got != want || s.Price.Fault() != fault {
			t.Errorf("%q: %s, %v", fault, got, err)
		}
	}
	if s.Supply.Fail("tired") == nil || s.Supply.Fault() != "" {
		t.Error("an unknown fault is taken")
	}
}

func TestThePriceIsOfTheTokenAskedFor(t *testing.T) {
	s := New()
	const latest = "/v1/cryptocurrency/quotes/latest?"
	for _, tt := range []struct {
		path, key string
		status    int
		answers   string
	}{
		{latest + "convert=USD&id=" + TokenID, s.PriceKey, 200, `"data":{"` + TokenID + `":{"id":`},
		{latest + "id=" + TokenID, "guessed", 401, `"error_code":1001`},
		{"/v9/quotes?id=" + TokenID, "", 404, "404"},
		{latest + "id=1", "", 400, `"error_code":400`},
		{latest + "convert=USD", "", 400, `"error_code":400`},
		{latest + "id=" + TokenID + "&convert=EUR", "", 400, `"error_code":400`},
	} {
		header := http.Header{}
		if tt.key != "" {
			header.Set("X-CMC_PRO_API_KEY", tt.key)
		}
		status, body := ask(s.Price.Handler, "GET", tt.path, header, "")
		if status != tt.status || !json.Valid([]byte(body)) || !strings.Contains(body, tt.answers) {
			t.Errorf("%s: got %d %s, want %d", tt.path, status, body, tt.status)
		}
	}
}

// partnerCall is a call of the partner API.
type partnerCall struct {
	path, app, secret, timestamp, kind string
	signed, sent                       string // what the signature covers, and what is sent
}

func (c partnerCall) make(s *Sandbox) (status int, answer string) {
	mac := hmac.New(sha256.New, []byte(c.secret))
	mac.Write([]byte(c.timestamp + "POST" + c.path + c.signed))
	body, _ := json.Marshal(map[string]string{"requestBody": c.sent})
	return ask(s.Partner.Handler, "POST", c.path, http.Header{
		"Content-Type": {c.kind}, "Appid": {c.app}, "Timestamp": {c.timestamp},
		"Sign": {base64.StdEncoding.EncodeToString(mac.Sum(nil))},
	}, string(body))
}

const (
	existsPath = "/api/v1/partner/user/exists"
	loginsPath = "/api/v1/partner/user/dapps/login/log"
)

func millis(ago time.Duration) string {
	return strconv.FormatInt(time.Now().Add(-ago).UnixMilli(), 10)
}

// rightCall is a call that is as it should be.
func (s *Sandbox) rightCall(path, inner string) partnerCall {
	return partnerCall{path: path, app: s.AppID, secret: s.SecretKey, timestamp: millis(0), kind: "application/json", signed: inner, sent: inner}
}

func TestThePartnerHoldsCallersToTheSignature(t *testing.T) {
	s := New()
	const inner, shuffled = `{"platform":"Telegram","platform_uid":"7000000001"}`, `{"platform_uid":"7000000001", "platform":"Telegram"}`
	for name, tt := range map[string]struct {
		spoil  func(*partnerCall)
		status int
	}{
		"as it should be":        {func(*partnerCall) {}, 200},
		"sent in another order":  {func(c *partnerCall) { c.sent = shuffled }, 200},
		"sent with empty parts":  {func(c *partnerCall) { c.sent = inner[:len(inner)-1] + `,"a":"","b":null}` }, 200},
		"markup, not escaped":    {func(c *partnerCall) { c.sent = `{"platform":"Email","platform_uid":"a&b<c>"}`; c.signed = c.sent }, 200},
		"signed in other order":  {func(c *partnerCall) { c.sent, c.signed = shuffled, shuffled }, 401},
		"signed with empty part": {func(c *partnerCall) { c.sent = `{"a":"",` + inner[1:]; c.signed = c.sent }, 401},
		"another secret":         {func(c *partnerCall) { c.secret = "guessed" }, 401},
		"another application":    {func(c *partnerCall) { c.app = "other" }, 401},
		"two minutes early":      {func(c *partnerCall) { c.timestamp = millis(2 * time.Minute) }, 401},
		"two minutes late":       {func(c *partnerCall) { c.timestamp = millis(-2 * time.Minute) }, 401},
		"timestamp in seconds":   {func(c *partnerCall) { c.timestamp = c.timestamp[:10] }, 401},
		"another content type":   {func(c *partnerCall) { c.kind = "text/plain" }, 415},
		"another endpoint":       {func(c *partnerCall) { c.path = "/api/v1/partner/user" }, 404},
	} {
		call := s.rightCall(existsPath, inner)
		tt.spoil(&call)
		if status, body := call.make(s); status != tt.status || !json.Valid([]byte(body)) {
			t.Errorf("%s: got %d %s, want %d", name, status, body, tt.status)
		}
	}
}

func TestThePartnerKnowsWhoExistsAndTheirLogins(t *testing.T) {
	s := New()
	for _, tt := range []struct{ path, inner, answers string }{
		{existsPath, `{"platform":"Telegram","platform_uid":"7000000001"}`, `{"code":0,"data":{"did":"` + s.World.Registered.DID},
		{existsPath, `{"platform":"EVM","platform_uid":"` + s.World.Idle.Hex() + `"}`, `{"code":0,"data":{"did":"` + s.World.Newcomer.DID},
		{existsPath, `{"platform":"Telegram","platform_uid":"7000000003"}`, `{"code":0,"data":null`},
		{loginsPath, `{"did":"` + s.World.Registered.DID + `"}`, `{"code":0,"data":[{"dapp_name":"Orchard"`}, // the oldest first
		{loginsPath, `{"did":"` + s.World.Newcomer.DID + `"}`, `{"code":0,"data":[]`},
		{loginsPath, `{"did":"did:herald:nobody"}`, `{"code":40400`},
	} {
		if status, body := s.rightCall(tt.path, tt.inner).make(s); status != 200 || !strings.HasPrefix(body, tt.answers) {
			t.Errorf("%s: got %d %s, want %s", tt.inner, status, body, tt.answers)
		}
	}
}

func TestTheChainRefusesWhatIsNoCall(t *testing.T) {
	s := New()
	for body, want := range map[string]string{
		`{`:  `"code":-32600,`,
		`[]`: `"code":-32600,`,
		`{"jsonrpc":"1.0","id":1,"method":"eth_chainId"}`:                                             `"code":-32600,`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_sign"}`:                                                `"code":-32601,`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_call"}`:                                                `"code":-32602,`,
		`[{"jsonrpc":"2.0","id":"a","method":"eth_chainId"}]`:                                         `[{"jsonrpc":"2.0","id":"a","result":"0x67932"}]`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0xffffffff",false]}`:      `"code":-32000,`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_getCode","params":["` + s.World.Idle.Hex() + `"]}`:     `"result":"0x"`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_getCode","params":["` + MulticallAddress.Hex() + `"]}`: `"result":"0x6080`,
	} {
		if _, got := ask(s.Chain.Handler, "POST", "/", nil, body); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
}

// aggregate has Multicall3 call all pools about Staker, and one of them without a
// method.
func (s *Sandbox) aggregate(t *testing.T, method string) []evmabi.Result {
	t.Helper()
	data := append(evmabi.Selector(method), evmabi.Address(s.World.Staker)...)
	calls := []evmabi.Call{{Target: s.World.Pools[0].Address, AllowFailure: true, Data: []byte{1, 2, 3, 4}}}
	for _, pool := range s.World.Pools {
		calls = append(calls, evmabi.Call{Target: pool.Address, AllowFailure: true, Data: data})
	}
	input := append(evmabi.Selector("aggregate3((address,bool,bytes)[])"), evmabi.EncodeCalls(calls)...)
	_, body := ask(s.Chain.Handler, "POST", "/", nil, fmt.Sprintf(
		`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":%q,"input":%q},"latest"]}`, MulticallAddress, hexutil.Encode(input)))
	var answer struct{ Result hexutil.Bytes }
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err)
	}
	results, err := evmabi.DecodeResults(answer.Result)
	if err != nil || len(results) != len(calls) || results[0].Success {
		t.Fatalf("%v in %s", err, body)
	}
	return results[1:]
}

func TestPoolsHoldWhatTheWorldSays(t *testing.T) {
	s := New()
	amounts := func(list []core.PoolAmount) map[common.Address]string {
		all := map[common.Address]string{}
		for _, a := range list {
			all[a.Pool.Address] = a.Amount.Shift(decimals).String()
		}
		return all
	}
	staked, pending := amounts(s.World.Staked), amounts(s.World.Unbonding)
	stakes, withdrawals := s.aggregate(t, StakingMethod), s.aggregate(t, PendingMethod)
	for i, pool := range s.World.Pools {
		if got := new(big.Int).SetBytes(stakes[i].Data).String(); !stakes[i].Success || got != staked[pool.Address] && got+staked[pool.Address] != "0" {
			t.Errorf("%s holds %v, want %s", pool.Name, got, staked[pool.Address])
		}
		got := "" // behind an offset and the length
		if words := withdrawals[i].Data[2*evmabi.Word:]; len(words) > 0 {
			got = new(big.Int).SetBytes(words[:evmabi.Word]).String()
		}
		if got != pending[pool.Address] {
			t.Errorf("%v is withdrawn from %s, want %s", got, pool.Name, pending[pool.Address])
		}
	}
}
