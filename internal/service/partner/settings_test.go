package partner_test

import (
	"testing"

	"herald/internal/config/configtest"
	"herald/internal/service/partner"
)

func TestSettingsRefuseOtherForms(t *testing.T) {
	const canary = configtest.Canary
	table := new(partner.Settings).Table()
	configtest.Refuses(t, table, "PARTNER_BASE_URL", "", "", canary, "//host", "https://ho st")
	configtest.Refuses(t, table, "PARTNER_BASE_URL", "/api/v1/partner, which is appended",
		"https://host/api/v1/partner", "https://host/gate/api/v1/partner/user/exists")
	configtest.Refuses(t, table, "PARTNER_APP_ID", "", "", "a b")
	configtest.Refuses(t, table, "PARTNER_SECRET_KEY", "required", "")
	configtest.Refuses(t, table, "PARTNER_NOT_FOUND_CODES", "entry", "1,0", "00", "-0", "<"+canary+">")
	configtest.Refuses(t, table, "EXISTS_TTL", "duration", "0s", canary)
	configtest.Refuses(t, table, "LOGINS_TTL", "duration", "0s", canary)
}
