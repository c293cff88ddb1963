//go:build pictures

package web_test

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"herald/internal/demo/fake/services"
)

var update = flag.Bool("update", false,
	"take README's pictures again; needs a font with emoji, such as Debian's fonts-noto-color-emoji")

const (
	images = "../../../docs/images"
	// inputs lists the page's files as they were when the pictures were taken.
	inputs = images + "/inputs.txt"
)

// sums returns the SHA-256 of each of the page's files, on a line.
func sums(t *testing.T) []byte {
	t.Helper()
	paths, err := filepath.Glob("page/*")
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(content), filepath.ToSlash(path))
	}
	return lines.Bytes()
}

// picture is a picture of README.
type picture struct {
	name          string // in images
	selector      string // of the element that it shows
	width, height int64  // of the window
	scheme        string
	talk          func(*page)
}

func talkOfPrice(p *page) { p.each("/exists", "/price 24h") }

func talkOfRole(p *page) {
	p.each("/verify STAKER")
	p.press("Save address", "You have Staker here")
}

var pictures = []picture{
	{
		name:     "price-light.png",
		selector: "#discord",
		width:    960,
		height:   1035,
		scheme:   "light",
		talk:     talkOfPrice,
	},
	{
		name:     "price-dark.png",
		selector: "#discord",
		width:    960,
		height:   1035,
		scheme:   "dark",
		talk:     talkOfPrice,
	},
	{
		name:     "role-light.png",
		selector: "#telegram",
		width:    960,
		height:   1035,
		scheme:   "light",
		talk:     talkOfRole,
	},
	{
		name:     "role-dark.png",
		selector: "#telegram",
		width:    960,
		height:   1035,
		scheme:   "dark",
		talk:     talkOfRole,
	},
	{
		name:     "demo-phone.png",
		selector: "body",
		width:    390,
		height:   800,
		scheme:   "light",
		talk:     talkOfPrice,
	},
}

// write takes the picture of a new page, and writes it to a file.
func (pic picture) write(t *testing.T, file string) {
	t.Helper()
	p := open(t)
	size := chromedp.EmulateViewport(pic.width, pic.height, chromedp.EmulateScale(1.5))
	p.do("another size", size)
	p.scheme(pic.scheme)
	p.load()
	pic.talk(p)
	if err := os.WriteFile(file, p.take(pic.selector), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestPicturesAreCurrent(t *testing.T) {
	if *update {
		for _, pic := range pictures {
			pic.write(t, filepath.Join(images, pic.name))
		}
		if err := os.WriteFile(inputs, sums(t), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	taken, err := os.ReadFile(inputs)
	if err != nil || !bytes.Equal(taken, sums(t)) {
		t.Errorf("the page has changed: take its pictures again with "+
			"go test -tags pictures ./internal/demo/web -run Pictures -update (%v)", err)
	}
}

// README has to load fast.
func TestPicturesAreSmall(t *testing.T) {
	for _, pic := range pictures {
		file := filepath.Join(images, pic.name)
		if info, err := os.Stat(file); err != nil || info.Size() > 200_000 {
			t.Errorf("%s is missing or too large: %+v, %v", file, info, err)
		}
	}
}

// take takes a picture of the first element that a CSS selector finds.
func (p *page) take(selector string) []byte {
	p.Helper()
	if !eval[bool](p, `hasEmoji()`) {
		p.Fatal("no font has emoji: install one, such as Debian's fonts-noto-color-emoji")
	}
	p.do("leave the input", chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	p.until("the charts", `[...document.images].every((one) => one.complete)`)
	picture, err := chromedp.Run(p.ctx, chromedp.Screenshot(chromedp.CSS(selector)))
	if err != nil {
		p.Fatal(err)
	}
	return picture
}

// scheme makes the system prefer "light" or "dark".
func (p *page) scheme(scheme string) {
	p.Helper()
	p.do("prefer "+scheme, call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}))
}

var cards = flag.String("cards", "", "a folder for pictures of every card")

// visit is a talk. The pictures show its cards.
type visit struct {
	name   string
	symbol string // of the token
	talk   func(*page)
}

// TestCards writes pictures of every card on both sides, light and dark, in chats of 330 and of 520 pixels. Somebody
// then looks at them.
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
		p.until("the charts", `[...document.images].every((one) => one.complete)`)
		p.takeLooks(v.name)
	}
}

// takeLooks writes pictures of all messages in each look.
func (p *page) takeLooks(name string) {
	p.Helper()
	for _, side := range []string{"telegram", "discord"} {
		for _, width := range []int64{330, 520} {
			for _, scheme := range []string{"light", "dark"} {
				p.do("another size", chromedp.EmulateViewport(width*(1320/width), 900))
				p.scheme(scheme)
				file := fmt.Sprintf("%s-%s-%s-%d", name, side, scheme, width)
				p.takeAll(filepath.Join(*cards, file), side, width)
			}
		}
	}
}

// takeAll writes pictures of all messages of a side, in columns.
func (p *page) takeAll(name, side string, width int64) {
	p.Helper()
	pages := eval[int](p, fmt.Sprintf(`columns(%q, %d)`, side, width))
	for n := range pages {
		eval[bool](p, fmt.Sprintf(`turnTo(%q, %d)`, side, n))
		p.until("the page to be painted", `painted`)
		picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err == nil {
			err = os.WriteFile(fmt.Sprintf("%s-%d.png", name, n+1), picture, 0o644)
		}
		if err != nil {
			p.Fatal(err)
		}
	}
}

// tell sends a text that only Telegram answers.
func (p *page) tell(text string) {
	p.Helper()
	p.send(text)
	p.until("an answer to "+text, `answer("telegram")`)
}

// each asks the lines one after another. STAKER and IDLE stand for wallets.
func (p *page) each(lines ...string) {
	p.Helper()
	wallets := strings.NewReplacer("STAKER", p.wallet(0), "IDLE", p.wallet(1))
	for _, line := range lines {
		p.ask(wallets.Replace(line))
	}
}

// join makes the person with an index ask to join the group with a requirement. The person answers the questions for a
// wallet.
func (p *page) join(required string, person int, wallets ...string) {
	p.Helper()
	eval[bool](p, fmt.Sprintf(`askToJoin(%q, %d)`, required, person))
	p.until("what the bot tells person "+fmt.Sprint(person), `toldJoin()`)
	for _, wallet := range wallets {
		p.tell(wallet)
	}
}

// toggle makes services fail, or work again, after their earlier answers have expired.
func (p *page) toggle(services ...string) {
	p.Helper()
	p.until("what was learned before to be old", `performance.now() - begun > 1000`)
	for _, name := range services {
		p.click("#fault-" + name)
	}
}

func everything(p *page) {
	p.askAs("registered", "private") // In a group, a card goes once a newer one answers the same question.
	p.each("/price", "/price 24h", "/price 7d", "/price 30d", "/price 1500", "/price $100")
	p.each("/supply", "/staked STAKER", "/status")
	p.askAs("registered", "group")
	p.each("/staked IDLE", "/mylogins", "/exists", "/verify STAKER", "/verify IDLE", "/help")
	p.each("/staked 0x12", "/price 1y")
	for _, line := range []string{"/staked", "/price hello there"} {
		p.tell(line)
	}
	p.click("#old-app")
	p.tell("/mylogins")
	p.click("#old-app")
	p.askAs("registered", "private")
	p.each("/help", "/help price")
	for _, line := range []string{"/prise", "hello", p.wallet(0), "/staked", "/staked 0x12"} {
		p.tell(line)
	}
	p.askAs("unregistered", "group")
	p.each("/mylogins", "/exists", "/verify STAKER")
	p.askAs("moderator", "group")
	p.each("/mylogins", "/exists @unregistered", "/exists @registered", "/exists GitHub 70001")
	p.each("/verify @registered STAKER", "/verify @unregistered STAKER")
	p.join("registered", 0)
	p.join("registered", 1)
	p.join("staker", 0, p.wallet(0))
	p.join("staker", 1, p.wallet(0))
	p.join("staker", 2, "0x12", p.wallet(1))
	p.askAs("moderator", "group")
	p.toggle("pool")
	p.each("/staked STAKER", "/staked IDLE", "/verify @registered STAKER")
	p.toggle("pool", "price")
	p.each("/price", "/price 7d", "/supply", "/status")
}

// press presses the newest button with a label on both sides, and waits until a message says so.
func (p *page) press(label, says string) {
	p.Helper()
	eval[bool](p, fmt.Sprintf("press(%q)", label))
	p.until(says, fmt.Sprintf("said(%q)", says))
}

// savedAddress saves an address, and lets it lose its stake.
func savedAddress(p *page) {
	later := func() {
		p.click("#later")
		p.until("six hours", `!document.getElementById("later").disabled`)
	}
	p.askAs("registered", "private")
	p.each("/verify STAKER")
	p.askAs("registered", "group")
	p.each("/verify STAKER")
	p.press("Save address", "You have Staker here")
	p.each("/verify")
	p.click("#fault-unstaked")
	later()
	later()
	p.each("/verify")
	p.askAs("moderator", "private")
	p.each("/exists")
	p.askAs("moderator", "group")
	p.each("/exists @registered")
	p.askAs("registered", "group")
	later()
	p.each("/verify")
	p.askAs("moderator", "group")
	p.each("/exists @registered", "/status")
	p.press("Details", "This chat")
	p.askAs("registered", "group")
	p.each("/forget", "/forget")
}

func rareFaults(p *page) {
	p.askAs("registered", "private")
	p.toggle("fresh-bot")
	p.each("/price 7d")
	p.toggle("fresh-bot", "old-quote")
	p.each("/price", "/price 7d", "/price 1500", "/supply", "/status")
	p.toggle("old-quote", "old-block")
	p.each("/staked STAKER", "/verify STAKER", "/status")
}

func allDown(p *page) {
	p.toggle("partner", "price", "supply", "chain")
	p.each("/price", "/price 7d", "/supply", "/staked STAKER", "/mylogins", "/exists", "/verify STAKER", "/status")
	p.join("registered", 0)
	p.join("staker", 0, p.wallet(0))
}

func longSymbol(p *page) {
	p.each("/price", "/price 7d", "/supply", "/staked STAKER", "/verify STAKER", "/help")
}
