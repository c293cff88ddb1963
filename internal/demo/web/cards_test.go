//go:build pictures

package web_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"herald/internal/demo/fake/services"
)

var cards = flag.String("cards", "", "a folder for pictures of every card")

// visit is a visit to the page. The pictures show the cards of its talk.
type visit struct {
	name   string // in the names of the pictures
	symbol string // of the token
	talk   func(*page)
}

// TestCards writes pictures of every card on both sides, light and dark, in chats of 330 and of 520 pixels. A
// developer then looks at them.
func TestCards(t *testing.T) {
	if *cards == "" {
		t.Skip("no folder is given with -cards")
	}
	if err := os.MkdirAll(*cards, 0o755); err != nil {
		t.Fatal(err)
	}
	symbol := services.Symbol
	defer func() { services.Symbol = symbol }()
	for _, v := range []visit{
		{"all", symbol, everything},
		{"down", symbol, allDown},
		{"rare", symbol, rareFaults},
		{"symbol", "HERALDMOON12", longSymbol},
		{"saved", symbol, savedAddress},
	} {
		services.Symbol = v.symbol
		p := open(t)
		v.talk(p)
		p.untilCharts()
		p.takeLooks(v.name)
	}
}

// takeLooks writes pictures of all messages in each look.
func (p *page) takeLooks(name string) {
	p.Helper()
	const maxWindow = 1320 // pixels
	for _, side := range []string{"telegram", "discord"} {
		for _, width := range []int64{330, 520} {
			for _, scheme := range []string{"light", "dark"} {
				columns := maxWindow / width
				p.do("set the window's size", chromedp.EmulateViewport(columns*width, 900))
				p.preferScheme(scheme)
				file := fmt.Sprintf("%s-%s-%s-%d", name, side, scheme, width)
				p.takeAll(filepath.Join(*cards, file), side, width)
			}
		}
	}
}

// takeAll writes pictures of all messages of a side, in columns of this width in pixels. The names of the files
// begin with name.
func (p *page) takeAll(name, side string, width int64) {
	p.Helper()
	pages := eval[int](p, fmt.Sprintf(`columns(%q, %d)`, side, width))
	for n := range pages {
		eval[bool](p, fmt.Sprintf(`turnTo(%q, %d)`, side, n))
		p.until("the page to be painted", `painted`)
		picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			p.Fatal(err)
		}
		if err := os.WriteFile(fmt.Sprintf("%s-%d.png", name, n+1), picture, 0o644); err != nil {
			p.Fatal(err)
		}
	}
}

// askOnTelegram sends a text to both sides, and waits for Telegram's answer. Discord does not answer it.
func (p *page) askOnTelegram(text string) {
	p.Helper()
	p.send(text)
	p.until("an answer to "+text, `answer("telegram")`)
}

// join makes a person ask to join the group that requires "registered" or "staker". person is their index among
// the group's buttons. They answer the bot's questions for a wallet with these wallets.
func (p *page) join(required string, person int, wallets ...string) {
	p.Helper()
	eval[bool](p, fmt.Sprintf(`askToJoin(%q, %d)`, required, person))
	p.until(fmt.Sprint("the message to person ", person), `toldJoin()`)
	for _, wallet := range wallets {
		p.askOnTelegram(wallet)
	}
}

// fail turns faults on, once the answers to earlier questions have expired.
func (p *page) fail(faults ...string) {
	p.Helper()
	p.until("the earlier answers to expire", `performance.now() - begun > 1000`)
	for _, fault := range faults {
		p.turnOn("fault-" + fault)
	}
}

// turnOn ticks the checkbox with this ID, which is not ticked.
func (p *page) turnOn(id string) {
	p.Helper()
	p.click("#" + id)
	p.until(id+" to be on", fmt.Sprintf(`document.getElementById(%q).checked`, id))
}

// turnOff unticks the checkbox with this ID, which is ticked.
func (p *page) turnOff(id string) {
	p.Helper()
	p.click("#" + id)
	p.until(id+" to be off", fmt.Sprintf(`!document.getElementById(%q).checked`, id))
}

// everything asks every command, as each person, and lets people ask to join each group.
func everything(p *page) {
	// In a group, a card is removed once a newer one answers the same question. So these are asked in private.
	p.askAs("registered", "private")
	p.askAll("/price", "/price 24h", "/price 7d", "/price 30d", "/price 1500", "/price $100")
	p.askAll("/supply", "/staked STAKER", "/status")

	// The registered person in the group.
	p.askAs("registered", "group")
	p.askAll("/staked IDLE", "/mylogins", "/exists", "/verify STAKER", "/verify IDLE", "/help")
	p.askAll("/staked 0x12", "/price 1y")
	p.askOnTelegram("/staked")
	p.askOnTelegram("/price hello there")
	p.turnOn("old-app")
	p.askOnTelegram("/mylogins")
	p.turnOff("old-app")

	// In the private chat, texts without a command are answered, too.
	p.askAs("registered", "private")
	p.askAll("/help", "/help price")
	for _, text := range []string{"/prise", "hello", p.wallet(0), "/staked", "/staked 0x12"} {
		p.askOnTelegram(text)
	}

	// The other people in the group.
	p.askAs("unregistered", "group")
	p.askAll("/mylogins", "/exists", "/verify STAKER")
	p.askAs("moderator", "group")
	p.askAll("/mylogins", "/exists @unregistered", "/exists @registered", "/exists GitHub 70001")
	p.askAll("/verify @registered STAKER", "/verify @unregistered STAKER")

	// Requests to join.
	p.join("registered", 0)
	p.join("registered", 1)
	p.join("staker", 0, p.wallet(0))
	p.join("staker", 1, p.wallet(0))
	p.join("staker", 2, "0x12", p.wallet(1))

	// One pool fails, and then the price provider.
	p.askAs("moderator", "group")
	p.fail("pool")
	p.askAll("/staked STAKER", "/staked IDLE", "/verify @registered STAKER")
	p.turnOff("fault-pool")
	p.fail("price")
	p.askAll("/price", "/price 7d", "/supply", "/status")
}

// savedAddress saves an address, which then loses its stake and its role, and is forgotten.
func savedAddress(p *page) {
	sixHoursLater := func() {
		p.click("#later")
		p.until("six hours", `!document.getElementById("later").disabled`)
	}

	// It is saved in the group.
	p.askAs("registered", "private")
	p.askAll("/verify STAKER")
	p.askAs("registered", "group")
	p.askAll("/verify STAKER")
	p.press("Save address", "You have Staker here")
	p.askAll("/verify")

	// It has no stake at the next two checks.
	p.turnOn("fault-unstaked")
	sixHoursLater()
	sixHoursLater()
	p.askAll("/verify")
	p.askAs("moderator", "private")
	p.askAll("/exists")
	p.askAs("moderator", "group")
	p.askAll("/exists @registered")

	// It has none at the third either.
	p.askAs("registered", "group")
	sixHoursLater()
	p.askAll("/verify")
	p.askAs("moderator", "group")
	p.askAll("/exists @registered", "/status")
	p.press("Details", "This chat")

	p.askAs("registered", "group")
	p.askAll("/forget", "/forget")
}

// rareFaults asks while the bot is new, and while a quote or a block is old.
func rareFaults(p *page) {
	p.askAs("registered", "private")
	p.fail("fresh-bot")
	p.askAll("/price 7d")
	p.turnOff("fault-fresh-bot")
	p.fail("old-quote")
	p.askAll("/price", "/price 7d", "/price 1500", "/supply", "/status")
	p.turnOff("fault-old-quote")
	p.fail("old-block")
	p.askAll("/staked STAKER", "/verify STAKER", "/status")
}

// allDown asks while every service fails.
func allDown(p *page) {
	p.fail("partner", "price", "supply", "chain")
	p.askAll("/price", "/price 7d", "/supply", "/staked STAKER", "/mylogins", "/exists", "/verify STAKER", "/status")
	p.join("registered", 0)
	p.join("staker", 0, p.wallet(0))
}

// longSymbol asks while the token has a long symbol.
func longSymbol(p *page) {
	p.askAll("/price", "/price 7d", "/supply", "/staked STAKER", "/verify STAKER", "/help")
}
