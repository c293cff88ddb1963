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

var cardsFolder = flag.String("cards", "", "a folder for pictures of every card")

// visit is a visit to the page. The test takes pictures of its cards.
type visit struct {
	name   string      // the beginning of the files' names
	symbol string      // of the token
	talk   func(*page) // asks for the cards that the pictures show
}

// TestCards writes pictures of every card to the folder of -cards, for a developer to look at. It checks nothing.
func TestCards(t *testing.T) {
	if *cardsFolder == "" {
		t.Skip("no folder is given with -cards")
	}
	if err := os.MkdirAll(*cardsFolder, 0o755); err != nil {
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
		p.waitForImages()
		p.takeEachLook(v.name)
	}
}

// takeEachLook writes pictures of all messages on each side, in narrow and wide chats, light and dark. The files' names
// begin with name.
func (p *page) takeEachLook(name string) {
	p.Helper()
	const maxWindow = 1320 // pixels; four narrow or two wide chats
	for _, side := range []string{"telegram", "discord"} {
		for _, width := range []int64{330, 520} {
			for _, scheme := range []string{"light", "dark"} {
				columns := maxWindow / width
				p.do("set the window's size", chromedp.EmulateViewport(columns*width, 900))
				p.preferScheme(scheme)
				file := fmt.Sprintf("%s-%s-%s-%d", name, side, scheme, width)
				p.takeAll(filepath.Join(*cardsFolder, file), side, width)
			}
		}
	}
}

// takeAll writes pictures of all messages of a side, in columns of this width in pixels. The files' names begin with
// name.
func (p *page) takeAll(name, side string, width int64) {
	p.Helper()
	screens := eval[int](p, fmt.Sprintf(`showColumns(%q, %d)`, side, width))
	for n := range screens {
		eval[bool](p, fmt.Sprintf(`showScreen(%q, %d)`, side, n))
		p.until("the screen to be painted", `isPainted`)
		picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			p.Fatal(err)
		}
		if err := os.WriteFile(fmt.Sprintf("%s-%d.png", name, n+1), picture, 0o644); err != nil {
			p.Fatal(err)
		}
	}
}

// askOnTelegram sends a text that Discord does not answer to both sides, and waits for the answer on Telegram.
func (p *page) askOnTelegram(text string) {
	p.Helper()
	p.send(text)
	p.until("an answer to "+text, `answer("telegram")`)
}

// The indexes of the people among the buttons of a group to join.
const (
	registered   = 0
	unregistered = 1
	moderator    = 2
)

// join makes a person's request to join the group with a requirement, "registered" or "staker". The person answers each
// of the bot's questions for a wallet with the next of wallets.
func (p *page) join(required string, person int, wallets ...string) {
	p.Helper()
	eval[bool](p, fmt.Sprintf(`requestJoin(%q, %d)`, required, person))
	p.until(fmt.Sprint("the answer to person ", person), `isRequestAnswered()`)
	for _, wallet := range wallets {
		p.askOnTelegram(wallet)
	}
}

// fail turns faults on. It first waits until the bot's cached answers have expired, so that the bot asks again.
func (p *page) fail(faults ...string) {
	p.Helper()
	p.until("the cached answers to expire", `performance.now() - questionTime > 1000`)
	for _, fault := range faults {
		p.turnOn("fault-" + fault)
	}
}

// turnOn checks the checkbox with this ID, which must be unchecked.
func (p *page) turnOn(id string) {
	p.Helper()
	p.click("#" + id)
	p.until(id+" to be on", fmt.Sprintf(`document.getElementById(%q).checked`, id))
}

// turnOff unchecks the checkbox with this ID, which must be checked.
func (p *page) turnOff(id string) {
	p.Helper()
	p.click("#" + id)
	p.until(id+" to be off", fmt.Sprintf(`!document.getElementById(%q).checked`, id))
}

// everything asks every command as each person, and requests to join each group.
func everything(p *page) {
	// Cards that answer the same command. In a group, a newer card would remove the previous one, so they are asked for
	// in the private chat.
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

	// In the private chat, the bot also answers texts without a command.
	p.askAs("registered", "private")
	p.askAll("/help", "/help price")
	for _, text := range []string{"/prise", "hello", p.wallet(stakerWallet), "/staked", "/staked 0x12"} {
		p.askOnTelegram(text)
	}

	// The other people in the group.
	p.askAs("unregistered", "group")
	p.askAll("/mylogins", "/exists", "/verify STAKER")
	p.askAs("moderator", "group")
	p.askAll("/mylogins", "/exists @unregistered", "/exists @registered", "/exists GitHub 70001")
	p.askAll("/verify @registered STAKER", "/verify @unregistered STAKER")

	// Requests to join.
	p.join("registered", registered)
	p.join("registered", unregistered)
	p.join("staker", registered, p.wallet(stakerWallet))
	p.join("staker", unregistered, p.wallet(stakerWallet))
	p.join("staker", moderator, "0x12", p.wallet(idleWallet))

	// One pool fails, and then the price provider.
	p.askAs("moderator", "group")
	p.fail("pool")
	p.askAll("/staked STAKER", "/staked IDLE", "/verify @registered STAKER")
	p.turnOff("fault-pool")
	p.fail("price")
	p.askAll("/price", "/price 7d", "/supply", "/status")
}

// savedAddress saves an address. The address then loses its stake, the member loses the role, and forgets the address.
func savedAddress(p *page) {
	sixHoursLater := func() {
		p.click("#later")
		p.until("six hours", `!document.getElementById("later").disabled`)
	}

	// The member saves the address in the group.
	p.askAs("registered", "private")
	p.askAll("/verify STAKER")
	p.askAs("registered", "group")
	p.askAll("/verify STAKER")
	p.press("Save address", "You have Staker here")
	p.askAll("/verify")

	// Two checks find no stake.
	p.turnOn("fault-unstaked")
	sixHoursLater()
	sixHoursLater()
	p.askAll("/verify")
	p.askAs("moderator", "private")
	p.askAll("/exists")
	p.askAs("moderator", "group")
	p.askAll("/exists @registered")

	// A third check finds none, either.
	p.askAs("registered", "group")
	sixHoursLater()
	p.askAll("/verify")
	p.askAs("moderator", "group")
	p.askAll("/exists @registered", "/status")
	p.press("Details", "This chat")

	p.askAs("registered", "group")
	p.askAll("/forget", "/forget")
}

// rareFaults asks for cards while no prices are recorded, and while a quote or a block is old.
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

// allDown asks for cards while every service fails.
func allDown(p *page) {
	p.fail("partner", "price", "supply", "chain")
	p.askAll("/price", "/price 7d", "/supply", "/staked STAKER", "/mylogins", "/exists", "/verify STAKER", "/status")
	p.join("registered", registered)
	p.join("staker", registered, p.wallet(stakerWallet))
}

// longSymbol asks for cards that show the token's symbol.
func longSymbol(p *page) {
	p.askAll("/price", "/price 7d", "/supply", "/staked STAKER", "/verify STAKER", "/help")
}
