package core_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
)

// Addresses of Ethereum, and texts that resemble one.
const (
	address       = "0x52908400098527886E0F7030069857D2E4169EE7"
	bare          = "52908400098527886E0F7030069857D2E4169EE7" // address without its 0x
	another       = "0x8617E340B3D01FA5F11F306F4090FD50E238070D"
	wrongChecksum = "0x52908400098527886E0F7030069857D2E4169Ee7"
	transaction   = "0x52908400098527886e0f7030069857d2e4169ee752908400098527886e0f7030"
)

// Addresses of other chains.
const (
	bitcoin       = "1BoatSLRHtKNngkdXEeobR76b53LETtpyT"
	bitcoinSegWit = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
	tron          = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
	solana        = "So11111111111111111111111111111111111111112"

	ton              = "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs"
	tonNonBounceable = "UQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_p0p"
	tonRaw           = "0:b113a994b5024a16719f69139328eb759596c38a25f59028b146fecdc3621dfe"
	tonOfTestnet     = "kQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_ntm"
	tonMistyped      = "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_-Ds"
)

// checkCanonical checks that each ID that a person types gets its canonical form, whatever the case of the platform's
// name. canonical maps the typed IDs to their forms.
func checkCanonical(t *testing.T, platform string, canonical map[string]string) {
	t.Helper()
	for typed, form := range canonical {
		want := core.Identity{Platform: platform, UID: form}
		for _, spelled := range []string{platform, strings.ToLower(platform), strings.ToUpper(platform)} {
			got, err := core.NewIdentity(spelled, typed)
			if err != nil || got != want {
				t.Errorf("%s on %s: %v, %v", typed, spelled, got, err)
			}
		}
	}
}

func TestANumberHasNoLeadingZeros(t *testing.T) {
	checkCanonical(t, "Telegram", map[string]string{"1234567890": "1234567890", "0012": "12", "000": "0"})
	checkCanonical(t, "Twitter", map[string]string{"1": "1"})
	checkCanonical(t, "Discord", map[string]string{"123456789012345678": "123456789012345678"})
	checkCanonical(t, "GitHub", map[string]string{"07": "7"})
	checkCanonical(t, "YouTube", map[string]string{"7": "7"})
	checkCanonical(t, "Facebook", map[string]string{"7": "7"})
	checkCanonical(t, "LinkedIn", map[string]string{
		"7":                     "7",
		"123456789012345678901": "123456789012345678901",
		strings.Repeat("9", 40): strings.Repeat("9", 40),
	})
}

func TestAnEthereumAddressHasItsChecksum(t *testing.T) {
	checkCanonical(t, "EVM", map[string]string{
		address:                      address,
		bare:                         address,
		"0X" + bare:                  address,
		"0x" + strings.ToUpper(bare): address,
		strings.ToLower(address):     address,
		"https://explorer.example/address/" + address + "#code": address,
		"0x" + strings.Repeat("0", 39) + "a":                    "0x" + strings.Repeat("0", 39) + "A",
	})
	got := core.IdentityOf(common.HexToAddress(strings.ToLower(address)))
	if got != (core.Identity{Platform: "EVM", UID: address}) {
		t.Errorf("a wallet's identity is %v", got)
	}
}

func TestATONAddressIsInItsBounceableForm(t *testing.T) {
	checkCanonical(t, "TON", map[string]string{
		ton:                                ton,
		strings.ReplaceAll(ton, "_", "/"):  ton,
		tonNonBounceable:                   ton,
		tonRaw:                             ton,
		"0:" + strings.ToUpper(tonRaw[2:]): ton,
		"-1:" + strings.Repeat("5", 64):    "Ef9VVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVbxn",
	})
}

func TestATONAddressOfTheTestNetworkOrMistypedKeepsItsForm(t *testing.T) {
	checkCanonical(t, "TON", map[string]string{
		tonOfTestnet: tonOfTestnet,
		tonMistyped:  tonMistyped,
		strings.ReplaceAll(tonMistyped, "-", "+"): tonMistyped,
	})
}

func TestOtherIdentitiesHaveOneForm(t *testing.T) {
	checkCanonical(t, "BTC", map[string]string{
		bitcoin:                        bitcoin,
		strings.ToUpper(bitcoinSegWit): bitcoinSegWit,
	})
	checkCanonical(t, "TRON", map[string]string{tron: tron})
	checkCanonical(t, "SOL", map[string]string{solana: solana})
	checkCanonical(t, "Email", map[string]string{
		"Ann@Example.org": "Ann@example.org",
		"4711":            "4711",
		"ANN":             "ANN",
	})
}

// flawedIdentities are IDs that are refused, with the flaw that is named.
var flawedIdentities = []struct {
	platform string
	flaw     core.Flaw
	uids     []string
}{
	{
		platform: "Moon",
		flaw:     core.UnknownPlatform,
		uids:     []string{"1", ""},
	},
	{
		platform: "github",
		flaw:     "uid.numeric",
		uids:     []string{"ann", "", "-5", strings.Repeat("1", 41), "１２３", "1\n"},
	},
	{
		platform: "evm",
		flaw:     "uid.evm",
		uids:     []string{"0x1", "0X1", bare[1:]},
	},
	{
		platform: "EVM",
		flaw:     core.WrongChecksum,
		uids:     []string{wrongChecksum},
	},
	{
		platform: "BTC",
		flaw:     "uid.btc",
		uids:     []string{"1", "0OIl", "bc1b"},
	},
	{
		platform: "TRON",
		flaw:     "uid.tron",
		uids:     []string{tron[1:]},
	},
	{
		platform: "TON",
		flaw:     "uid.ton",
		uids:     []string{"short"},
	},
	{
		platform: "SOL",
		flaw:     "uid.sol",
		uids:     []string{strings.Repeat("1", 45)},
	},
	{
		platform: "Email",
		flaw:     "uid.email",
		uids:     []string{"a b", "line\nbreak"},
	},
}

func TestEveryFlawOfAnIdentityIsNamed(t *testing.T) {
	for _, test := range flawedIdentities {
		for _, uid := range test.uids {
			_, err := core.NewIdentity(test.platform, uid)
			invalid, isInvalid := errors.AsType[*core.InvalidError](err)
			if !isInvalid || invalid.Flaw != test.flaw {
				t.Errorf("%q on %q: %+v, want %s", uid, test.platform, err, test.flaw)
				continue
			}
			if test.flaw == core.WrongChecksum && invalid.Length != len(uid) {
				t.Errorf("%q has a length of %d", uid, invalid.Length)
			}
		}
	}
}

func TestAFlawOfAnIdentityComesWithAValidExample(t *testing.T) {
	for _, test := range flawedIdentities {
		isAboutID := strings.HasPrefix(string(test.flaw), "uid.")
		if !isAboutID {
			continue
		}
		for _, uid := range test.uids {
			_, err := core.NewIdentity(test.platform, uid)
			invalid, _ := errors.AsType[*core.InvalidError](err)
			if _, err := core.NewIdentity(invalid.Platform, invalid.Example); err != nil {
				t.Errorf("the example beside %q on %s is refused: %v", uid, test.platform, err)
			}
		}
	}
}

// FuzzIdentity checks that the canonical form of an identity stays as it is, and that an error does not repeat a long
// input. The form has no spaces and is not longer than the input. This does not hold for an EVM wallet: it may be found
// in a text, and gets its 0x.
func FuzzIdentity(f *testing.F) {
	f.Add("Telegram", "123")
	f.Add("EVM", "0x52908400098527886E0F7030069857D2E4169EE7")
	f.Add("Email", "ann@example.org")
	f.Add("TON", "0:"+strings.Repeat("f", 64))
	f.Fuzz(func(t *testing.T, platform, uid string) {
		id, err := core.NewIdentity(platform, uid)
		if err != nil {
			if len(uid) > 60 && strings.Contains(err.Error(), uid) {
				t.Fatalf("the error repeats the input: %v", err)
			}
			return
		}
		again, err := core.NewIdentity(id.Platform, id.UID)
		if err != nil || again != id {
			t.Fatalf("%q on %q became %q, and then %q, %v", uid, platform, id, again, err)
		}
		if id.Platform == core.EVM {
			return
		}
		isLonger := len(id.UID) > len(uid)
		hasSpecial := strings.ContainsFunc(uid, func(r rune) bool { return r < '!' || r > '~' })
		if isLonger || hasSpecial {
			t.Fatalf("%q on %q became %q", uid, platform, id)
		}
	})
}
