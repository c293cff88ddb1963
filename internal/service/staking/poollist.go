package staking

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/config"
	"herald/internal/core"
)

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
func parsePoolList(place string, lines []string) (pools []core.Pool, _ error) {
	var wrong []error
	seen := map[common.Address]int{}
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		text := strings.Fields(line)[0]
		address, err := parseContract(text)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Errorf("%s %d %w", place, i+1, err))
		case seen[address] > 0:
			wrong = append(wrong, fmt.Errorf("%s %d repeats the address of %s %d", place, i+1, place, seen[address]))
		}
		seen[address] = i + 1
		pools = append(pools, core.Pool{Address: address, Name: strings.TrimSpace(line[len(text):])})
	}
	if len(pools) == 0 {
		return nil, errors.New("names no pool")
	}
	return pools, config.Join(wrong)
}
