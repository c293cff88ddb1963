package market

import (
	"cmp"
	"time"

	"herald/internal/config"
	"herald/internal/secret"
)

// Settings are what an operator chooses.
type Settings struct {
	// URL is the provider's origin, without a slash at its end; empty: there is no price provider.
	URL    string
	APIKey secret.Value // unset: none is sent
	// TokenBy says what Token is: byID or bySymbol. It is also the name of the URL's query parameter.
	TokenBy string
	// Token is the token's ID at the provider, or its symbol there.
	Token string
	// Symbol stands after amounts. A quote of another symbol is an error.
	Symbol string
	// MonthlyCredits is how many of the plan's credits the bot may use per month. 0 stands for as many as the provider
	// says are left. It is ignored if Unlimited is set.
	MonthlyCredits int
	// Unlimited is set if the bot may make any number of calls.
	Unlimited bool
	// TTL is how long a quote is fresh.
	TTL time.Duration
	// MaxPriceAge is how old the provider's own quote may be before it is marked as old; 0: any age.
	MaxPriceAge time.Duration
}

// The ways to ask for a token.
const (
	byID     = "id" // the provider's ID
	bySymbol = "symbol"
)

// IsOn reports whether there is a price provider to ask.
func (s Settings) IsOn() bool { return s.URL != "" }

// coinMarketCap is the URL if only a key is set.
const coinMarketCap = "https://pro-api.coinmarketcap.com"

// Table declares the settings that fill s. TokenBy and Token come from PRICE_TOKEN_ID, or from TOKEN_SYMBOL if
// that is unset.
func (s *Settings) Table() []config.Setting {
	return []config.Setting{
		{
			Heading: "Token and its price",
			Name:    "PRICE_API_URL",
			Example: coinMarketCap,
			Comment: "URL of the price provider; /v1/... and /v3/... are appended. " +
				"Unset: CoinMarketCap if PRICE_API_KEY is set; otherwise there is no /price.",
			Set: config.Field(&s.URL, config.BaseURLWithout("/v1/cryptocurrency")),
		},
		{
			Name:    "PRICE_API_KEY",
			Secret:  true,
			Example: "01234567-89ab-cdef-0123-456789abcdef",
			Comment: "Your key for CoinMarketCap; it turns on /price. Unset: none is sent.",
			Set:     s.setAPIKey,
		},
		{
			Name:    "PRICE_TOKEN_ID",
			Example: "1027",
			Comment: "The token's UCID at CoinMarketCap. Set it, because coins share symbols.",
			Set:     s.setToken(byID, config.Matching(`[1-9][0-9]{0,11}`, "the token's number at the provider")),
		},
		{
			Name:     "TOKEN_SYMBOL",
			Required: true,
			Example:  "ETH",
			Comment:  "The token's symbol, without $. A price of another symbol is refused.",
			Set:      s.setSymbol,
		},
		{
			Name:    "PRICE_TTL",
			Default: "30s",
			Comment: "How long a price is fresh, if the credits allow. It is refreshed only while people ask.",
			Set:     config.Field(&s.TTL, config.Duration),
		},
		{
			Name:    "MAX_PRICE_AGE",
			Default: "1h",
			Comment: "How old the provider's own quote may be before it is marked as old, with its time, " +
				"wherever a price is shown. off: any age.",
			Set: config.Field(&s.MaxPriceAge, config.OrOff(config.Duration)),
		},
		{
			Name:    "PRICE_MONTHLY_CREDITS",
			Example: "5000",
			Comment: "Maximum number of the plan's calls per month that this bot uses; 0: no limit. " +
				"Unset: as many as the provider says are left, or 10000 if it does not say.",
			Set: s.setCredits,
		},
	}
}

// rightToLeft are the ranges that Unicode reserves for scripts written from right to left, as part of a regexp's class.
// See DerivedBidiClass.txt. The package regexp does not know all these scripts by name.
const rightToLeft = `\x{590}-\x{8FF}\x{FB1D}-\x{FDFF}\x{FE70}-\x{FEFF}\x{10800}-\x{10FFF}\x{1E800}-\x{1EFFF}`

// symbol reads a token's symbol. Letters of rightToLeft would reorder the line.
var symbol = config.Except(`\$.*`, "must be without $", config.Matching(
	`[^\pC\pZ\x{FFFD}`+rightToLeft+`]{1,20}`,
	"at most 20 visible characters, written from left to right, without white space"))

// setSymbol sets Symbol, and TokenBy and Token unless they are set.
func (s *Settings) setSymbol(value string) error {
	if err := config.Field(&s.Symbol, symbol)(value); err != nil {
		return err
	}
	return s.setToken(bySymbol, config.Text)(value)
}

// setCredits sets MonthlyCredits, and Unlimited if value is 0.
func (s *Settings) setCredits(value string) error {
	err := config.Field(&s.MonthlyCredits, config.IntBetween(0, 100_000_000))(value)
	s.Unlimited = s.MonthlyCredits == 0
	return err
}

// setAPIKey sets APIKey. If PRICE_API_URL is not set, it sets URL to CoinMarketCap's. PRICE_API_URL comes earlier in
// Table, so it has been read by then.
func (s *Settings) setAPIKey(value string) error {
	err := config.Field(&s.APIKey, config.Hidden(config.Visible))(value)
	s.URL = cmp.Or(s.URL, coinMarketCap)
	return err
}

// setToken returns a function that sets TokenBy to by, and Token to what read returns. If both are already set, the
// function checks its argument but stores nothing: PRICE_TOKEN_ID comes before TOKEN_SYMBOL in Table.
func (s *Settings) setToken(by string, read func(string) (string, error)) func(string) error {
	return func(value string) error {
		token, err := read(value)
		if err != nil {
			return err
		}
		if s.TokenBy == "" {
			s.TokenBy = by
			s.Token = token
		}
		return nil
	}
}
