package telegram

import (
	"flag"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"herald/commands/commandstest"
	"herald/internal/core"
	"herald/internal/telegram/botapi"
)

var updateGolden = flag.Bool("update", false, "write the golden transcripts anew")

// TestTranscripts has every answer of every command as Telegram shows it, with
// *bold*, _italic_ and `code` where an entity says so.
func TestTranscripts(t *testing.T) {
	commandstest.Transcripts(t, *updateGolden, func(c commandstest.Case) string {
		shown := marked(render(c.Reply))
		if c.Private {
			shown = "(in the private chat)\n" + shown
		}
		return shown
	})
}

// Telegram makes a link of what looks like a domain, but not in code.
func TestNoNameFromAServiceBecomesALink(t *testing.T) {
	w := commandstest.Healthy()
	w.Logins = []core.Login{{Dapp: "t.me/x", Platform: "evil.com", At: commandstest.Noon}, {Dapp: "evil.com", Platform: "EVM", At: commandstest.Noon}}
	w.Stake.Staked[0].Pool.Name = "evil.com"
	w.Stake.Unbonding = []core.PoolAmount{{Pool: core.Pool{Name: "t.me/x"}, Amount: w.Stake.Staked[0].Amount}}
	for _, line := range []string{"/mylogins", "/staked " + commandstest.Wallet} {
		shown := marked(render(commandstest.Ask(t, w.Router(t), line)))
		plain := regexp.MustCompile("`[^`]*`").ReplaceAllString(shown, "")
		if strings.Contains(plain, "evil.com") || strings.Contains(plain, "t.me") || !strings.Contains(shown, "evil.com") {
			t.Errorf("%s becomes a link in:\n%s", line, shown)
		}
	}
}

func marked(t richText) string {
	units := utf16.Encode([]rune(t.body))
	for _, e := range slices.Backward(t.entities) {
		mark := map[botapi.EntityType]uint16{
			botapi.Bold: '*', botapi.Italic: '_', botapi.Code: '`',
		}[e.Type]
		units = slices.Insert(units, e.Offset+e.Length, mark)
		units = slices.Insert(units, e.Offset, mark)
	}
	return strings.TrimSpace(string(utf16.Decode(units)))
}
