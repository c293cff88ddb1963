package core

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"

	"github.com/ethereum/go-ethereum/common"
)

// EVM is the platform of wallets on the chain with the pools.
const EVM = "EVM"

// Identity identifies a person to the partner's service.
type Identity struct {
	Platform string // one of Platforms
	UID      string // the person's ID on the platform
}

// platformRule says how the IDs of some platforms are written.
type platformRule struct {
	platforms []string
	form      *regexp.Regexp // matches every valid ID
	flaw      Flaw           // of an ID that is not valid
	example   string         // of a valid ID
	// canonical returns the form in which an ID is sent. If it is nil, an ID is sent as it was typed.
	canonical func(id string) string
	// chain is the name of a chain without the EVM. It is empty unless the IDs are wallets on that chain.
	chain string
}

var (
	evmPrefix  = regexp.MustCompile(`^0[xX]`)
	evmAddress = regexp.MustCompile(`^0[xX][0-9a-fA-F]{40}$`)
	// addressOrBare matches an address, even without its 0x, or with xdc in place of it, as wallets of the XDC chain show
	// it.
	addressOrBare = regexp.MustCompile(`^(0[xX]|[xX][dD][cC])?[0-9a-fA-F]{40}$`)
	// transaction matches the hash of a transaction.
	transaction = regexp.MustCompile(`^0[xX][0-9a-fA-F]{64}$`)
	hexDigits   = regexp.MustCompile(`^[0-9a-fA-F]+$`)
	ensName     = regexp.MustCompile(`^[^./]+(\.[^./]+)+$`)
	// token matches the parts of a text that may be addresses. A name such as 0x….eth is one token, so that FindWallet
	// does not find an address in it.
	token = regexp.MustCompile(`[0-9A-Za-z.]+`)
)

var platformRules = []platformRule{
	{
		platforms: []string{"Telegram", "Twitter", "Discord", "GitHub", "YouTube", "Facebook", "LinkedIn"},
		form:      regexp.MustCompile(`^[0-9]{1,40}$`),
		flaw:      "uid.numeric",
		example:   "123456789",
		canonical: withoutZeros,
	},
	{
		platforms: []string{EVM},
		form:      evmAddress,
		flaw:      "uid.evm",
		example:   "0x52908400098527886E0F7030069857D2E4169EE7",
	},
	{
		platforms: []string{"BTC"},
		chain:     "Bitcoin",
		// Base58check of 25 bytes, or bech32 (BIP 173, BIP 350).
		form: regexp.MustCompile(`^([13][1-9A-HJ-NP-Za-km-z]{25,34}|` +
			`bc1[02-9ac-hj-np-z]{11,87}|BC1[02-9AC-HJ-NP-Z]{11,87})$`),
		flaw:      "uid.btc",
		example:   "1BoatSLRHtKNngkdXEeobR76b53LETtpyT",
		canonical: bech32Lower,
	},
	{
		platforms: []string{"TRON"},
		chain:     "TRON",
		// Base58check of 21 bytes that begin with 0x41.
		form:    regexp.MustCompile(`^T[1-9A-HJ-NP-Za-km-z]{33}$`),
		flaw:    "uid.tron",
		example: "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
	},
	{
		platforms: []string{"TON"},
		chain:     "TON",
		// 36 bytes in base64 or base64url, or workchain:hash in hex.
		form:      regexp.MustCompile(`^([A-Za-z0-9+/_-]{48}|(0|-1):[0-9a-fA-F]{64})$`),
		flaw:      "uid.ton",
		example:   "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs",
		canonical: func(id string) string { return tonSpellings(id)[0] },
	},
	{
		platforms: []string{"SOL"},
		chain:     "Solana",
		// Base58 of 32 bytes.
		form:    regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{32,44}$`),
		flaw:    "uid.sol",
		example: "So11111111111111111111111111111111111111112",
	},
	{
		platforms: []string{"Email"},
		form:      regexp.MustCompile(`^[!-~]{1,254}$`),
		flaw:      "uid.email",
		example:   "ann@example.org",
		canonical: domainLower,
	},
}

// withoutZeros returns a number without leading zeros.
func withoutZeros(uid string) string {
	return cmp.Or(strings.TrimLeft(uid, "0"), "0")
}

// bech32Lower returns a bech32 address in lower case, which means the same as upper case (BIP 173). It does not change
// an address in base58, where case matters.
func bech32Lower(uid string) string {
	if strings.HasPrefix(uid, "BC1") {
		return strings.ToLower(uid)
	}
	return uid
}

// domainLower returns an email address with its domain in lower case. Case may matter before the @ (RFC 5321, section
// 2.4).
func domainLower(uid string) string {
	if at := strings.LastIndex(uid, "@"); at >= 0 {
		return uid[:at] + strings.ToLower(uid[at:])
	}
	return uid
}

// Platforms returns the platforms' names as the partner's service spells them.
func Platforms() []string {
	var names []string
	for _, r := range platformRules {
		names = append(names, r.platforms...)
	}
	return names
}

// NewIdentity returns the Identity with this ID, in its canonical form, on a platform. It accepts the platform's name
// in any case. It fails with an *InvalidError if the name is unknown, or if the ID does not have the platform's form.
func NewIdentity(platform, uid string) (Identity, error) {
	for _, r := range platformRules {
		for _, name := range r.platforms {
			if strings.EqualFold(name, platform) {
				return r.identity(name, uid)
			}
		}
	}
	return Identity{}, &InvalidError{Flaw: UnknownPlatform}
}

// identity returns the Identity of an ID on one of r.platforms, or an *InvalidError.
func (r platformRule) identity(platform, uid string) (Identity, error) {
	wrongForm := &InvalidError{Flaw: r.flaw, Platform: platform, Example: r.example}
	if platform == EVM {
		return evmIdentity(uid, wrongForm)
	}
	if !r.form.MatchString(uid) {
		return Identity{}, wrongForm
	}
	if r.canonical != nil {
		uid = r.canonical(uid)
	}
	return Identity{Platform: platform, UID: uid}, nil
}

// evmIdentity returns the Identity of the only wallet in text. If text is an address with a wrong checksum, it fails as
// ParseWallet does. In all other cases it fails with wrongForm.
func evmIdentity(text string, wrongForm *InvalidError) (Identity, error) {
	wallet, err := FindWallet(text)
	if err == nil {
		return IdentityOf(wallet), nil
	}
	if evmAddress.MatchString(text) {
		return Identity{}, err
	}
	return Identity{}, wrongForm
}

// Spellings returns the forms in which the partner's service may store the ID. The UID is the first one. The service
// does not document which form it stores.
func (id Identity) Spellings() []string {
	if id.Platform == "TON" {
		return tonSpellings(id.UID)
	}
	if lower := strings.ToLower(id.UID); id.Platform == EVM && lower != id.UID {
		return []string{id.UID, lower}
	}
	return []string{id.UID}
}

// IdentityOf returns the Identity of a wallet.
func IdentityOf(wallet common.Address) Identity { return Identity{Platform: EVM, UID: wallet.Hex()} }

// ParseWallet parses an EVM address: 0x or 0X, and 40 hexadecimal digits. If the digits are in mixed case, they must
// have the EIP-55 checksum (https://eips.ethereum.org/EIPS/eip-55). It fails with an *InvalidError.
func ParseWallet(s string) (common.Address, error) {
	if flaw := walletFlaw(s); flaw != "" {
		return common.Address{}, &InvalidError{Flaw: flaw, Length: len(s), Platform: otherChain(s)}
	}
	return common.HexToAddress(s), nil
}

// walletFlaw returns the first flaw of an EVM address, or "" if it has none.
func walletFlaw(s string) Flaw {
	switch {
	case strings.ContainsFunc(s, func(r rune) bool { return r < '!' || r > '~' }):
		return HiddenCharacters
	case ensName.MatchString(s):
		return NameForAddress
	case otherChain(s) != "":
		return AnotherChain
	case !evmPrefix.MatchString(s):
		return NoPrefix
	case len(s) != len("0x")+40:
		return WrongLength
	case !evmAddress.MatchString(s):
		return WrongDigits
	case wrongChecksum(s[len("0x"):]):
		return WrongChecksum
	}
	return ""
}

// otherChain returns the name of a chain without the EVM if s looks like an address of that chain, and otherwise "". It
// returns "" for hexadecimal digits, which may be an address of Solana, but are more likely an EVM address without its
// 0x.
func otherChain(s string) string {
	if evmPrefix.MatchString(s) || hexDigits.MatchString(s) {
		return ""
	}
	for _, r := range platformRules {
		if r.chain != "" && r.form.MatchString(s) {
			return r.chain
		}
	}
	return ""
}

// wrongChecksum reports whether the 40 digits of an address are in mixed case, and differ from the case that EIP-55
// requires.
func wrongChecksum(digits string) bool {
	isMixed := strings.ToLower(digits) != digits && strings.ToUpper(digits) != digits
	return isMixed && common.HexToAddress(digits).Hex() != "0x"+digits
}

// FindWallet returns the only EVM address in text, which may be a link or a sentence. The address may be repeated, may
// lack its 0x, and may have xdc in place of it. FindWallet fails with an *InvalidError. Its flaw is
//
//   - HiddenCharacters if text has characters that reorder it,
//   - SeveralWallets if text has two addresses,
//   - Transaction if text has the hash of a transaction and no address,
//   - and otherwise the flaw of the address or, if there is none, of the first word.
func FindWallet(text string) (common.Address, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }) {
		// A reader would see another address.
		return common.Address{}, &InvalidError{Flaw: HiddenCharacters}
	}
	address := ""
	hasTransaction := false
	for _, t := range token.FindAllString(text, -1) {
		t = strings.Trim(t, ".")
		hasTransaction = hasTransaction || transaction.MatchString(t)
		if !addressOrBare.MatchString(t) {
			continue
		}
		found := "0x" + t[len(t)-40:]
		if address != "" && !strings.EqualFold(found, address) {
			return common.Address{}, &InvalidError{Flaw: SeveralWallets}
		}
		address = cmp.Or(address, found)
	}
	switch {
	case address != "":
		return ParseWallet(address)
	case hasTransaction:
		return common.Address{}, &InvalidError{Flaw: Transaction}
	}
	word, _, _ := strings.Cut(text, " ")
	return ParseWallet(word)
}
