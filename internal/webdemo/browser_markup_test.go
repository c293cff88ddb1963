package webdemo_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// drawn is the HTML of what a function of one of the page's modules makes.
func (p *page) drawn(module, call string) string {
	p.t.Helper()
	html, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](fmt.Sprintf(`import("/%s").then(({ markdown, entities }) => {
		const made = document.createElement("div");
		made.append(...[%s].flat());
		for (const time of made.querySelectorAll("time")) time.replaceWith("(" + time.dateTime + ")");
		return made.innerHTML;
	})`, module, call), chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("draw %s: %v", call, err)
	}
	return html
}

func TestDiscordsMarkupIsShown(t *testing.T) {
	p := open(t, 1400, 900)
	tests := []struct{ name, text, want string }{
		{"bold, and code in it", "**Price `x`:** 1", `<p class=""><strong>Price <code>x</code>:</strong> 1</p>`},
		{"what is escaped", `\*\*a\*\* \@all \<b\>`, `<p class="">**a** @all &lt;b&gt;</p>`},
		{"a backslash before a letter", `C:\dir`, `<p class="">C:\dir</p>`},
		{"small print", "a\n-# b", `<p class="">a</p><p class="small">b</p>`},
		{"a link", `[0x1…2](https://e.example/0x1)`, `<p class=""><a href="https://e.example/0x1" target="_blank" rel="noopener noreferrer">0x1…2</a></p>`},
		{"a link with brackets in it", `[a\]b](https://e.example/)`, `<p class=""><a href="https://e.example/" target="_blank" rel="noopener noreferrer">a]b</a></p>`},
		{"a script as a link", `[a](javascript:alert(1))`, `<p class="">[a](javascript:alert(1))</p>`},
		{"HTML", `<img src=x onerror=alert(1)>&amp;`, `<p class="">&lt;img src=x onerror=alert(1)&gt;&amp;amp;</p>`},
		{"a time", "<t:60:R>", `<p class="">(1970-01-01T00:01:00.000Z)</p>`},
		{"a person and a channel", "<@7> <#8>", `<p class=""><span class="mention">@n7</span> <span class="mention">#n8</span></p>`},
		{"an asterisk alone", "2 ** 3", `<p class="">2 ** 3</p>`},
	}
	for _, test := range tests {
		text, _ := json.Marshal(test.text)
		got := p.drawn("markdown.js", fmt.Sprintf(`...markdown(%s, (id) => "n" + id).childNodes`, text))
		if got != test.want {
			t.Errorf("%s: %s is shown as\n%s\nand not as\n%s", test.name, test.text, got, test.want)
		}
	}
}

func TestTelegramsEntitiesAreShown(t *testing.T) {
	p := open(t, 1400, 900)
	tests := []struct{ name, text, entities, want string }{
		{"none", "<b>a</b>", `[]`, `&lt;b&gt;a&lt;/b&gt;`},
		{"offsets in UTF-16 units", "👍👍 a b", `[{"type":"bold","offset":5,"length":1}]`, `👍👍 <strong>a</strong> b`},
		{"one within another", "abc", `[{"type":"code","offset":1,"length":1},{"type":"italic","offset":0,"length":3}]`, `<em>a<code>b</code>c</em>`},
		{"a link", "ab", `[{"type":"text_link","offset":0,"length":1,"url":"https://e.example/"}]`,
			`<a href="https://e.example/" target="_blank" rel="noopener noreferrer">a</a>b`},
		{"a script as a link", "ab", `[{"type":"text_link","offset":0,"length":1,"url":"javascript:alert(1)"}]`, `<span>a</span>b`},
		{"a link that is not seen", "\u200bb", `[{"type":"text_link","offset":0,"length":1,"url":"https://t.me/herald_bot?start=ask-staked"}]`, "\u200bb"},
		{"a time", "Updated then", `[{"type":"date_time","offset":8,"length":4,"unix_time":60}]`, `Updated (1970-01-01T00:01:00.000Z)`},
		{"a quote and its line break", "a\nb\nc", `[{"type":"expandable_blockquote","offset":2,"length":1}]`,
			"a\n" + `<div><blockquote class="folded">b</blockquote><button type="button" class="unfold" aria-expanded="false">Show more</button></div>c`},
		{"one of another kind", "ab", `[{"type":"bot_command","offset":0,"length":2}]`, `<span>ab</span>`},
		{"one beyond the end", "ab", `[{"type":"bold","offset":1,"length":9}]`, `ab`},
	}
	for _, test := range tests {
		text, _ := json.Marshal(test.text)
		if got := p.drawn("entities.js", fmt.Sprintf(`entities(%s, %s)`, text, test.entities)); got != test.want {
			t.Errorf("%s: %s with %s is shown as\n%s\nand not as\n%s", test.name, test.text, test.entities, got, test.want)
		}
	}
}
