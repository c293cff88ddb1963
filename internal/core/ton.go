package core

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// The first byte of a TON address in base64, without the flag of the test network.
const (
	tonBounceable    = 0x11
	tonNonBounceable = 0x51
)

var tonURLSafe = strings.NewReplacer("+", "-", "/", "_")

// tonForms returns the three forms of a TON account
// (https://docs.ton.org/v3/documentation/smart-contracts/addresses/address-formats):
// bounceable, as explorers show it; non-bounceable, as wallets show it; and raw, as
// TON Connect gives it to apps. uid is one of them, in base64 of either alphabet. It
// returns only uid for an address of the test network or with a wrong checksum.
func tonForms(uid string) []string {
	account := make([]byte, 0, 33) // workchain and hash
	if workchain, hash, raw := strings.Cut(uid, ":"); raw {
		account = append(account, 0)
		if workchain == "-1" {
			account[0] = 0xff
		}
		account, _ = hex.AppendDecode(account, []byte(hash)) // its form is checked
	} else {
		uid = tonURLSafe.Replace(uid)
		address, _ := base64.URLEncoding.DecodeString(uid) // its form is checked
		account = address[1:34]
		if uid != tonForm(address[0], account) || address[0] != tonBounceable && address[0] != tonNonBounceable {
			return []string{uid}
		}
	}
	return []string{
		tonForm(tonBounceable, account), tonForm(tonNonBounceable, account),
		fmt.Sprintf("%d:%x", int8(account[0]), account[1:]),
	}
}

// tonForm returns an address in base64: a tag, the account, and their CRC-16/XMODEM.
func tonForm(tag byte, account []byte) string {
	address, crc := append([]byte{tag}, account...), uint16(0)
	for _, b := range address {
		crc ^= uint16(b) << 8
		for range 8 {
			carry := crc >> 15
			crc = crc<<1 ^ carry*0x1021
		}
	}
	return base64.URLEncoding.EncodeToString(binary.BigEndian.AppendUint16(address, crc))
}
