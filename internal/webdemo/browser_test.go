package webdemo_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is how long the page may take for one thing on a busy machine.
const patience = time.Minute

//go:embed testdata/looker.js
var looker string

// page is the demo in a tab of a browser.
type page struct {
	t   *testing.T
	ctx context.Context
	url string
	// endDemo stops the demo behind the page, and ended tells that this was done.
	endDemo func()
	ended   bool
	mu      sync.Mutex
	wrong   []string // what the browser complained about
}

// open starts the demo, and a browser that shows it in a window of so many
// pixels. At the end the test fails for all that the browser complained about,
// such as an exception, or something that the page's policy forbids.
func open(t *testing.T, width, height int64) *page {
	t.Helper()
	t.Parallel()
	browser := ""
	for _, name := range []string{"chromium", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			browser = found
			break
		}
	}
	if browser == "" {
		t.Skip("neither chromium nor google-chrome is installed")
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(browser), chromedp.UserDataDir(t.TempDir()),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true),
	)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(closeTab)
	p := &page{t: t, ctx: ctx}
	p.do("start the browser", chromedp.EmulateViewport(width, height))
	watched := make(chan struct{})
	complaints := chromedp.Console(ctx)
	go func() {
		defer close(watched)
		for m, err := range complaints {
			if err != nil || m.Text == "the test is over" {
				return
			}
			p.mu.Lock()
			p.wrong = append(p.wrong, m.String())
			p.mu.Unlock()
		}
	}()
	p.url, p.endDemo = startDemo(t)
	p.load()
	t.Cleanup(func() {
		// A line of its own is the last that the console has.
		p.do("end the console", chromedp.Evaluate[chromedp.Void](`console.log("the test is over")`))
		<-watched
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, m := range p.wrong {
			if p.ended && strings.Contains(m, "net::ERR_") {
				continue
			}
			t.Errorf("the browser complains: %s", m)
		}
		for _, other := range eval[[]string](p, `performance.getEntriesByType("resource").map((one) => one.name).filter((one) => !one.startsWith(location.origin + "/"))`) {
			t.Errorf("the page asked another host: %s", other)
		}
	})
	return p
}

// load loads the page, again or for the first time.
func (p *page) load() {
	p.t.Helper()
	p.do("load the page", chromedp.Navigate(p.url), chromedp.Evaluate[chromedp.Void](looker))
	p.until("the page", `document.querySelector("#discord .place").textContent`)
}

func (p *page) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	// The first call starts the browser, which lives as long as its context.
	ctx, cancel := p.ctx, context.CancelFunc(func() {})
	if chromedp.FromContext(ctx).Target != nil {
		ctx, cancel = context.WithTimeout(p.ctx, patience)
	}
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

// eval is the value of an expression in the page.
func eval[T any](p *page, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// run runs a script in the page.
func (p *page) run(script string) {
	p.t.Helper()
	p.do(script, chromedp.Evaluate[chromedp.Void](script))
}

// until waits until an expression is true in the page.
func (p *page) until(what, expression string) {
	p.t.Helper()
	wait[bool](p, what, "Boolean("+expression+")")
}

// wait waits until an expression is true in the page, and gives its value.
func wait[T any](p *page, what, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	// The page's policy forbids what chromedp.Poll does.
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](fmt.Sprintf(`new Promise((resolve) => {
		const look = () => {
			const found = (%s);
			if (found) resolve(found);
			else requestAnimationFrame(look);
		};
		look();
	})`, expression), chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("waiting for %s: %v\n%s", what, err, eval[string](p, `document.body.innerText`))
	}
	return v
}

// click clicks on the first that a CSS selector finds.
func (p *page) click(selector string) {
	p.t.Helper()
	p.do("click on "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// keys presses keys, each a character or one of package kb's. Unlike
// chromedp.KeyEvent, it types no character where the page has prevented that.
func (p *page) keys(keys string, options ...chromedp.KeyOption) {
	p.t.Helper()
	p.do("press keys", chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, key := range keys {
			events := kb.Encode(key)
			if len(events) == 3 {
				events[0].Text = events[1].Text
				events = []*input.DispatchKeyEventParams{events[0], events[2]}
			}
			for _, e := range events {
				for _, o := range options {
					o(e)
				}
				if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, *e); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// as is asked by somebody, somewhere.
func (p *page) as(asker, chat string) {
	p.t.Helper()
	p.click(fmt.Sprintf(`#as [value=%q]`, asker))
	p.click(fmt.Sprintf(`#chat [value=%q]`, chat))
}

// choose chooses of a list by its ID.
func (p *page) choose(list, value string) {
	p.t.Helper()
	p.run(fmt.Sprintf(`list = document.getElementById(%q); list.value = %q; list.dispatchEvent(new Event("change"))`, list, value))
}

// write writes a text into the composer.
func (p *page) write(text string) {
	p.t.Helper()
	p.click("#text")
	p.insert(text)
}

// insert writes a text where the focus is.
func (p *page) insert(text string) {
	p.t.Helper()
	p.do("write", chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, input.InsertText, input.InsertTextParams{Text: text})
		return err
	}))
}

// clear empties the composer.
func (p *page) clear() {
	p.t.Helper()
	p.run(`document.getElementById("text").select()`)
	p.keys(kb.Backspace + kb.Escape)
}

// answers are what the bot says by side.
type answers struct{ Telegram, Discord string }

// ask sends a text to both sides and waits for what both answer.
func (p *page) ask(text string) answers {
	p.t.Helper()
	a := p.asking(func() {
		p.write(text)
		p.keys(kb.Enter)
	}, "telegram", "discord")
	return answers{a[0], a[1]}
}

// asking does something by which something is asked on some sides, and waits for
// what is answered there.
func (p *page) asking(do func(), sides ...string) []string {
	p.t.Helper()
	names, _ := json.Marshal(sides)
	p.run(fmt.Sprintf(`sides = %s; before = sides.map(asked)`, names))
	do()
	said := wait[[]string](p, "the answers", `sides.every((side, n) => asked(side) !== before[n] && answer(side)) && sides.map(answer)`)
	for i := range said {
		said[i] = plain(said[i])
	}
	return said
}

// changing does something and waits until something has changed that can be seen.
func (p *page) changing(do func()) {
	p.t.Helper()
	// A note that is still there might be the same as the one that comes.
	p.run(`document.getElementById("toast").textContent = ""; before = looks()`)
	do()
	p.until("a change", `looks() !== before && !document.querySelector("article:not([hidden]) .thinking")`)
}

// plain is a text without what joins its words.
func plain(text string) string {
	return strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2060", "", "\u200b", "").Replace(text)
}

// scheme has the system prefer "light" or "dark".
func (p *page) scheme(scheme string) {
	p.t.Helper()
	p.do("prefer "+scheme, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}
