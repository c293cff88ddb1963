package app

import (
	"flag"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"herald/internal/config"
	"herald/internal/config/configtest"
)

var update = flag.Bool("update", false, "write config.example.env anew from the table of settings")

const exampleFile = "../../config.example.env"

// filledIn reports whether s is one of the settings that people fill in first: a platform's token, a required one, the
// token's number, or one that turns on a service. The file has them at the top.
func filledIn(s config.Setting) bool {
	isFirst := func(service turningOn) bool { return slices.Contains(service.names, s.Name) }
	others := append(slices.Collect(maps.Values(TokenSettings())), "PRICE_TOKEN_ID")
	return s.Required || slices.Contains(others, s.Name) || slices.ContainsFunc(everyService, isFirst) && s.Name != "PRICE_API_URL"
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
		below += "\n" + asComment(s)
		switch {
		case filledIn(s):
			top += s.Name + "=\n"
			below += fmt.Sprintf("# At the top: %s=%s\n", s.Name, s.Example)
		case s.Example != "":
			below += fmt.Sprintf("#%s=%s # for example %s\n", s.Name, s.Default, s.Example)
		default:
			below += fmt.Sprintf("#%s=%s\n", s.Name, s.Default)
		}
	}
	return strings.TrimSuffix(top, "\n") + below
}

// asComment returns what explains s, in lines of at most 79 characters that begin with #.
func asComment(s config.Setting) string {
	text := s.Comment
	if s.Secret {
		text += " Secret."
	}
	comment, line := "", "#"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > 79 {
			comment, line = comment+line+"\n", "#"
		}
		line += " " + word
	}
	return comment + line + "\n"
}

// The line with the example of a setting at the top counts as one of the two.
func TestTwoLinesExplainASetting(t *testing.T) {
	for _, s := range settings {
		if lines := strings.Count(asComment(s), "\n"); lines > 2 || lines > 1 && filledIn(s) {
			t.Errorf("%s: its Comment takes %d lines; shorten it, and tell the rest in docs/operating.md", s.Name, lines)
		}
	}
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
	uncommented := regexp.MustCompile(`(?m)^#([A-Z_]+=)`).ReplaceAllString(content, "$1")
	filled, uncommentedToo := mustLoad(t, nil, configtest.File(t, content)), mustLoad(t, nil, configtest.File(t, uncommented))
	uncommentedToo.EnvFile = filled.EnvFile
	if !reflect.DeepEqual(filled, uncommentedToo) {
		t.Errorf("a line that is commented out is not the default:\n%+v\n%+v", filled, uncommentedToo)
	}
	_, err := Load(nil, exampleFile, ToLook)
	if got := len(mistakesOf(t, err)); got != 2 { // no symbol and no service
		t.Errorf("as it stands, there are %d mistakes, want 2:\n%v", got, err)
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
