package core

import (
	"regexp"
	"strings"

	"github.com/ethereum/go-ethereum/common"
)

// evm is the platform of wallets on the chain with the pools.
const evm = "EVM"

// Identity is a person as the partner's service knows them: one of Platforms
// and their ID there.
type Identity struct {
	Platform string
	UID      string
}

type platformRule struct {
	name string
	uid  *regexp.Regexp
	// flaw is that of an ID that uid does not match, as example does.
	flaw    Flaw
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
	ensName    = regexp.MustCompile(`^[^./]+(\.[^./]+)+$`)
)

const (
	numericLike  = "123456789"
	walletSample = "0x52908400098527886E0F7030069857D2E4169EE7"
)

var platformRules = []platformRule{
	{"Telegram", numericUID, NotNumeric, numericLike},
	{"Twitter", numericUID, NotNumeric, numericLike},
	{"Discord", numericUID, NotNumeric, numericLike},
	{"GitHub", numericUID, NotNumeric, numericLike},
	{"YouTube", numericUID, NotNumeric, numericLike},
	{"Facebook", numericUID, NotNumeric, numericLike},
	{"LinkedIn", numericUID, NotNumeric, numericLike},
	{evm, evmAddress, NotEVM, walletSample},
	{"BTC", btcAddress, NotBTC, "1BoatSLRHtKNngkdXEeobR76b53LETtpyT"},
	{"TRON", tronAddress, NotTRON, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"},
	{"TON", tonAddress, NotTON, "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs"},
	{"SOL", solAddress, NotSOL, "So11111111111111111111111111111111111111112"},
	{"Email", emailUID, NotEmail, "ann@example.org"},
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
			return Identity{}, &InvalidError{Flaw: r.flaw, Platform: r.name, Example: r.example}
		}
		if r.name == evm {
			if _, err := ParseWallet(uid); err != nil {
				return Identity{}, err
			}
		}
		return Identity{Platform: r.name, UID: uid}, nil
	}
	return Identity{}, &InvalidError{Flaw: UnknownPlatform}
}

// IdentityOf is the owner of a wallet.
func IdentityOf(wallet common.Address) Identity { return Identity{Platform: evm, UID: wallet.Hex()} }

// ParseWallet reads an EVM address: 0x and 40 hexadecimal digits which, in
// mixed case, must carry the EIP-55 checksum
// (https://eips.ethereum.org/EIPS/eip-55). It fails with an
// *InvalidError.
func ParseWallet(s string) (common.Address, error) {
	flaw := Flaw("")
	switch digits, prefixed := strings.CutPrefix(s, "0x"); {
	case strings.ContainsFunc(s, func(r rune) bool { return r < '!' || r > '~' }):
		flaw = HiddenCharacters
	case ensName.MatchString(s):
		flaw = NameForAddress
	case !prefixed:
		flaw = NoPrefix
	case len(digits) != 40:
		flaw = WrongLength
	case !evmAddress.MatchString(s):
		flaw = WrongDigits
	case strings.ToLower(digits) != digits && strings.ToUpper(digits) != digits && common.HexToAddress(s).Hex() != s:
		flaw = WrongChecksum
	default:
		return common.HexToAddress(s), nil
	}
	return common.Address{}, &InvalidError{Flaw: flaw, Length: len(s)}
}
