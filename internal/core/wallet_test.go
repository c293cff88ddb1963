package core_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
)

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

func TestTwoDifferentAddressesAreRefused(t *testing.T) {
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

func TestAPartOfALongerWordIsNotAnAddress(t *testing.T) {
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

// FuzzWallet checks that ParseWallet accepts only addresses, and that FindWallet finds each of them in a sentence.
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
