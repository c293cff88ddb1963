package terminal

import "unicode/utf8"

const escape = '\x1b'

// sequences are the keys that a line is edited with, in the one form that package
// term knows: terminals differ in what they send for the same key.
// https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
var sequences = map[string]string{
	"\x1b[A": "\x1b[A", "\x1bOA": "\x1b[A", // up
	"\x1b[B": "\x1b[B", "\x1bOB": "\x1b[B", // down
	"\x1b[C": "\x1b[C", "\x1bOC": "\x1b[C", // right
	"\x1b[D": "\x1b[D", "\x1bOD": "\x1b[D", // left
	"\x1b[H": "\x1b[H", "\x1bOH": "\x1b[H", "\x1b[1~": "\x1b[H", "\x1b[7~": "\x1b[H", // Home
	"\x1b[F": "\x1b[F", "\x1bOF": "\x1b[F", "\x1b[4~": "\x1b[F", "\x1b[8~": "\x1b[F", // End
	"\x1b[3~":   "\x1b[3~",                                                   // Delete
	"\x1b[1;3C": "\x1b[1;3C", "\x1b[1;5C": "\x1b[1;3C", "\x1bf": "\x1b[1;3C", // a word to the right
	"\x1b[1;3D": "\x1b[1;3D", "\x1b[1;5D": "\x1b[1;3D", "\x1bb": "\x1b[1;3D", // a word to the left
	"\x1b\x7f": "\x17", // delete a word
}

// maxSequence is more than any key sends, in bytes.
const maxSequence = 64

// keys reads what a terminal sends, for package term, which waits for another key
// after a byte that is no character, takes whatever follows Escape for a part of
// it, and stops for good in a sequence of 256 bytes.
type keys struct {
	// begun is the beginning of a character or of a key sequence.
	begun []byte
	last  byte
}

// decode is what was typed in whole characters and in the sequences above, at most
// six bytes for each. Other sequences are left out, and what is no character is a
// question mark.
func (k *keys) decode(typed []byte) []byte {
	var decoded []byte
	for _, b := range typed {
		if b != '\n' || k.last != '\r' { // CRLF is one end of a line, also in two reads
			decoded = append(decoded, k.next(b)...)
		}
		k.last = b
	}
	return decoded
}

// next is what b completes.
func (k *keys) next(b byte) string {
	inSequence := len(k.begun) > 0 && k.begun[0] == escape
	switch {
	case inSequence && b >= ' ' && b < utf8.RuneSelf:
		return k.sequence(b)
	case inSequence: // a control character, or another than ASCII has: Escape was pressed alone
		k.begun = nil
	case len(k.begun) > 0 && utf8.RuneStart(b): // the character before has no end
		k.begun = nil
		return "?" + k.next(b)
	}
	k.begun = append(k.begun, b)
	if b == escape || !utf8.FullRune(k.begun) {
		return ""
	}
	r, _ := utf8.DecodeRune(k.begun)
	k.begun = nil
	if r == utf8.RuneError {
		return "?"
	}
	return string(r)
}

// sequence is next in a key sequence.
func (k *keys) sequence(b byte) string {
	if len(k.begun) < maxSequence {
		k.begun = append(k.begun, b)
	}
	final := b >= '@' && b <= '~'
	switch kind := k.begun[1]; {
	case len(k.begun) == 2 && (b == '[' || b == 'O' || b == ']'):
		return ""
	case kind == '[' && len(k.begun) == 3 && b == '[': // the Linux console's function keys
		return ""
	case kind == ']': // a string, which a control character ends
		return ""
	case (kind == '[' || kind == 'O') && !final:
		return ""
	}
	key := sequences[string(k.begun)]
	k.begun = nil
	return key
}
