// Package core holds the domain: prices, supplies, stakes, accounts, logins, and the failures of services.
//
// It makes no calls and stores nothing. The package of a service knows how to call it, and package query decides when.
//
// The files: quote.go (prices), core.go (supplies, accounts and logins), stake.go (stakes and withdrawals),
// identity.go, wallet.go and ton.go (IDs of people and wallets), errors.go (services and their failures).
package core

import (
	"time"

	"github.com/shopspring/decimal"
)

// Supply counts tokens. Total is above zero. Circulating is from zero to Total.
type Supply struct {
	Total       decimal.Decimal
	Circulating decimal.Decimal
}

// Account is a person's account with the partner's service.
type Account struct {
	// DID identifies the account. It is personal data. It is empty if the person is not registered.
	DID string
}

// Registered reports whether the account exists.
func (a Account) Registered() bool { return a.DID != "" }

// Login is one login of a person to a dapp.
type Login struct {
	Dapp     string
	Platform string // with which the person logged in
	At       time.Time
}

// Earlier returns the earlier of two times. The zero Time is earlier than all others.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
