package webdemo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"herald/internal/chat"
	"herald/internal/words"
)

// TestAFailingServiceIsSaidOnBothSides switches each fault of each service on, and
// off again, and asks until both sides show it: what was asked just before is
// fresh for a second, and a service that failed is not called for a while.
func TestAFailingServiceIsSaidOnBothSides(t *testing.T) {
	p := open(t, 1400, 900)
	_, idle := wallets(p)
	tests := []struct {
		service, command string
		faults           []string
	}{
		{"price", "/price", []string{"down", "limit", "nonsense", "slow"}},
		{"supply", "/supply", []string{"down", "nonsense", "slow"}},
		{"partner", "/exists", []string{"down", "nonsense", "slow"}},
		{"chain", "/staked " + idle, []string{"behind", "down", "nonsense", "one pool fails", "slow"}},
	}
	failing := func(answer string) bool {
		return strings.Contains(answer, "Could not be checked") || strings.Contains(answer, "is old")
	}
	askUntil := func(service, fault, command string, fails bool) {
		t.Helper()
		p.choose("fault-"+service, fault)
		p.until("the switch", fmt.Sprintf(`(document.querySelector("#fault-%s.on")?.value ?? "") === %q`, service, fault))
		deadline := time.Now().Add(patience)
		for a := p.ask(command); failing(a.Telegram) != fails || failing(a.Discord) != fails; a = p.ask(command) {
			if time.Now().After(deadline) {
				t.Fatalf("with %s %q, %s is answered by\n%s\nand by\n%s", service, fault, command, a.Telegram, a.Discord)
			}
		}
	}
	for _, test := range tests {
		offered := eval[[]string](p, fmt.Sprintf(`[...document.getElementById("fault-%s").options].map((one) => one.value).filter(Boolean)`, test.service))
		if !slices.Equal(offered, test.faults) {
			t.Errorf("%s can be %q", test.service, offered)
		}
		for _, fault := range test.faults {
			askUntil(test.service, fault, test.command, true)
			askUntil(test.service, "", test.command, false)
		}
	}
}

func TestTheAppsLanguageIsAnswered(t *testing.T) {
	p := open(t, 1400, 900)
	p.as("unregistered", "private")
	for _, language := range []chat.Language{chat.English, chat.Spanish, chat.Chinese, chat.Russian, chat.Turkish, chat.Vietnamese} {
		p.choose("language", string(language))
		want := words.Say(language, chat.Say("help.title"))
		if a := p.ask("/help"); !strings.Contains(a.Telegram, want) || !strings.Contains(a.Discord, want) {
			t.Errorf("in %s, not both sides say %q:\n%s\n%s", language, want, a.Telegram, a.Discord)
		}
		p.write("/")
		p.until("the menu in "+string(language), fmt.Sprintf(`document.getElementById("suggestions").innerText.includes(%q)`, want))
		p.clear()
	}
}

func TestWhatOneAloneSeesIsNotShownToOthers(t *testing.T) {
	p := open(t, 1400, 900)
	for _, place := range places {
		p.as("member", place)
		if a := p.ask("/mylogins"); !strings.Contains(a.Telegram, "Harbor Swap") || !strings.Contains(a.Discord, "Harbor Swap") {
			t.Fatalf("the member is answered by\n%s\nand by\n%s", a.Telegram, a.Discord)
		}
	}
	for _, asker := range askers {
		for _, place := range places {
			p.as(asker, place)
			shown := eval[string](p, `document.querySelector("main").innerText`)
			if got, want := strings.Contains(shown, "Harbor Swap"), asker == "member"; got != want {
				t.Errorf("the member's logins are shown to %s in %s: %v", asker, place, got)
			}
		}
	}
}

// TestAReloadShowsTheSame has the page be what it was before.
func TestAReloadShowsTheSame(t *testing.T) {
	p := open(t, 1400, 900)
	p.ask("/price 7d")
	p.ask("/exists")
	const shown = `["telegram", "discord"].flatMap(messages).map((one) => one.innerText.replaceAll(/\d+ seconds? ago|now/g, "")).join("\n")`
	before, last := eval[string](p, shown), eval[string](p, `asked("discord")`)
	p.load()
	if after := wait[string](p, "the chats", fmt.Sprintf(`asked("discord") === %q && answer("discord") && answer("telegram") && `, last)+shown); after != before {
		t.Errorf("shown before a reload:\n%s\nand after it:\n%s", before, after)
	}
}

// TestModeratorsAskAboutOthers uses a mention, a reply and the menu of a person.
func TestModeratorsAskAboutOthers(t *testing.T) {
	p := open(t, 1400, 900)
	p.as("unregistered", "group")
	p.ask("/help")
	p.as("moderator", "group")
	if a := p.ask("/exists @member"); !strings.Contains(a.Telegram, "Registered") || !strings.Contains(a.Discord, "Registered") {
		t.Errorf("of a member who is mentioned:\n%s\n%s", a.Telegram, a.Discord)
	}

	if a := p.asking(func() {
		p.click(`#telegram article[data-from="unregistered"] .reply`)
		p.insert("/exists")
		p.keys(kb.Enter)
	}, "telegram"); !strings.Contains(a[0], "Not registered") {
		t.Errorf("of one to whom is replied:\n%s", a[0])
	}
	if a := p.asking(func() {
		p.click(`#discord .member:nth-of-type(2) summary`)
		p.click(`#discord .member[open] .button`)
	}, "discord"); !strings.Contains(a[0], "Not registered") {
		t.Errorf("of one whose menu is used:\n%s", a[0])
	}
}

func TestChoicesAreOfferedForWhatIsWritten(t *testing.T) {
	p := open(t, 1400, 900)
	p.as("moderator", "group")
	tests := []struct{ written, offered string }{
		{"/", "/price"},
		{"/sta", "/staked"},
		{"/exists @un", "@unregistered"},
		{"/exists git", "GitHub"},
		{"/price 3", "30d"},
	}
	for _, test := range tests {
		p.write(test.written)
		offered := wait[[]string](p, "what is offered for "+test.written,
			`[...document.querySelectorAll("#suggestions:not([hidden]) strong")].map((one) => one.textContent).join() && [...document.querySelectorAll("#suggestions strong")].map((one) => one.textContent)`)
		if !slices.Contains(offered, test.offered) {
			t.Errorf("for %q %q is offered", test.written, offered)
		}
		p.clear()
	}
}

func TestAnInlineResultIsSent(t *testing.T) {
	p := open(t, 1400, 900)
	p.write("@herald_bot price")
	p.until("the results", `document.querySelectorAll("#suggestions [role=option]").length > 0`)
	p.keys(kb.ArrowDown + kb.Enter)
	p.until("the result", `document.getElementById("text").value === "" && messages("telegram").some((one) => one.innerText.includes("$0.04173"))`)
}

// TestAnOldAppAnswersInThePrivateChat follows the way from a group to the private
// chat and the answer there.
func TestAnOldAppAnswersInThePrivateChat(t *testing.T) {
	p := open(t, 1400, 900)
	p.click("#old-app")
	if a := p.asking(func() { p.write("/exists"); p.keys(kb.Enter) }, "telegram"); strings.Contains(a[0], "Registered") {
		t.Errorf("the group reads %s", a)
	}
	if eval[bool](p, `document.querySelector("#telegram .button").textContent === "Open private chat"`) {
		p.click("#telegram .button")
	}
	p.until("the answer in the private chat", `place() === "private" && messages("telegram").some((one) => one.innerText.includes("Registered"))`)
}

func TestWhatARefreshCannotCheckIsAlerted(t *testing.T) {
	p := open(t, 1400, 900)
	staker, _ := wallets(p)
	p.ask("/staked " + staker)
	p.choose("fault-chain", "down")
	p.until("the switch", `document.querySelector("#fault-chain.on")`)
	deadline := time.Now().Add(patience)
	for !eval[bool](p, `document.querySelector("dialog.telegram") !== null`) && time.Now().Before(deadline) {
		p.changing(func() { p.click("#telegram [data-press]") })
	}
	if alert := eval[string](p, `document.querySelector("dialog")?.innerText ?? ""`); !strings.Contains(alert, "Could not be checked") {
		t.Errorf("the alert says %q", alert)
	}
	p.keys(kb.Escape)
	p.until("no alert", `!document.querySelector("dialog")`)
	if answer := plain(eval[string](p, `answer("telegram")`)); !strings.Contains(answer, "1,012,345.6789") {
		t.Errorf("after a refresh that failed, the message says %s", answer)
	}
}

func TestTheThemeIsRemembered(t *testing.T) {
	p := open(t, 1400, 900)
	p.scheme("light")
	p.choose("theme", "dark")
	p.load()
	if got := eval[string](p, `getComputedStyle(document.body).backgroundColor`); got != "rgb(22, 24, 29)" {
		t.Errorf("with the dark theme the page is %s", got)
	}
}

func TestTheChatsCanBeCleared(t *testing.T) {
	p := open(t, 1400, 900)
	p.ask("/price")
	p.click("#reset")
	p.until("empty chats", `messages("telegram").length + messages("discord").length === 0`)
	p.ask("/price")
}
