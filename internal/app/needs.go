package app

import (
	"fmt"
	"slices"
	"strings"

	"herald/internal/config"
)

// A service is on if its settings are given. An operator may leave out services, but not all of them.

// serviceSettings are the settings that turn on one service.
type serviceSettings struct {
	names []string
	// text names the settings in an error, after "set". It says whether one or all of them must be set.
	text string
	// example is a line that sets one of names.
	example string
}

var (
	priceOn = serviceSettings{
		names:   []string{"PRICE_API_KEY", "PRICE_API_URL"},
		text:    "PRICE_API_KEY or PRICE_API_URL",
		example: "PRICE_API_KEY=01234567-89ab-cdef-0123-456789abcdef",
	}
	supplyOn = serviceSettings{
		names:   []string{"SUPPLY_URL"},
		text:    "SUPPLY_URL",
		example: "SUPPLY_URL=https://supply.example.org/token",
	}
	stakingOn = serviceSettings{
		names:   []string{"EVM_RPC_URL", "EVM_CHAIN_ID", "STAKING_POOLS"},
		text:    "EVM_RPC_URL, EVM_CHAIN_ID and STAKING_POOLS",
		example: "EVM_RPC_URL=https://rpc.example.org/v1/my-key",
	}
	partnerOn = serviceSettings{
		names:   []string{"PARTNER_BASE_URL", "PARTNER_APP_ID", "PARTNER_SECRET_KEY"},
		text:    "PARTNER_BASE_URL, PARTNER_APP_ID and PARTNER_SECRET_KEY",
		example: "PARTNER_BASE_URL=https://partner.example.org",
	}
)

var everyService = []serviceSettings{priceOn, supplyOn, stakingOn, partnerOn}

// givenIn reports whether at least one of the settings is given. If the service needs the others too, config.Given.Fill
// reports that they are missing.
func (s serviceSettings) givenIn(given config.Given) bool {
	return slices.ContainsFunc(s.names, given.Has)
}

// missingServices returns a mistake if no service is on, and a mistake for each setting that needs a service which is
// off.
func (c *Config) missingServices(given config.Given) (mistakes config.Errors) {
	isOn := func(s serviceSettings) bool { return s.givenIn(given) }
	if !slices.ContainsFunc(everyService, isOn) {
		var first []string
		for _, s := range everyService {
			first = append(first, s.names[0])
		}
		mistakes = append(mistakes, strings.Join(first, ", ")+": none is set, so there is no service to ask; "+
			"set at least one, for example "+priceOn.example)
	}
	for _, need := range c.needs() {
		if need.isSet && !isOn(need.service) {
			mistakes = append(mistakes, fmt.Sprintf("%s%s: needs a service that is not set; set %s, for example %s",
				given.Place(need.setting), need.setting, need.service.text, need.service.example))
		}
	}
	return mistakes
}

// need is a setting that works only if a service is on.
type need struct {
	setting string
	isSet   bool // whether the operator has set the setting
	service serviceSettings
}

// needs returns every need. A setting that needs two services has two.
func (c *Config) needs() []need {
	all := []need{
		{setting: "JOIN_CHATS", isSet: len(c.Telegram.JoinChats) > 0, service: partnerOn},
		{setting: "JOIN_CHATS", isSet: c.admitsStakers(), service: stakingOn},
	}
	for _, p := range c.platforms() {
		hasBadges := len(p.badges) > 0
		all = append(all,
			need{setting: p.badgeSetting, isSet: hasBadges, service: partnerOn},
			need{setting: p.badgeSetting, isSet: hasBadges, service: stakingOn},
		)
	}
	return append(all, need{setting: "DISCORD_PRESENCE", isSet: c.Discord.Presence, service: priceOn})
}

// admitsStakers reports whether JOIN_CHATS has a group for stakers.
func (c *Config) admitsStakers() bool {
	for _, required := range c.Telegram.JoinChats {
		if required.Staker {
			return true
		}
	}
	return false
}

// moderatorsWarning says that the settings about moderators have little effect because the partner API is off. It
// returns "" if the partner API is on or none of these settings is set.
func (c *Config) moderatorsWarning() string {
	if c.Partner.IsOn() || len(c.Operators)+len(c.ModeratorChats) == 0 {
		return ""
	}
	return "OPERATORS and MODERATOR_CHATS only open [Details] under /status: other commands of moderators need " +
		partnerOn.text
}
