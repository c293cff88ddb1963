package core_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
)

func TestIdentityTakesEveryPlatformsIDs(t *testing.T) {
	for _, id := range []core.Identity{
		{Platform: "telegram", UID: "1234567890"}, {Platform: "TWITTER", UID: "1"}, {Platform: "Discord", UID: "123456789012345678"},
		{Platform: "github", UID: "7"}, {Platform: "YouTube", UID: "7"}, {Platform: "Facebook", UID: "7"}, {Platform: "LinkedIn", UID: "7"},
		{Platform: "evm", UID: "0x52908400098527886E0F7030069857D2E4169EE7"}, {Platform: "EVM", UID: "0x52908400098527886e0f7030069857d2e4169ee7"},
		{Platform: "BTC", UID: "1BoatSLRHtKNngkdXEeobR76b53LETtpyT"}, {Platform: "btc", UID: "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"},
		{Platform: "TRON", UID: "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"}, {Platform: "TON", UID: "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs"},
		{Platform: "TON", UID: "-1:" + strings.Repeat("a", 64)}, {Platform: "SOL", UID: "So11111111111111111111111111111111111111112"},
		{Platform: "email", UID: "ann@example.org"}, {Platform: "Email", UID: "4711"},
	} {
		got, err := core.NewIdentity(id.Platform, id.UID)
		if err != nil || !strings.EqualFold(got.Platform, id.Platform) || got.UID != id.UID {
			t.Errorf("%v: %v, %v", id, got, err)
		}
	}
	if got, _ := core.NewIdentity("tElEgRaM", "1"); got.Platform != "Telegram" {
		t.Errorf("the platform is spelled %q, not as the service does", got.Platform)
	}
}

func TestIdentityOfAnotherFormIsRefused(t *testing.T) {
	for _, id := range []core.Identity{
		{Platform: "Moon", UID: "1"}, {Platform: "", UID: "1"}, {Platform: "Telegram", UID: ""}, {Platform: "Telegram", UID: "ann"},
		{Platform: "Telegram", UID: "-5"}, {Platform: "Telegram", UID: "123456789012345678901"}, {Platform: "Telegram", UID: "１２３"},
		{Platform: "EVM", UID: "0x1"}, {Platform: "EVM", UID: "0X52908400098527886E0F7030069857D2E4169EE7"},
		{Platform: "EVM", UID: "0x52908400098527886E0F7030069857D2E4169Ee7"}, {Platform: "BTC", UID: "0OIl"}, {Platform: "BTC", UID: "bc1b"},
		{Platform: "TRON", UID: "R7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"}, {Platform: "TON", UID: "short"}, {Platform: "SOL", UID: strings.Repeat("1", 45)},
		{Platform: "Email", UID: "with space"}, {Platform: "Email", UID: "line\nbreak"}, {Platform: "Telegram", UID: "1\n"},
	} {
		_, err := core.NewIdentity(id.Platform, id.UID)
		var invalid *core.InvalidError
		if !errors.As(err, &invalid) {
			t.Errorf("%q is accepted: %v", id, err)
		}
	}
}

// TestEveryFlawIsNamed has one input or more for each.
func TestEveryFlawIsNamed(t *testing.T) {
	named := map[core.Flaw]bool{}
	for _, test := range []struct {
		platform, uid string
		want          core.InvalidError
	}{
		{"Moon", "1", core.InvalidError{Flaw: core.UnknownPlatform}},
		{"github", "ann", core.InvalidError{Flaw: core.NotNumeric, Platform: "GitHub", Example: "123456789"}},
		{"evm", "0x1", core.InvalidError{Flaw: core.NotEVM, Platform: "EVM", Example: "0x52908400098527886E0F7030069857D2E4169EE7"}},
		{"EVM", "0x52908400098527886E0F7030069857D2E4169Ee7", core.InvalidError{Flaw: core.WrongChecksum, Length: 42}},
		{"BTC", "1", core.InvalidError{Flaw: core.NotBTC, Platform: "BTC", Example: "1BoatSLRHtKNngkdXEeobR76b53LETtpyT"}},
		{"TRON", "1", core.InvalidError{Flaw: core.NotTRON, Platform: "TRON", Example: "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"}},
		{"TON", "1", core.InvalidError{Flaw: core.NotTON, Platform: "TON", Example: "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs"}},
		{"SOL", "1", core.InvalidError{Flaw: core.NotSOL, Platform: "SOL", Example: "So11111111111111111111111111111111111111112"}},
		{"Email", "a b", core.InvalidError{Flaw: core.NotEmail, Platform: "Email", Example: "ann@example.org"}},
		{"", "0x\u200b52908400098527886E0F7030069857D2E4169EE7", core.InvalidError{Flaw: core.HiddenCharacters, Length: 45}},
		{"", "vitalik.eth", core.InvalidError{Flaw: core.NameForAddress, Length: 11}},
		{"", "0xann.eth", core.InvalidError{Flaw: core.NameForAddress, Length: 9}},
		{"", "0x52908400098527886E0F7030069857D2E4169EE7.", core.InvalidError{Flaw: core.WrongLength, Length: 43}},
		{"", "https://example.org/0x52908400098527886E0F7030069857D2E4169EE7", core.InvalidError{Flaw: core.NoPrefix, Length: 62}},
		{"", "0X52908400098527886E0F7030069857D2E4169EE7", core.InvalidError{Flaw: core.NoPrefix, Length: 42}},
		{"", "0x1234", core.InvalidError{Flaw: core.WrongLength, Length: 6}},
		{"", "0x52908400098527886E0F7030069857D2E4169EG7", core.InvalidError{Flaw: core.WrongDigits, Length: 42}},
		{"", "0x52908400098527886E0F7030069857D2E4169Ee7", core.InvalidError{Flaw: core.WrongChecksum, Length: 42}},
	} {
		_, err := core.NewIdentity(test.platform, test.uid)
		if test.platform == "" {
			_, err = core.ParseWallet(test.uid)
		}
		invalid, ok := errors.AsType[*core.InvalidError](err)
		if !ok || *invalid != test.want {
			t.Errorf("%q on %q: %+v, want %+v", test.uid, test.platform, err, test.want)
			continue
		}
		named[invalid.Flaw] = true
		if invalid.Example != "" {
			if _, err := core.NewIdentity(invalid.Platform, invalid.Example); err != nil {
				t.Errorf("the example of %s is refused: %v", invalid.Platform, err)
			}
		}
	}
	for _, flaw := range core.Flaws() {
		if !named[flaw] {
			t.Errorf("nothing has the flaw %s", flaw)
		}
	}
	if len(named) != len(core.Flaws()) {
		t.Errorf("%d flaws were found, Flaws lists %d", len(named), len(core.Flaws()))
	}
}

func TestAWalletsIdentityIsSpelledWithItsChecksum(t *testing.T) {
	const address = "0x52908400098527886E0F7030069857D2E4169EE7"
	got := core.IdentityOf(common.HexToAddress(strings.ToLower(address)))
	if want, _ := core.NewIdentity("evm", address); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// FuzzIdentity: what is accepted is what was typed, and what is refused does
// not come back.
func FuzzIdentity(f *testing.F) {
	f.Add("Telegram", "123")
	f.Add("EVM", "0x52908400098527886E0F7030069857D2E4169EE7")
	f.Add("Email", "ann@example.org")
	f.Add("TON", "0:"+strings.Repeat("f", 64))
	f.Fuzz(func(t *testing.T, platform, uid string) {
		id, err := core.NewIdentity(platform, uid)
		if err == nil {
			if id.UID != uid || strings.ContainsFunc(uid, func(r rune) bool { return r < '!' || r > '~' }) {
				t.Fatalf("%q on %q became %q", uid, platform, id)
			}
			return
		}
		if len(uid) > 60 && strings.Contains(err.Error(), uid) {
			t.Fatalf("the input came back: %v", err)
		}
	})
}

func FuzzWallet(f *testing.F) {
	f.Add("0x52908400098527886E0F7030069857D2E4169EE7")
	f.Add("0x52908400098527886e0f7030069857d2e4169ee7")
	f.Add("vitalik.eth")
	f.Add("\u202e0x")
	f.Fuzz(func(t *testing.T, s string) {
		wallet, err := core.ParseWallet(s)
		if err == nil && (len(s) != 42 || !strings.EqualFold(wallet.Hex(), s)) {
			t.Fatalf("%q became %s", s, wallet)
		}
		if err != nil && wallet != (common.Address{}) {
			t.Fatalf("%q is refused and yet %s", s, wallet)
		}
	})
}
