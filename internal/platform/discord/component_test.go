package discord

import (
	"fmt"
	"strings"
	"testing"

	"herald/internal/chat"
)

// What Discord takes is what the fake takes.
func TestAnyButtonsAreShownAsDiscordTakesThem(t *testing.T) {
	many := []chat.Action{
		{Label: chat.Say("Copy wallet"), Copy: "0x1"},
		{Label: chat.Say("Explorer"), URL: "https://explorer.example/address/0x1"},
		{Label: chat.Say("Far"), URL: "https://explorer.example/" + strings.Repeat("x", 500)},
		{Label: chat.Say("Refresh"), Command: "price", Edit: true},
		{Label: chat.Say("The same"), Command: "price", Edit: true},
		{Label: chat.Say(""), Command: "supply"},
		{Label: chat.Say("Too long a state"), Command: "staked", Args: []string{strings.Repeat("x", 64)}},
		{Label: chat.Say("Empty argument"), Command: "staked", Args: []string{""}},
		{Label: chat.Say(strings.Repeat("😀", 50)), Command: "help"},
	}
	for n := range 40 {
		many = append(many, chat.Action{Label: chat.Say(fmt.Sprint("Page ", n)), Command: "mylogins", Args: []string{fmt.Sprint(n)}})
	}
	simulate(t, overGateway, func(t *testing.T, h *harness) {
		h.reply(0, chat.Reply{Title: chat.Say("x"), Actions: many, Ask: &chat.Ask{
			Command: "staked", Param: "wallet", Question: chat.Say("Which wallet? " + strings.Repeat("Really? ", 20)),
		}})
		var labels []string
		for _, row := range h.ask(t, command("price")).Answer().Buttons {
			for _, b := range row {
				labels = append(labels, b.Label)
			}
		}
		if len(labels) != 25 || !strings.HasPrefix(labels[0], "Which wallet?") || !strings.HasSuffix(labels[0], "…") ||
			labels[1] != "Explorer" || labels[2] != "Refresh" || !strings.HasSuffix(labels[3], "😀…") || labels[4] != "Page 0" {
			t.Errorf("%q", labels)
		}
	})
}

func TestLongTextsAreCutToWhatDiscordTakes(t *testing.T) {
	for in, want := range map[string]string{"": "", "abcd": "abcd", "abcde": "abc…", "😀😀": "😀😀", "😀😀😀": "😀…", "a😀😀": "a😀…"} {
		if got := cut(in, 4); got != want {
			t.Errorf("%q is cut to %q, want %q", in, got, want)
		}
	}
	long := chat.Say(strings.Repeat("ä", 3000))
	m := render(chat.Reply{Title: chat.Say("x"), Image: &chat.Image{Name: "x.png", PNG: []byte("x"), Alt: long}})
	asked := modalFor(chat.Param{Name: "wallet", Question: long, Example: long.Key}, "1 a 0 staked wallet", chat.English)
	for what, n := range map[string][2]int{
		"alternative text": {units(m.Attachments[0].Description), maxAlt},
		"title":            {units(asked.Title), maxModalTitle},
		"label":            {units(asked.Components[0].Label), maxModalTitle},
		"placeholder":      {units(asked.Components[0].Component.Placeholder), maxPlaceholder},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %d units, want %d", what, n[0], n[1])
		}
	}
}
