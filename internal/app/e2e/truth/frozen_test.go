package truth

import (
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/chat"
	"herald/internal/sandbox/fault"
)

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
				for wallet, verdict := range map[string]string{tr.World.Staker.Hex(): "stake.yes", tr.World.Idle.Hex(): "stake.no"} {
					reply := tr.bot.Router.Handle(t.Context(), e2etest.Request("staked", wallet))
					if answered {
						notes, err := readStakeNotes(reply.Notes)
						// Its last block was up to two seconds old when it froze.
						age := time.Since(notes.block.At).Round(time.Minute)
						if err != nil || reply.Title.Key != verdict || notes.block.Number/1000 != 998 || age < 59*time.Minute || age > 62*time.Minute {
							t.Errorf("%+v, want %s and the block's age", reply, verdict)
						}
						continue
					}
					if reply.Title.Key != "unchecked.title" || reply.Tone != chat.Warning || reply.Text.Key != string(behind) {
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
