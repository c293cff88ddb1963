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

// poolEntry is a pool as it is written, and where.
type poolEntry struct{ place, address, name string }

// parsePools reads the addresses in value or, after an @, those in a file.
func parsePools(value string) ([]core.Pool, error) {
	if path, isFile := strings.CutPrefix(value, "@"); isFile {
		const maxSize = 1 << 20
		content, err := config.ReadFile(path, maxSize)
		if err != nil {
			return nil, fmt.Errorf("the file named after @ %w", err)
		}
		return parsePoolFile(content)
	}
	var entries []poolEntry
	for i, address := range config.SplitList(value) {
		entries = append(entries, poolEntry{place: fmt.Sprintf("entry %d", i+1), address: address})
	}
	return checkPools(entries)
}

// poolComment is a # at a line's start, or with white space on both sides, so
// that a name may be "Pool #3".
var poolComment = regexp.MustCompile(`^\s*#.*$|\s#(\s.*)?$`)

// parsePoolFile reads a pool a line: its address and, after white space, its
// name if it has one.
func parsePoolFile(content string) ([]core.Pool, error) {
	var entries []poolEntry
	for i, line := range strings.Split(content, "\n") {
		line = strings.TrimSpace(poolComment.ReplaceAllString(strings.TrimRight(line, "\r"), ""))
		if line == "" {
			continue
		}
		address, name := line, ""
		if end := strings.IndexFunc(line, unicode.IsSpace); end >= 0 {
			address, name = line[:end], strings.TrimSpace(line[end:])
		}
		entries = append(entries, poolEntry{place: fmt.Sprintf("line %d", i+1), address: address, name: name})
	}
	return checkPools(entries)
}

// checkPools makes pools of the entries, and fails with all that is wrong.
func checkPools(entries []poolEntry) ([]core.Pool, error) {
	var pools []core.Pool
	var wrong []error
	places := map[common.Address]string{}
	for _, e := range entries {
		address, err := parseContract(e.address)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Errorf("%s %w", e.place, err))
		case places[address] != "":
			wrong = append(wrong, fmt.Errorf("%s repeats the address of %s", e.place, places[address]))
		case !validPoolName(e.name):
			wrong = append(wrong, fmt.Errorf("%s has a name that is not at most %d visible characters", e.place, maxPoolName))
		default:
			places[address] = e.place
			pools = append(pools, core.Pool{Address: address, Name: e.name})
		}
	}
	switch {
	case len(wrong) > 0:
		return nil, config.Join(wrong)
	case len(pools) == 0:
		return nil, errors.New("names no pool")
	}
	return pools, nil
}

const maxPoolName = 64

func validPoolName(name string) bool {
	invisible := func(r rune) bool { return !unicode.IsGraphic(r) }
	return utf8.ValidString(name) && utf8.RuneCountInString(name) <= maxPoolName && !strings.ContainsFunc(name, invisible)
}
