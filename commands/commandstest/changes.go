package commandstest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/commands"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/service/partner"
	"herald/internal/service/staking"
)

// examples returns the examples of the forms that menus list and that include returns true for.
func examples(include func(chat.Command, chat.Form) bool) (lines []string) {
	for _, c := range commands.All(Healthy().Sources(), Healthy().Options) {
		for _, f := range c.Forms {
			if !f.Unlisted && include(c, f) {
				lines = append(lines, c.Example(f))
			}
		}
	}
	return lines
}

// isAny reports true for every form.
func isAny(chat.Command, chat.Form) bool { return true }

// asksForAll reports whether a form asks a service, and everybody may use it.
func asksForAll(c chat.Command, f chat.Form) bool { return c.Asks != nil && !f.Moderators }

// mayShowOld reports whether a form may show an old answer of a service in MayBeOld, and everybody may use it.
func mayShowOld(c chat.Command, f chat.Form) bool {
	isOneOld := slices.ContainsFunc(c.Asks, func(service string) bool { return slices.Contains(MayBeOld, service) })
	return isOneOld && !f.Moderators
}

// Asking returns an example of a command that everybody may use and that cannot do without the service. It panics if
// there is none.
func Asking(service string) string {
	needsService := func(c chat.Command, f chat.Form) bool { return asksForAll(c, f) && c.Asks[0] == service }
	asking := examples(needsService)
	if len(asking) == 0 {
		panic("no command has the service " + service + " first in Asks")
	}
	return asking[0]
}

// failed returns the error of a service that failed for a reason.
func failed(s *core.Service, r core.Reason) *core.Error { return s.Fail(r, errors.New("inner")) }

// unreadPools returns n pools that could not be read.
func unreadPools(n int) []core.UnreadPool {
	unread := make([]core.UnreadPool, n)
	for i := range unread {
		unread[i] = core.UnreadPool{
			Pool: core.Pool{Address: common.Address{byte(i)}},
			Err:  failed(staking.Service, core.SlowAnswer),
		}
	}
	return unread
}

// unstaking adds amounts that are unstaked and cannot be claimed yet. The first of them can be claimed at Noon plus
// after.
func unstaking(w *Answers, after time.Duration, amounts ...string) {
	for _, amount := range amounts {
		w.Stake.Unbonding = append(w.Stake.Unbonding, core.PoolAmount{
			Pool:   core.Pool{Name: "Exit"},
			Amount: number(amount),
		})
	}
	w.Stake.NextWithdrawal = core.NextWithdrawal{Amount: number(amounts[0]), At: Noon.Add(after)}
}

// Hostile are names with markup, mentions, links and control characters.
var Hostile = []string{
	"**bold** _it_ `code` <b>",
	"@everyone <@1> <@&2> tg://user?id=1",
	"evil.example https://evil.example [x](http://evil.example) t.me/evil",
	"\u202egnp.exe",
	"zero\u200bwidth\u2060",
	"line\nbreak\r\n# head",
	"\xff\xfe broken",
	strings.Repeat("long ", 2000),
	"\u200b",
}

// hostile makes logins and pools with the names in Hostile, and a login in the future.
func hostile(w *Answers) {
	w.Logins = nil
	w.Stake.Staked = nil
	for _, name := range Hostile {
		w.Logins = append(w.Logins, core.Login{Dapp: name, Platform: name, At: Noon})
		w.Stake.Staked = append(w.Stake.Staked, core.PoolAmount{
			Pool:   core.Pool{Address: common.Address{9}, Name: name},
			Amount: number("1"),
		})
	}
	w.Logins = append(w.Logins, core.Login{Dapp: "Tomorrow", Platform: "EVM", At: Noon.AddDate(0, 0, 1)})
}

// many makes more logins and pools than one reply has room for.
func many(w *Answers) {
	w.Logins = nil
	w.Stake.Staked = nil
	for i := range 500 {
		w.Logins = append(w.Logins, core.Login{
			Dapp:     fmt.Sprint("Dapp ", i),
			Platform: "EVM",
			At:       Noon.Add(-time.Duration(i) * time.Hour),
		})
	}
	for i := range 60 {
		w.Stake.Staked = append(w.Stake.Staked, core.PoolAmount{
			Pool:   core.Pool{Name: fmt.Sprintf("Pool %d %s", i, strings.Repeat("with a long name ", 3))},
			Amount: number("123456789.000000000000000001"),
		})
	}
	w.Stake.Checked = 60
}

// These functions change healthy services, for scene.change.

func unchanged(*Answers)       {}
func stakesNothing(w *Answers) { w.Stake = core.Stake{Block: 1, Checked: 21} }
func stakingSlow(w *Answers)   { w.StakeErr = failed(staking.Service, core.SlowAnswer) }
func partnerDown(w *Answers)   { w.AccountsErr = failed(partner.Service, core.Unreachable) }
