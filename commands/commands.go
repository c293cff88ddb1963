// Package commands is what can be asked of Herald: a file for each command,
// the table of them all, and what people read when something fails.
//
// A command is a function from chat.Request to chat.Reply. It knows no
// platform: what it returns is plain text and numbers, and every text that a
// service or a person wrote goes through chat.Foreign first.
package commands

import (
	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
)

// Sources are the questions that commands ask.
type Sources struct {
	Price    core.Source[core.NoArgument, core.Quote]
	Supply   core.Source[core.NoArgument, core.Supply]
	Stakes   core.Source[common.Address, core.Stake]
	Accounts core.Source[core.Identity, core.Account]
	// Logins are those of a DID, newest first.
	Logins core.Source[string, []core.Login]
}

// Token is how the token is shown.
type Token struct {
	Symbol string
}

// All is the table of commands, in the order of menus and of /help.
func All(from Sources, token Token) chat.Commands {
	all := chat.Commands{
		price(from.Price, token),
		supply(from.Supply, from.Price, token),
		staked(from.Stakes, token),
		myLogins(from.Accounts, from.Logins),
		exists(from.Accounts),
	}
	return append(all, help(all))
}
