// Package commands is what can be asked of Herald: a file for each command,
// the table of them all, and what people read when something fails.
//
// A command is a function from chat.Request to chat.Reply. It knows no
// platform: what it returns is plain text and numbers, and every text that a
// service or a person wrote goes through chat.Foreign first.
package commands

import (
	"context"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
)

// Client is what commands ask; core.Client is the one of the product.
type Client interface {
	Quote(ctx context.Context) (core.Snapshot[core.Quote], error)
	TokenSupply(ctx context.Context) (core.Snapshot[core.Supply], error)
	Stake(ctx context.Context, wallet common.Address) (core.Snapshot[core.Stake], error)
	Account(ctx context.Context, id core.Identity) (core.Snapshot[core.Account], error)
	Logins(ctx context.Context, did string) (core.Snapshot[[]core.Login], error)
}

// Token is how the token is shown.
type Token struct {
	Symbol string
}

// All is the table of commands, in the order of menus and of /help.
func All(client Client, token Token) chat.Commands {
	all := chat.Commands{
		price(client, token),
		supply(client, token),
		staked(client, token),
		myLogins(client),
		exists(client),
	}
	return append(all, help(all))
}
