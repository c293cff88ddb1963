package chat_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
)

// asOfTime returns the Version of an answer as of a time, which is after from now.
func asOfTime(after time.Duration) chat.Version { return chat.Version{Time: time.Now().Add(after)} }

// asOfBlock returns the Version of an answer as of a block. It was fetched after from now, which does not count.
func asOfBlock(chain, number uint64, after time.Duration) chat.Version {
	return chat.Version{Time: time.Now().Add(after), Block: chat.Block{Chain: chain, Number: number}}
}

func TestAnAnswerIsComparedByWhatItIsAsOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ago = -time.Minute
		for name, tt := range map[string]struct {
			answer, shown chat.Version
			want          chat.Order
		}{
			"older":                           {asOfTime(ago - 5*time.Second), asOfTime(ago), chat.Older},
			"the same":                        {asOfTime(ago), asOfTime(ago), chat.Same},
			"the same second":                 {asOfTime(ago + 10*time.Millisecond), asOfTime(ago), chat.Same},
			"newer":                           {asOfTime(ago + time.Second), asOfTime(ago), chat.Newer},
			"without a time":                  {chat.Version{}, asOfTime(ago), chat.Unordered},
			"shown without a time":            {asOfTime(ago), chat.Version{}, chat.Unordered},
			"the clock has jumped back":       {asOfTime(0), asOfTime(time.Hour), chat.Newer},
			"an older block":                  {asOfBlock(1, 99, 0), asOfBlock(1, 100, ago), chat.Older},
			"an older block, fetched later":   {asOfBlock(1, 99, time.Minute), asOfBlock(1, 100, 0), chat.Older},
			"a newer block":                   {asOfBlock(1, 101, ago), asOfBlock(1, 100, 0), chat.Newer},
			"a chain that has restarted":      {asOfBlock(1, 99, 0), asOfBlock(1, 1_000_000, ago), chat.Unordered},
			"the same block":                  {asOfBlock(1, 100, 0), asOfBlock(1, 100, ago), chat.Unordered},
			"an older block of another chain": {asOfBlock(2, 99, 0), asOfBlock(1, 100, ago), chat.Unordered},
			"a newer block of another chain":  {asOfBlock(2, 101, 0), asOfBlock(1, 100, ago), chat.Unordered},
			"a block, shown a time":           {asOfBlock(1, 99, ago-time.Hour), asOfTime(ago), chat.Unordered},
			"a time, shown a block":           {asOfTime(ago - time.Hour), asOfBlock(1, 99, ago), chat.Unordered},
		} {
			if got := tt.answer.Compare(tt.shown); got != tt.want {
				t.Errorf("%s: got %d, want %d", name, got, tt.want)
			}
		}
	})
}

// Buttons are pressed after a restart, too, and another replica may receive the press.
func TestAButtonKeepsWhatItsAnswerIsAsOf(t *testing.T) {
	const wallet = "0x52908400098527886E0F7030069857D2E4169EE7"
	second := time.Unix(1_790_000_000, 0)
	large := chat.Block{Chain: 698, Number: 300_000_000}
	for _, tt := range []struct {
		version chat.Version
		word    string       // of the button's state
		kept    chat.Version // what ParseState returns
	}{
		{
			version: chat.Version{Time: second},
			word:    "tlpwu8",
			kept:    chat.Version{Time: second},
		},
		{
			version: chat.Version{Time: second, Block: large},
			word:    "je#4ym1hc",
			kept:    chat.Version{Block: large},
		},
		{
			version: chat.Version{Block: chat.Block{Chain: 11155111, Number: 1}},
			word:    "c7#1",
			kept:    chat.Version{Block: chat.Block{Chain: 11155111 % 1296, Number: 1}},
		},
		{
			version: chat.Version{Time: second, Block: chat.Block{Chain: 1, Number: math.MaxUint64}},
			word:    "tlpwu8",
			kept:    chat.Version{Time: second},
		},
		{
			version: chat.Version{},
			word:    "1",
			kept:    chat.Version{Time: time.Unix(1, 0)},
		},
	} {
		action := chat.Action{Command: "staked", Args: []string{wallet}, Edit: true, Refresh: true}
		state, _ := action.State(tt.version)
		if want := fmt.Sprintf("1 e %s staked %s", tt.word, wallet); state != want || len(state) > 64 {
			t.Errorf("%+v: the state is %q, want %q", tt.version, state, want)
		}
		if press, err := chat.ParseState(state); err != nil || press.AsOf != tt.kept {
			t.Errorf("%q became %+v, %v", state, press.AsOf, err)
		}
	}
}
