// Package sandboxtest asks the stand-ins as the interfaces of their services
// describe it, apart from the bot's own clients.
package sandboxtest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/sandbox"
)

// Response is what came back of one HTTP call.
type Response struct {
	Status int
	Header http.Header
	Body   string
}

// Send makes a call and follows no redirect.
func Send(ctx context.Context, method, url string, header http.Header, body string) (Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return Response{}, err
	}
	req.Header = header
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return Response{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	return Response{resp.StatusCode, resp.Header, string(text)}, err
}

// The partner API's endpoints.
const (
	ExistsPath = "/api/v1/partner/user/exists"
	LoginsPath = "/api/v1/partner/user/dapps/login/log"
)

// signature is the interface's own recipe.
func signature(secret, timestamp, path, inner string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp))
	mac.Write([]byte("POST"))
	mac.Write([]byte(path))
	mac.Write([]byte(inner))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// PartnerCall is a call of the partner API that a test can spoil.
type PartnerCall struct {
	Path, AppID, Secret, Timestamp string
	// Signed is what the signature covers, Sent what the body holds.
	Signed, Sent string
	Header       http.Header
}

// NewPartnerCall is a right call with this inner text.
func NewPartnerCall(s *sandbox.Sandbox, path, inner string) PartnerCall {
	return PartnerCall{Path: path, AppID: s.AppID, Secret: s.SecretKey,
		Timestamp: strconv.FormatInt(time.Now().UnixMilli(), 10), Signed: inner, Sent: inner,
		Header: http.Header{"Content-Type": {"application/json"}}}
}

// Send signs and makes the call.
func (c PartnerCall) Send(ctx context.Context, s *sandbox.Sandbox) (Response, error) {
	body, err := json.Marshal(map[string]string{"requestBody": c.Sent})
	if err != nil {
		return Response{}, err
	}
	c.Header.Set("appid", c.AppID)
	c.Header.Set("timestamp", c.Timestamp)
	c.Header.Set("sign", signature(c.Secret, c.Timestamp, c.Path, c.Signed))
	return Send(ctx, http.MethodPost, s.Partner.URL()+c.Path, c.Header, string(body))
}

// ExistsInner asks whether an account is registered.
func ExistsInner(account core.Identity) string {
	return fmt.Sprintf(`{"platform":%q,"platform_uid":%q}`, account.Platform, account.UID)
}

// contractsABI is written from the contract's text, apart from the sandbox's.
const contractsABI = `[
 {"type":"function","name":"currentStake","inputs":[{"type":"address"}],"outputs":[{"type":"uint256"}]},
 {"type":"function","name":"pendingWithdrawals","inputs":[{"type":"address"}],
  "outputs":[{"type":"tuple[]","components":[{"name":"amount","type":"uint256"},{"name":"block","type":"uint256"}]}]},
 {"type":"function","name":"aggregate3",
  "inputs":[{"type":"tuple[]","components":[{"name":"target","type":"address"},{"name":"allowFailure","type":"bool"},{"name":"callData","type":"bytes"}]}],
  "outputs":[{"type":"tuple[]","components":[{"name":"success","type":"bool"},{"name":"returnData","type":"bytes"}]}]},
 {"type":"function","name":"getChainId","inputs":[],"outputs":[{"type":"uint256"}]},
 {"type":"function","name":"getBlockNumber","inputs":[],"outputs":[{"type":"uint256"}]},
 {"type":"function","name":"getCurrentBlockTimestamp","inputs":[],"outputs":[{"type":"uint256"}]}]`

// Contracts is the ABI of every contract of the sandbox.
func Contracts(t *testing.T) abi.ABI {
	t.Helper()
	parsed, err := abi.JSON(strings.NewReader(contractsABI))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// Pack is the input that calls a method.
func Pack(t *testing.T, method string, args ...any) []byte {
	t.Helper()
	data, err := Contracts(t).Pack(method, args...)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Call3 is that of Multicall3.
type Call3 struct {
	Target       common.Address
	AllowFailure bool
	CallData     []byte
}
