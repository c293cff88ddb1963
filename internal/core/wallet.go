package core

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"

	"github.com/ethereum/go-ethereum/common"
)

var (
	evmPrefix  = regexp.MustCompile(`^0[xX]`)
	evmAddress = regexp.MustCompile(`^0[xX][0-9a-fA-F]{40}$`)
	hexDigits  = regexp.MustCompile(`^[0-9a-fA-F]+$`)
	ensName    = regexp.MustCompile(`^[^./]+(\.[^./]+)+$`)
)

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

// otherChain returns the name of the chain without the EVM whose addresses have the form of s, or "" if there is none.
// It returns "" for hexadecimal digits. They may be an address of Solana, but are more likely an EVM address without
// its 0x.
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

// wrongChecksum reports whether the 40 digits of an address are in mixed case, but not in the case that EIP-55
// requires.
func wrongChecksum(digits string) bool {
	isMixed := strings.ToLower(digits) != digits && strings.ToUpper(digits) != digits
	return isMixed && common.HexToAddress(digits).Hex() != "0x"+digits
}

var (
	// token matches the parts of a text that may be addresses. A name such as 0x….eth is one token, so that FindWallet
	// does not find an address in it.
	token = regexp.MustCompile(`[0-9A-Za-z.]+`)
	// addressOrBare matches an address. Its 0x may be missing, or replaced by xdc, as in wallets of the XDC chain.
	addressOrBare = regexp.MustCompile(`^(0[xX]|[xX][dD][cC])?[0-9a-fA-F]{40}$`)
	// transaction matches the hash of a transaction.
	transaction = regexp.MustCompile(`^0[xX][0-9a-fA-F]{64}$`)
)

// FindWallet returns the only EVM address in text, which may be a link or a sentence. The address may occur more than
// once, and its 0x may be missing or replaced by xdc. FindWallet fails with an *InvalidError, whose Flaw is
//
//   - HiddenCharacters if text has characters that change the order of the others,
//   - SeveralWallets if text has two different addresses,
//   - WrongChecksum if the only address has a wrong checksum,
//   - Transaction if text has the hash of a transaction and no address,
//   - otherwise the flaw of the first word, taken as an address.
func FindWallet(text string) (common.Address, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }) {
		// A person would see another address than the one that is found.
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
