package discord

import (
	"fmt"
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/discord/discordtest"
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
	reply := chat.Reply{Title: chat.Say("x"), Actions: many, Ask: &chat.Ask{
		Command: "staked", Param: "wallet", Question: chat.Say("Which wallet? " + strings.Repeat("Really? ", 20)), Example: aWallet,
	}}
	h := connected(t, nil, patient)
	work, p, fake := h.kept(t, discordtest.Interaction{Command: "price"})
	h.first(t, work, p, newMessage(render(reply), false))
	var labels []string
	rows := fake.Answer().Buttons
	for _, row := range rows {
		for _, b := range row {
			labels = append(labels, b.Label)
		}
	}
	if len(rows) != 5 || len(labels) != 25 {
		t.Fatalf("%d rows: %q", len(rows), labels)
	}
	if !strings.HasPrefix(labels[0], "Which wallet?") || !strings.HasSuffix(labels[0], "…") || labels[1] != "Explorer" || labels[2] != "Refresh" ||
		!strings.HasSuffix(labels[3], "😀…") || labels[4] != "Page 0" {
		t.Errorf("%q", labels)
	}
	h.unrefused(t)
}

func TestAnyQuestionIsAskedAsDiscordTakesIt(t *testing.T) {
	h := connected(t, nil, patient)
	work, p, fake := h.kept(t, discordtest.Interaction{Command: "price"})
	long := chat.Param{Name: "wallet", Question: chat.Say(strings.Repeat("Which? ", 20)), Example: strings.Repeat("0x", 100)}
	h.first(t, work, p, response{openModal, modalFor(long, "1 a 0 staked wallet", chat.English)})
	if m := fake.Answer().Modal; m == nil || m.Inputs[0].CustomID != "wallet" || !strings.HasSuffix(m.Title, "…") {
		t.Errorf("%+v", m)
	}
	h.unrefused(t)
}

func TestTheAlternativeTextIsCutToWhatDiscordTakes(t *testing.T) {
	m := render(chat.Reply{Title: chat.Say("x"), Image: &chat.Image{Name: "x.png", PNG: []byte("x"), Alt: chat.Say(strings.Repeat("ä", 3000))}})
	if alt := m.Attachments[0].Description; units(alt) != maxAlt || !strings.HasSuffix(alt, "ä…") {
		t.Errorf("%d units", units(alt))
	}
}

func TestCutKeepsWhatFits(t *testing.T) {
	for in, want := range map[string]string{"": "", "abcd": "abcd", "abcde": "abc…", "😀😀": "😀😀", "😀😀😀": "😀…", "a😀😀": "a😀…"} {
		if got := cut(in, 4); got != want {
			t.Errorf("%q is cut to %q, want %q", in, got, want)
		}
	}
}
