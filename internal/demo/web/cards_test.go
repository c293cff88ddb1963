//go:build pictures

package web_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"herald/internal/demo/fake/services"
)

var cards = flag.String("cards", "", "a folder for pictures of every card")

// TestCards takes pictures of every card on both sides, light and dark, in chats of 330
// and of 520 pixels, for whoever wants to look at them.
func TestCards(t *testing.T) {
	if *cards == "" {
		t.Skip("no folder is given with -cards")
	}
	if err := os.MkdirAll(*cards, 0o755); err != nil {
		t.Fatal(err)
	}
	symbol := services.Symbol
	defer func() { services.Symbol = symbol }()
	for _, visit := range []struct {
		name, symbol string
		talk         func(*page)
	}{
		{"all", symbol, everything}, {"down", symbol, allDown}, {"symbol", "HERALDMOON12", longSymbol},
	} {
		services.Symbol = visit.symbol
		p := open(t)
		visit.talk(p)
		p.until("the charts", `[...document.images].every((one) => one.complete)`)
		for _, side := range []string{"telegram", "discord"} {
			for _, width := range []int64{330, 520} {
				for _, scheme := range []string{"light", "dark"} {
					p.do("another size", chromedp.EmulateViewport(width*(1320/width), 900))
					p.scheme(scheme)
					p.takeAll(filepath.Join(*cards, fmt.Sprintf("%s-%s-%s-%d", visit.name, side, scheme, width)), side, width)
				}
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

// tell is asked where Telegram alone answers.
func (p *page) tell(text string) {
	p.Helper()
	p.click("#text")
	eval[bool](p, `begin()`)
	p.write(text)
	p.keys(kb.Enter)
	p.until("an answer to "+text, `answer("telegram")`)
}

// each asks the lines, one after the other.
func (p *page) each(lines ...string) {
	p.Helper()
	wallets := strings.NewReplacer("STAKER", p.wallet(0), "IDLE", p.wallet(1))
	for _, line := range lines {
		p.ask(wallets.Replace(line))
	}
}

// toggle has a service fail, or work again, once what it said before is old.
func (p *page) toggle(services ...string) {
	p.Helper()
	p.until("what was learned before to be old", `performance.now() - begun > 1000`)
	for _, name := range services {
		p.click("#down-" + name)
	}
}

func everything(p *page) {
	p.each("/price", "/price 24h", "/price 7d", "/price 30d", "/supply", "/staked STAKER", "/staked IDLE", "/mylogins", "/exists",
		"/verify STAKER", "/verify IDLE", "/status", "/help", "/staked 0x12")
	for _, line := range []string{"/price 1y", "/staked", "/price now please"} {
		p.tell(line)
	}
	p.click("#old-app")
	p.tell("/mylogins")
	p.click("#old-app")
	p.as("member", "private")
	p.each("/help")
	for _, line := range []string{"/prise", "hello", p.wallet(0), "/staked", "/staked 0x12"} {
		p.tell(line)
	}
	p.as("unregistered", "group")
	p.each("/mylogins", "/exists", "/verify STAKER")
	p.as("moderator", "group")
	p.each("/mylogins", "/exists @unregistered", "/exists @member", "/exists GitHub 70001", "/verify @member STAKER", "/verify @unregistered STAKER")
	p.toggle("pool")
	p.each("/staked STAKER", "/staked IDLE", "/verify @member STAKER")
	p.toggle("pool", "price")
	p.each("/price", "/price 7d", "/supply", "/status")
}

func allDown(p *page) {
	p.toggle("partner", "price", "supply", "chain")
	p.each("/price", "/price 7d", "/supply", "/staked STAKER", "/mylogins", "/exists", "/verify STAKER", "/status")
}

func longSymbol(p *page) {
	p.each("/price", "/price 7d", "/supply", "/staked STAKER", "/verify STAKER", "/help")
}
