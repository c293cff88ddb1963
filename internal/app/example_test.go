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

var update = flag.Bool("update", false, "rewrite config.example.env from the table of settings")

const exampleFile = "../../config.example.env"

// config.example.env has two parts. The first lists the settings that an operator fills in first. The second has a
// comment and a line for every setting: the line is commented out and has the default, or it refers to the first part.

// isInFirstPart reports whether an operator fills in s first: a required setting, a platform's token, the token's
// ID at the price provider, or a setting that turns on a service.
func isInFirstPart(s config.Setting) bool {
	if s.Name == "PRICE_API_URL" {
		return false // PRICE_API_KEY, which is in the first part, turns on the price, too.
	}
	turnsOn := func(service serviceSettings) bool { return slices.Contains(service.names, s.Name) }
	others := append(slices.Collect(maps.Values(TokenSettings())), "PRICE_TOKEN_ID")
	return s.Required || slices.Contains(others, s.Name) || slices.ContainsFunc(everyService, turnsOn)
}

// renderExample returns config.example.env. It makes everything from the table of settings, except the prose, which it
// takes from the old file: the text before the first part, the first part's heading, and the second part's heading and
// text.
func renderExample(old string) string {
	const gap = "\n\n\n## "
	parts := append(strings.SplitN(old, gap, 4), "", "", "") // at least three
	introduction, firstPart, secondPart := parts[0], parts[1], parts[2]
	heading, _, _ := strings.Cut(firstPart, "\n")
	first := introduction + gap + heading + "\n\n"
	second := gap + strings.TrimSpace(secondPart) + "\n"
	for _, s := range settings {
		if s.Heading != "" {
			second += fmt.Sprintf("\n\n## %s\n", s.Heading)
		}
		second += "\n" + asComment(s)
		switch {
		case isInFirstPart(s):
			first += s.Name + "=\n"
			second += fmt.Sprintf("# At the top: %s=%s\n", s.Name, s.Example)
		case s.Example != "":
			second += fmt.Sprintf("#%s=%s # for example %s\n", s.Name, s.Default, s.Example)
		default:
			second += fmt.Sprintf("#%s=%s\n", s.Name, s.Default)
		}
	}
	return strings.TrimSuffix(first, "\n") + second
}

// asComment returns the Comment of s, and whether it is secret, in lines of at most 79 characters that
// begin with #.
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

// A setting in the first part has only one line for its Comment: the second one has its Example.
func TestTwoLinesExplainASetting(t *testing.T) {
	for _, s := range settings {
		maxLines := 2
		if isInFirstPart(s) {
			maxLines = 1
		}
		if lines := strings.Count(asComment(s), "\n"); lines > maxLines {
			t.Errorf("%s: its Comment takes %d lines, want at most %d; explain the rest in docs/operating.md",
				s.Name, lines, maxLines)
		}
	}
}

func TestExampleFileIsTheTableOfSettings(t *testing.T) {
	configtest.Golden(t, exampleFile, renderExample(configtest.Read(t, exampleFile)), *update)
}

// filledExample returns config.example.env with the required settings filled in.
func filledExample(t *testing.T) string {
	t.Helper()
	content := configtest.Read(t, exampleFile)
	for _, line := range settingsWith() {
		name, _, _ := strings.Cut(line, "=")
		content = strings.Replace(content, "\n"+name+"=\n", "\n"+line+"\n", 1)
	}
	return content
}

func TestCommentedOutLinesOfTheExampleAreTheDefaults(t *testing.T) {
	content := filledExample(t)
	uncommented := regexp.MustCompile(`(?m)^#([A-Z_]+=)`).ReplaceAllString(content, "$1")
	byDefault := mustLoad(t, nil, configtest.File(t, content))
	explicit := mustLoad(t, nil, configtest.File(t, uncommented))
	explicit.EnvFile = byDefault.EnvFile
	if !reflect.DeepEqual(byDefault, explicit) {
		t.Errorf("a line that is commented out is not the default:\n%+v\n%+v", byDefault, explicit)
	}
}

func TestTheExampleLacksOnlyTheSymbolAndAService(t *testing.T) {
	_, err := Load(nil, exampleFile, ToLook)
	if mistakes := mistakesOf(t, err); len(mistakes) != 2 {
		t.Errorf("%d mistakes, want 2:\n%v", len(mistakes), err)
	}
}

func TestTheMatchainExampleLoadsOnceItIsFilledIn(t *testing.T) {
	t.Chdir("../..")
	missing := []string{
		"TELEGRAM_BOT_TOKEN=123456789:made-up-token",
		"PARTNER_APP_ID=made-up",
		"PARTNER_SECRET_KEY=made-up-secret",
		"SUPPLY_URL=https://supply.example.org",
	}
	c, err := Load(missing, "examples/matchain.env", ToServe)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Staking.Pools) != 21 || c.Staking.ChainID != 698 {
		t.Errorf("%d pools on chain %d, want 21 on chain 698", len(c.Staking.Pools), c.Staking.ChainID)
	}
	if c.Market.Symbol != "MAT" || c.Market.TokenBy != "symbol" {
		t.Errorf("the token is %s by %s, want MAT by symbol", c.Market.Symbol, c.Market.TokenBy)
	}
}
