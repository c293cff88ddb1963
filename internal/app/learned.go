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
	"herald/internal/service/partner"
	"herald/internal/service/staking"
	"herald/internal/words"
)

// The functions below say what a probe has learned, a short sentence each, for
// the table of Check. What is not known is left out.

// say is a value as members read it in English, without the spaces that forbid a
// break.
func say(v chat.Value) string { return strings.ReplaceAll(words.Say(chat.English, v), "\u00a0", " ") }

func aboutPartner(found partner.Clocks, accepted bool) (learned []string) {
	if accepted {
		learned = append(learned, "the signature is accepted")
	}
	apart, direction := found.Ahead.Abs().Round(time.Second), "ahead of"
	if found.Ahead > 0 {
		direction = "behind"
	}
	switch {
	case !found.Known:
	case found.Ahead == 0:
		learned = append(learned, "its clock and this machine's agree")
	case !found.Allowed:
		learned = append(learned, fmt.Sprintf("the dates of its answers and this machine's clock are %v apart", apart))
	default:
		learned = append(learned, fmt.Sprintf("this machine's clock is %v %s the service's, which is allowed for", apart, direction))
	}
	return learned
}

// clockFirst has err advise to look at the clock before the settings if the API
// refuses what is signed by it, and its own is another.
func clockFirst(found partner.Clocks, err error) error {
	failed, ok := errors.AsType[*core.Error](err)
	if !ok || found.Ahead == 0 || found.Allowed || failed.Reason != core.Denied && failed.Reason != core.Rejected {
		return err
	}
	return errors.Join(err, &config.WrongError{
		Settings: "this machine's clock first, then at " + failed.Service.SettingsFor(failed.Reason)})
}

// longestListed bounds what the price provider calls the token, in characters.
const longestListed = 40

const (
	// oldestQuote is far above the minutes that providers take, also for a token
	// that is hardly traded.
	oldestQuote = 24 * time.Hour
	// quoteAhead is more than a clock that is set over the network is ever off.
	quoteAhead = 5 * time.Minute
)

func aboutQuote(found market.Listing) []string {
	price, at := say(chat.Price{Decimal: found.Quote.Price}), found.Quote.LastUpdated
	if !at.IsZero() {
		price += ", " + say(chat.Moment{Time: at})
	}
	learned := []string{fmt.Sprintf("%s, id %s, %s", plain(found.Symbol), plain(found.ID), price)}
	if found.Name != "" {
		learned = append(learned, "the provider calls it "+plain(found.Name))
	}
	switch age := time.Since(at); {
	case at.IsZero():
	case age > oldestQuote:
		learned = append(learned, "that price is old: is it the token that you mean?")
	case age < -quoteAhead:
		learned = append(learned, "that price is dated ahead of this machine's clock: is the clock right?")
	}
	return learned
}

// plain is text of a service.
func plain(text string) string { return string(chat.NewUntrusted(text, longestListed)) }

func aboutSupply(found core.Supply, symbol string) (learned []string) {
	if found.Total.IsPositive() {
		learned = append(learned, say(chat.Amount{Decimal: found.Total, Symbol: symbol})+" in total")
	}
	if !found.Circulating.IsPositive() {
		return learned
	}
	circulating := say(chat.Amount{Decimal: found.Circulating, Symbol: symbol}) + " circulate"
	if found.Total.IsPositive() && !found.Circulating.GreaterThan(found.Total) {
		share := found.Circulating.Mul(decimal.NewFromInt(100)).DivRound(found.Total, 2)
		circulating += ", " + share.StringFixed(2) + "%"
	}
	return append(learned, circulating)
}

func aboutPools(found staking.Found) (learned []string) {
	if found.ChainID != nil {
		learned = append(learned, fmt.Sprintf("chain %d", found.ChainID))
	}
	if found.Block != nil {
		newest := "newest block " + found.Block.String()
		if found.Block.IsInt64() {
			newest = "newest block " + say(chat.Count(found.Block.Int64()))
		}
		if !found.BlockTime.IsZero() {
			newest += ", " + say(chat.Moment{Time: found.BlockTime})
		}
		learned = append(learned, newest)
	}
	without := "none"
	if missing := len(found.Missing); missing > 0 {
		without = say(chat.Count(missing))
	}
	if found.Deployed+len(found.Missing) > 0 {
		learned = append(learned, fmt.Sprintf("pools with code: %s, without: %s", say(chat.Count(found.Deployed)), without))
	}
	if found.Multicall != "" {
		learned = append(learned, found.Multicall)
	}
	return learned
}
