package core_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
)

const address = "0x52908400098527886E0F7030069857D2E4169EE7"

func TestIdentityHasOneForm(t *testing.T) {
	const ton, tonRaw = "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs", "0:b113a994b5024a16719f69139328eb759596c38a25f59028b146fecdc3621dfe"
	const tonTest, tonMistyped = "kQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_ntm", "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_-Ds"
	for want, uids := range map[string]map[string]string{ // as typed, and the one form
		"Telegram": {"1234567890": "1234567890", "0012": "12", "000": "0"},
		"Twitter":  {"1": "1"}, "Discord": {"123456789012345678": "123456789012345678"}, "GitHub": {"07": "7"}, "YouTube": {"7": "7"},
		"Facebook": {"7": "7"}, "LinkedIn": {"7": "7", "123456789012345678901": "123456789012345678901", strings.Repeat("9", 40): strings.Repeat("9", 40)},
		"EVM": {address: address, "0X" + address[2:]: address, strings.ToLower(address): address, "0x" + strings.ToUpper(address[2:]): address,
			address[2:]: address, "https://explorer.example/address/" + address + "#code": address,
			"0x" + strings.Repeat("0", 39) + "a": "0x" + strings.Repeat("0", 39) + "A"},
		"BTC": {"1BoatSLRHtKNngkdXEeobR76b53LETtpyT": "1BoatSLRHtKNngkdXEeobR76b53LETtpyT",
			"BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4": "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"},
		"TRON": {"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"},
		"TON": {ton: ton, strings.ReplaceAll(ton, "_", "/"): ton, tonRaw: ton, "0:" + strings.ToUpper(tonRaw[2:]): ton,
			"UQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_p0p": ton, tonTest: tonTest,
			tonMistyped: tonMistyped, strings.ReplaceAll(tonMistyped, "-", "+"): tonMistyped,
			"-1:" + strings.Repeat("5", 64): "Ef9VVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVbxn"},
		"SOL":   {"So11111111111111111111111111111111111111112": "So11111111111111111111111111111111111111112"},
		"Email": {"Ann@Example.org": "Ann@example.org", "4711": "4711", "ANN": "ANN"},
	} {
		for uid, form := range uids {
			for _, platform := range []string{want, strings.ToLower(want), strings.ToUpper(want)} {
				if got, err := core.NewIdentity(platform, uid); err != nil || got != (core.Identity{Platform: want, UID: form}) {
					t.Errorf("%s on %s: %v, %v", uid, platform, got, err)
				}
			}
		}
	}
	if got := core.IdentityOf(common.HexToAddress(strings.ToLower(address))); got != (core.Identity{Platform: "EVM", UID: address}) {
		t.Errorf("a wallet's identity is %v", got)
	}
}

func TestEveryFlawIsNamed(t *testing.T) {
	for _, test := range []struct {
		platform string // "" is a wallet
		uids     []string
		want     core.Flaw
	}{
		{"Moon", []string{"1", ""}, core.UnknownPlatform},
		{"github", []string{"ann", "", "-5", strings.Repeat("1", 41), "１２３", "1\n"}, "uid.numeric"},
		{"evm", []string{"0x1", "0X1", address[3:]}, "uid.evm"},
		{"EVM", []string{"0x52908400098527886E0F7030069857D2E4169Ee7"}, core.WrongChecksum},
		{"BTC", []string{"1", "0OIl", "bc1b"}, "uid.btc"},
		{"TRON", []string{"R7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"}, "uid.tron"},
		{"TON", []string{"short"}, "uid.ton"},
		{"SOL", []string{strings.Repeat("1", 45)}, "uid.sol"},
		{"Email", []string{"a b", "line\nbreak"}, "uid.email"},
		{"", []string{"0x\u200b" + address[2:]}, core.HiddenCharacters},
		{"", []string{"vitalik.eth", "0xann.eth"}, core.NameForAddress},
		{"", []string{address + ".", "0x1234", address + "123456"}, core.WrongLength},
		{"", []string{"https://example.org/" + address, address[2:], strings.ReplaceAll(address[2:], "0", "1"), "1" + address}, core.NoPrefix},
		{"", []string{"1BoatSLRHtKNngkdXEeobR76b53LETtpyT", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
			"So11111111111111111111111111111111111111112", "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs"}, core.AnotherChain},
		{"", []string{"0x52908400098527886E0F7030069857D2E4169EG7"}, core.WrongDigits},
		{"", []string{"0x52908400098527886E0F7030069857D2E4169Ee7", "0X52908400098527886E0F7030069857D2E4169Ee7", "0x" + strings.ToUpper(address[2:41]) + "e"}, core.WrongChecksum},
	} {
		for _, uid := range test.uids {
			_, err := core.NewIdentity(test.platform, uid)
			if test.platform == "" {
				_, err = core.ParseWallet(uid)
			}
			invalid, ok := errors.AsType[*core.InvalidError](err)
			if !ok || invalid.Flaw != test.want {
				t.Errorf("%q on %q: %+v, want %s", uid, test.platform, err, test.want)
				continue
			}
			isWallet := strings.HasPrefix(string(invalid.Flaw), "wallet.")
			if _, err := core.NewIdentity(invalid.Platform, invalid.Example); !isWallet && test.platform != "Moon" && err != nil {
				t.Errorf("the example of %s is refused: %v", test.platform, err)
			}
			if isWallet && invalid.Length != len(uid) {
				t.Errorf("%q has a length of %d", uid, invalid.Length)
			}
		}
	}
}

// Each is pasted as it is: what stands around an address does no harm, and a second address
// makes a question.
func TestTheOneAddressInATextIsFound(t *testing.T) {
	const bare, other, wrong, hash = "52908400098527886E0F7030069857D2E4169EE7", "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
		"52908400098527886E0F7030069857D2E4169Ee7", "0x52908400098527886e0f7030069857d2e4169ee752908400098527886e0f7030"
	for text, want := range map[string]core.Flaw{
		"xdc" + bare: "", "XDC" + strings.ToLower(bare): "", "xdc" + bare + " " + address: "", "https://xdc.example/address/xdc" + strings.ToLower(bare): "", "see xdc" + wrong: core.WrongChecksum,
		"xdc" + bare[1:]: core.NoPrefix, "xdc" + bare + "0": core.NoPrefix, "xdc0x" + bare: core.NoPrefix, "xdc" + bare + " " + other: core.SeveralWallets,
		address: "", bare: "", strings.ToLower(bare): "", "0X" + bare: "", " " + address + "\n": "", "\u202e" + address + " " + address: core.HiddenCharacters, "0x12 \u202e" + address: core.HiddenCharacters,
		"https://etherscan.io/address/" + address: "", "https://etherscan.io/address/" + address + "?tab=stakes#internaltx": "",
		"https://etherscan.io/address/" + address + "#code": "", "https://bscscan.com/token/transfers?a=" + address: "", "ethereum:" + address + "@1": "",
		`"` + address + `"`: "", "(" + bare + ")": "", "[" + address + "],": "", "`" + address + "`.": "", "<" + address + ">": "", address + "…": "",
		"my wallet is " + address + ", please": "", "It is " + address + ".": "", "我的钱包是" + address + "。": "", "кошелёк:" + bare + "!": "", "wallet_" + address: "", "\u200b" + address + "\u200b": "",
		address + " " + address: "", address + " or " + strings.ToLower(bare): "", "tx " + hash + " of " + address: "",
		strings.Repeat("x ", 2000) + address + strings.Repeat(" y", 2000): "", strings.Repeat("/", 4000) + address + strings.Repeat("?", 4000): "",
		address + " " + other: core.SeveralWallets, "https://etherscan.io/token/" + address + "?a=" + other: core.SeveralWallets,
		strings.Repeat(address+",", 50) + other: core.SeveralWallets, "0x" + strings.Repeat("0", 40) + " " + address: core.SeveralWallets,
		wrong: core.WrongChecksum, "see 0x" + wrong + "!": core.WrongChecksum, wrong + " " + address: core.WrongChecksum,
		hash: core.Transaction, "https://etherscan.io/tx/" + hash: core.Transaction,
		// No part of something longer is an address.
		hash[2:]: core.NoPrefix, bare + "0": core.NoPrefix, "a" + bare: core.NoPrefix, "1" + address: core.NoPrefix, address + "0": core.WrongLength,
		address + ".eth": core.NameForAddress, "vitalik.eth": core.NameForAddress, "\u202e" + address: core.HiddenCharacters,
		"0x1234 0x5678": core.WrongLength, "": core.NoPrefix, strings.Repeat("9", 4000): core.NoPrefix,
		"0:b113a994b5024a16719f69139328eb759596c38a25f59028b146fecdc3621dfe": core.AnotherChain,
	} {
		wallet, err := core.FindWallet(text)
		invalid, _ := errors.AsType[*core.InvalidError](err)
		switch {
		case want == "" && (err != nil || wallet.Hex() != address):
			t.Errorf("%.99q: %s, %v", text, wallet, err)
		case want != "" && (invalid == nil || invalid.Flaw != want || wallet != common.Address{}):
			t.Errorf("%.99q: %s, %v, want %s", text, wallet, err, want)
		}
	}
}

// FuzzIdentity: what is accepted has one form, and what is refused does not come
// back. A wallet may stand in a text, and gets its 0x.
func FuzzIdentity(f *testing.F) {
	f.Add("Telegram", "123")
	f.Add("EVM", "0x52908400098527886E0F7030069857D2E4169EE7")
	f.Add("Email", "ann@example.org")
	f.Add("TON", "0:"+strings.Repeat("f", 64))
	f.Fuzz(func(t *testing.T, platform, uid string) {
		id, err := core.NewIdentity(platform, uid)
		if err == nil {
			again, err := core.NewIdentity(id.Platform, id.UID)
			longer, spaced := len(id.UID) > len(uid), strings.ContainsFunc(uid, func(r rune) bool { return r < '!' || r > '~' })
			if err != nil || again != id || id.Platform != core.EVM && (longer || spaced) {
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
		if found, errFound := core.FindWallet("see (" + s + ")"); err == nil && (errFound != nil || found != wallet) {
			t.Fatalf("%q in a text is %s, %v", s, found, errFound)
		}
	})
}
