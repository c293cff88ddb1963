package state_test

import (
	"testing"

	"herald/internal/config/configtest"
	"herald/internal/state"
)

func TestSettingsRefuseOtherForms(t *testing.T) {
	const canary = configtest.Canary
	configtest.Refuses(t, new(state.Settings).Table(), "REDIS_URL", "",
		"http://"+canary, canary, "redis://", "redis://host/"+canary, "redis://host?"+canary+"=1")
}
