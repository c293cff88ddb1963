package app

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/service/market"
	"herald/internal/service/staking"
	"herald/internal/words"
)

// The functions below say what a probe found out, a short sentence each, for the
// table of Check. What is not known is left out.

// say is a value as members read it in English, with spaces that may break.
func say(v chat.Value) string { return strings.ReplaceAll(words.Say(chat.English, v), "\u00a0", " ") }

// maxClockSkew is more than the resolution of a Date or a network can feign.
const maxClockSkew = 2 * time.Second

// aboutPartner says how far the service's clock is ahead of this machine's.
func aboutPartner(ahead time.Duration, err error) (details []string, _ error) {
	if err == nil {
		details = append(details, "the signature is accepted")
	}
	if ahead.Abs() <= maxClockSkew {
		return details, err
	}
	direction := "ahead of"
	if ahead < 0 {
		direction = "behind"
	}
	details = append(details, fmt.Sprintf("its clock is %v %s this machine's", ahead.Abs().Round(time.Second), direction))
	if failed, ok := errors.AsType[*core.Error](err); ok && (failed.Reason == core.Denied || failed.Reason == core.Rejected) {
		err = errors.Join(err, &config.WrongError{
			Settings: "this machine's clock first, then at " + failed.Service.SettingsFor(failed.Reason)})
	}
	return details, err
}

// maxListed bounds what the price provider calls the token, in characters.
const maxListed = 40

func aboutQuote(found market.Listing, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	untrusted := func(text string) string { return string(chat.NewUntrusted(text, maxListed)) }
	price, at := say(chat.Price{Decimal: found.Quote.Price}), found.Quote.LastUpdated
	if !at.IsZero() {
		price += ", " + say(chat.Moment{Time: at})
	}
	details := []string{fmt.Sprintf("%s, id %s, %s", untrusted(found.Symbol), untrusted(found.ID), price)}
	if found.Name != "" {
		details = append(details, "the provider calls it "+untrusted(found.Name))
	}
	if found.Quote.Old() {
		details = append(details, "that price is old: is it the token that you mean?")
	}
	return details, nil
}

func aboutSupply(found core.Supply, symbol string) (details []string) {
	if found.Total.IsPositive() {
		details = append(details, say(chat.Amount{Decimal: found.Total, Symbol: symbol})+" in total")
	}
	if found.Circulating.IsPositive() {
		details = append(details, say(chat.Amount{Decimal: found.Circulating, Symbol: symbol})+" circulate")
	}
	if len(details) == 2 && !found.Circulating.GreaterThan(found.Total) {
		share := found.Circulating.Mul(decimal.NewFromInt(100)).DivRound(found.Total, 2)
		details[1] += ", " + share.StringFixed(2) + "%"
	}
	return details
}

func aboutPools(found staking.Found, err error) (details []string, _ error) {
	if found.ChainID != nil {
		details = append(details, fmt.Sprintf("chain %d", found.ChainID))
	}
	if found.Block > 0 {
		newest := "newest block " + say(chat.Count(found.Block))
		if !found.BlockTime.IsZero() {
			newest += ", " + say(chat.Moment{Time: found.BlockTime})
		}
		details = append(details, newest)
	}
	if found.Deployed+found.Missing > 0 {
		details = append(details, fmt.Sprintf("pools with code: %d, without: %d", found.Deployed, found.Missing))
	}
	if found.Way != "" {
		details = append(details, found.Way)
	}
	return details, err
}
