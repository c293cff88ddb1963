package staking

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

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
	configtest.Refuses(t, table, "MAX_BLOCK_AGE", "off", configtest.Canary, "0s", "-1m", "600", "never")
	configtest.Refuses(t, table, "TOKEN_DECIMALS", "from 0 to 77", configtest.Canary, "-1", "78", "1.5")
	configtest.Refuses(t, table, "STAKE_TTL", "duration", "0s", configtest.Canary)
}

func TestMulticallIsKnownUnlessTurnedOff(t *testing.T) {
	var s Settings
	configtest.Fill(t, s.Table())
	if s.Multicall == nil || *s.Multicall != common.HexToAddress("0xcA11bde05977b3631167028862bE2a173976CA11") {
		t.Errorf("by default it is %v", s.Multicall)
	}
	configtest.Fill(t, s.Table(), "MULTICALL_ADDRESS=off")
	if s.Multicall != nil {
		t.Errorf("turned off it is %v", s.Multicall)
	}
}

func TestABlockMayBeTenMinutesOldUnlessSaidOtherwise(t *testing.T) {
	var s Settings
	for value, want := range map[string]time.Duration{"": 10 * time.Minute, "45s": 45 * time.Second, config.Off: 0} {
		configtest.Fill(t, s.Table(), "MAX_BLOCK_AGE="+value)
		if s.MaxBlockAge != want {
			t.Errorf("%q: %v, want %v", value, s.MaxBlockAge, want)
		}
	}
}
