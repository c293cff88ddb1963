package webdemo_test

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// end ends the demo behind the page, after which the browser may complain that it
// cannot be reached.
func (p *page) end() {
	p.t.Helper()
	p.ended = true
	p.endDemo()
	p.until("the note", saysStopped)
}

const saysStopped = `document.getElementById("toast").textContent.startsWith("The demo has stopped.")`

func TestWhatIsTypedStaysWhenTheDemoHasStopped(t *testing.T) {
	p := open(t, 1400, 900)
	p.ask("/verify abc")
	p.click("#discord .primary")
	p.until("the modal", `document.activeElement.matches("dialog input")`)
	p.end()
	p.insert("0x1")
	p.run(`sent = fetch; fetch = async (...call) => { try { return await sent(...call); } finally { setTimeout(() => { tried = true; }); } }; tried = false`)
	p.keys(kb.Enter)
	p.until("the modal to be sent", `tried`)
	if got := eval[string](p, `document.querySelector("dialog input")?.value ?? "nothing"`); got != "0x1" {
		t.Errorf("of what was typed into the modal, there is %s", got)
	}
	p.click(`dialog [value="cancel"]`)

	p.click("#telegram .reply")
	p.insert("/price 7d")
	p.keys(kb.Enter)
	p.until("the text and what it replies to", `document.getElementById("text").value === "/price 7d" && !document.getElementById("replying").hidden`)
	if !eval[bool](p, saysStopped) {
		t.Errorf("the note is %q", eval[string](p, `document.getElementById("toast").textContent`))
	}
}

func TestAControlShowsWhatHoldsWhenTheDemoHasStopped(t *testing.T) {
	p := open(t, 1400, 900)
	p.choose("fault-chain", "slow")
	p.until("the switch", `document.querySelector("#fault-chain.on")`)
	p.ask("/price")
	p.end()
	p.click("#reset")
	p.click(`#as [value="moderator"]`)
	p.until("the moderator's place", `document.querySelector("#discord .place").textContent.includes("general")`)
	p.choose("fault-chain", "down")
	p.until("the fault that holds", `document.getElementById("fault-chain").value === "slow"`)
	if eval[int](p, `messages("telegram").length`) == 0 {
		t.Error("the chats were cleared on the page alone")
	}
	if !eval[bool](p, saysStopped) {
		t.Errorf("the note is %q", eval[string](p, `document.getElementById("toast").textContent`))
	}
}
