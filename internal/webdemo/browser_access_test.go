package webdemo_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestTheKeyboardIsEnough does without a mouse whatever there is to do.
func TestTheKeyboardIsEnough(t *testing.T) {
	p := open(t, 1400, 900)
	tabTo := func(selector string, options ...chromedp.KeyOption) {
		t.Helper()
		for range 80 {
			if eval[bool](p, fmt.Sprintf(`document.activeElement.matches(%q)`, selector)) {
				if !eval[bool](p, `getComputedStyle(document.activeElement).outlineStyle !== "none"`) {
					t.Errorf("one does not see that %s has the focus", selector)
				}
				return
			}
			p.keys(kb.Tab, options...)
		}
		t.Fatalf("no Tab leads to %s", selector)
	}
	staker, _ := wallets(p)
	back := chromedp.KeyModifiers(chromedp.ModifierShift)

	// The page begins where one writes.
	p.keys("/")
	p.until("the commands", `document.getElementById("suggestions").childElementCount > 3`)
	p.keys(kb.ArrowDown + kb.ArrowDown + kb.ArrowUp)
	first := wait[string](p, "a choice", `document.querySelector("#suggestions [aria-selected=true] strong")?.textContent`)
	if described := eval[string](p, `document.getElementById(document.activeElement.getAttribute("aria-activedescendant")).innerText`); !strings.HasPrefix(described, first) {
		t.Errorf("%s is chosen and %q is read", first, described)
	}
	p.keys(kb.Enter)
	p.until("the command", fmt.Sprintf(`document.activeElement.value === %q`, first+" "))
	p.asking(func() { p.keys(kb.Enter) }, "telegram", "discord")

	p.keys("/" + "s")
	p.until("the commands", `!document.getElementById("suggestions").hidden`)
	p.keys(kb.Escape)
	p.until("no commands", `document.getElementById("suggestions").hidden && document.activeElement.id === "text"`)
	p.clear()

	p.ask("/price")
	tabTo(`#discord [data-press]`, back)
	p.changing(func() { p.keys(kb.Enter) })
	p.until("the focus where it was", `document.activeElement.matches("#discord [data-press]")`)

	p.ask("/verify abc")
	tabTo(`#discord .primary`, back)
	p.keys(kb.Enter)
	p.until("the modal", `document.activeElement.matches("dialog input")`)
	p.keys(kb.Escape)
	p.until("no modal", `!document.querySelector("dialog") && document.activeElement.matches("#discord .primary")`)
	p.keys(kb.Enter)
	p.until("the modal", `document.activeElement.matches("dialog input")`)
	p.changing(func() { p.keys(staker + kb.Enter) })
	p.until("the answer", `answer("discord")?.includes("This wallet is yours")`)

	tabTo(`#telegram .log`, back)
	tabTo(`#as input`, back)
	p.keys(kb.ArrowDown)
	p.until("another asker", `asker() === "unregistered"`)
	tabTo(`#text`)
	if a := p.asking(func() { p.keys("/exists" + kb.Enter) }, "telegram", "discord"); !strings.Contains(a[0], "Not registered") || !strings.Contains(a[1], "Not registered") {
		t.Errorf("the one who is not registered is answered by\n%s\nand by\n%s", a[0], a[1])
	}
}

// TestEverythingHasANameForScreenReaders reads the page as they do.
func TestEverythingHasANameForScreenReaders(t *testing.T) {
	p := open(t, 1400, 900)
	staker, _ := wallets(p)
	p.as("moderator", "group")
	p.ask("/price 7d")
	p.ask("/staked " + staker)
	p.ask("/exists")
	p.write("/")
	p.until("the commands", `document.getElementById("suggestions").childElementCount > 3`)

	named := []string{"button", "link", "textbox", "combobox", "listbox", "option", "radio", "checkbox", "image", "dialog", "log", "group", "region", "form", "article"}
	seen := map[string]int{}
	text := func(v *accessibility.Value) string {
		if v == nil {
			return ""
		}
		return strings.Trim(string(v.Value), `" `)
	}
	tree, err := chromedp.Run(p.ctx, func(ctx context.Context, t *chromedp.Target) (accessibility.GetFullAXTreeResult, error) {
		return cdp.Call(ctx, t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range tree.Nodes {
		role := text(node.Role)
		if node.Ignored || !slices.Contains(named, role) {
			continue
		}
		seen[role]++
		if text(node.Name) == "" {
			t.Errorf("a %s has no name", role)
		}
	}
	for role, least := range map[string]int{"log": 2, "image": 2, "combobox": 6, "option": 5, "radio": 5, "article": 12, "button": 10, "region": 2} {
		if seen[role] < least {
			t.Errorf("there are %d of the role %s, fewer than %d", seen[role], role, least)
		}
	}
	for _, landmark := range []string{"banner", "main", "contentinfo"} {
		if !slices.ContainsFunc(tree.Nodes, func(n *accessibility.Node) bool { return text(n.Role) == landmark }) {
			t.Errorf("there is no %s", landmark)
		}
	}
}

// TestThePageFitsAndCanBeRead looks for what does not fit and for what is too
// faint, in either scheme.
func TestThePageFitsAndCanBeRead(t *testing.T) {
	for _, width := range []int64{360, 1400} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			p := open(t, width, 800)
			staker, _ := wallets(p)
			for _, text := range []string{"/help", "/price 7d", "/staked " + staker, "/verify " + staker, "/mylogins"} {
				p.ask(text)
			}
			for _, scheme := range []string{"light", "dark"} {
				p.scheme(scheme)
				for _, side := range []string{"telegram", "discord"} {
					if width < 760 {
						p.click(fmt.Sprintf(`#sides [value=%q]`, side))
					}
					for _, wide := range eval[[]string](p, `tooWide()`) {
						t.Errorf("%s, %s: wider than there is room for: %s", scheme, side, wide)
					}
					for _, faint := range eval[[]string](p, `faint()`) {
						t.Errorf("%s, %s: too little contrast: %s", scheme, side, faint)
					}
				}
			}
		})
	}
}
