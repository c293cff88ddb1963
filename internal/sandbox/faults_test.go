package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/sandbox"
	"herald/internal/sandbox/sandboxtest"
)

func TestAServiceFailsWhenItIsTold(t *testing.T) {
	s := start(t)
	ask := map[string]func(context.Context) (sandboxtest.Response, error){
		"price": func(ctx context.Context) (sandboxtest.Response, error) {
			return sandboxtest.Send(ctx, http.MethodGet, s.Price.URL()+quotesPath+"?id="+sandbox.TokenID, nil, "")
		},
		"supply": func(ctx context.Context) (sandboxtest.Response, error) {
			return sandboxtest.Send(ctx, http.MethodGet, s.Supply.URL()+"/total-supply", nil, "")
		},
		"partner": func(ctx context.Context) (sandboxtest.Response, error) {
			return sandboxtest.Send(ctx, http.MethodPost, s.Partner.URL()+"/api/v1/partner/user/exists", nil, "{}")
		},
		"chain": func(ctx context.Context) (sandboxtest.Response, error) {
			return sandboxtest.Send(ctx, http.MethodPost, s.Chain.URL(), nil, `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`)
		},
	}
	for _, service := range s.Services() {
		call := ask[service.Name]
		well, err := call(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for fault, want := range map[sandbox.Fault]string{sandbox.Down: "503 Service Unavailable\n", sandbox.Nonsense: "200 <html><title>Welcome</title></html>"} {
			fail(t, service, fault)
			if a, err := call(t.Context()); err != nil || fmt.Sprint(a.Status, " ", a.Body) != want {
				t.Errorf("%s is %s: %s, %v", service.Name, fault, a.Body, err)
			}
		}
		fail(t, service, sandbox.Slow)
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := call(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s is slow, and answers with %v", service.Name, err)
		}
		cancel()
		fail(t, service, sandbox.Well)
		if a, err := call(t.Context()); err != nil || a.Status != well.Status {
			t.Errorf("%s is well again: %+v, %v", service.Name, a, err)
		}
		if service.Fail("tired") == nil || service.Fault() != sandbox.Well {
			t.Errorf("%s takes a fault that there is not", service.Name)
		}
	}
	if s.Supply.Fail(sandbox.Behind) == nil {
		t.Error("the supply host has a fault of the chain's")
	}
}

func fail(t *testing.T, s *sandbox.Service, f sandbox.Fault) {
	t.Helper()
	if err := s.Fail(f); err != nil || s.Fault() != f {
		t.Fatalf("%s: %q, %v", s.Name, s.Fault(), err)
	}
}

func TestThePriceProviderLimits(t *testing.T) {
	s := start(t)
	fail(t, s.Price, sandbox.Limit)
	a, err := sandboxtest.Send(t.Context(), http.MethodGet, s.Price.URL()+quotesPath+"?id="+sandbox.TokenID, nil, "")
	if err != nil || a.Status != http.StatusTooManyRequests || !strings.Contains(a.Body, `"error_code":429`) {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestTheChainIsBehind(t *testing.T) {
	s := start(t)
	fail(t, s.Chain, sandbox.Behind)
	a, err := sandboxtest.Send(t.Context(), http.MethodPost, s.Chain.URL(), nil, `{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["latest",false]}`)
	if err != nil {
		t.Fatal(err)
	}
	var block struct {
		Result struct{ Timestamp hexutil.Uint64 }
	}
	if err := json.Unmarshal([]byte(a.Body), &block); err != nil {
		t.Fatal(err)
	}
	if age := time.Since(time.Unix(int64(block.Result.Timestamp), 0)).Round(time.Minute); age != time.Hour {
		t.Errorf("the newest block is %v old", age)
	}
}

// Past's prices lead to what the quote says that they did.
func TestThePastAgreesWithTheQuote(t *testing.T) {
	w := sandbox.New().World
	past := w.Past()
	if !slices.IsSortedFunc(past, func(a, b core.Quote) int { return a.LastUpdated.Compare(b.LastUpdated) }) {
		t.Error("they are not in order")
	}
	for age, change := range map[time.Duration]decimal.Decimal{
		time.Hour: w.Quote.Change1h.Decimal, 24 * time.Hour: w.Quote.Change24h.Decimal, 7 * 24 * time.Hour: w.Quote.Change7d.Decimal,
	} {
		i := slices.IndexFunc(past, func(q core.Quote) bool { return q.LastUpdated.Equal(w.Quote.LastUpdated.Add(-age)) })
		if i < 0 {
			t.Fatalf("there is no price of %v ago", age)
		}
		got := w.Quote.Price.Div(past[i].Price).Sub(decimal.NewFromInt(1)).Shift(2)
		if got.Sub(change).Abs().GreaterThan(decimal.RequireFromString("0.001")) {
			t.Errorf("in %v it changed by %s %%, and the quote says %s %%", age, got, change)
		}
	}
	if oldest := w.Quote.LastUpdated.Sub(past[0].LastUpdated); oldest != 30*24*time.Hour {
		t.Errorf("they begin %v ago", oldest)
	}
}
