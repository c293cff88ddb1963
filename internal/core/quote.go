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
	// From CurrentUntil on, the price is old; zero: never.
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

// Old reports whether CurrentUntil has come. The price must then not be shown as current.
func (q Quote) Old() bool { return !q.CurrentUntil.IsZero() && !time.Now().Before(q.CurrentUntil) }

// PricedAt is the price of a token at a time.
type PricedAt struct {
	At    time.Time
	Price decimal.Decimal // USD
}

// The bounds of a plausible price, in USD.
const (
	minPrice = 1e-30
	maxPrice = 1e30
)

// IsPlausible reports whether the time is after the beginning of 1970, and the price between minPrice and maxPrice. The
// time may be in the future.
func (p PricedAt) IsPlausible() bool {
	price := p.Price.InexactFloat64()
	return p.At.Unix() > 0 && price > minPrice && price < maxPrice
}

// Chart is a picture of the price over a period. Prices are in USD.
type Chart struct {
	PNG []byte // nil: the chart could not be drawn
	// HasLine reports whether PNG shows the price as a line. If prices of too little of the period are known, it shows
	// only figures.
	HasLine bool
	// LineFrom is from when on charts of this period will show a line, if quotes keep coming until then. It is rounded up
	// to a minute, or to a UTC day for periods above a day. It is zero if HasLine is set, and if the quote is old or
	// undated.
	LineFrom time.Time
	// First and Last are the first and the last known price of the period. If none is known, both are the quote's price.
	First, Last decimal.Decimal
	// Since is the time of First.
	Since time.Time
	// Lowest and Highest are zero if Seen is less than minSeenForExtremes of package pricechart.
	Lowest, Highest decimal.Decimal
	// Change is the change over the period in per cent, which PNG shows. It is not Valid if it is unknown.
	Change decimal.NullDecimal
	// Seen is the part of the period, from 0 to 1, for which prices are known.
	Seen float64
}
