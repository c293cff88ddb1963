package app

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"herald/internal/config"
)

const matchainFile = "examples/matchain.env"

// madeUp is what examples/matchain.env leaves to fill in.
var madeUp = []string{
	"TELEGRAM_BOT_TOKEN=123456789:made-up-token", "PARTNER_APP_ID=made-up", "PARTNER_SECRET_KEY=made-up-secret",
	"PRICE_API_KEY=made-up-key", "SUPPLY_URL=https://supply.example.org",
}

func TestTheMatchainExampleLoadsOnceItIsFilledIn(t *testing.T) {
	t.Chdir("../..")
	c, err := LoadToServe(madeUp, matchainFile)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(c.Staking.Pools); n != 21 {
		t.Errorf("%d pools, want 21", n)
	}
	content, err := os.ReadFile("examples/matchain.pools")
	if err != nil {
		t.Fatal(err)
	}
	for _, pool := range c.Staking.Pools {
		if !strings.Contains(string(content), "\n"+pool.Address.Hex()+"\n") {
			t.Errorf("%s is not written with its EIP-55 checksum", pool.Address.Hex())
		}
	}
	if c.Staking.ChainID != 698 || c.Market.Symbol != "MAT" || c.Market.By != "slug" || c.Staking.PendingMethod == "" {
		t.Errorf("it is of another token: chain %d, %s by %s", c.Staking.ChainID, c.Market.Symbol, c.Market.By)
	}
}

func TestTheMatchainExampleLeavesNothingElseToFillIn(t *testing.T) {
	t.Chdir("../..")
	for i, line := range madeUp {
		name, _, _ := strings.Cut(line, "=")
		_, err := LoadToServe(slices.Delete(slices.Clone(madeUp), i, i+1), matchainFile)
		mistakes := mistakesOf(t, err)
		if name == "PRICE_API_KEY" { // which CoinMarketCap demands, and other providers may not
			if len(mistakes) > 0 {
				t.Errorf("without %s: %v", name, mistakes)
			}
			continue
		}
		if len(mistakes) != 1 || !strings.Contains(mistakes[0], name) {
			t.Errorf("without %s: %q", name, mistakes)
		}
	}
}

// TestTheMatchainExampleSaysWhereItIsFrom demands that each setting is one
// there is, and that the comment above it names a page or, where there is no
// value, says that none is confirmed.
func TestTheMatchainExampleSaysWhereItIsFrom(t *testing.T) {
	content, err := os.ReadFile("../../" + matchainFile)
	if err != nil {
		t.Fatal(err)
	}
	assignment := regexp.MustCompile(`(?m)^(#?)([A-Z][A-Z0-9_]*)=(.*)$`)
	for paragraph := range strings.SplitSeq(string(content), "\n\n") {
		set := 0
		found := assignment.FindAllStringSubmatch(paragraph, -1)
		for _, f := range found {
			off, name, value := f[1] == "#", f[2], f[3]
			if !slices.ContainsFunc(settings, func(s config.Setting) bool { return s.Name == name }) {
				t.Errorf("%s is no setting", name)
			}
			if off && value != "" {
				t.Errorf("%s is commented out, but has a value", name)
			}
			if !off {
				set++
			}
		}
		switch {
		case len(found) == 0:
		case set == 0 && !strings.Contains(paragraph, "# Not confirmed: "):
			t.Errorf("not said to be unconfirmed:\n%s", paragraph)
		case set > 0 && !strings.Contains(paragraph, "https://"):
			t.Errorf("from no page:\n%s", paragraph)
		}
	}
}
