package staking

import (
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/config"
	"herald/internal/core"
)

// Settings say which pools are read, and where.
type Settings struct {
	// RPCURL is the node's http or https endpoint. It may hold a key.
	RPCURL  config.Secret
	ChainID uint64
	Pools   []core.Pool
	// Method is the view method `name(address)` that answers a wallet's stake
	// as a uint256.
	Method string
	// PendingMethod is the view method `name(address)` that answers the stakes
	// being withdrawn as (uint256 amount,uint256 block)[]; empty: none is asked.
	PendingMethod string
	// Multicall is the address of Multicall3; nil: it is not used.
	Multicall *common.Address
	// Decimals is how many of a stake's digits are behind the point.
	Decimals int32
	// TTL is how long a stake is fresh.
	TTL time.Duration
}
