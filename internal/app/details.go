package app

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"herald/commands"
	"herald/internal/belief"
	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/service/market"
	"herald/internal/service/staking"
	"herald/internal/words"
)

// The functions about… return the details of `bot check` about the answers of services: sentences for an operator.

// aboutPartner describes the partner API at url: whether it accepted the signature, whether the requests are encrypted,
// and how far its clock differs from this machine's, if by more than maxClockSkew. ahead is how far the clock is ahead.
// err is the error of the call; it is nil if the signature was accepted.
func aboutPartner(url string, ahead time.Duration, err error) (details []string) {
	if err == nil {
		details = append(details, "the signature is accepted")
	}
	if config.PublicHTTP(url) {
		details = append(details, unencrypted)
	}
	ahead = ahead.Round(time.Second)
	switch {
	case ahead > maxClockSkew:
		details = append(details, fmt.Sprintf("its clock is %v ahead of this machine's", ahead))
	case ahead < -maxClockSkew:
		details = append(details, fmt.Sprintf("its clock is %v behind this machine's", -ahead))
	}
	return details
}

// unencrypted is the warning about a PARTNER_BASE_URL with http:// to a host on the Internet: see config.PublicHTTP.
const unencrypted = "PARTNER_BASE_URL is not https://, " +
	"so anybody on the way can read the requests and forge the answers"

// maxClockSkew is the largest difference between two clocks that is not reported. A Date header has a resolution of one
// second, and the network takes time.
const maxClockSkew = 2 * time.Second

// aboutQuote describes the token that was found, with its price and the price's age.
func aboutQuote(found market.Listing) (details []string) {
	const maxName = 40 // characters
	symbol := chat.NewUntrusted(found.Symbol, maxName)
	name := chat.NewUntrusted(found.Name, maxName)
	id := chat.NewUntrusted(found.ID, maxName)
	price := say(chat.Price{Decimal: found.Quote.Price})
	text := fmt.Sprintf("%s (%s), id %s, %s", symbol, name, id, price)
	if at := found.Quote.LastUpdated; !at.IsZero() {
		text += ", " + say(chat.Moment{Time: at})
	}
	details = []string{text}
	if found.Quote.Old() {
		details = append(details, "that price is old: is this the right token?")
	}
	if found.IsV1Gone() {
		details = append(details,
			"it has ended version 1 of its quotes (/v1/cryptocurrency/quotes/latest); version 3 is asked")
	}
	return details
}

// aboutRefusal quotes what the price provider said about its refusal, if it said anything.
func aboutRefusal(said string) []string {
	const maxLength = 120 // characters
	shown := chat.NewUntrusted(said, maxLength)
	if shown == "" {
		return nil
	}
	return []string{"it says: " + string(shown)}
}

// aboutDoubt explains why quote, which was just fetched, is doubtful: it contradicts other figures. It returns nothing
// if prices believes the quote.
func aboutDoubt(prices *belief.Prices, quote core.Quote) []string {
	_, err := prices.Peek(query.Snapshot[*core.Quote]{Value: &quote, At: time.Now()})
	doubt, isDoubt := errors.AsType[*belief.DoubtError](err)
	if !isDoubt {
		return nil
	}
	return []string{"that price is doubtful: " + say(commands.WhyDoubtful(doubt))}
}

// aboutCredits says how many credits of the price provider are left. If err is not nil, the provider did not say, and
// aboutCredits says whether the bot counts the credits itself: whether it has a budget.
func aboutCredits(reading market.Reading, err error, hasBudget bool) string {
	switch {
	case err == nil:
		days := reading.MonthEndsIn.Hours() / 24
		return fmt.Sprintf("credits left: %s, a new month in %.1f days", say(chat.Count(reading.Left)), days)
	case hasBudget:
		return "it does not say what is left of the plan: credits are counted here, by PRICE_MONTHLY_CREDITS or 10000 a month"
	default:
		return "credits are not counted: PRICE_MONTHLY_CREDITS is 0"
	}
}

// aboutSupply gives the total and the circulating supply, each if it is known.
func aboutSupply(found core.Supply, symbol string) (details []string) {
	if found.Total.IsPositive() {
		details = append(details, say(chat.Amount{Decimal: found.Total, Symbol: symbol})+" in total")
	}
	if found.Circulating.IsPositive() {
		details = append(details, say(chat.Amount{Decimal: found.Circulating, Symbol: symbol})+" circulating")
	}
	return details
}

// aboutNames says how many pools have a name, and lists at most three that have none. It returns nothing if all pools
// have a name.
func aboutNames(pools []core.Pool) []string {
	const maxListed = 3
	var unnamed []string // addresses
	for _, pool := range pools {
		if pool.Name == "" {
			unnamed = append(unnamed, pool.Address.Hex())
		}
	}
	named := len(pools) - len(unnamed)
	if len(unnamed) == 0 {
		return nil
	}
	if named == 0 {
		return []string{"no pool has a name, so addresses are shown; STAKING_POOLS=@FILE can name them"}
	}
	listed := unnamed
	if len(unnamed) > maxListed {
		listed = append(unnamed[:maxListed], fmt.Sprintf("and %d more", len(unnamed)-maxListed))
	}
	return []string{fmt.Sprintf("pools with a name: %d of %d; shown by address: %s",
		named, len(pools), strings.Join(listed, ", "))}
}

// aboutPools describes the chain, its newest block, the pools, and a withdrawal of the wallet. It leaves out what is
// not known.
func aboutPools(found staking.Found, symbol string) (details []string) {
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
	if found.Way != "" { // how the pools are read
		details = append(details, found.Way)
	}
	countsOtherwise := found.Height > 0 && found.Height != found.Block
	if countsOtherwise {
		height := say(chat.Count(found.Height))
		details = append(details, "contracts read the number "+height+" in that block, and withdrawals are counted by it")
	}
	if found.Pending != nil {
		details = append(details, aboutPending(*found.Pending, found.ReadAt, symbol))
	}
	return details
}

// aboutPending describes a withdrawal of the wallet. It gives the withdrawal's block and the newest one, which an
// operator compares to find the right STAKING_CLAIM_BLOCKS. readAt is the newest block's number as contracts read it,
// or 0 if the node does not report it.
func aboutPending(w staking.Withdrawal, readAt uint64, symbol string) string {
	if w.Amount.IsZero() {
		return "pending of the wallet: nothing"
	}
	text := fmt.Sprintf("pending of the wallet: %s, block %s",
		say(chat.Amount{Decimal: w.Amount, Symbol: symbol}), words.Number(chat.English, w.Block.String(), "#"))
	if readAt == 0 {
		return text + "; the node does not say how contracts count blocks, so members are not told when"
	}
	return text + "; newest block " + say(chat.Count(readAt))
}

// say returns v in English, as a chat shows it, but with plain spaces for no-break spaces.
func say(v chat.Value) string { return strings.ReplaceAll(words.Say(chat.English, v), "\u00a0", " ") }
