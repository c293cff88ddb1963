package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
)

// pools reads the addresses in value or, after an @, those of a file.
func pools(value string) ([]core.Pool, error) {
	path, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		var list poolList
		for i, word := range words(value) {
			list.add(fmt.Sprintf("entry %d", i+1), word, "")
		}
		return list.done()
	}
	const limit = 1 << 20
	content, err := readFile(path, limit)
	if err != nil {
		return nil, fmt.Errorf("the file named after @ %w", err)
	}
	return parsePoolFile(content)
}

// poolComment is a # at a line's start, or with white space on both sides, so
// that a name may be "Pool #3".
var poolComment = regexp.MustCompile(`^\s*#.*$|\s#(\s.*)?$`)

// parsePoolFile reads a pool a line: its address and, after white space, its
// name if it has one.
func parsePoolFile(content string) ([]core.Pool, error) {
	var list poolList
	for i, line := range strings.Split(content, "\n") {
		line = strings.TrimSpace(poolComment.ReplaceAllString(strings.TrimRight(line, "\r"), ""))
		if line == "" {
			continue
		}
		address, name := line, ""
		if end := strings.IndexFunc(line, unicode.IsSpace); end >= 0 {
			address, name = line[:end], strings.TrimSpace(line[end:])
		}
		list.add(fmt.Sprintf("line %d", i+1), address, name)
	}
	return list.done()
}

// poolList gathers pools and what is wrong with them.
type poolList struct {
	pools []core.Pool
	wrong []error
	seen  map[common.Address]string
}

func (l *poolList) add(place, address, name string) {
	if l.seen == nil {
		l.seen = map[common.Address]string{}
	}
	parsed, err := contract(address)
	switch {
	case err != nil:
		l.wrong = append(l.wrong, fmt.Errorf("%s %w", place, err))
		return
	case l.seen[parsed] != "":
		l.wrong = append(l.wrong, fmt.Errorf("%s repeats the address of %s", place, l.seen[parsed]))
		return
	case !validPoolName(name):
		l.wrong = append(l.wrong, fmt.Errorf("%s has a name that is not at most %d visible characters", place, longestPoolName))
		return
	}
	l.seen[parsed] = place
	l.pools = append(l.pools, core.Pool{Address: parsed, Name: name})
}

func (l *poolList) done() ([]core.Pool, error) {
	switch {
	case len(l.wrong) > mostMistakes:
		rest := fmt.Errorf("%d more entries are wrong", len(l.wrong)-mostMistakes)
		return nil, errors.Join(append(l.wrong[:mostMistakes:mostMistakes], rest)...)
	case len(l.wrong) > 0:
		return nil, errors.Join(l.wrong...)
	case len(l.pools) == 0:
		return nil, errors.New("names no pool")
	}
	return l.pools, nil
}

const longestPoolName = 64

func validPoolName(name string) bool {
	invisible := func(r rune) bool { return !unicode.IsGraphic(r) }
	return utf8.ValidString(name) && utf8.RuneCountInString(name) <= longestPoolName && !strings.ContainsFunc(name, invisible)
}

// contract reads the address of a contract.
func contract(value string) (common.Address, error) {
	address, err := core.ParseWallet(value)
	switch {
	case err != nil && strings.HasPrefix(value, "0x") && common.IsHexAddress(value):
		return address, errors.New("does not match its EIP-55 checksum: a character is mistyped")
	case err != nil:
		return address, errors.New("must be 0x and 40 hexadecimal digits")
	case address == (common.Address{}):
		return address, errors.New("is the zero address")
	}
	return address, nil
}

func multicall(value string) (*common.Address, error) {
	if value == off {
		return nil, nil
	}
	address, err := contract(value)
	if err != nil {
		return nil, fmt.Errorf("%w, or must be off", err)
	}
	return &address, nil
}
