package core

import (
	"time"

	"github.com/shopspring/decimal"
)

// Quote is the token's market price as a provider reports it. A number is not Valid if the provider does not report it.
type Quote struct {
	Price     decimal.Decimal     // USD
	Change1h  decimal.NullDecimal // per cent
	Change24h decimal.NullDecimal // per cent
	Change7d  decimal.NullDecimal // per cent
	Change30d decimal.NullDecimal // per cent
	MarketCap decimal.NullDecimal // USD
	Volume24h decimal.NullDecimal // USD
	// Circulating and Total are the provider's own counts of the tokens.
	Circulating decimal.NullDecimal
	Total       decimal.NullDecimal
	LastUpdated time.Time // the provider's time of the price; zero: unknown
	// CurrentUntil is when the price stops being current, and is old; zero: never.
	CurrentUntil time.Time
	Source       string // the provider's name
	Page         string // URL of the token's page at the provider; empty: none
	Endpoint     string // the path at the provider that gave the quote
}

// Changes returns the changes in per cent by their period.
func (q Quote) Changes() map[time.Duration]decimal.NullDecimal {
	const day = 24 * time.Hour
	return map[time.Duration]decimal.NullDecimal{
		time.Hour: q.Change1h,
		day:       q.Change24h,
		7 * day:   q.Change7d,
		30 * day:  q.Change30d,
	}
}

// Old reports whether CurrentUntil has passed. The price must then not be shown as current.
func (q Quote) Old() bool { return !q.CurrentUntil.IsZero() && !time.Now().Before(q.CurrentUntil) }

// PricedAt is the price of a token at a time.
type PricedAt struct {
	At    time.Time
	Price decimal.Decimal // USD
}

// IsPossible reports whether the time is after 1970, and the price between 1e-30 and 1e30. The time may be in the
// future.
func (p PricedAt) IsPossible() bool {
	price := p.Price.InexactFloat64()
	return p.At.Unix() > 0 && price > 1e-30 && price < 1e30
}

// Chart is a picture of the price over a period. Prices are in USD.
type Chart struct {
	PNG []byte
	// HasLine reports whether PNG shows the price as a line. If prices of too little of the period are known, it shows
	// only figures.
	HasLine bool
	// LineFrom is when a chart will have a line, unless there are long pauses without a quote. It is zero if HasLine is
	// set, and if the quote is old or has no time. If the period is longer than a day, it is the beginning of a day in
	// UTC.
	LineFrom time.Time
	// First and Last are the first and the last known price of the period. If none is known, both are the quote's price.
	First, Last decimal.Decimal
	// Since is the time of First.
	Since time.Time
	// Lowest and Highest are zero unless Seen is almost 1.
	Lowest, Highest decimal.Decimal
	// Change is the change in per cent that PNG shows. It is not Valid if it is unknown.
	Change decimal.NullDecimal
	// Seen is the part of the period, from 0 to 1, for which prices are known.
	Seen float64
}
