package app

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"herald/internal/config/configtest"
)

var update = flag.Bool("update", false, "write config.example.env anew from the table of settings")

const exampleFile = "../../config.example.env"

// renderExample returns config.example.env, with what stands before its first heading
// kept and the rest made from the table of settings.
func renderExample(old string) string {
	var b strings.Builder
	head, _, _ := strings.Cut(old, "\n\n\n## ")
	b.WriteString(head + "\n")
	for _, s := range settings {
		if s.Heading != "" {
			fmt.Fprintf(&b, "\n\n## %s\n", s.Heading)
		}
		b.WriteString("\n" + asComment(s.Comment))
		if s.Secret {
			fmt.Fprintf(&b, "# Secret; may be given as %s_FILE.\n", s.Name)
		}
		if s.Example != "" {
			fmt.Fprintf(&b, "# For example %s\n", s.Example)
		}
		if !s.Required {
			b.WriteString("#")
		}
		fmt.Fprintf(&b, "%s=%s\n", s.Name, s.Default)
	}
	return b.String()
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
	want := renderExample(configtest.Read(t, exampleFile))
	if *update {
		if err := os.WriteFile(exampleFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if configtest.Read(t, exampleFile) != want {
		t.Error("config.example.env differs from the table; write it anew with: go test ./internal/app -update")
	}
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
	if len(c.Staking.Pools) != 21 || c.Staking.ChainID != 698 || c.Market.Symbol != "MAT" || c.Market.By != "slug" {
		t.Errorf("it is of another token: %d pools on chain %d, %s by %s", len(c.Staking.Pools), c.Staking.ChainID, c.Market.Symbol, c.Market.By)
	}
}
