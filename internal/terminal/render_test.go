package terminal

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/words"
)

func TestRenderShowsEveryPart(t *testing.T) {
	reply, markers := chattest.FullReply()
	text := render(words.Print(reply), false, look{})
	for _, marker := range markers {
		if !strings.Contains(text, marker) {
			t.Errorf("%s is missing in\n%s", marker, text)
		}
	}
}

func fields(namesAndValues ...string) []chat.Field {
	var all []chat.Field
	for i := 0; i < len(namesAndValues); i += 2 {
		all = append(all, chat.Field{Name: chat.Plain(namesAndValues[i]), Value: chat.Plain(namesAndValues[i+1])})
	}
	return all
}

func sections(all ...[]chat.Field) []chat.Section {
	sections := make([]chat.Section, len(all))
	for i := range all {
		sections[i].Fields = all[i]
	}
	return sections
}

func TestRender(t *testing.T) {
	const wallet = "0x52908400098527886E0F7030069857D2E4169EE7"
	for name, tt := range map[string]struct {
		reply   chat.Reply
		private bool
		want    string
	}{
		"nothing":                     {chat.Reply{}, false, "(nothing to say)"},
		"nothing in another language": {chat.Reply{Language: chat.Spanish}, false, words.Say(chat.Spanish, chat.Say("terminal.nothing"))},
		"all parts": {chat.Reply{
			Tone: chat.Positive, Title: chat.Say("Staked"), Text: chat.Say("This wallet stakes."),
			Sections: []chat.Section{
				{Heading: chat.Say("Pools"), Fields: fields("Pool 03", "1", "Big", "22")},
				{Fields: fields("Total", "23")},
			},
			Notes: []chat.Text{chat.Say("Block 7"), chat.Say("Simulated")},
		}, false, "[+] Staked\nThis wallet stakes.\nPools\n  Pool 03  1\n  Big      22\n  Total  23\nBlock 7\nSimulated"},
		"private":     {chat.Reply{Tone: chat.Negative, Title: chat.Say("Not registered")}, true, "(only you see this)\n[-] Not registered"},
		"text alone":  {chat.Reply{Tone: chat.Warning, Text: chat.Say("Could not be checked.")}, false, "[!] Could not be checked."},
		"half fields": {chat.Reply{Sections: sections(fields("", "value", "name", "", "", ""))}, false, "  value\n  name"},
		"wide names": {chat.Reply{Sections: sections(fields("代币", "1", "abcd", "2", "e\u0301", "3"))}, false,
			"  代币  1\n  abcd  2\n  e\u0301     3"},
		"a long name": {chat.Reply{Sections: sections(fields(strings.Repeat("n", 30), "1", "a", "2"))}, false,
			"  " + strings.Repeat("n", 30) + "  1\n  a  2"},
		"escape sequences": {chat.Reply{Title: chat.Say("\x1b[31mred\x1b]0;title\a\u009b2J"), Notes: []chat.Text{chat.Say("a\r\n\nb\u202ec")}}, false,
			"[31mred]0;title2J\na bc"},
		"word joiners": {chat.Reply{Title: chat.Say("a.\u2060b@\u2060c"), Text: chat.Say("\u2060"), Sections: sections(fields("\u2060", "a"))}, false,
			"a.b@c\n  a"},
		"a picture": {chat.Reply{Title: chat.Say("Price"), Text: chat.Say("text"), Image: &chat.Image{PNG: []byte("\x89PNG"), Alt: chat.Say("A line")}}, false,
			"Price\ntext\nA line"},
		"what is shown short": {chat.Reply{
			Sections: []chat.Section{{Heading: chat.Say("Stake"), Fields: []chat.Field{
				{Name: chat.Say("Wallet"), Value: chat.Address{Hex: wallet, URL: "https://explorer.example/"}},
				{Name: chat.Say("Total"), Value: chat.Amount{Decimal: decimal.RequireFromString("1012345.000000000000000001"), Symbol: "TKN"}},
			}}},
			Notes: []chat.Text{chat.Say("note")},
		}, false, "Stake\n  Wallet  0x5290…9EE7\n  Total   1,012,345 TKN\nExactly\n" +
			"  Stake · Wallet  " + wallet + "\n  Stake · Total   1,012,345.000000000000000001 TKN\nnote"},
		"a question": {chat.Reply{Title: chat.Say("Which wallet?"), Ask: &chat.Ask{Command: "staked", Param: "wallet", Question: chat.Say("Which wallet?")}}, false,
			"Which wallet?"},
		"buttons": {chat.Reply{Title: chat.Say("Stake"), Actions: []chat.Action{
			{Label: chat.Say("Refresh"), Command: "staked", Args: []string{wallet}, Edit: true},
			{Label: chat.Say("Price"), Command: "price"},
			{Label: chat.Say("Copy"), Copy: wallet},
			{Label: chat.Say("Explorer"), URL: "https://explorer.example/"},
		}}, false, "Stake\n[Refresh] /staked " + wallet + " · [Price] /price · [Explorer] https://explorer.example/"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := render(words.Print(tt.reply), tt.private, look{}); strings.ReplaceAll(got, "\u00a0", " ") != tt.want {
				t.Errorf("got\n%q, want\n%q", got, tt.want)
			}
		})
	}
}

func TestTonesHaveColoursAtATerminal(t *testing.T) {
	notes := []chat.Text{chat.Say("Block 7")}
	for name, tt := range map[string]struct {
		reply   chat.Reply
		private bool
		want    string
	}{
		"positive": {chat.Reply{Tone: chat.Positive, Title: chat.Say("Staked"), Notes: notes}, false,
			"\x1b[32m[+] Staked\x1b[0m \x1b[2m(simulated)\x1b[0m\n\x1b[2mBlock 7\x1b[0m"},
		"negative, private": {chat.Reply{Tone: chat.Negative, Title: chat.Say("No")}, true,
			"\x1b[2m(only you see this)\x1b[0m\n\x1b[31m[-] No\x1b[0m \x1b[2m(simulated)\x1b[0m"},
		"warning": {chat.Reply{Tone: chat.Warning, Title: chat.Say("Late"), Text: chat.Say("text")}, false,
			"\x1b[33m[!] Late\x1b[0m \x1b[2m(simulated)\x1b[0m\ntext"},
		"none": {chat.Reply{Title: chat.Say("Price"), Sections: sections(fields("a", "1")),
			Actions: []chat.Action{{Label: chat.Say("Price"), Command: "price"}}}, false,
			"Price \x1b[2m(simulated)\x1b[0m\n  a  1\n\x1b[2m[Price] /price\x1b[0m"},
		"what somebody else wrote": {chat.Reply{Tone: chat.Positive, Title: chat.Say("\x1b[31mred\u009b0m"), Notes: []chat.Text{chat.Say("\x1b]0;a\a")}}, false,
			"\x1b[32m[+] [31mred0m\x1b[0m \x1b[2m(simulated)\x1b[0m\n\x1b[2m]0;a\x1b[0m"},
	} {
		got := render(words.Print(tt.reply), tt.private, look{mark: chat.Say("terminal.simulated"), colour: true})
		if got != tt.want {
			t.Errorf("%s: got\n%q, want\n%q", name, got, tt.want)
		}
	}
}

func TestTimesAreToldByHowLongAgoTheyWere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := chat.Moment{Time: time.Now()}
		time.Sleep(2*time.Minute + 59*time.Second)
		got := render(words.Print(chat.Reply{Notes: []chat.Text{chat.SayWith("reference", chat.Values{"reference": at})}}), false, look{})
		if got != "Reference 2 min ago" {
			t.Errorf("got %q", got)
		}
	})
}

func FuzzRenderIsPlainText(f *testing.F) {
	f.Add("Title", "text", "heading", "name", "value", "note", true)
	f.Add("\x1b[2J", "\u2028", "\u2060", "\xff", "\u0085", "\n\n", false)
	f.Fuzz(func(t *testing.T, title, text, heading, name, value, note string, private bool) {
		got := render(words.Print(chat.Reply{Title: chat.Say(title), Text: chat.Say(text), Notes: []chat.Text{chat.Say(note)},
			Sections: []chat.Section{{Heading: chat.Say(heading), Fields: []chat.Field{
				{Name: chat.Plain(name), Value: chat.Foreign(value)}, {Name: chat.Code(value)}, {Value: chat.Amount{Symbol: value}},
				{Name: chat.Say(name), Value: chat.Address{Hex: value, URL: name}}}}},
			Image:   &chat.Image{Alt: chat.Say(note)},
			Actions: []chat.Action{{Label: chat.Say(title), URL: value}, {Label: chat.Say(title), Command: name, Args: []string{value}}},
		}), private, look{mark: chat.Say(note)})
		if !utf8.ValidString(got) {
			t.Errorf("not UTF-8: %q", got)
		}
		for line := range strings.Lines(got + "\n") {
			if strings.TrimSpace(line) == "" {
				t.Errorf("an empty line in %q", got)
			}
			if i := strings.IndexFunc(strings.TrimSuffix(line, "\n"), unicode.IsControl); i >= 0 {
				t.Errorf("a control character in %q", line)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{"", "/price", "/as moderator", "/PRICE@herald x", "/\xff\x00", "//", "hello", "/@", "\u2003/as"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		command, arguments := parse(line)
		if strings.ContainsAny(command, "@ \n") {
			t.Errorf("command %q", command)
		}
		for _, word := range append([]string{command}, arguments...) {
			if !utf8.ValidString(word) {
				t.Errorf("%q is not UTF-8", word)
			}
		}
	})
}

func FuzzAdapterAnswersEveryLine(f *testing.F) {
	f.Add("/price\r\n\n/as nobody\nhello\n/mylogins")
	f.Add("\x00\n\xff\n/\n")
	f.Add("/help\n Exit\n/help")
	f.Fuzz(func(t *testing.T, in string) {
		var out strings.Builder
		a := New(Config{In: strings.NewReader(in), Out: &out, Askers: []Asker{{Name: "ann"}}})
		if err := a.Run(t.Context(), &chattest.Handler{}); err != nil {
			t.Fatal(err)
		}
		lines := 0
		for line := range strings.Lines(in) {
			if leaves(line) {
				break
			}
			if command, arguments := parse(line); command != "" || len(arguments) > 0 {
				lines++
			}
		}
		if got := strings.Count(out.String(), "\n\n"); got != lines || strings.Contains(out.String(), "\n\n\n") {
			t.Errorf("%d answers to %d lines: %q", got, lines, out.String())
		}
	})
}
