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

// patience is how long the page may take for one step. It is much longer than a step takes on an idle machine.
const patience = 30 * time.Second

// looker is a script with functions that read and use the page, such as answer. The tests' expressions call them.
//
//go:embed testdata/looker.js
var looker string

// page is the demo in a tab of a browser.
type page struct {
	*testing.T
	ctx context.Context
	url string
	// console has the lines of the browser's console before lastLine. It is complete once consoleEnded is closed.
	console      []string
	consoleEnded chan struct{}
}

// lastLine is a line that a test writes to the browser's console at its end.
const lastLine = "the test is over"

// open starts the demo and a browser that shows it.
func open(t *testing.T) *page {
	t.Helper()
	allocator, stop := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(browserPath(t)),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.Headless,
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
	)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(closeTab)
	p := &page{T: t, ctx: ctx, consoleEnded: make(chan struct{})}
	p.do("start the browser", chromedp.EmulateViewport(1400, 900))
	lines := chromedp.Console(ctx)
	go func() {
		defer close(p.consoleEnded)
		for line, err := range lines {
			if err != nil || line.Text == lastLine {
				return
			}
			p.console = append(p.console, line.String())
		}
	}()
	p.url = startDemo(t)
	p.load()
	return p
}

// browserPath returns the path of a browser. It skips the test if there is none.
func browserPath(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("neither chromium nor google-chrome is installed")
	return ""
}

// load loads the page, and waits until both sides show a message of the bot.
func (p *page) load() {
	p.Helper()
	p.do("load the page", chromedp.Navigate(p.url), chromedp.Evaluate[chromedp.Void](looker))
	p.until("the first answers", `answer("telegram") && answer("discord")`)
}

// do takes actions in the browser. what describes them if one fails.
func (p *page) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	ctx := p.ctx
	// The first call starts the browser, which ends with the context of that call.
	isFirst := chromedp.FromContext(ctx).Target == nil
	if !isFirst {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.Fatalf("%s: %v", what, err)
	}
}

// eval evaluates an expression in the page, and returns its value. If the value is a promise, eval waits for it.
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

// until waits until an expression is true in the page. what describes it if that takes too long.
func (p *page) until(what, expression string) {
	p.Helper()
	if !eval[bool](p, fmt.Sprintf(`becomesTrue(() => %s, %d)`, expression, patience.Milliseconds()/2)) {
		p.Fatalf("waited for %s:\n%s", what, eval[string](p, `document.body.innerText`))
	}
}

// click clicks on the first element that a CSS selector finds.
func (p *page) click(selector string) {
	p.Helper()
	p.do("click on "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// keys types keys into the element with the focus. A key is a character or a constant of package kb.
func (p *page) keys(keys string) {
	p.Helper()
	p.do("press keys", chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, key := range keys {
			events := kb.Encode(key)
			down, up := events[0], events[len(events)-1]
			if len(events) == 3 {
				// The event in the middle types the character. As in a browser, it must belong to down, so that the page
				// can prevent it.
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

// write types a text into the element with the focus.
func (p *page) write(text string) {
	p.Helper()
	p.do("write", call(input.InsertText, input.InsertTextParams{Text: text}))
}

// askAs picks the person that asks the next questions, and the chat.
func (p *page) askAs(person, chat string) {
	p.Helper()
	p.click(fmt.Sprintf(`#as [value=%q]`, person))
	p.click(fmt.Sprintf(`#chat [value=%q]`, chat))
}

// send sends a text to both sides.
func (p *page) send(text string) {
	p.Helper()
	p.click("#text")
	eval[bool](p, `beginQuestion()`)
	p.write(text)
	p.keys(kb.Enter)
}

// plainSpaces replaces unusual spaces by plain ones, and removes invisible characters.
var plainSpaces = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2060", "", "\u200b", "")

// ask sends a text to both sides, and returns the answer of each.
func (p *page) ask(text string) (telegram, discord string) {
	p.Helper()
	p.send(text)
	p.until("the answers", `answer("telegram") && answer("discord")`)
	telegram = plainSpaces.Replace(eval[string](p, `answer("telegram")`))
	discord = plainSpaces.Replace(eval[string](p, `answer("discord")`))
	return telegram, discord
}

// call returns an action that calls a method of the Chrome DevTools Protocol.
func call[P, R any](method cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, method, params)
		return err
	})
}

// TestThePageInABrowser tests the parts one after another on the same page, because a browser takes seconds to start.
func TestThePageInABrowser(t *testing.T) {
	t.Parallel()
	p := open(t)
	for _, part := range []struct {
		name string
		test func(*page)
	}{
		{"it begins with a chart and a role", testBeginning},
		{"both sides show every answer", testBothSides},
		{"a private answer is not shown to others", testPrivacy},
		{"a failing service is named", testFailure},
		{"no text becomes markup", testMarkup},
		{"a keyboard is enough", testKeyboard},
		{"both sides of a request to join", testJoining},
		{"a role comes and goes", testRole},
		{"the chats have room", testRoom},
		{"languages are named in themselves", testLanguages},
	} {
		t.Run(part.name, func(t *testing.T) {
			p.T = t
			part.test(p)
		})
	}
	p.T = t
	p.checkConsole()
	p.checkHosts()
}

// checkConsole checks that nothing was written to the browser's console.
func (p *page) checkConsole() {
	p.Helper()
	eval[any](p, fmt.Sprintf(`console.log(%q)`, lastLine))
	<-p.consoleEnded
	for _, line := range p.console {
		p.Errorf("the browser's console has %s", line)
	}
}

// checkHosts checks that the page has not loaded anything from other hosts.
func (p *page) checkHosts() {
	p.Helper()
	const others = `performance.getEntriesByType("resource")
		.map((entry) => entry.name)
		.filter((name) => !name.startsWith(location.origin + "/"))`
	if found := eval[[]string](p, others); len(found) > 0 {
		p.Errorf("the page has loaded %q from other hosts", found)
	}
}

// wallet returns stakerWallet or idleWallet.
func (p *page) wallet(n int) string {
	p.Helper()
	const format = `document.querySelectorAll("#examples button[title^='/staked']")[%d].title`
	return strings.Fields(eval[string](p, fmt.Sprintf(format, n)))[1]
}

func testBeginning(p *page) {
	p.until("a chart", `document.querySelector("#discord article").innerText.includes("period: 7d")`)
	const firstRow = `document.querySelector("header button").closest(".line")?.innerText ?? ""`
	if row := eval[string](p, firstRow); !strings.HasPrefix(row, "Try a role") {
		p.Errorf("the first row is %q", row)
	}
}

func testBothSides(p *page) {
	for text, want := range map[string]string{
		"/help":                             "/staked",
		"/price 7d":                         "$0.04",
		"/supply":                           "987,654,321",
		"/staked " + p.wallet(stakerWallet): "1,012,345.67",
		"/verify " + p.wallet(stakerWallet): "Your wallet",
	} {
		telegram, discord := p.ask(text)
		for _, answer := range []string{telegram, discord} {
			if !strings.Contains(answer, want) || !strings.Contains(strings.ToLower(answer), "simulated") {
				p.Errorf("%s is answered by\n%s", text, answer)
			}
		}
	}
	p.waitForCharts()
}

// waitForCharts asks for a chart until both sides show one. On a busy machine, an answer may come without its chart.
func (p *page) waitForCharts() {
	p.Helper()
	const shown = `document.querySelector("#telegram .bubble img") && document.querySelector("#discord .embed img")`
	for range 10 {
		if eval[bool](p, `Boolean(`+shown+`)`) {
			break
		}
		p.ask("/price 7d")
	}
	p.until("the charts", shown+` && [...document.images].every((image) => image.naturalWidth > 0)`)
}

// checkBoth asks a question, and checks that both sides answer it with want.
func (p *page) checkBoth(question, want string) {
	p.Helper()
	telegram, discord := p.ask(question)
	if !strings.Contains(telegram, want) || !strings.Contains(discord, want) {
		p.Errorf("%s is answered by\n%s\nand by\n%s\nwant %s", question, telegram, discord, want)
	}
}

func testPrivacy(p *page) {
	for _, place := range []string{"group", "private"} {
		p.askAs("registered", place)
		p.checkBoth("/mylogins", "Harbor Swap")
	}
	for _, person := range []string{"unregistered", "moderator", "registered"} {
		for _, place := range []string{"private", "group"} {
			p.askAs(person, place)
			shown := eval[string](p, `document.querySelector("main").innerText`)
			isShown := strings.Contains(shown, "Harbor Swap")
			if isShown != (person == "registered") {
				p.Errorf("the member's logins are shown to %s in %s: %v", person, place, isShown)
			}
		}
	}
}

func testFailure(p *page) {
	p.click("#fault-chain")
	p.checkBoth("/staked "+p.wallet(idleWallet), "Stake unavailable")
	eval[any](p, `pressBelow("Pool\u00a009")`)
	p.until("an alert", `document.querySelector("dialog.telegram")?.innerText.includes("Stake unavailable")`)
	p.keys(kb.Escape)
	p.until("no alert", `!document.querySelector("dialog")`)
	p.click("#fault-chain")
}

// markup is an expression in the page that makes the nodes of a text, and their HTML.
type markup struct {
	nodes string
	html  string
}

// checkMarkup checks the HTML of texts.
func (p *page) checkMarkup(cases []markup) {
	p.Helper()
	for _, m := range cases {
		got := eval[string](p, fmt.Sprintf(`htmlOf(({ markdown, entities }) => %s)`, m.nodes))
		if got != m.html {
			p.Errorf("%s is shown as\n%s, want\n%s", m.nodes, got, m.html)
		}
	}
}

// testMarkup checks texts that a member could make the bot write.
func testMarkup(p *page) {
	const link = `<a href="https://e.example/" target="_blank" rel="noopener noreferrer">a</a>`
	p.checkMarkup([]markup{ // of Discord's Markdown
		{
			`markdown("**bold \u0060x\u0060** [a](https://e.example/)").childNodes`,
			`<p class=""><strong>bold <code>x</code></strong> ` + link + `</p>`,
		},
		{
			`markdown("[a](javascript:alert(1))").childNodes`,
			`<p class="">[a](javascript:alert(1))</p>`,
		},
		{
			`markdown("<img src=x onerror=alert(1)>&amp;").childNodes`,
			`<p class="">&lt;img src=x onerror=alert(1)&gt;&amp;amp;</p>`,
		},
		{
			`markdown("</price 7d:12> <t:1:R>").childNodes[0].childNodes[0]?.outerHTML ?? []`,
			`&lt;span class="mention"&gt;/price 7d&lt;/span&gt;`,
		},
	})
	p.checkMarkup([]markup{ // of Telegram's entities
		{
			`entities("<b>a</b>", [])`,
			`&lt;b&gt;a&lt;/b&gt;`,
		},
		{
			`entities("👍a", [{ type: "text_link", offset: 2, length: 1, url: "https://e.example/" }])`,
			`👍` + link,
		},
		{
			`entities("ab\nc", [
				{ type: "bold", offset: 0, length: 2 },
				{ type: "expandable_blockquote", offset: 0, length: 2 },
			])`,
			`<div class="quote"><blockquote class="folded"><strong>ab</strong></blockquote>` +
				`<button type="button" class="unfold" aria-label="Show more" aria-expanded="false">⌄</button></div>c`,
		},
		{
			`entities("ab", [{ type: "text_link", offset: 0, length: 1, url: "javascript:alert(1)" }])`,
			`<span>a</span>b`,
		},
	})
}

func testKeyboard(p *page) {
	p.click("#text")
	p.write("/pri")
	p.until("the command", `document.getElementById("suggestions").innerText.includes("/price")`)
	p.keys(kb.ArrowDown + kb.Enter)
	p.until("the command in the input", `document.activeElement.value === "/price "`)
	p.keys("7d" + kb.Enter)
	p.until("the answer", `answer("discord")?.includes("$0.04")`)
}

// untilAnswered waits until an expression about the requests to join is true, and the latest message on Telegram
// contains a text.
func (p *page) untilAnswered(requests, text string) {
	p.Helper()
	p.until(requests, fmt.Sprintf(`%s && lastText("telegram").includes(%q)`, requests, text))
}

// testJoining requests to join each group by the keyboard, and answers the question for a wallet.
func testJoining(p *page) {
	const isApproved = `=== "Registered: let in by the bot"`
	p.askAs("unregistered", "group")
	p.do("focus the panel's button", chromedp.Focus(chromedp.CSS("#joining")))
	p.keys(kb.Enter + kb.Tab + kb.Enter)
	p.untilAnswered(`joinRequests("registered") `+isApproved, "You're in: Token holders")
	p.keys(kb.Tab + kb.Enter)
	p.untilAnswered(`joinRequests("registered").startsWith("Unregistered: open")`, "you're not registered yet")
	p.keys(kb.Tab + kb.Tab + kb.Enter)
	p.until("the question", `lastText("telegram").includes("send me its address") && document.activeElement.id === "text"`)
	p.write("0x")
	const suggestions = `document.getElementById("suggestions").innerText`
	p.until("the wallets", suggestions+`.includes("a wallet that stakes")`)
	p.keys(kb.ArrowDown + kb.Enter + kb.Enter)
	p.untilAnswered(`joinRequests("staker") `+isApproved, "You're in: Staking lounge")
	p.load()
	p.until("the requests after a reload", `joinRequests("registered").includes("Unregistered: open")`)
}

// testRole takes all steps of "Try a role", and begins again.
func testRole(p *page) {
	const (
		onTelegram = `document.getElementById("badges-telegram").innerText`
		onDiscord  = `document.getElementById("badges-discord").innerText`
		unstaked   = `document.getElementById("fault-unstaked").checked`
	)
	p.askAs("moderator", "private")
	for i, want := range []string{
		`isShown("Save this address to get Staker in Herald demo")`,
		`isShown("You have Staker here") && ` + onDiscord + ` === "Registered"`,
		unstaked,
		onTelegram + ` === "Registered"`,
		`isShown("No stake found in 0x56B9") && ` + onTelegram + ` === "nobody"`,
	} {
		p.click("#role .next")
		done := fmt.Sprintf(`document.querySelectorAll("#role .done").length === %d`, i+1)
		p.until(fmt.Sprint("step ", i+1), done+` && `+want)
	}
	p.click("#again")
	const isFirst = `document.querySelector("#role button").className === "next"`
	p.until("the first step", isFirst+` && !`+unstaked+` && isShown("I no longer have 0x56B9")`)
}

// testRoom checks that the chats are high enough in windows of different sizes. "Faults and more" is open only in the
// large window.
func testRoom(p *page) {
	for _, window := range []struct {
		width, height int64
		minChatHeight int64
		isMoreOpen    bool
	}{
		{width: 1024, height: 700, minChatHeight: 420},
		{width: 1440, height: 900, minChatHeight: 520, isMoreOpen: true},
		{width: 390, height: 844, minChatHeight: 440},
	} {
		p.do("another size", chromedp.EmulateViewport(window.width, window.height))
		for _, condition := range []string{
			fmt.Sprintf(`document.querySelector("#telegram .log").clientHeight >= %d`, window.minChatHeight),
			fmt.Sprintf(`document.documentElement.scrollWidth <= %d`, window.width),
			fmt.Sprintf(`document.getElementById("more").open === %v`, window.isMoreOpen),
		} {
			p.until(fmt.Sprintf("room in %+v", window), condition)
		}
	}
}

func testLanguages(p *page) {
	for _, id := range []string{"language", "chat-language"} {
		const format = `[...document.getElementById(%q).options].map((option) => option.text)`
		names := eval[[]string](p, fmt.Sprintf(format, id))
		slices.Sort(names)
		want := []string{"English", "Español", "Tiếng Việt", "Türkçe", "Русский", "中文"}
		if !slices.Equal(names, want) {
			p.Errorf("%s has %q, want %q", id, names, want)
		}
	}
}
