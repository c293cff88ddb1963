package supply_test

import (
	"testing"

	"herald/internal/config/configtest"
	"herald/internal/service/supply"
)

func TestSettingsRefuseOtherForms(t *testing.T) {
	table := new(supply.Settings).Table()
	configtest.Refuses(t, table, "SUPPLY_URL", "", "", "host/"+configtest.Canary, "https://host/total-supply", "https://host/v1/circulating-supply/")
	configtest.Refuses(t, table, "SUPPLY_TTL", "duration", "0s")
}
