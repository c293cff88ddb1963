package staking

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/secret"
)

// defaultMulticall is the address of Multicall3 on most chains
// (https://github.com/mds1/multicall3#multicall3-contract-addresses).
const defaultMulticall = "0xcA11bde05977b3631167028862bE2a173976CA11"

// Settings are what an operator chooses.
type Settings struct {
	// RPCURL is the node's http or https endpoint. It may contain a key, except in its host.
	RPCURL  secret.Value
	ChainID uint64
	Pools   []core.Pool // at least one, none twice
	// Method is the view method `name(address)` that returns a wallet's stake as a uint256.
	Method string
	// PendingMethod is the view method `name(address)` that returns a wallet's withdrawals as
	// (uint256 amount,uint256 block)[]. If it is empty, withdrawals are not read.
	PendingMethod string
	// ClaimBlocks is how many blocks after its own block a withdrawal can be claimed, 0 to maxClaimBlocks. It is nil if
	// that is unknown.
	ClaimBlocks *uint64
	// TotalMethod is the view method `name()` that returns the total staked in a pool as a uint256. If it is empty,
	// totals are not read.
	TotalMethod string
	// Multicall is the address of Multicall3; nil: it is off.
	Multicall *common.Address
	// Decimals is the number of a stake's digits behind the point, 0 to 77.
	Decimals int
	// MaxBlockAge is how old the block of a stake may be; 0: any age.
	MaxBlockAge time.Duration
	// TTL is how long a wallet's stake is fresh.
	TTL time.Duration
}

// IsOn reports whether there are pools to read.
func (s Settings) IsOn() bool { return s.RPCURL.IsSet() }

// Table declares the settings that fill s.
func (s *Settings) Table() []config.Setting {
	const name = `[A-Za-z_$][A-Za-z0-9_$]{0,127}`
	method := config.Matching(name+`\(address\)`, "of the form name(address)")
	return []config.Setting{
		{
			Heading: "Staking",
			Name:    "EVM_RPC_URL",
			Secret:  true,
			Example: "https://rpc.example.org/v1/my-key",
			Needs:   []string{"EVM_CHAIN_ID", "STAKING_POOLS"},
			Comment: "JSON-RPC endpoint of the chain with the pools, with a key if any.",
			Set:     config.Field(&s.RPCURL, config.Hidden(parseRPCURL)),
		},
		{
			Name:    "EVM_CHAIN_ID",
			Example: "1",
			Needs:   []string{"EVM_RPC_URL", "STAKING_POOLS"},
			Set:     config.Field(&s.ChainID, parseChainID),
			Comment: "That chain's ID. An endpoint of another chain is refused.",
		},
		{
			Name:    "STAKING_POOLS",
			Example: "0x52908400098527886E0F7030069857D2E4169EE7",
			Needs:   []string{"EVM_RPC_URL", "EVM_CHAIN_ID"},
			Set:     config.Field(&s.Pools, parsePools),
			Comment: "The pools' addresses, or @FILE with an address and a name in each line.",
		},
		{
			Name:    "STAKING_METHOD",
			Default: "currentStake(address)",
			Set:     config.Field(&s.Method, method),
			Comment: "View method of a pool that returns a wallet's stake as a uint256.",
		},
		{
			Name:    "STAKING_PENDING_METHOD",
			Example: "pendingUnstakes(address)",
			Set:     config.Field(&s.PendingMethod, method),
			Comment: "View method of a pool that returns what a wallet is withdrawing, as (uint256 amount,uint256 block)[]. " +
				"Unset: withdrawals are not shown.",
		},
		{
			Name:    "STAKING_CLAIM_BLOCKS",
			Example: "1209600",
			Needs:   []string{"STAKING_PENDING_METHOD"},
			Set:     config.Field(&s.ClaimBlocks, parseClaimBlocks),
			Comment: "How many blocks after its block a withdrawal can be claimed; 0: from its block on. " +
				"Unset: answers do not say what can be claimed.",
		},
		{
			Name:    "STAKING_TOTAL_METHOD",
			Example: "totalStake()",
			Set:     config.Field(&s.TotalMethod, config.Matching(name+`\(\)`, "of the form name(), without arguments")),
			Comment: "View method of a pool that returns the total staked in it as a uint256. " +
				"Unset: /supply does not show what is staked.",
		},
		{
			Name:    "MULTICALL_ADDRESS",
			Default: defaultMulticall,
			Example: config.Off,
			Set:     s.setMulticall,
			Comment: "Address of Multicall3 on that chain. It reads all pools in one call. off: a JSON-RPC batch does.",
		},
		{
			Name:    "MAX_BLOCK_AGE",
			Default: "10m",
			Set:     config.Field(&s.MaxBlockAge, config.OrOff(config.Duration)),
			Comment: "Maximum age of the block of a stake. If it is older, the node counts as frozen, " +
				"and the stake as unknown. off: any age.",
		},
		{
			Name:    "TOKEN_DECIMALS",
			Default: "18",
			Set:     config.Field(&s.Decimals, config.IntBetween(0, 77)), // With more, a uint256 could not hold one token.
			Comment: "The token's decimals on the chain, for staked amounts.",
		},
		{
			Name:    "STAKE_TTL",
			Default: "60s",
			Set:     config.Field(&s.TTL, config.Duration),
			Comment: "How long a wallet's stake is fresh.",
		},
	}
}

func parseRPCURL(value string) (string, error) {
	_, err := config.URL(value, "http", "https")
	return value, err
}

func parseChainID(value string) (uint64, error) {
	id, err := strconv.ParseUint(value, 10, 64)
	if err != nil || id == 0 {
		return 0, errors.New("must be a whole number above 0 in decimal digits")
	}
	return id, nil
}

// maxClaimBlocks is the maximum of ClaimBlocks. At a thousand blocks per second, it is 34 years.
const maxClaimBlocks = 1 << 40

func parseClaimBlocks(value string) (*uint64, error) {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || n > maxClaimBlocks {
		return nil, fmt.Errorf("must be a whole number from 0 to %d, in blocks", uint64(maxClaimBlocks))
	}
	return &n, nil
}

// setMulticall sets Multicall. It fails for the address of a pool. STAKING_POOLS stands before MULTICALL_ADDRESS in the
// table, so s.Pools is set already.
func (s *Settings) setMulticall(value string) error {
	address, err := config.OrOff(parseContract)(value)
	if err != nil {
		return err
	}
	if value == config.Off {
		return nil
	}
	isPool := slices.ContainsFunc(s.Pools, func(p core.Pool) bool { return p.Address == address })
	if isPool {
		return errors.New("is the address of one of STAKING_POOLS")
	}
	s.Multicall = &address
	return nil
}

// parseContract reads the address of a contract.
func parseContract(value string) (common.Address, error) {
	address, err := core.ParseWallet(value)
	switch {
	case err != nil && strings.HasPrefix(value, "0x") && common.IsHexAddress(value):
		return address, errors.New("does not match its EIP-55 checksum: copy it again, or write it in lower case")
	case err != nil:
		return address, errors.New("must be 0x and 40 hexadecimal digits")
	}
	return address, nil
}

// parsePools reads the addresses in value, separated by commas or white space. If value is @ and the path of a file,
// parsePools reads the file: each line has a pool's address and optionally, after white space, its name.
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

// poolComment matches a comment. Its # begins the line, or has white space before it, and white space or the end of the
// line after it. So a name may be "Pool #3".
var poolComment = regexp.MustCompile(`^\s*#.*$|\s#(\s.*)?$`)

// parsePoolList reads a pool from each line that is not blank. It returns the errors of all lines. lineName is what
// errors call a line: "line" or "entry".
func parsePoolList(lineName string, lines []string) (pools []core.Pool, _ error) {
	var wrong []error
	lineOf := map[common.Address]int{} // counted from 1
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		text := strings.Fields(line)[0]
		address, err := parseContract(text)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Errorf("%s %d %w", lineName, i+1, err))
		case lineOf[address] > 0:
			earlier := lineOf[address]
			wrong = append(wrong, fmt.Errorf("%s %d repeats the address of %s %d", lineName, i+1, lineName, earlier))
		}
		lineOf[address] = i + 1
		pools = append(pools, core.Pool{Address: address, Name: config.Trim(line[len(text):])})
	}
	if len(pools) == 0 {
		return nil, errors.New("names no pool")
	}
	return pools, errors.Join(wrong...)
}
