package app

import (
	"errors"
	"fmt"

	"herald/internal/core"
)

// problems are the reasons in an operator's words.
var problems = map[core.Reason]string{
	core.Unreachable: "cannot be reached or is down",
	core.SlowAnswer:  "does not answer in time",
	core.Limited:     "wants to be asked less",
	core.Denied:      "refuses the credentials",
	core.Rejected:    "refuses the question",
	core.Malformed:   "answers something else than what was asked",
}

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

// wrong is how q failed, for an operator, with the settings to look at.
func (q *question) wrong() string {
	text, settings := q.err.Error(), q.settings
	var failed *core.Error
	if errors.As(q.err, &failed) {
		text = fmt.Sprintf("%s: %v", problems[failed.Reason], failed.Err)
		settings = settingsOf[failed.Service][failed.Reason]
		if settings == "" {
			settings = settingsOf[failed.Service][anyReason]
		}
		if failed.Reason == core.SlowAnswer {
			settings += " and UPSTREAM_TIMEOUT"
		}
	}
	text += "; look at " + settings
	if q.detail != "" {
		text += "; " + q.detail
	}
	return text
}
