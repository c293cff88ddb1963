package staking

import (
	"testing"
	"time"

	"herald/internal/config"
	"herald/internal/config/configtest"
)

func TestMulticallAndTheAgeOfABlockCanBeTurnedOff(t *testing.T) {
	for value, want := range map[string]time.Duration{"": 10 * time.Minute, config.Off: 0} {
		var s Settings
		configtest.Fill(t, s.Table(), "MULTICALL_ADDRESS="+value, "MAX_BLOCK_AGE="+value)
		if s.MaxBlockAge != want || (s.Multicall == nil) != (value == config.Off) {
			t.Errorf("%q: %v, %v", value, s.Multicall, s.MaxBlockAge)
		}
	}
}
