package supply

import "testing"

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`98765432.1`, `"5"`, `{"result":"5"}`, `{"data":{"value":5}}`, `0`, `Error calculating total supply`, `{"data":{"data":{}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, figure := range []figure{total, circulating} {
			if amount, err := figure.parse(body); err == nil && !amount.IsPositive() {
				t.Fatalf("%q is taken for %v", body, amount)
			}
		}
	})
}
