package staking

import (
	"testing"
	"time"

	"herald/internal/config"
	"herald/internal/config/configtest"
)

func TestSettingsRefuseOtherForms(t *testing.T) {
	table := new(Settings).Table()
	configtest.Refuses(t, table, "EVM_RPC_URL", "", "", "ipc:///"+configtest.Canary, "stdio://"+configtest.Canary, "/"+configtest.Canary)
	configtest.Refuses(t, table, "EVM_CHAIN_ID", "", "", "0", "-1", "0x1", configtest.Canary)
	configtest.Refuses(t, table, "STAKING_METHOD", "name(address)", configtest.Canary, "f(uint256)", "f (address)", "f(address)x", "(address)")
	configtest.Refuses(t, table, "STAKING_PENDING_METHOD", "name(address)", configtest.Canary)
	configtest.Refuses(t, table, "MULTICALL_ADDRESS", "off",
		configtest.Canary, "0x0000000000000000000000000000000000000000", "0xcA11bde05977b3631167028862bE2a173976cA11")
	configtest.Refuses(t, table, "MULTICALL_ADDRESS", "one of STAKING_POOLS", "0x52908400098527886E0F7030069857D2E4169EE7")
	configtest.Refuses(t, table, "MAX_BLOCK_AGE", "off", configtest.Canary, "0s", "-1m", "600", "never")
	configtest.Refuses(t, table, "TOKEN_DECIMALS", "from 0 to 77", configtest.Canary, "-1", "78", "1.5")
	configtest.Refuses(t, table, "STAKE_TTL", "duration", "0s", configtest.Canary)
}

func TestMulticallAndTheAgeOfABlockCanBeTurnedOff(t *testing.T) {
	for value, want := range map[string]time.Duration{"": 10 * time.Minute, config.Off: 0} {
		var s Settings
		configtest.Fill(t, s.Table(), "MULTICALL_ADDRESS="+value, "MAX_BLOCK_AGE="+value)
		if s.MaxBlockAge != want || (s.Multicall == nil) != (value == config.Off) {
			t.Errorf("%q: %v, %v", value, s.Multicall, s.MaxBlockAge)
		}
	}
}
