package app

import (
	"fmt"
	"slices"
	"strings"

	"herald/internal/config"
)

// turningOn are the settings that turn on one service. An operator may leave out each service, but not all of them.
type turningOn struct {
	names []string
	// text says in an error which of names to set, and example is a line that sets one of them.
	text, example string
}

var (
	priceOn = turningOn{
		names:   []string{"PRICE_API_KEY", "PRICE_API_URL"},
		text:    "PRICE_API_KEY or PRICE_API_URL",
		example: "PRICE_API_KEY=01234567-89ab-cdef-0123-456789abcdef",
	}
	supplyOn = turningOn{
		names:   []string{"SUPPLY_URL"},
		text:    "SUPPLY_URL",
		example: "SUPPLY_URL=https://supply.example.org/token",
	}
	stakingOn = turningOn{
		names:   []string{"EVM_RPC_URL", "EVM_CHAIN_ID", "STAKING_POOLS"},
		text:    "EVM_RPC_URL, EVM_CHAIN_ID and STAKING_POOLS",
		example: "EVM_RPC_URL=https://rpc.example.org/v1/my-key",
	}
	partnerOn = turningOn{
		names:   []string{"PARTNER_BASE_URL", "PARTNER_APP_ID", "PARTNER_SECRET_KEY"},
		text:    "PARTNER_BASE_URL, PARTNER_APP_ID and PARTNER_SECRET_KEY",
		example: "PARTNER_BASE_URL=https://partner.example.org",
	}
)

// everyService has the settings of each service.
var everyService = []turningOn{priceOn, supplyOn, stakingOn, partnerOn}

// givenIn reports whether one of the settings is given. If others are missing beside it, config.Given.Fill says so.
func (s turningOn) givenIn(given config.Given) bool { return slices.ContainsFunc(s.names, given.Has) }

// missingServices returns a mistake if no service is turned on, and one for each setting that needs a service which
// is not.
func (c *Config) missingServices(given config.Given) (wrong config.Errors) {
	isGiven := func(s turningOn) bool { return s.givenIn(given) }
	if !slices.ContainsFunc(everyService, isGiven) {
		var first []string
		for _, s := range everyService {
			first = append(first, s.names[0])
		}
		wrong = append(wrong, strings.Join(first, ", ")+": none is set, so there is no service to ask; "+
			"set at least one, for example "+priceOn.example)
	}
	for _, need := range c.needs() {
		if need.isSet && !isGiven(need.service) {
			wrong = append(wrong, fmt.Sprintf("%s%s: needs a service that is not set; set %s, for example %s",
				given.Place(need.setting), need.setting, need.service.text, need.service.example))
		}
	}
	return wrong
}

// need says that a setting, if it is set, works only with a service.
type need struct {
	setting string
	isSet   bool
	service turningOn
}

func (c *Config) needs() []need {
	hasTags, hasRoles := len(c.Telegram.StakerTags) > 0, len(c.Discord.StakerRoles) > 0
	return []need{
		{setting: "JOIN_CHATS", isSet: len(c.Telegram.JoinChats) > 0, service: partnerOn},
		{setting: "JOIN_CHATS", isSet: c.admitsStakers(), service: stakingOn},
		{setting: "STAKER_TAGS", isSet: hasTags, service: partnerOn},
		{setting: "STAKER_TAGS", isSet: hasTags, service: stakingOn},
		{setting: "STAKER_ROLES", isSet: hasRoles, service: partnerOn},
		{setting: "STAKER_ROLES", isSet: hasRoles, service: stakingOn},
		{setting: "DISCORD_PRESENCE", isSet: c.Discord.Presence, service: priceOn},
	}
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

// idleModerators says that settings about moderators have little effect, because the partner API is off. It returns ""
// if that is not so.
func (c *Config) idleModerators() string {
	if c.Partner.IsOn() || len(c.Operators)+len(c.ModeratorChats) == 0 {
		return ""
	}
	return "OPERATORS and MODERATOR_CHATS only open [Details] under /status: other commands of moderators need " +
		partnerOn.text
}
