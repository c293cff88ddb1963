package staking

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/config"
	"herald/internal/config/configtest"
	"herald/internal/core"
)

func TestMulticallAndMaxBlockAgeCanBeTurnedOff(t *testing.T) {
	for value, want := range map[string]time.Duration{"": 10 * time.Minute, config.Off: 0} {
		var s Settings
		configtest.Fill(t, s.Table(), "MULTICALL_ADDRESS="+value, "MAX_BLOCK_AGE="+value)
		if s.MaxBlockAge != want || (s.Multicall == nil) != (value == config.Off) {
			t.Errorf("%q: %v, %v", value, s.Multicall, s.MaxBlockAge)
		}
	}
}

func TestClaimBlocksMayBeZero(t *testing.T) {
	for value, want := range map[string]uint64{"0": 0, "1099511627776": maxClaimBlocks} {
		var s Settings
		configtest.Fill(t, s.Table(), "STAKING_PENDING_METHOD=f(address)", "STAKING_CLAIM_BLOCKS="+value)
		if s.ClaimBlocks == nil || *s.ClaimBlocks != want {
			t.Errorf("%s is read as %v", value, s.ClaimBlocks)
		}
	}
}

func TestClaimBlocksAreUnknownIfNotSet(t *testing.T) {
	var s Settings
	configtest.Fill(t, s.Table(), "STAKING_PENDING_METHOD=f(address)", "STAKING_CLAIM_BLOCKS=")
	if s.ClaimBlocks != nil {
		t.Errorf("not set, they are %d", *s.ClaimBlocks)
	}
}

func TestClaimBlocksNeedTheMethod(t *testing.T) {
	mistakes := configtest.Try(new(Settings).Table(), "STAKING_CLAIM_BLOCKS=0")
	if len(mistakes) != 1 || !strings.Contains(mistakes[0], "STAKING_PENDING_METHOD") {
		t.Errorf("without the method: %v", mistakes)
	}
}

const (
	listedA = "0x52908400098527886E0F7030069857D2E4169EE7"
	listedB = "0xde709f2102306220921060314715629080e2fb77"
	listedC = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
)

func TestPoolsAreListedInTheSettingOrInAFile(t *testing.T) {
	file := strings.Join([]string{
		"\ufeff# the pools\r",
		listedA + "\r",
		"\r",
		"  " + listedB + "\t Pool #3 \r",
		listedC + " Main pool # the first",
		"   # end",
	}, "\n")
	for value, names := range map[string][]string{
		listedA + ", " + listedB + "\n" + listedC + ",": {"", "", ""},
		"@" + configtest.File(t, file):                  {"", "Pool #3", "Main pool"},
	} {
		var s Settings
		configtest.Fill(t, s.Table(), "STAKING_POOLS="+value)
		var want []core.Pool
		for i, address := range []string{listedA, listedB, listedC} {
			want = append(want, core.Pool{Address: common.HexToAddress(address), Name: names[i]})
		}
		if !slices.Equal(s.Pools, want) {
			t.Errorf("%s: got %v, want %v", value, s.Pools, want)
		}
	}
}

func TestEveryInvalidPoolIsReported(t *testing.T) {
	mistyped := strings.Replace(listedC, "fB", "fb", 1)
	inSetting := "0x12," + listedA + "," + mistyped + " " + strings.ToLower(listedA) + " " + listedB[2:]
	inFile := strings.Join([]string{"# c", configtest.Canary, listedB, listedB + " twice", ""}, "\n")
	for value, want := range map[string][]string{
		inSetting: {
			"entry 1 must be 0x",
			"entry 3 does not match its EIP-55",
			"entry 4 repeats the address of entry 2",
			"entry 5 must be 0x",
		},
		"@" + configtest.File(t, inFile): {
			"line 2 must be 0x",
			"line 4 repeats the address of line 3",
		},
		"@" + configtest.File(t, "# none\n"): {"names no pool"},
		"@/nonexistent/" + configtest.Canary: {"the file named after @ cannot be opened"},
	} {
		mistakes := configtest.Try(new(Settings).Table(), "STAKING_POOLS="+value)
		if len(mistakes) != len(want) {
			t.Fatalf("%d mistakes, want %d:\n%v", len(mistakes), len(want), mistakes)
		}
		for i, start := range want {
			if !strings.HasPrefix(mistakes[i], "STAKING_POOLS: "+start) {
				t.Errorf("got %s, want %s", mistakes[i], start)
			}
			if strings.Contains(mistakes[i], configtest.Canary) {
				t.Errorf("the mistake repeats the value: %s", mistakes[i])
			}
		}
	}
}
