// Package service has only tests: they compare docs/services.md with the clients of all services. Package partner tests
// the example of a signature.
package service

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/ops"
	"herald/internal/query"
	"herald/internal/secret"
	"herald/internal/service/market"
	"herald/internal/service/partner"
	"herald/internal/service/rest/resttest"
	"herald/internal/service/staking"
	"herald/internal/service/supply"
)

// checks compare the examples of docs/services.md with the clients. The key is the label of an example. Each function
// gets all examples. It fails the test if the client refuses an answer that the document accepts, accepts an answer
// that the document refuses, or sends another request than the document shows.
var checks = map[string]func(*testing.T, map[string]string){
	"partner-openssl":      nil, // checked in package partner
	"partner-request":      nil, // checked in package partner
	"partner-registered":   checkRegistered,
	"partner-unregistered": checkUnregistered,
	"partner-logins":       checkLogins,
	"price-v1":             checkQuote("price-v1"),
	"price-v3":             checkQuote("price-v3"),
	"price-credits":        checkCredits,
	"supply-answers":       checkSupplies,
	"supply-refused":       checkRefusedSupplies,
	"chain-block-request":  checkBatch,
	"chain-block-answer":   nil, // used by checkBatch
	"chain-batch-request":  nil, // used by checkBatch
	"chain-batch-answer":   nil, // used by checkBatch
	"chain-withdrawals":    checkWithdrawals,
}

func TestTheClientsAcceptTheDocumentedAnswers(t *testing.T) {
	examples := resttest.Examples(t, "../../docs/services.md")
	labels, tested := slices.Sorted(maps.Keys(examples)), slices.Sorted(maps.Keys(checks))
	if !slices.Equal(labels, tested) {
		t.Fatalf("the document has the examples %q, and %q are tested", labels, tested)
	}
	for label, check := range checks {
		if check != nil {
			t.Run(label, func(t *testing.T) { check(t, examples) })
		}
	}
}

// serveText starts a service that answers every request with text, and returns its URL.
func serveText(t *testing.T, text string) (url string) {
	t.Helper()
	return resttest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

// newCache returns a cache for one client.
func newCache(t *testing.T) *query.Cache {
	t.Helper()
	cache := query.NewCache(query.CacheConfig{
		MaxItems:    10,
		CallTimeout: time.Minute,
		Timeout:     time.Minute,
		Observer:    ops.NewMetrics(),
	})
	t.Cleanup(cache.Close)
	return cache
}

// partnerAnswering returns a client of a partner API that answers every request with text.
func partnerAnswering(t *testing.T, text string) *partner.Client {
	t.Helper()
	return partner.New(partner.Settings{URL: serveText(t, text), SecretKey: secret.New("key")}, newCache(t))
}

func checkRegistered(t *testing.T, examples map[string]string) {
	id := core.Identity{Platform: "Telegram", UID: "1"}
	account, err := partnerAnswering(t, examples["partner-registered"]).Accounts.Fetch(t.Context(), id)
	if err != nil || account.DID != "did:example:0xab12" {
		t.Errorf("%v, %v", account, err)
	}
}

func checkUnregistered(t *testing.T, examples map[string]string) {
	id := core.Identity{Platform: "Telegram", UID: "1"}
	for line := range strings.Lines(examples["partner-unregistered"]) {
		account, err := partnerAnswering(t, line).Accounts.Fetch(t.Context(), id)
		if err != nil || account.Registered() {
			t.Errorf("%s: %v, %v", line, account, err)
		}
	}
}

// The example's login is of a fixed day, which is more than 30 days ago. So the client leaves it out, unless its time
// is replaced by a time an hour ago.
func checkLogins(t *testing.T, examples map[string]string) {
	old := examples["partner-logins"]
	hourAgo := time.Now().Add(-time.Hour).Unix()
	recent := strings.Replace(old, "1751275437", strconv.FormatInt(hourAgo, 10), 1)
	for answer, want := range map[string]int{old: 0, recent: 1} {
		logins, err := partnerAnswering(t, answer).Logins.Fetch(t.Context(), "did:example:0xab12")
		if err != nil || len(logins) != want {
			t.Errorf("%s: %v, %v", answer, logins, err)
		}
	}
}

// marketAnswering returns a client of a price provider that answers every request with text.
func marketAnswering(t *testing.T, text string) *market.Client {
	t.Helper()
	settings := market.Settings{URL: serveText(t, text), TokenBy: "id", Token: "1027", Symbol: "ETH", Unlimited: true}
	return market.New(settings, newCache(t), slog.New(slog.DiscardHandler))
}

func checkQuote(label string) func(*testing.T, map[string]string) {
	return func(t *testing.T, examples map[string]string) {
		found, err := marketAnswering(t, examples[label]).Probe(t.Context())
		if err != nil || found.Quote.Price.String() != "3012.57" || found.Quote.LastUpdated.Year() != 2026 {
			t.Errorf("%+v, %v", found, err)
		}
		q := found.Quote
		isWhole := q.Change24h.Valid && q.MarketCap.Valid && q.Total.Valid && q.Page != ""
		if label == "price-v1" && !isWhole {
			t.Errorf("something is left out: %+v", q)
		}
	}
}

func checkCredits(t *testing.T, examples map[string]string) {
	left, err := marketAnswering(t, examples["price-credits"]).Credits(t.Context())
	if err != nil || left.Left != 11988 || left.Plan != 15000 {
		t.Errorf("%+v, %v", left, err)
	}
}

func checkSupplies(t *testing.T, examples map[string]string) {
	for line := range strings.Lines(examples["supply-answers"]) {
		client := supply.New(supply.Settings{URL: serveText(t, line)}, newCache(t))
		if found, err := client.Supply.Fetch(t.Context(), struct{}{}); err != nil || found.Total.IntPart() < 98_765_432 {
			t.Errorf("%s: %v, %v", line, found, err)
		}
	}
}

func checkRefusedSupplies(t *testing.T, examples map[string]string) {
	for line := range strings.Lines(examples["supply-refused"]) {
		client := supply.New(supply.Settings{URL: serveText(t, line)}, newCache(t))
		if found, err := client.Supply.Fetch(t.Context(), struct{}{}); core.ReasonOf(err) != core.Malformed {
			t.Errorf("%s: %v, %v", line, found, err)
		}
	}
}

// The pool and the wallet of the chain's examples.
var (
	documentedPool   = core.Pool{Address: common.HexToAddress("0x00000000000000000000000000000000DeaDBeef")}
	documentedWallet = common.HexToAddress("0x52908400098527886E0F7030069857D2E4169EE7")
)

// chainAnswering returns a client of a node that answers one request after another with answers. It fails the test if
// the client sends other requests than these.
func chainAnswering(t *testing.T, change func(*staking.Settings), requests, answers []string) *staking.Client {
	t.Helper()
	sent := 0
	url := resttest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if sent == len(requests) {
			t.Errorf("the client also sent %s", body)
			return
		}
		if want := compact(t, requests[sent]); string(body) != want {
			t.Errorf("the client sent\n%s\nwant\n%s", body, want)
		}
		_, _ = io.WriteString(w, answers[sent])
		sent++
	})
	settings := staking.Settings{
		RPCURL:   secret.New(url),
		ChainID:  698,
		Pools:    []core.Pool{documentedPool},
		Method:   "currentStake(address)",
		Decimals: 18,
	}
	change(&settings)
	client, err := staking.New(settings, newCache(t), func(core.Pool) {})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// compact returns JSON without white space.
func compact(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func checkBatch(t *testing.T, examples map[string]string) {
	client := chainAnswering(t, func(*staking.Settings) {},
		[]string{examples["chain-block-request"], examples["chain-batch-request"]},
		[]string{examples["chain-block-answer"], examples["chain-batch-answer"]})
	stake, err := client.Stakes.Fetch(t.Context(), documentedWallet)
	if err != nil || stake.Total().String() != "5" || stake.Block != 1_000_000 || stake.BlockTime.Year() != 2026 {
		t.Errorf("%+v, %v", stake, err)
	}
}

// The document shows the withdrawals as the result of one more call in the batch.
func checkWithdrawals(t *testing.T, examples map[string]string) {
	data := regexp.MustCompile(`(?m) #.*$|\n`).ReplaceAllString(examples["chain-withdrawals"], "")
	batch := strings.TrimSuffix(compact(t, examples["chain-batch-request"]), "]")
	batch += `,{"jsonrpc":"2.0","id":5,"method":"eth_call","params":[{"data":"0xd6b6b23f` +
		`00000000000000000000000052908400098527886e0f7030069857d2e4169ee7",` +
		`"to":"0x00000000000000000000000000000000deadbeef"},"0xf4240"]}]`
	answer := strings.TrimSuffix(compact(t, examples["chain-batch-answer"]), "]")
	answer += `,{"jsonrpc":"2.0","id":5,"result":"` + data + `"}]`
	afterOneBlock := uint64(1)
	client := chainAnswering(t, func(s *staking.Settings) {
		s.PendingMethod = "pendingUnstakes(address)"
		s.ClaimBlocks = &afterOneBlock
	}, []string{examples["chain-block-request"], batch}, []string{examples["chain-block-answer"], answer})
	stake, err := client.Stakes.Fetch(t.Context(), documentedWallet)
	if err != nil || len(stake.Withdrawable) != 1 || stake.Withdrawable[0].Amount.String() != "25" {
		t.Errorf("%+v, %v", stake, err)
	}
}
