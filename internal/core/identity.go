package core

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/ethereum/go-ethereum/common"
)

// EVM is the platform of wallets on the chain with the pools.
const EVM = "EVM"

// Identity identifies a person to the partner's service, by an account on a platform or by a wallet.
type Identity struct {
	Platform string // one of Platforms
	UID      string // the person's ID on the platform
}

// NewIdentity returns the Identity of an ID as a person typed it. The name of the platform may be in any case, and the
// ID in any form that the platform allows. NewIdentity fails with an *InvalidError if the name is unknown, or if the ID
// does not have the platform's form.
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

// IdentityOf returns the Identity of a wallet.
func IdentityOf(wallet common.Address) Identity { return Identity{Platform: EVM, UID: wallet.Hex()} }

// Spellings returns the forms in which the partner's service may store the ID, because the service does not document
// which form it stores. The UID is the first one.
func (id Identity) Spellings() []string {
	if id.Platform == "TON" {
		return tonSpellings(id.UID)
	}
	if lower := strings.ToLower(id.UID); id.Platform == EVM && lower != id.UID {
		return []string{id.UID, lower}
	}
	return []string{id.UID}
}

// Platforms returns the platforms' names as the partner's service spells them.
func Platforms() []string {
	var names []string
	for _, r := range platformRules {
		names = append(names, r.platforms...)
	}
	return names
}

// platformRule is the form of the IDs on some platforms.
type platformRule struct {
	platforms []string
	form      *regexp.Regexp // matches every valid ID
	flaw      Flaw           // of an ID that is not valid
	example   string         // of a valid ID
	// canonical returns the form in which an ID is sent. If it is nil, an ID is sent as it was typed.
	canonical func(id string) string
	// chain is the name of the chain if the IDs are wallets on a chain without the EVM. Otherwise it is empty.
	chain string
}

// platformRules has the rules of all platforms, in the order of Platforms.
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
		form:      evmAddress, // evmIdentity also accepts a text with an address.
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

// identity returns the Identity of an ID on one of r.platforms. It fails with an *InvalidError.
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

// evmIdentity returns the Identity of the only wallet in text, which may be a link or a sentence. It fails with
// wrongForm, except that it names a wrong checksum if text is an address.
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
