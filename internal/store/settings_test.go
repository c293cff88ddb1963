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
	configtest.Refuses(t, new(store.Settings).Table(), "REDIS_URL", "from 1ms to 1s, with its unit",
		"redis://"+canary+"?read_timeout=100", "redis://"+canary+"?read_timeout=0", "redis://"+canary+"?read_timeout=-1",
		"redis://"+canary+"?read_timeout=100us", "redis://"+canary+"?read_timeout=2s", "redis://"+canary+"?read_timeout=1s&read_timeout=9")
}
