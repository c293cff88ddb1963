package core

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/ethereum/go-ethereum/common"
)

// EVM is the platform of wallets on the chain with the pools.
const EVM = "EVM"

// Identity is a person for the partner's service: one of Platforms, and the ID there.
type Identity struct {
	Platform string
	UID      string
}

// platformRule is the form of the IDs of some platforms.
type platformRule struct {
	names   []string
	uid     *regexp.Regexp
	flaw    Flaw   // of an ID that does not match uid
	example string // matches uid
	// canonical returns the form in which an ID is sent; nil: as typed.
	canonical func(uid string) string
	// chain is the name of the wallets' chain; empty for an EVM chain and for no wallets.
	chain string
}

var (
	evmAddress = regexp.MustCompile(`^0[xX][0-9a-fA-F]{40}$`)
	hexDigits  = regexp.MustCompile(`^[0-9a-fA-F]+$`)
	// bareAddress matches an address with or without its prefix, and transaction a hash.
	bareAddress = regexp.MustCompile(`^(0[xX])?[0-9a-fA-F]{40}$`)
	transaction = regexp.MustCompile(`^0[xX][0-9a-fA-F]{64}$`)
	// namesAndNumbers matches an address in a text, and a whole name with one in it, such as
	// 0x….eth.
	namesAndNumbers = regexp.MustCompile(`[0-9A-Za-z.]+`)
	ensName         = regexp.MustCompile(`^[^./]+(\.[^./]+)+$`)
)

var platformRules = []platformRule{
	{names: []string{"Telegram", "Twitter", "Discord", "GitHub", "YouTube", "Facebook", "LinkedIn"},
		uid: regexp.MustCompile(`^[0-9]{1,40}$`), flaw: "uid.numeric", example: "123456789", canonical: withoutZeros},
	{names: []string{EVM}, uid: evmAddress, flaw: "uid.evm", example: "0x52908400098527886E0F7030069857D2E4169EE7"},
	// Base58check of 25 bytes, or bech32 (BIP 173, BIP 350).
	{names: []string{"BTC"}, chain: "Bitcoin", flaw: "uid.btc", example: "1BoatSLRHtKNngkdXEeobR76b53LETtpyT", canonical: bech32Lower,
		uid: regexp.MustCompile(`^([13][1-9A-HJ-NP-Za-km-z]{25,34}|bc1[02-9ac-hj-np-z]{11,87}|BC1[02-9AC-HJ-NP-Z]{11,87})$`)},
	// Base58check of 21 bytes that begin with 0x41.
	{names: []string{"TRON"}, chain: "TRON", flaw: "uid.tron", example: "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
		uid: regexp.MustCompile(`^T[1-9A-HJ-NP-Za-km-z]{33}$`)},
	// 36 bytes in base64 or base64url, or workchain:hash in hex.
	{names: []string{"TON"}, chain: "TON", flaw: "uid.ton", example: "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs", canonical: func(uid string) string { return tonForms(uid)[0] },
		uid: regexp.MustCompile(`^([A-Za-z0-9+/_-]{48}|(0|-1):[0-9a-fA-F]{64})$`)},
	// Base58 of 32 bytes.
	{names: []string{"SOL"}, chain: "Solana", flaw: "uid.sol", example: "So11111111111111111111111111111111111111112",
		uid: regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{32,44}$`)},
	{names: []string{"Email"}, flaw: "uid.email", example: "ann@example.org", canonical: domainLower,
		uid: regexp.MustCompile(`^[!-~]{1,254}$`)},
}

func withoutZeros(uid string) string {
	return cmp.Or(strings.TrimLeft(uid, "0"), "0")
}

// bech32Lower returns a bech32 address in lower case, which means the same as upper case
// (BIP 173). It returns base58 unchanged, where case matters.
func bech32Lower(uid string) string {
	if strings.HasPrefix(uid, "BC1") {
		return strings.ToLower(uid)
	}
	return uid
}

// domainLower returns an email address with its domain in lower case. Case may matter
// before the @ (RFC 5321, section 2.4).
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
		names = append(names, r.names...)
	}
	return names
}

// NewIdentity checks a platform's name, in any case, and the form of an ID on it. It
// returns the Identity with the ID's canonical form, or an *InvalidError.
func NewIdentity(platform, uid string) (Identity, error) {
	for _, r := range platformRules {
		i := slices.IndexFunc(r.names, func(name string) bool { return strings.EqualFold(name, platform) })
		if i < 0 {
			continue
		}
		name := r.names[i]
		if name == EVM {
			switch wallet, err := FindWallet(uid); {
			case err == nil:
				return IdentityOf(wallet), nil
			case r.uid.MatchString(uid):
				return Identity{}, err
			}
		}
		if !r.uid.MatchString(uid) {
			return Identity{}, &InvalidError{Flaw: r.flaw, Platform: name, Example: r.example}
		}
		if r.canonical != nil {
			uid = r.canonical(uid)
		}
		return Identity{Platform: name, UID: uid}, nil
	}
	return Identity{}, &InvalidError{Flaw: UnknownPlatform}
}

// Spellings returns the forms in which the partner's service may hold the ID, the UID
// first. Which one it holds is not published.
func (id Identity) Spellings() []string {
	switch lower := strings.ToLower(id.UID); {
	case id.Platform == "TON":
		return tonForms(id.UID)
	case id.Platform == EVM && lower != id.UID:
		return []string{id.UID, lower}
	}
	return []string{id.UID}
}

// IdentityOf returns the Identity of a wallet.
func IdentityOf(wallet common.Address) Identity { return Identity{Platform: EVM, UID: wallet.Hex()} }

// ParseWallet reads an EVM address: 0x or 0X, and 40 hexadecimal digits which, in
// mixed case, must carry the EIP-55 checksum
// (https://eips.ethereum.org/EIPS/eip-55). It fails with an *InvalidError.
func ParseWallet(s string) (common.Address, error) {
	flaw := Flaw("")
	another := slices.IndexFunc(platformRules, func(r platformRule) bool { return r.chain != "" && r.uid.MatchString(s) })
	switch digits, prefixed := strings.CutPrefix(strings.Replace(s, "0X", "0x", 1), "0x"); {
	case strings.ContainsFunc(s, func(r rune) bool { return r < '!' || r > '~' }):
		flaw = HiddenCharacters
	case ensName.MatchString(s):
		flaw = NameForAddress
	case !prefixed && another >= 0 && !hexDigits.MatchString(s): // Hex digits may be in base58 too.
		return common.Address{}, &InvalidError{Flaw: AnotherChain, Length: len(s), Platform: platformRules[another].chain}
	case !prefixed:
		flaw = NoPrefix
	case len(digits) != 40:
		flaw = WrongLength
	case !evmAddress.MatchString(s):
		flaw = WrongDigits
	case strings.ToLower(digits) != digits && strings.ToUpper(digits) != digits && common.HexToAddress(s).Hex() != "0x"+digits:
		flaw = WrongChecksum
	default:
		return common.HexToAddress(s), nil
	}
	return common.Address{}, &InvalidError{Flaw: flaw, Length: len(s)}
}

// FindWallet returns the one EVM address in text, such as in a link or a sentence; its 0x may
// be missing. It fails with an *InvalidError if there are several. If there is none, it fails
// as ParseWallet does with the first word.
func FindWallet(text string) (common.Address, error) {
	wallet, _, _ := strings.Cut(text, " ")
	var addresses []string
	hash := false
	for _, token := range namesAndNumbers.FindAllString(text, -1) {
		token = strings.Trim(token, ".")
		hash = hash || transaction.MatchString(token)
		if bareAddress.MatchString(token) {
			addresses = append(addresses, "0x"+token[len(token)-40:])
		}
	}
	switch {
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }):
		// Who reads the text sees another address.
		return common.Address{}, &InvalidError{Flaw: HiddenCharacters}
	case slices.ContainsFunc(addresses, func(other string) bool { return !strings.EqualFold(other, addresses[0]) }):
		return common.Address{}, &InvalidError{Flaw: SeveralWallets}
	case len(addresses) > 0:
		wallet = addresses[0]
	case hash:
		return common.Address{}, &InvalidError{Flaw: Transaction}
	}
	return ParseWallet(wallet)
}
