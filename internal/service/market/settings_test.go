package market_test

import (
	"strings"
	"testing"

	"herald/internal/config/configtest"
	"herald/internal/service/market"
)

func TestSettingsRefuseOtherForms(t *testing.T) {
	const canary = configtest.Canary
	table := new(market.Settings).Table()
	configtest.Refuses(t, table, "PRICE_API_URL", "http", canary)
	configtest.Refuses(t, table, "PRICE_API_KEY", "visible", "a b")
	configtest.Refuses(t, table, "PRICE_TOKEN_ID", "number", canary, "0", "1,2")
	configtest.Refuses(t, table, "PRICE_TOKEN_SLUG", "name", canary+"&x", "a,b")
	configtest.Refuses(t, table, "TOKEN_SYMBOL", "", "", "A B", "A\u202eB", "\xff", strings.Repeat("A", 21))
	configtest.Refuses(t, table, "PRICE_MONTHLY_CREDITS", "whole number", canary, "-1", "1e4", "10,000", "1000000000")
	configtest.Refuses(t, table, "MAX_PRICE_AGE", "off", "0s", "3600", canary)
	configtest.Refuses(t, table, "PRICE_TTL", "duration", "30", canary, "0s", "-1s", "9000h")
}
