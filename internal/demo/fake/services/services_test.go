package services

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// listed returns the price provider's numbers of now.
func listed(t *testing.T, s *Fakes) map[string]any {
	t.Helper()
	w := httptest.NewRecorder()
	s.Price.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/cryptocurrency/quotes/latest?id="+TokenID, nil))
	var answer struct {
		Data map[string]struct {
			Quote map[string]map[string]any `json:"quote"`
		} `json:"data"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Data[TokenID].Quote["USD"]
}

func TestThePriceWalksAndItsChangesAreTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, again := New(), New()
		standing := listed(t, s)
		past := s.Walk()
		again.Walk()
		if first := listed(t, s); first["price"] != standing["price"] || first["percent_change_7d"] != standing["percent_change_7d"] ||
			first["percent_change_90d"] != standing["percent_change_90d"] || first["last_updated"] != standing["last_updated"] {
			t.Errorf("the walk begins at\n%v\nand not at\n%v", first, standing)
		}
		prices := map[int64]float64{} // by minute
		for _, q := range past {
			prices[q.LastUpdated.Unix()/60] = q.Price.InexactFloat64()
		}
		for range 3 * 60 {
			q := listed(t, s)
			if other := listed(t, again); q["price"] != other["price"] {
				t.Fatalf("two walks differ: %v, %v", q, other)
			}
			updated, err := time.Parse(time.RFC3339, q["last_updated"].(string))
			if age := time.Since(updated); err != nil || age < lag || age >= lag+time.Minute {
				t.Fatalf("a quote is %v old, %v", age, err)
			}
			price, minute := q["price"].(float64), updated.Unix()/60
			for name, minutes := range map[string]int64{"1h": 60, "24h": 1440, "7d": 7 * 1440} {
				before, known := prices[minute-minutes]
				if want := 100 * (price/before - 1); known && math.Abs(q["percent_change_"+name].(float64)-want) > 1e-4 {
					t.Fatalf("the change of %s is %v, want %v", name, q["percent_change_"+name], want)
				}
			}
			if before, known := prices[minute-1]; known && before == price {
				t.Fatalf("the price stands still at %v", price)
			}
			prices[minute] = price
			time.Sleep(time.Minute)
		}
	})
}
