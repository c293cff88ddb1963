package core

import (
	"regexp"
	"strings"

	"github.com/ethereum/go-ethereum/common"
)

// Identity is a person as the partner's service knows them: one of Platforms
// and their ID there.
type Identity struct {
	Platform string
	UID      string
}

type platformRule struct {
	name    string
	uid     *regexp.Regexp
	form    string
	example string
}

var (
	numericUID = regexp.MustCompile(`^[0-9]{1,20}$`)
	// Bitcoin: base58check of 25 bytes, or bech32 (BIP 173, BIP 350).
	btcAddress = regexp.MustCompile(`^([13][1-9A-HJ-NP-Za-km-z]{25,34}|bc1[02-9ac-hj-np-z]{11,87}|BC1[02-9AC-HJ-NP-Z]{11,87})$`)
	// TRON: base58check of 21 bytes that begin with 0x41.
	tronAddress = regexp.MustCompile(`^T[1-9A-HJ-NP-Za-km-z]{33}$`)
	// TON: 36 bytes in base64 or base64url, or workchain:hash in hex.
	tonAddress = regexp.MustCompile(`^([A-Za-z0-9+/_-]{48}|-?[0-9]{1,3}:[0-9a-fA-F]{64})$`)
	// Solana: base58 of 32 bytes.
	solAddress = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{32,44}$`)
	emailUID   = regexp.MustCompile(`^[!-~]{1,254}$`)
	evmAddress = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)
)

const (
	numericForm  = "a user ID there is a number of up to 20 digits"
	numericLike  = "123456789"
	walletSample = "0x52908400098527886E0F7030069857D2E4169EE7"
)

var platformRules = []platformRule{
	{"Telegram", numericUID, numericForm, numericLike},
	{"Twitter", numericUID, numericForm, numericLike},
	{"Discord", numericUID, numericForm, numericLike},
	{"GitHub", numericUID, numericForm, numericLike},
	{"YouTube", numericUID, numericForm, numericLike},
	{"Facebook", numericUID, numericForm, numericLike},
	{"LinkedIn", numericUID, numericForm, numericLike},
	{"EVM", evmAddress, "an address there is 0x and 40 hexadecimal digits", walletSample},
	{"BTC", btcAddress, "an address there begins with 1, 3 or bc1", "1BoatSLRHtKNngkdXEeobR76b53LETtpyT"},
	{"TRON", tronAddress, "an address there is T and 33 letters and digits", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"},
	{"TON", tonAddress, "an address there has 48 letters and digits", "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs"},
	{"SOL", solAddress, "an address there has 32 to 44 letters and digits", "So11111111111111111111111111111111111111112"},
	{"Email", emailUID, "a user ID there has no spaces and up to 254 characters", "ann@example.org"},
}

// Platforms are the names that the partner's service knows, as it spells them.
func Platforms() []string {
	names := make([]string, len(platformRules))
	for i, r := range platformRules {
		names[i] = r.name
	}
	return names
}

// NewIdentity checks a platform's name, in any case, and the form of an ID on
// it. It fails with an *InvalidError.
func NewIdentity(platform, uid string) (Identity, error) {
	for _, r := range platformRules {
		if !strings.EqualFold(r.name, platform) {
			continue
		}
		if !r.uid.MatchString(uid) {
			return Identity{}, invalidf("That is not an ID on %s: %s, as in %s.", r.name, r.form, r.example)
		}
		if r.name == "EVM" {
			if _, err := ParseWallet(uid); err != nil {
				return Identity{}, err
			}
		}
		return Identity{Platform: r.name, UID: uid}, nil
	}
	return Identity{}, invalidf("The platform must be one of: %s.", strings.Join(Platforms(), ", "))
}

// ParseWallet reads an EVM address: 0x and 40 hexadecimal digits which, in
// mixed case, must carry the EIP-55 checksum
// (https://eips.ethereum.org/EIPS/eip-55). It fails with an
// *InvalidError.
func ParseWallet(s string) (common.Address, error) {
	const form = "A wallet is 0x and 40 hexadecimal digits, 42 characters in all."
	switch digits, prefixed := strings.CutPrefix(s, "0x"); {
	case strings.ContainsFunc(s, func(r rune) bool { return r < '!' || r > '~' }):
		return common.Address{}, invalidf("That has characters in it that no address has, perhaps ones that cannot be seen. %s", form)
	case strings.Contains(s, "."):
		return common.Address{}, invalidf("Names are not looked up, only addresses. %s", form)
	case !prefixed:
		return common.Address{}, invalidf("That does not begin with 0x. %s", form)
	case len(digits) != 40:
		return common.Address{}, invalidf("That has %d characters. %s", len(s), form)
	case !evmAddress.MatchString(s):
		return common.Address{}, invalidf("That has other characters than 0 to 9 and a to f. %s", form)
	case strings.ToLower(digits) != digits && strings.ToUpper(digits) != digits && common.HexToAddress(s).Hex() != s:
		return common.Address{}, invalidf("The checksum of that address does not match: a character is mistyped. Copy it again, or write it all in lower case.")
	}
	return common.HexToAddress(s), nil
}
