package chat_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
)

// versionIn returns the Version of an answer as of a time, d after now.
func versionIn(d time.Duration) chat.Version { return chat.Version{Time: time.Now().Add(d)} }

// block returns the Version of an answer as of a block, and fetched a while after now. That time does not count.
func block(chain, number uint64, fetched time.Duration) chat.Version {
	return chat.Version{Time: time.Now().Add(fetched), Block: chat.Block{Chain: chain, Number: number}}
}

func TestAnAnswerIsComparedByWhatItIsAsOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ago = -time.Minute
		for name, tt := range map[string]struct {
			answer, shown chat.Version
			want          chat.Order
		}{
			"older":                         {versionIn(ago - 5*time.Second), versionIn(ago), chat.Older},
			"the same":                      {versionIn(ago), versionIn(ago), chat.Same},
			"the same second":               {versionIn(ago + 10*time.Millisecond), versionIn(ago), chat.Same},
			"newer":                         {versionIn(ago + time.Second), versionIn(ago), chat.Newer},
			"without a time":                {chat.Version{}, versionIn(ago), chat.Unordered},
			"what is shown has none":        {versionIn(ago), chat.Version{}, chat.Unordered},
			"the clock has jumped back":     {versionIn(0), versionIn(time.Hour), chat.Newer},
			"an older block":                {block(1, 99, 0), block(1, 100, ago), chat.Older},
			"an older block, fetched later": {block(1, 99, time.Minute), block(1, 100, 0), chat.Older},
			"a newer block":                 {block(1, 101, ago), block(1, 100, 0), chat.Newer},
			"a chain that began anew":       {block(1, 99, 0), block(1, 1_000_000, ago), chat.Unordered},
			"one block":                     {block(1, 100, 0), block(1, 100, ago), chat.Unordered},
			"an older block of another":     {block(2, 99, 0), block(1, 100, ago), chat.Unordered},
			"a newer block of another":      {block(2, 101, 0), block(1, 100, ago), chat.Unordered},
			"a block after a time":          {block(1, 99, ago-time.Hour), versionIn(ago), chat.Unordered},
			"a time after a block":          {versionIn(ago - time.Hour), block(1, 99, ago), chat.Unordered},
		} {
			if got := tt.answer.Compare(tt.shown); got != tt.want {
				t.Errorf("%s: got %d, want %d", name, got, tt.want)
			}
		}
	})
}

// A button must be read after a restart and by other replicas.
func TestAButtonKeepsWhatItsAnswerIsAsOf(t *testing.T) {
	const wallet = "0x52908400098527886E0F7030069857D2E4169EE7"
	second := time.Unix(1_790_000_000, 0)
	large := chat.Block{Chain: 698, Number: 300_000_000}
	for _, tt := range []struct {
		version chat.Version
		word    string
		kept    chat.Version
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
