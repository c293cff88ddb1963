package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/staking"
)

// anyReason stands for those that are not listed.
const anyReason core.Reason = ""

// settingsOf are the settings to look at when a service fails.
var settingsOf = map[core.Service]map[core.Reason]string{
	core.Partner: {
		anyReason:   "PARTNER_BASE_URL",
		core.Denied: "PARTNER_APP_ID and PARTNER_SECRET_KEY",
		core.Rejected: "PARTNER_BASE_URL, PARTNER_APP_ID and PARTNER_SECRET_KEY; " +
			`or list the code in PARTNER_NOT_FOUND_CODES if it means "no such user"`,
	},
	core.Price: {
		anyReason:      "PRICE_API_URL",
		core.Denied:    "PRICE_API_KEY",
		core.Limited:   "PRICE_API_KEY, whose plan may be used up, and PRICE_TTL",
		core.Rejected:  "PRICE_TOKEN_ID, PRICE_TOKEN_SLUG, TOKEN_SYMBOL and PRICE_API_URL",
		core.Malformed: "PRICE_TOKEN_ID, PRICE_TOKEN_SLUG, TOKEN_SYMBOL and PRICE_API_URL",
	},
	core.TokenSupply: {anyReason: "SUPPLY_URL"},
	core.Chain: {
		anyReason:      "EVM_RPC_URL",
		core.Denied:    "the key in EVM_RPC_URL",
		core.Rejected:  "STAKING_METHOD and EVM_RPC_URL",
		core.Malformed: "EVM_CHAIN_ID and EVM_RPC_URL",
	},
}

func settingsFor(failed *core.Error) string {
	if settings, listed := settingsOf[failed.Service][failed.Reason]; listed {
		return settings
	}
	return settingsOf[failed.Service][anyReason]
}

// anyWallet is whose stake is asked for; the answer does not matter. It is not
// the zero address, which some contracts refuse.
var anyWallet = common.Address{common.AddressLength - 1: 1}

// probePools fails also if a pool is no contract, or does not answer the
// methods.
func probePools(ctx context.Context, chain *staking.Client, pools int) (detail string, err error) {
	report, err := chain.Check(ctx)
	if err != nil {
		return "", err
	}
	if len(report.Codeless) > 0 {
		return "", fmt.Errorf("no contract at %s", addresses(report.Codeless))
	}
	stake, err := chain.Stake(ctx, anyWallet)
	switch {
	case err != nil:
		return "", err
	case len(stake.Failed) > 0:
		return "", fmt.Errorf("STAKING_METHOD is not answered by %s", addresses(stake.Failed))
	case len(stake.UnbondingFailed) > 0:
		return "", fmt.Errorf("STAKING_PENDING_METHOD is not answered by %s", addresses(stake.UnbondingFailed))
	}
	detail = fmt.Sprintf("%d pools", pools)
	if report.NoMulticall {
		detail += "; no contract at MULTICALL_ADDRESS, they are read by batch"
	}
	return detail, nil
}

func addresses(pools []core.Pool) string {
	var list []string
	for _, p := range pools {
		list = append(list, p.Address.Hex())
	}
	return strings.Join(list, ", ")
}

// skewDetail mentions a clock that is off by more than can be measured.
func skewDetail(skew time.Duration, known bool) string {
	skew = skew.Round(time.Second)
	switch {
	case !known || skew.Abs() <= 2*time.Second:
		return ""
	case skew > 0:
		return fmt.Sprintf("this machine's clock is %s behind the service's, which is allowed for", skew)
	}
	return fmt.Sprintf("this machine's clock is %s ahead of the service's, which is allowed for", -skew)
}
