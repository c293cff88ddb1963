package webdemo_test

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// tab opens another tab that shows the page too: in front of it, or in a window
// beside it.
func (p *page) tab(newWindow bool) *page {
	p.t.Helper()
	ctx, closeTab := chromedp.NewContext(p.ctx, chromedp.WithNewWindow(newWindow))
	p.t.Cleanup(closeTab)
	other := &page{t: p.t, ctx: ctx, url: p.url}
	other.do("open a tab", chromedp.EmulateViewport(1400, 900))
	other.load()
	return other
}

// front brings the page's tab to the front.
func (p *page) front() {
	p.t.Helper()
	p.do("bring the tab to the front", chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, cdppage.BringToFront, cdp.Empty{})
		return err
	}))
}

// TestMoreTabsThanABrowserHasConnectionsAllWork opens more than the six that a
// browser has for one host.
func TestMoreTabsThanABrowserHasConnectionsAllWork(t *testing.T) {
	p := open(t, 1400, 900)
	last := p
	for range 7 {
		last = last.tab(false)
	}
	last.ask("/price")
	p.front()
	p.ask("/supply")
}

func TestATabThatIsShownAgainHasWhatItMissedAndKeepsItsPlace(t *testing.T) {
	p := open(t, 1400, 900)
	p.ask("/price")
	p.ask("/help")
	p.run(`document.querySelector("#discord [data-press]").focus(); button = document.activeElement`)
	other := p.tab(false)
	other.ask("/supply")
	other.choose("fault-price", "down")
	other.until("the switch", `document.querySelector("#fault-price.on")`)
	const ids = `["telegram", "discord"].flatMap(messages).map((one) => one.dataset.id).join()`
	want := eval[string](other, ids)
	p.front()
	p.until("what was missed", ids+` === `+"`"+want+"`")
	p.until("the fault", `document.querySelector("#fault-price.on")?.value === "down"`)
	if !eval[bool](p, `button.isConnected && document.activeElement === button`) {
		t.Error("the focus is no longer where it was")
	}
	other.front()
	other.click("#reset")
	other.asking(func() { other.write("/exists"); other.keys(kb.Enter) }, "telegram", "discord")
	want = eval[string](other, ids)
	p.front()
	p.until("the cleared chats", ids+` === `+"`"+want+"`")
}

func TestAPageThatIsOneTooManySaysSo(t *testing.T) {
	p := open(t, 1400, 900)
	for range 15 {
		(&client{T: t, url: strings.TrimSuffix(p.url, "/")}).listen()
	}
	other := p.tab(true)
	other.until("the note", `document.getElementById("toast").textContent.startsWith("This page is open in too many windows.")`)
}
