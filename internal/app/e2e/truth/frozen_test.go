package truth

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/chat"
	"herald/internal/sandbox/fault"
)

// anHour is the age of the block of a node that froze an hour ago, at which
// its last block was up to two seconds old.
var anHour = regexp.MustCompile(`^Block 998,\d{3}, (59 min|1 h) ago\.$`)

func TestHowOldABlockMayBeIsASetting(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"", "MULTICALL_ADDRESS=off"} {
		for setting, answered := range map[string]bool{
			"": false, "MAX_BLOCK_AGE=58m": false, "MAX_BLOCK_AGE=1h5m": true, "MAX_BLOCK_AGE=off": true,
		} {
			t.Run(way+" "+setting, func(t *testing.T) {
				t.Parallel()
				settings := slices.DeleteFunc([]string{way, setting}, func(s string) bool { return s == "" })
				tr := newTrial(t, settings...)
				tr.Chain.SetFault(findFault(t, fault.Chain, "frozen an hour ago"))
				for wallet, verdict := range map[string]string{tr.World.Staker.Hex(): "Staked", tr.World.Idle.Hex(): "Not staked"} {
					reply := tr.bot.Router.Handle(t.Context(), e2etest.Request("staked", wallet))
					if answered {
						if reply.Title != verdict || !slices.ContainsFunc(reply.Notes, anHour.MatchString) {
							t.Errorf("%+v, want %s and the block's age", reply, verdict)
						}
						continue
					}
					if reply.Title != "Could not be checked" || reply.Tone != chat.Warning || !strings.Contains(reply.Text, string(behind)) {
						t.Errorf("%+v, want no verdict", reply)
					}
				}
				if logged := strings.Contains(tr.log.String(), "newest block 998"); logged == answered {
					t.Errorf("the log tells operators of an old block: %v", logged)
				}
			})
		}
	}
}
