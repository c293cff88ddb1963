package core_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
)

// Addresses of Ethereum, and text that is almost one.
const (
	address       = "0x52908400098527886E0F7030069857D2E4169EE7"
	bare          = "52908400098527886E0F7030069857D2E4169EE7"
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

// checkForms checks the one form of each ID of a platform, which is spelled in any case. forms has the form of each ID
// as it is typed.
func checkForms(t *testing.T, platform string, forms map[string]string) {
	t.Helper()
	for typed, form := range forms {
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
	checkForms(t, "Telegram", map[string]string{"1234567890": "1234567890", "0012": "12", "000": "0"})
	checkForms(t, "Twitter", map[string]string{"1": "1"})
	checkForms(t, "Discord", map[string]string{"123456789012345678": "123456789012345678"})
	checkForms(t, "GitHub", map[string]string{"07": "7"})
	checkForms(t, "YouTube", map[string]string{"7": "7"})
	checkForms(t, "Facebook", map[string]string{"7": "7"})
	checkForms(t, "LinkedIn", map[string]string{
		"7":                     "7",
		"123456789012345678901": "123456789012345678901",
		strings.Repeat("9", 40): strings.Repeat("9", 40),
	})
}

func TestAnEthereumAddressHasItsChecksum(t *testing.T) {
	checkForms(t, "EVM", map[string]string{
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
	checkForms(t, "TON", map[string]string{
		ton:                                ton,
		strings.ReplaceAll(ton, "_", "/"):  ton,
		tonNonBounceable:                   ton,
		tonRaw:                             ton,
		"0:" + strings.ToUpper(tonRaw[2:]): ton,
		"-1:" + strings.Repeat("5", 64):    "Ef9VVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVbxn",
	})
}

func TestATONAddressOfTheTestNetworkOrMistypedKeepsItsForm(t *testing.T) {
	checkForms(t, "TON", map[string]string{
		tonOfTestnet: tonOfTestnet,
		tonMistyped:  tonMistyped,
		strings.ReplaceAll(tonMistyped, "-", "+"): tonMistyped,
	})
}

func TestOtherIdentitiesHaveOneForm(t *testing.T) {
	checkForms(t, "BTC", map[string]string{
		bitcoin:                        bitcoin,
		strings.ToUpper(bitcoinSegWit): bitcoinSegWit,
	})
	checkForms(t, "TRON", map[string]string{tron: tron})
	checkForms(t, "SOL", map[string]string{solana: solana})
	checkForms(t, "Email", map[string]string{
		"Ann@Example.org": "Ann@example.org",
		"4711":            "4711",
		"ANN":             "ANN",
	})
}

// flawedIdentities has identities that are refused.
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

func TestEveryFlawOfAWalletIsNamedWithItsLength(t *testing.T) {
	for flaw, texts := range map[core.Flaw][]string{
		core.HiddenCharacters: {"0x\u200b" + bare},
		core.NameForAddress:   {"vitalik.eth", "0xann.eth"},
		core.WrongLength:      {address + ".", "0x1234", address + "123456"},
		core.NoPrefix: {
			"https://example.org/" + address,
			bare,
			strings.ReplaceAll(bare, "0", "1"),
			"1" + address,
		},
		core.AnotherChain: {bitcoin, bitcoinSegWit, tron, solana, ton},
		core.WrongDigits:  {address[:40] + "G7"},
		core.WrongChecksum: {
			wrongChecksum,
			"0X" + wrongChecksum[2:],
			"0x" + strings.ToUpper(bare[:39]) + "e",
		},
	} {
		for _, text := range texts {
			_, err := core.ParseWallet(text)
			invalid, isInvalid := errors.AsType[*core.InvalidError](err)
			if !isInvalid || invalid.Flaw != flaw {
				t.Errorf("%q: %+v, want %s", text, err, flaw)
				continue
			}
			if invalid.Length != len(text) {
				t.Errorf("%q has a length of %d", text, invalid.Length)
			}
		}
	}
}

// checkFound checks that address is found in each text.
func checkFound(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		wallet, err := core.FindWallet(text)
		if err != nil || wallet.Hex() != address {
			t.Errorf("%.99q: %s, %v", text, wallet, err)
		}
	}
}

// checkNotFound checks that no wallet is found in each text, because of a flaw.
func checkNotFound(t *testing.T, flaw core.Flaw, texts ...string) {
	t.Helper()
	for _, text := range texts {
		wallet, err := core.FindWallet(text)
		invalid, isInvalid := errors.AsType[*core.InvalidError](err)
		if !isInvalid || invalid.Flaw != flaw || wallet != (common.Address{}) {
			t.Errorf("%.99q: %s, %v, want %s", text, wallet, err, flaw)
		}
	}
}

func TestAnAddressIsFoundInAnySpelling(t *testing.T) {
	checkFound(t,
		address,
		bare,
		strings.ToLower(bare),
		"0X"+bare,
		"xdc"+bare,
		"XDC"+strings.ToLower(bare))
}

func TestAnAddressIsFoundInALink(t *testing.T) {
	checkFound(t,
		"https://etherscan.io/address/"+address,
		"https://etherscan.io/address/"+address+"?tab=stakes#internaltx",
		"https://etherscan.io/address/"+address+"#code",
		"https://bscscan.com/token/transfers?a="+address,
		"https://xdc.example/address/xdc"+strings.ToLower(bare),
		"ethereum:"+address+"@1")
}

func TestAnAddressIsFoundInAText(t *testing.T) {
	checkFound(t,
		" "+address+"\n",
		`"`+address+`"`,
		"("+bare+")",
		"["+address+"],",
		"`"+address+"`.",
		"<"+address+">",
		address+"…",
		"my wallet is "+address+", please",
		"It is "+address+".",
		"我的钱包是"+address+"。",
		"кошелёк:"+bare+"!",
		"wallet_"+address,
		"\u200b"+address+"\u200b",
		"tx "+transaction+" of "+address,
		strings.Repeat("x ", 2000)+address+strings.Repeat(" y", 2000),
		strings.Repeat("/", 4000)+address+strings.Repeat("?", 4000))
}

func TestTheSameAddressTwiceIsOneAddress(t *testing.T) {
	checkFound(t,
		address+" "+address,
		address+" or "+strings.ToLower(bare),
		"xdc"+bare+" "+address)
}

func TestTwoAddressesMakeAQuestion(t *testing.T) {
	checkNotFound(t, core.SeveralWallets,
		address+" "+another,
		"xdc"+bare+" "+another,
		"https://etherscan.io/token/"+address+"?a="+another,
		strings.Repeat(address+",", 50)+another,
		"0x"+strings.Repeat("0", 40)+" "+address)
}

func TestAWrongChecksumInATextIsNamed(t *testing.T) {
	checkNotFound(t, core.WrongChecksum,
		wrongChecksum[2:],
		"see "+wrongChecksum+"!",
		"see xdc"+wrongChecksum[2:],
		wrongChecksum[2:]+" "+address)
}

func TestNoPartOfSomethingLongerIsAnAddress(t *testing.T) {
	checkNotFound(t, core.NoPrefix,
		transaction[2:],
		bare+"0",
		"a"+bare,
		"1"+address,
		"xdc"+bare+"0",
		"xdc0x"+bare,
		strings.Repeat("9", 4000))
	checkNotFound(t, core.WrongLength, address+"0")
	checkNotFound(t, core.NameForAddress, address+".eth")
	checkNotFound(t, core.Transaction, transaction, "https://etherscan.io/tx/"+transaction)
}

func TestATextWithoutAnAddressSaysWhatItHasInstead(t *testing.T) {
	checkNotFound(t, core.NoPrefix, "", "xdc"+bare[1:])
	checkNotFound(t, core.WrongLength, "0x1234 0x5678")
	checkNotFound(t, core.NameForAddress, "vitalik.eth")
	checkNotFound(t, core.AnotherChain, tonRaw)
}

func TestATextWithHiddenCharactersIsRefused(t *testing.T) {
	checkNotFound(t, core.HiddenCharacters,
		"\u202e"+address,
		"\u202e"+address+" "+address,
		"0x12 \u202e"+address)
}

// FuzzIdentity checks that an identity that is accepted has one form, and that an error does not repeat a long input.
// Except for a wallet, which may be in a text and gets its 0x, the form has no spaces and is no longer than the input.
func FuzzIdentity(f *testing.F) {
	f.Add("Telegram", "123")
	f.Add("EVM", "0x52908400098527886E0F7030069857D2E4169EE7")
	f.Add("Email", "ann@example.org")
	f.Add("TON", "0:"+strings.Repeat("f", 64))
	f.Fuzz(func(t *testing.T, platform, uid string) {
		id, err := core.NewIdentity(platform, uid)
		if err == nil {
			again, err := core.NewIdentity(id.Platform, id.UID)
			isLonger := len(id.UID) > len(uid)
			hasOtherThanASCII := strings.ContainsFunc(uid, func(r rune) bool { return r < '!' || r > '~' })
			if err != nil || again != id || id.Platform != core.EVM && (isLonger || hasOtherThanASCII) {
				t.Fatalf("%q on %q became %q", uid, platform, id)
			}
			return
		}
		if len(uid) > 60 && strings.Contains(err.Error(), uid) {
			t.Fatalf("the input came back: %v", err)
		}
	})
}

// FuzzWallet checks that only an address is accepted, and that an accepted one is also found in a text.
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
		found, errFound := core.FindWallet("see (" + s + ")")
		if err == nil && (errFound != nil || found != wallet) {
			t.Fatalf("%q in a text is %s, %v", s, found, errFound)
		}
	})
}
