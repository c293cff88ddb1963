package web_test

import (
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is how long the page may take for one thing on a busy machine.
const patience = 30 * time.Second

//go:embed testdata/looker.js
var looker string

// page is the demo in a tab of a browser.
type page struct {
	*testing.T
	ctx     context.Context
	url     string
	wrong   []string      // what the browser complained about
	watched chan struct{} // is closed when that is all
}

// over is the last line of the browser's console.
const over = "the test is over"

// open starts the demo and a browser that shows it.
func open(t *testing.T) *page {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		if browser, err = exec.LookPath("google-chrome"); err != nil {
			t.Skip("neither chromium nor google-chrome is installed")
		}
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(browser), chromedp.UserDataDir(t.TempDir()),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
	)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(closeTab)
	p := &page{T: t, ctx: ctx, watched: make(chan struct{})}
	p.do("start the browser", chromedp.EmulateViewport(1400, 900))
	complaints := chromedp.Console(ctx)
	go func() {
		defer close(p.watched)
		for m, err := range complaints {
			if err != nil || m.Text == over {
				return
			}
			p.wrong = append(p.wrong, m.String())
		}
	}()
	p.url = startDemo(t)
	p.load()
	return p
}

// load loads the page, again or for the first time.
func (p *page) load() {
	p.Helper()
	p.do("load the page", chromedp.Navigate(p.url), chromedp.Evaluate[chromedp.Void](looker))
	p.until("what the page asks by itself", `answer("telegram") && answer("discord")`)
}

func (p *page) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	// The first call starts the browser, which lives as long as its context.
	ctx, cancel := p.ctx, context.CancelFunc(func() {})
	if chromedp.FromContext(ctx).Target != nil {
		ctx, cancel = context.WithTimeout(p.ctx, patience)
	}
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.Fatalf("%s: %v", what, err)
	}
}

// eval is the value of an expression in the page, or what it promises.
func eval[T any](p *page, expression string) T {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits until an expression is true in the page.
func (p *page) until(what, expression string) {
	p.Helper()
	if !eval[bool](p, fmt.Sprintf(`holds(() => %s, %d)`, expression, patience.Milliseconds()/2)) {
		p.Fatalf("waited for %s:\n%s", what, eval[string](p, `document.body.innerText`))
	}
}

// click clicks on the first that a CSS selector finds.
func (p *page) click(selector string) {
	p.Helper()
	p.do("click on "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// keys types keys, each a character or one of package kb's, where the focus is.
func (p *page) keys(keys string) {
	p.Helper()
	p.do("press keys", chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, key := range keys {
			events := kb.Encode(key)
			down, up := events[0], events[len(events)-1]
			if len(events) == 3 { // The character goes with the key, which the page may prevent.
				down.Text = events[1].Text
			}
			for _, e := range []*input.DispatchKeyEventParams{down, up} {
				if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, *e); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// write writes a text where the focus is.
func (p *page) write(text string) {
	p.Helper()
	p.do("write", call(input.InsertText, input.InsertTextParams{Text: text}))
}

// as is asked by somebody, somewhere.
func (p *page) as(person, chat string) {
	p.Helper()
	p.click(fmt.Sprintf(`#as [value=%q]`, person))
	p.click(fmt.Sprintf(`#chat [value=%q]`, chat))
}

// send sends a text to both sides.
func (p *page) send(text string) {
	p.Helper()
	p.click("#text")
	eval[bool](p, `begin()`)
	p.write(text)
	p.keys(kb.Enter)
}

// ask sends a text to both sides and waits for what each answers.
func (p *page) ask(text string) (telegram, discord string) {
	p.Helper()
	p.send(text)
	p.until("the answers", `answer("telegram") && answer("discord")`)
	plain := strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2060", "", "\u200b", "")
	return plain.Replace(eval[string](p, `answer("telegram")`)), plain.Replace(eval[string](p, `answer("discord")`))
}

// call is a call of the browser's own protocol.
func call[P, R any](method cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, method, params)
		return err
	})
}

func TestThePageInABrowser(t *testing.T) {
	t.Parallel()
	p := open(t)
	for _, part := range []struct {
		name string
		test func(*page)
	}{
		{"it begins with a chart and a role", begins},
		{"both looks have every answer", bothLooks},
		{"what one alone sees is not shown to others", privately},
		{"a failing service is said", failing},
		{"nothing that is said becomes markup", markup},
		{"a keyboard", keyboard},
		{"both sides of a request to join", joining},
		{"a role comes and goes", role},
		{"the chats have room", room},
		{"languages are named in themselves", languages},
	} {
		t.Run(part.name, func(t *testing.T) {
			p.T = t
			part.test(p)
		})
	}
	p.T = t
	eval[any](p, fmt.Sprintf(`console.log(%q)`, over))
	<-p.watched
	for _, m := range p.wrong {
		t.Errorf("the browser complains: %s", m)
	}
	const loaded = `performance.getEntriesByType("resource").map((one) => one.name).filter((one) => !one.startsWith(location.origin + "/"))`
	if others := eval[[]string](p, loaded); len(others) > 0 {
		t.Errorf("the page asked other hosts: %q", others)
	}
}

// wallet is an example's wallet: 0 is the one that stakes, 1 does not.
func (p *page) wallet(n int) string {
	p.Helper()
	return strings.Fields(eval[string](p, fmt.Sprintf(`document.querySelectorAll("#examples button[title^='/staked']")[%d].title`, n)))[1]
}

func begins(p *page) {
	p.until("a chart", `document.querySelector("#discord article").innerText.includes("period: 7d")`)
	if !eval[bool](p, `document.querySelector("header button").closest(".line")?.innerText.startsWith("Try a role") ?? false`) {
		p.Error("the first row is not \"Try a role\"")
	}
}

func bothLooks(p *page) {
	for text, want := range map[string]string{
		"/help": "/staked", "/price 7d": "$0.04", "/supply": "987,654,321", "/staked " + p.wallet(0): "1,012,345.67",
		"/verify " + p.wallet(0): "Your wallet",
	} {
		telegram, discord := p.ask(text)
		for _, said := range []string{telegram, discord} {
			if !strings.Contains(said, want) || !strings.Contains(said, "imulated") {
				p.Errorf("%s is answered by\n%s", text, said)
			}
		}
	}
	const shown = `document.querySelector("#telegram .bubble img") && document.querySelector("#discord .embed img")`
	for range 10 { // a picture that is late, as on a busy machine, is there the next time
		if eval[bool](p, `Boolean(`+shown+`)`) {
			break
		}
		p.ask("/price 7d")
	}
	p.until("the charts", shown+` && [...document.images].every((one) => one.naturalWidth > 0)`)
}

func privately(p *page) {
	for _, place := range []string{"group", "private"} {
		p.as("registered", place)
		if telegram, discord := p.ask("/mylogins"); !strings.Contains(telegram, "Harbor Swap") || !strings.Contains(discord, "Harbor Swap") {
			p.Errorf("the member is answered by\n%s\nand by\n%s", telegram, discord)
		}
	}
	for _, person := range []string{"unregistered", "moderator", "registered"} {
		for _, place := range []string{"private", "group"} {
			p.as(person, place)
			shown := eval[string](p, `document.querySelector("main").innerText`)
			if got, want := strings.Contains(shown, "Harbor Swap"), person == "registered"; got != want {
				p.Errorf("the member's logins are shown to %s in %s: %v", person, place, got)
			}
		}
	}
}

func failing(p *page) {
	p.click("#fault-chain")
	if telegram, discord := p.ask("/staked " + p.wallet(1)); !strings.Contains(telegram, "Stake unavailable") || !strings.Contains(discord, "Stake unavailable") {
		p.Errorf("a chain that is down is answered by\n%s\nand by\n%s", telegram, discord)
	}
	eval[any](p, `refresh("Pool\u00a009")`)
	p.until("an alert", `document.querySelector("dialog.telegram")?.innerText.includes("Stake unavailable")`)
	p.keys(kb.Escape)
	p.until("no alert", `!document.querySelector("dialog")`)
	p.click("#fault-chain")
}

// markup has what anybody could have the bot say, as either side writes it.
func markup(p *page) {
	const link = `<a href="https://e.example/" target="_blank" rel="noopener noreferrer">a</a>`
	for _, test := range []struct{ call, want string }{
		{`markdown("**bold \u0060x\u0060** [a](https://e.example/)").childNodes`, `<p class=""><strong>bold <code>x</code></strong> ` + link + `</p>`},
		{`markdown("[a](javascript:alert(1))").childNodes`, `<p class="">[a](javascript:alert(1))</p>`},
		{`markdown("<img src=x onerror=alert(1)>&amp;").childNodes`, `<p class="">&lt;img src=x onerror=alert(1)&gt;&amp;amp;</p>`},
		{`entities("<b>a</b>", [])`, `&lt;b&gt;a&lt;/b&gt;`},
		{`entities("👍a", [{ type: "text_link", offset: 2, length: 1, url: "https://e.example/" }])`, `👍` + link},
		{`entities("ab\nc", [{ type: "bold", offset: 0, length: 2 }, { type: "expandable_blockquote", offset: 0, length: 2 }])`,
			`<div class="quote"><blockquote class="folded"><strong>ab</strong></blockquote><button type="button" class="unfold" aria-label="Show more" aria-expanded="false">⌄</button></div>c`},
		{`markdown("</price 7d:12> <t:1:R>").childNodes[0].childNodes[0]?.outerHTML ?? []`, `&lt;span class="mention"&gt;/price 7d&lt;/span&gt;`},
		{`entities("ab", [{ type: "text_link", offset: 0, length: 1, url: "javascript:alert(1)" }])`, `<span>a</span>b`},
	} {
		if got := eval[string](p, fmt.Sprintf(`drawn(({ markdown, entities }) => %s)`, test.call)); got != test.want {
			p.Errorf("%s is shown as\n%s\nand not as\n%s", test.call, got, test.want)
		}
	}
}

func keyboard(p *page) {
	p.click("#text")
	p.write("/pri")
	p.until("the command", `document.getElementById("suggestions").innerText.includes("/price")`)
	p.keys(kb.ArrowDown + kb.Enter)
	p.until("the command in the input", `document.activeElement.value === "/price "`)
	p.keys("7d" + kb.Enter)
	p.until("the answer", `answer("discord")?.includes("$0.04")`)
}

// joining asks to join each group by the keyboard, and answers the question for a wallet.
func joining(p *page) {
	p.as("unregistered", "group")
	p.do("focus the panel's button", chromedp.Focus(chromedp.CSS("#joining")))
	p.keys(kb.Enter + kb.Tab + kb.Enter)
	p.until("the member in the first group", `join("registered") === "Registered: let in by the bot" && last("telegram").includes("You're in: Token holders")`)
	p.keys(kb.Tab + kb.Enter)
	p.until("the unregistered outside", `join("registered").startsWith("Unregistered: open") && last("telegram").includes("you're not registered yet")`)
	p.keys(kb.Tab + kb.Tab + kb.Enter)
	p.until("the question", `last("telegram").includes("send me its address") && document.activeElement.id === "text"`)
	p.write("0x")
	p.until("the wallets", `document.getElementById("suggestions").innerText.includes("a wallet that stakes")`)
	p.keys(kb.ArrowDown + kb.Enter + kb.Enter)
	p.until("the member in the second group", `join("staker") === "Registered: let in by the bot" && last("telegram").includes("You're in: Staking lounge")`)
	p.load()
	p.until("the requests again", `join("registered").includes("Unregistered: open")`)
}

// role takes the steps of a role to their end, and begins again.
func role(p *page) {
	p.as("moderator", "private")
	for i, want := range []string{
		`said("Save this address to get Staker in Herald demo")`,
		`said("You have Staker here") && document.getElementById("badges-discord").innerText === "Registered"`,
		`document.getElementById("fault-unstaked").checked`,
		`document.getElementById("badges-telegram").innerText === "Registered"`,
		`said("No stake found in 0x56B9") && document.getElementById("badges-telegram").innerText === "nobody"`,
	} {
		p.click("#role .next")
		p.until(fmt.Sprint("step ", i+1), fmt.Sprintf(`document.querySelectorAll("#role .done").length === %d && %s`, i+1, want))
	}
	p.click("#again")
	p.until("the first step", `document.querySelector("#role button").className === "next" && !document.getElementById("fault-unstaked").checked && said("I no longer have 0x56B9")`)
}

// room looks at the heights of the chats in windows of some sizes. All controls stand above
// them only in the large one.
func room(p *page) {
	for _, window := range []struct {
		width, height, chat int64
		all                 bool
	}{{1024, 700, 420, false}, {1440, 900, 520, true}, {390, 844, 440, false}} {
		p.do("another size", chromedp.EmulateViewport(window.width, window.height))
		p.until(fmt.Sprintf("room in %+v", window), fmt.Sprintf(
			`document.querySelector("#telegram .log").clientHeight >= %d && document.documentElement.scrollWidth <= %d && document.getElementById("more").open === %v`,
			window.chat, window.width, window.all))
	}
}

func languages(p *page) {
	for _, id := range []string{"language", "chat-language"} {
		names := eval[[]string](p, fmt.Sprintf(`[...document.getElementById(%q).options].map((one) => one.text)`, id))
		slices.Sort(names)
		if want := []string{"English", "Español", "Tiếng Việt", "Türkçe", "Русский", "中文"}; !slices.Equal(names, want) {
			p.Errorf("%s has %q, want %q", id, names, want)
		}
	}
}
