package commandstest

import (
	"encoding/base64"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/commands"
	"herald/internal/core"
	"herald/internal/query"
)

// IDs of users of Telegram.
const (
	Ann      = "1"     // is registered, and has logins
	Bob      = "12345" // is registered
	Stranger = "404"   // is not registered
	Operator = "77"    // operates the bot, and may therefore ask about others
)

// Addresses of wallets.
const (
	Wallet     = "0x52908400098527886E0F7030069857D2E4169EE7" // nobody has registered it
	AnnsWallet = "0x00000000000000000000000000000000000a0001"
	BobsWallet = "0x00000000000000000000000000000000000b0002"
)

// IDs of groups of Telegram.
const (
	Community = "-1001234567890" // its moderators may ask about others
	Members   = "-1001"          // registered users can join it, if a scene says so
	Stakers   = "-1002"          // stakers can join it, if a scene says so
)

const (
	annsDID = "did:x:ann"
	bobsDID = "did:x:bob"
)

// Healthy returns Answers in which every service works.
func Healthy() *Answers {
	return &Answers{
		Price: query.Snapshot[*core.Quote]{
			At:         Noon.Add(time.Minute),
			FreshUntil: Noon.Add(90 * time.Second),
			Value:      healthyQuote(),
		},
		Supply: query.Snapshot[core.Supply]{
			At:         Noon,
			FreshUntil: Noon.Add(5 * time.Minute),
			Value:      core.Supply{Total: number("1000000000"), Circulating: number("98765432.100000000000000001")},
		},
		Stake:           healthyStake(),
		StakeFreshUntil: Noon.Add(2 * time.Minute),
		Accounts: map[core.Identity]core.Account{
			{Platform: "Telegram", UID: Ann}:  {DID: annsDID},
			{Platform: "Discord", UID: "5"}:   {DID: "did:x:eve"},
			{Platform: "Email", UID: "a@b.c"}: {DID: "did:x:mail"},
			{Platform: "Telegram", UID: Bob}:  {DID: bobsDID},
			wallet(AnnsWallet):                {DID: annsDID},
			wallet(BobsWallet):                {DID: bobsDID},
		},
		AccountsAsked: map[core.Identity]int{},
		Logins: []core.Login{
			{Dapp: "Swap **x**", Platform: "EVM", At: Noon},
			{Dapp: "Game\nnight", Platform: "Telegram", At: Noon.Add(-time.Hour)},
		},
		Chart: healthyChart(),
		Options: commands.Options{
			Symbol:      "TKN",
			ExplorerURL: "https://explorer.example",
			RegisterURL: "https://register.example",
			StakeURL:    "https://stake.example",
		},
		Saved: FakeMembers{Off: true},
	}
}

func healthyQuote() *core.Quote {
	return &core.Quote{
		Price:       number("0.0123456789"),
		Change1h:    known("0.125"),
		Change24h:   known("-3.5"),
		Change7d:    known("0"),
		MarketCap:   known("1234567.891"),
		Volume24h:   known("999.5"),
		LastUpdated: Noon,
		Source:      "CoinMarketCap",
		Page:        "https://provider.example/currencies/herald/",
	}
}

func healthyStake() core.Stake {
	return core.Stake{
		Block:     22_000_077,
		BlockTime: time.Now().Add(-12 * time.Second),
		Checked:   21,
		Staked: []core.PoolAmount{
			{
				Pool:   core.Pool{Address: common.HexToAddress("0x01"), Name: "Genesis @all"},
				Amount: number("1234567.000000000000000001"),
			},
			{
				Pool:   core.Pool{Address: common.HexToAddress("0x02")},
				Amount: number("0.5"),
			},
		},
	}
}

func healthyChart() core.Chart {
	return core.Chart{
		PNG:     picture,
		HasLine: true,
		First:   number("0.0120"),
		Last:    number("0.0123456789"),
		Change:  known("2.88"),
		Lowest:  number("0.01"),
		Highest: number("0.0125"),
		Seen:    1,
		Since:   Noon.AddDate(0, 0, -7),
	}
}

// wallet returns what the partner is asked about a wallet.
func wallet(address string) core.Identity { return core.IdentityOf(common.HexToAddress(address)) }

// number returns the decimal number in s.
func number(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// known returns a figure that is known.
func known(s string) decimal.NullDecimal { return decimal.NewNullDecimal(number(s)) }

// picture is a PNG of one white pixel.
var picture, _ = base64.StdEncoding.DecodeString(
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAADklEQVR4nGL6DwgAAP//AQUBAlrdOc0AAAAASUVORK5CYII=")
