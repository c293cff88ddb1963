// Package operation is that what operators watch the bot with fits it: the page on
// metrics, the dashboard and the alerts name what a running bot exports, and
// nothing else.
package operation

import (
	"context"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/sandbox/fault"
	"herald/internal/telegram/telegramtest"
)

const root = "../../../.."

var update = flag.Bool("update", false, "write the table of docs/metrics.md anew")

// rubbish is a command that there is not.
const rubbish = "zqrubbish"

// scraped is what /metrics shows of a bot with everything that can be configured,
// once each kind of thing has happened.
func scraped(t *testing.T) string {
	t.Helper()
	all := e2etest.NewEverything(t)
	all.World.Chain.SetFault(onePoolReverts(t))
	bot := e2etest.Serve(t, all.Settings, &e2etest.Buffer{})
	bot.AwaitReady(t)
	private := telegramtest.Private(1)
	for _, text := range []string{"/price", "/supply", "/mylogins", "/status", "/staked " + all.World.World.Staker.Hex(), "/" + rubbish} {
		all.Telegram.Push(telegramtest.Text(private, telegramtest.Person(1), text))
	}
	if sent := all.Telegram.WaitSent(6, e2etest.Patience); len(sent) < 6 {
		t.Fatalf("%d answers in Telegram", len(sent))
	}
	ctx, cancel := context.WithTimeout(t.Context(), e2etest.Patience)
	defer cancel()
	for _, command := range []string{"price", rubbish} {
		pending, err := all.Discord.Push(discordtest.Interaction{Command: command, UserID: "5", GuildID: "7", ChannelID: "8"})
		if err == nil {
			_, err = pending.Wait(ctx)
		}
		if err != nil {
			t.Fatalf("/%s in Discord: %v", command, err)
		}
	}
	return e2etest.Metrics(t, bot.URL)
}

func onePoolReverts(t *testing.T) fault.Fault {
	t.Helper()
	for _, f := range fault.Of(fault.Chain) {
		if f.Effect == fault.OnePoolUnread {
			return f
		}
	}
	t.Fatal("no fault of one pool")
	return fault.Fault{}
}

// page is scraped once for all tests.
var page struct {
	sync.Once
	text string
}

func live(t *testing.T) string {
	t.Helper()
	page.Do(func() { page.text = scraped(t) })
	if page.text == "" {
		t.Fatal("nothing was scraped")
	}
	return page.text
}

// metric is one that the bot exports.
type metric struct {
	name, kind, help string
	labels           []string // but le, in order
}

var (
	helpLine   = regexp.MustCompile(`(?m)^# HELP (\w+) (.*)$`)
	typeLine   = regexp.MustCompile(`(?m)^# TYPE (\w+) (\w+)$`)
	seriesLine = regexp.MustCompile(`(?m)^(\w+?)(?:\{(.*)\})? \S+$`)
	labelName  = regexp.MustCompile(`(\w+)="`)
)

// metrics are all of them, in the order of the page.
func metrics(t *testing.T) []metric {
	t.Helper()
	text := live(t)
	help := map[string]string{}
	for _, found := range helpLine.FindAllStringSubmatch(text, -1) {
		help[found[1]] = found[2]
	}
	labels := map[string][]string{}
	for _, found := range seriesLine.FindAllStringSubmatch(text, -1) {
		var names []string
		for _, label := range labelName.FindAllStringSubmatch(found[2], -1) {
			if label[1] != "le" {
				names = append(names, label[1])
			}
		}
		labels[found[1]] = names
	}
	var all []metric
	for _, found := range typeLine.FindAllStringSubmatch(text, -1) {
		m := metric{name: found[1], kind: found[2], help: help[found[1]], labels: labels[found[1]]}
		if m.kind == "histogram" {
			m.labels = labels[m.name+"_count"]
		}
		all = append(all, m)
	}
	if len(all) < 40 {
		t.Fatalf("only %d metrics are exported", len(all))
	}
	return all
}

// series are the names under which queries find a metric.
func (m metric) series() []string {
	if m.kind == "histogram" {
		return []string{m.name + "_bucket", m.name + "_count", m.name + "_sum"}
	}
	return []string{m.name}
}

func (m metric) own() bool { return strings.HasPrefix(m.name, "herald_") }

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(root + "/" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWhatPeopleTypeIsNoLabel(t *testing.T) {
	text := live(t)
	if strings.Contains(text, rubbish) {
		t.Error("a metric shows what somebody typed")
	}
	for _, platform := range []string{"telegram", "discord"} {
		if !strings.Contains(text, `herald_command_seconds_count{command="unknown",outcome="unknown",platform="`+platform+`"} 1`) {
			t.Errorf("the unknown command of %s is not counted", platform)
		}
	}
}

// TestNoLabelHasManyValues is for those of our own.
func TestNoLabelHasManyValues(t *testing.T) {
	values := map[string][]string{}
	for _, found := range regexp.MustCompile(`(?m)^herald_\w+\{(.*)\} `).FindAllStringSubmatch(live(t), -1) {
		for _, label := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllStringSubmatch(found[1], -1) {
			if !slices.Contains(values[label[1]], label[2]) {
				values[label[1]] = append(values[label[1]], label[2])
			}
		}
	}
	for name, all := range values {
		if len(all) > 30 {
			t.Errorf("%s has the values %q", name, all)
		}
	}
}
