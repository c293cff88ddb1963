package store_test

import (
	"testing"

	"herald/internal/config/configtest"
	"herald/internal/store"
)

func TestSettingsRefuseOtherForms(t *testing.T) {
	const canary = configtest.Canary
	configtest.Refuses(t, new(store.Settings).Table(), "REDIS_URL", "",
		"http://"+canary, canary, "redis://", "redis://host/"+canary, "redis://host?"+canary+"=1")
}
