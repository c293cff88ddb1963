package staking

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/config"
	"herald/internal/core"
)

// parsePools reads the addresses in value or, after an @, those in a file.
func parsePools(value string) ([]core.Pool, error) {
	path, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		var list poolList
		for i, address := range config.SplitList(value) {
			list.add(fmt.Sprintf("entry %d", i+1), address, "")
		}
		return list.done()
	}
	const limit = 1 << 20
	content, err := config.ReadFile(path, limit)
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
	seen  map[common.Address]string // the place in the list by address
}

func (l *poolList) add(place, address, name string) {
	if l.seen == nil {
		l.seen = map[common.Address]string{}
	}
	parsed, err := parseContract(address)
	switch {
	case err != nil:
		l.wrong = append(l.wrong, fmt.Errorf("%s %w", place, err))
	case l.seen[parsed] != "":
		l.wrong = append(l.wrong, fmt.Errorf("%s repeats the address of %s", place, l.seen[parsed]))
	case !validPoolName(name):
		l.wrong = append(l.wrong, fmt.Errorf("%s has a name that is not at most %d visible characters", place, longestPoolName))
	default:
		l.seen[parsed] = place
		l.pools = append(l.pools, core.Pool{Address: parsed, Name: name})
	}
}

func (l *poolList) done() ([]core.Pool, error) {
	switch {
	case len(l.wrong) > 0:
		return nil, config.Join(l.wrong)
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
