package webdemo_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

var (
	askers = []string{"member", "unregistered", "moderator"}
	places = []string{"group", "private"}
)

// wallets are the ones that the examples name: one that stakes, one that does not.
func wallets(p *page) (staker, idle string) {
	p.t.Helper()
	examples := eval[string](p, `[...document.querySelectorAll("#examples button")].map((one) => one.title).join("\n")`)
	found := slices.Compact(regexp.MustCompile(`0x[0-9a-fA-F]{40}`).FindAllString(examples, -1))
	if len(found) < 2 {
		p.t.Fatalf("the examples name %d wallets", len(found))
	}
	return found[0], found[1]
}

func TestThePageShowsEveryAnswer(t *testing.T) {
	p := open(t, 1400, 900)
	staker, idle := wallets(p)
	all := func(want string) map[string]string {
		return map[string]string{"member": want, "unregistered": want, "moderator": want}
	}
	commands := []struct {
		text string
		want map[string]string // by asker
	}{
		{"/help", all("What I can do")},
		{"/price", all("$0.04173")},
		{"/price 7d", all("$0.04173")},
		{"/supply", all("987.65M")},
		{"/staked " + staker, all("1,012,345.6789")},
		{"/staked " + idle, all("Not staked")},
		{"/mylogins", map[string]string{"member": "Harbor Swap", "unregistered": "Not registered", "moderator": "No logins"}},
		{"/exists", map[string]string{"member": "Registered", "unregistered": "Not registered", "moderator": "Registered"}},
		{"/verify " + staker, map[string]string{"member": "This wallet is yours", "unregistered": "This wallet isn't yours", "moderator": "This wallet isn't yours"}},
	}
	for _, asker := range askers {
		for _, place := range places {
			p.as(asker, place)
			for _, c := range commands {
				a := p.ask(c.text)
				for side, answer := range map[string]string{"Telegram": a.Telegram, "Discord": a.Discord} {
					if !strings.Contains(answer, c.want[asker]) {
						t.Errorf("%s answers %s of %s in %s without %q:\n%s", side, c.text, asker, place, c.want[asker], answer)
					}
					if !strings.Contains(answer, "imulated") {
						t.Errorf("%s does not say that its answer to %s is simulated:\n%s", side, c.text, answer)
					}
				}
			}
		}
	}
}

// TestThePagesButtonsAllDoSomething presses each button below each answer, and those
// below what comes then, until there is none that has not been pressed.
func TestThePagesButtonsAllDoSomething(t *testing.T) {
	p := open(t, 1400, 900)
	staker, _ := wallets(p)
	pressed := map[string]int{}
	everybody := []string{"/help", "/price", "/supply", "/staked " + staker, "/staked abc", "/verify " + staker, "/verify abc", "/mylogins", "/exists"}
	moderator := []string{"/exists @unregistered", "/verify @member " + staker, "/exists GitHub 70001"}
	for _, in := range []struct {
		asker, place string
		commands     []string
	}{
		{"member", "group", everybody}, {"member", "private", everybody}, {"moderator", "group", moderator},
	} {
		p.as(in.asker, in.place)
		for _, text := range in.commands {
			p.ask(text)
			p.answerQuestion(staker)
			for _, side := range []string{"telegram", "discord"} {
				for {
					label := eval[string](p, fmt.Sprintf("unpressed(%q)", side))
					if label == "" {
						break
					}
					pressed[side+": "+label]++
					p.changing(func() { p.click("[data-next]") })
					if label == "Open private chat" {
						p.until("the question there", `place() === "private" && !document.getElementById("replying").hidden`)
					}
					p.answerQuestion(staker)
					p.as(in.asker, in.place)
				}
			}
		}
	}
	for _, button := range []string{
		"telegram: Refresh", "telegram: 24 h", "telegram: 7 d", "telegram: 30 d", "telegram: Copy wallet", "telegram: Open private chat",
		"discord: Refresh", "discord: 24 h", "discord: 7 d", "discord: 30 d", "discord: Which wallet?",
	} {
		if pressed[button] == 0 {
			t.Errorf("there was no button %s, but %v", button, pressed)
		}
	}
}

// answerQuestion answers what the bot asks by a modal or a forced reply, if it
// does, and closes an alert.
func (p *page) answerQuestion(with string) {
	p.t.Helper()
	answer := func() {
		p.insert(with)
		p.keys(kb.Enter)
	}
	switch eval[string](p, `document.querySelector("dialog")?.className ?? (document.getElementById("replying").hidden ? "" : "reply")`) {
	case "telegram":
		p.keys(kb.Escape)
	case "discord":
		p.changing(answer)
		p.until("the answer to the modal", `!document.querySelector("dialog") && answer("discord")?.includes("Staked")`)
	case "reply":
		if a := p.asking(answer, "telegram"); !strings.Contains(a[0], "Staked") {
			p.t.Errorf("the reply is answered by %s", a)
		}
	}
}
