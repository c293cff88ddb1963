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

// maxPoolName bounds the name of a pool, in characters.
const maxPoolName = 64

// parsePools reads the addresses in value or, after an @, those in a file with a
// pool a line: its address and, after white space, perhaps its name.
func parsePools(value string) ([]core.Pool, error) {
	path, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		return parsePoolList("entry", config.SplitList(value))
	}
	const maxSize = 1 << 20
	content, err := config.ReadFile(path, maxSize)
	if err != nil {
		return nil, fmt.Errorf("the file named after @ %w", err)
	}
	lines := strings.Split(content, "\n")
	for i, line := range lines {
		lines[i] = poolComment.ReplaceAllString(strings.TrimRight(line, "\r"), "")
	}
	return parsePoolList("line", lines)
}

// poolComment is a # at a line's start, or with white space on both sides, so
// that a name may be "Pool #3".
var poolComment = regexp.MustCompile(`^\s*#.*$|\s#(\s.*)?$`)

// parsePoolList reads pools and fails with all that is wrong. place is what each of
// lines is called.
func parsePoolList(place string, lines []string) ([]core.Pool, error) {
	var pools []core.Pool
	var wrong []error
	seen := map[common.Address]int{}
	invisible := func(r rune) bool { return !unicode.IsGraphic(r) }
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		text, name := line, ""
		if end := strings.IndexFunc(line, unicode.IsSpace); end >= 0 {
			text, name = line[:end], strings.TrimSpace(line[end:])
		}
		address, err := parseContract(text)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Errorf("%s %d %w", place, i+1, err))
		case seen[address] > 0:
			wrong = append(wrong, fmt.Errorf("%s %d repeats the address of %s %d", place, i+1, place, seen[address]))
		case !utf8.ValidString(name), utf8.RuneCountInString(name) > maxPoolName, strings.ContainsFunc(name, invisible):
			wrong = append(wrong, fmt.Errorf("%s %d has a name that is not at most %d visible characters", place, i+1, maxPoolName))
		default:
			seen[address] = i + 1
			pools = append(pools, core.Pool{Address: address, Name: name})
		}
	}
	switch {
	case len(wrong) > 0:
		return nil, errors.Join(wrong...)
	case len(pools) == 0:
		return nil, errors.New("names no pool")
	}
	return pools, nil
}
