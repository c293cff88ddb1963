package core

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// The tags of addresses on the main network. The tag is the first decoded byte of an address.
const (
	tonBounceable    = 0x11
	tonNonBounceable = 0x51
)

var tonURLSafe = strings.NewReplacer("+", "-", "/", "_")

// tonSpellings returns the three spellings of a TON account
// (https://docs.ton.org/v3/documentation/smart-contracts/addresses/address-formats):
//
//	bounceable        as explorers show it
//	non-bounceable    as wallets show it
//	raw               as TON Connect passes it to apps
//
// The first two are addresses in base64, and are returned in its URL-safe alphabet. uid is one of the spellings, in
// base64 of either alphabet; the caller has checked that. If uid is an address of the test network or has a wrong
// checksum, tonSpellings returns only uid, in the URL-safe alphabet.
func tonSpellings(uid string) []string {
	workchain, hash, isRaw := strings.Cut(uid, ":")
	if isRaw {
		return spellingsOf(rawTonAccount(workchain, hash))
	}
	uid = tonURLSafe.Replace(uid)
	address, _ := base64.URLEncoding.DecodeString(uid) // cannot fail: uid has 48 digits of base64
	// An address is a tag of 1 byte, an account of 33, and a CRC of 2.
	tag, account := address[0], address[1:34]
	isChecksumRight := uid == encodeTon(tag, account)
	isMainNetwork := tag == tonBounceable || tag == tonNonBounceable
	if !isChecksumRight || !isMainNetwork {
		return []string{uid}
	}
	return spellingsOf(account)
}

// spellingsOf returns the spellings of an account in the order of tonSpellings.
func spellingsOf(account []byte) []string {
	return []string{
		encodeTon(tonBounceable, account),
		encodeTon(tonNonBounceable, account),
		fmt.Sprintf("%d:%x", int8(account[0]), account[1:]),
	}
}

// rawTonAccount returns the bytes of an account: one for the workchain, which is 0 or -1, and 32 for the hash.
func rawTonAccount(workchain, hash string) []byte {
	account := []byte{0}
	if workchain == "-1" {
		account[0] = 0xff
	}
	account, _ = hex.AppendDecode(account, []byte(hash)) // cannot fail: hash has 64 hexadecimal digits
	return account
}

// encodeTon returns an account's address in base64: a tag, the account, and the CRC-16/XMODEM of both.
func encodeTon(tag byte, account []byte) string {
	address := append([]byte{tag}, account...)
	return base64.URLEncoding.EncodeToString(binary.BigEndian.AppendUint16(address, crc16(address)))
}

// crc16 returns the CRC-16/XMODEM of data. Its polynomial is 0x1021.
func crc16(data []byte) uint16 {
	crc := uint16(0)
	for _, b := range data {
		crc ^= uint16(b) << 8
		for range 8 {
			carry := crc >> 15
			crc = crc<<1 ^ carry*0x1021
		}
	}
	return crc
}
