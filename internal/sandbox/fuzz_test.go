package sandbox

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
)

func FuzzNodeAnswersAnything(f *testing.F) {
	for _, body := range []string{
		"", "[", `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`,
		`[{"jsonrpc":"2.0","id":null,"method":"eth_call","params":[{"to":"0xcA11bde05977b3631167028862bE2a173976CA11","data":"0x82ad56cb"},"latest"]}]`,
		`{"jsonrpc":"2.0","method":"eth_blockNumber"}`,
		`{"jsonrpc":"2.0","id":{},"method":"eth_getBlockByNumber","params":[{"blockNumber":"0xffffffffffffffff"}]}`,
	} {
		f.Add(body)
	}
	n := newNode(newWorld(time.Now()), time.Now())
	f.Fuzz(func(t *testing.T, body string) {
		w := httptest.NewRecorder()
		n.ServeHTTP(w, httptest.NewRequest("POST", "/", strings.NewReader(body)))
		if answer := w.Body.Bytes(); len(answer) > 0 && !json.Valid(answer) {
			t.Errorf("not JSON: %q", answer)
		}
	})
}

func FuzzContractsTakeAnyInput(f *testing.F) {
	n := newNode(newWorld(time.Now()), time.Now())
	calls := []multicallCall{{Target: MulticallAddress, AllowFailure: true, CallData: multicallABI.Methods["getChainId"].ID}}
	nested, err := multicallABI.Pack("aggregate3", calls)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(nil))
	f.Add(nested)
	f.Add(hexutil.MustDecode("0x82ad56cb00000000000000000000000000000000000000000000000000000000000000ff"))
	f.Fuzz(func(_ *testing.T, input []byte) {
		for _, run := range n.Contracts {
			_, _ = run(n, genesisBlock, input)
		}
	})
}

func FuzzPartnerAnswersAnything(f *testing.F) {
	f.Add(`{"requestBody":"{\"did\":\"did:a:b\"}"}`, "1751275437000")
	f.Add(`{"requestBody":"{\"did\":[{}]}"}`, "-1")
	f.Add(`{"requestBody":null}`, "9223372036854775807")
	p := newPartner(newWorld(time.Now()), "app", "secret")
	f.Fuzz(func(t *testing.T, body, timestamp string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/api/v1/partner/user/exists", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("appid", "app")
		r.Header.Set("timestamp", timestamp)
		p.ServeHTTP(w, r)
		if w.Code/100 != 4 || !json.Valid(w.Body.Bytes()) {
			t.Errorf("an unsigned call got %d %q", w.Code, w.Body)
		}
	})
}
