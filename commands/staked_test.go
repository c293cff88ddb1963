package commands_test

import (
	"errors"
	"strings"
	"testing"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/staking"
	"herald/internal/words"
)

func TestAPoolThatAnswersNonsenseDidRespond(t *testing.T) {
	failed := func(reasons ...core.Reason) (pools []core.UnreadPool) {
		for _, reason := range reasons {
			pools = append(pools, core.UnreadPool{Err: staking.Service.Fail(reason, errors.New("as the test says"))})
		}
		return pools
	}
	for name, test := range map[string]struct {
		failed []core.UnreadPool
		want   string
	}{
		"silent":   {failed(core.SlowAnswer), "Can't say yet: 1 of 21 pools didn't respond."},
		"reverted": {failed(core.Rejected, core.Unreachable), "Can't say yet: 2 of 21 pools didn't respond."},
		"nonsense": {failed(core.Malformed), "Can't say yet: 1 of 21 pools couldn't be read."},
		"both":     {failed(core.SlowAnswer, core.Malformed), "Can't say yet: 2 of 21 pools couldn't be read."},
	} {
		w := commandstest.Healthy()
		w.Stake = core.Stake{Checked: 21 - len(test.failed), Failed: test.failed}
		for _, line := range []string{"/staked ", "/verify "} {
			card := words.Print(commandstest.Ask(t, w.Router(t), line+commandstest.AnnsWallet))
			said := card.Text.String()
			for _, s := range card.Sections {
				for _, f := range s.Fields {
					said += f.Value.String()
				}
			}
			if !strings.Contains(said, test.want) {
				t.Errorf("%s: %s says %q, want %q", name, line, said, test.want)
			}
		}
	}
	for _, l := range chat.Languages() {
		say := func(key string) string {
			return words.Say(l, chat.SayWith(key, chat.Values{"failed": chat.Count(1), "n": chat.Count(21)}))
		}
		if say("stake.undetermined") == say("stake.undetermined_unread") {
			t.Errorf("%s: both are %q", l, say("stake.undetermined"))
		}
	}
}
