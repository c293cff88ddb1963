package app

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"herald/internal/config"
	"herald/internal/config/configtest"
	"herald/internal/platform/discord"
	"herald/internal/platform/telegram"
)

var update = flag.Bool("update", false, "write config.example.env anew from the table of settings")

const exampleFile = "../../config.example.env"

// filledIn reports whether everybody fills in s. The file has these settings at the top.
func filledIn(s config.Setting) bool {
	return s.Required || slices.Contains([]string{telegram.TokenSetting, discord.TokenSetting, "PRICE_API_KEY"}, s.Name)
}

// renderExample returns config.example.env. It keeps the prose of old: the text before the
// first heading, and the first two parts' headings with the text of the second. It makes
// the rest from the table of settings.
func renderExample(old string) string {
	const gap = "\n\n\n## "
	prose := append(strings.SplitN(old, gap, 4), "", "", "")
	heading, _, _ := strings.Cut(prose[1], "\n")
	top, below := prose[0]+gap+heading+"\n\n", gap+strings.TrimSpace(prose[2])+"\n"
	for _, s := range settings {
		if s.Heading != "" {
			below += fmt.Sprintf("\n\n## %s\n", s.Heading)
		}
		below += "\n" + asComment(s.Comment)
		if s.Secret {
			below += fmt.Sprintf("# Secret; may be given as %s_FILE.\n", s.Name)
		}
		if s.Example != "" {
			below += fmt.Sprintf("# For example %s\n", s.Example)
		}
		if filledIn(s) {
			top += s.Name + "=\n"
			below += fmt.Sprintf("# %s is at the top.\n", s.Name)
		} else {
			below += fmt.Sprintf("#%s=%s\n", s.Name, s.Default)
		}
	}
	return strings.TrimSuffix(top, "\n") + below
}

// asComment breaks text into lines of at most 80 characters that begin with #.
func asComment(text string) string {
	comment, line := "", "#"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > 80 {
			comment, line = comment+line+"\n", "#"
		}
		line += " " + word
	}
	return comment + line + "\n"
}

func TestExampleFileIsTheTableOfSettings(t *testing.T) {
	configtest.Golden(t, exampleFile, renderExample(configtest.Read(t, exampleFile)), *update)
}

func TestExampleFileLoadsWithTheRequiredFilledIn(t *testing.T) {
	content := configtest.Read(t, exampleFile)
	for _, line := range with() {
		name, _, _ := strings.Cut(line, "=")
		content = strings.Replace(content, "\n"+name+"=\n", "\n"+line+"\n", 1)
	}
	if _, err := Load(nil, configtest.File(t, content), false); err != nil {
		t.Errorf("from the file: %v", err)
	}
	_, err := Load(nil, exampleFile, false)
	if got := len(mistakesOf(t, err)); got != len(with()) {
		t.Errorf("as it stands, there are %d mistakes, want %d:\n%v", got, len(with()), err)
	}
}

func TestTheMatchainExampleLoadsOnceItIsFilledIn(t *testing.T) {
	t.Chdir("../..")
	c, err := Load([]string{"TELEGRAM_BOT_TOKEN=123456789:made-up-token", "PARTNER_APP_ID=made-up", "PARTNER_SECRET_KEY=made-up-secret",
		"SUPPLY_URL=https://supply.example.org"}, "examples/matchain.env", true)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Staking.Pools) != 21 || c.Staking.ChainID != 698 || c.Market.Symbol != "MAT" || c.Market.By != "symbol" {
		t.Errorf("it is of another token: %d pools on chain %d, %s by %s", len(c.Staking.Pools), c.Staking.ChainID, c.Market.Symbol, c.Market.By)
	}
}
