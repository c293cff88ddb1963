package terminal

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"herald/internal/chat"
)

// fakeTTY is a terminal as wide as it says.
type fakeTTY struct {
	width     int
	isRaw     bool
	suspended int
	err       error
}

func (f *fakeTTY) raw() (restore func(), err error) {
	if f.err != nil {
		return nil, f.err
	}
	f.isRaw = true
	return func() { f.isRaw = false }, nil
}
func (f *fakeTTY) size() (width, height int) { return f.width, 24 }
func (f *fakeTTY) suspend()                  { f.suspended++ }

var menu = chat.Commands{
	{Name: "price", Forms: []chat.Form{{}, {Params: []chat.Param{{Name: "period", Choices: []string{"24h", "7d", "30d"}}}},
		{Unlisted: true, Params: []chat.Param{{Name: "period", Choices: []string{"1h"}}}}}},
	{Name: "staked", Aliases: []string{"stake"}, Forms: []chat.Form{{Params: []chat.Param{{Name: "wallet"}}}}},
	{Name: "exists", Forms: []chat.Form{{}, {Params: []chat.Param{{Name: "user", Kind: chat.Person}}},
		{Params: []chat.Param{{Name: "platform", Choices: []string{"Telegram", "TRON", "TON", "Discord"}}, {Name: "uid"}}}}},
}

var demo = &Adapter{Config: Config{Askers: []Asker{{Name: "registered"}, {Name: "unregistered"}}}}

func completeDemo(text string) []string { return demo.complete(menu, text) }

func TestCompletions(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "/price /staked /exists /as exit quit",
		"/":                  "/price /staked /exists /as",
		"/EX":                "/exists",
		"ex":                 "exit",
		"/nothing":           "",
		"/price ":            "24h 7d 30d",
		"/price 2":           "24h",
		"/price 24h ":        "",
		"/PRICE@herald 3":    "30d",
		"/staked 0":          "",
		"/exists ":           "Telegram TRON TON Discord",
		"/exists t":          "Telegram TRON TON",
		"/exists Telegram ":  "",
		"/as ":               "registered unregistered",
		"/as un":             "unregistered",
		"/as registered ":    "",
		"/dance ":            "",
		"price ":             "",
		"\xff":               "",
		"/price \xff":        "",
		"/price 24h\u00a07d": "",
	} {
		if got := strings.Join(completeDemo(text), " "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// edited are the lines that an editor reads from keys, and what it shows.
func edited(t *testing.T, in io.Reader, tty *fakeTTY) (lines []string, shown string) {
	t.Helper()
	var out strings.Builder
	e := newEditor(in, &out, "> ", tty, completeDemo)
	for {
		next := e.readLine()
		if tty.isRaw {
			t.Fatal("the terminal is left in raw mode")
		}
		if errors.Is(next.err, io.EOF) {
			return lines, out.String()
		}
		if next.err != nil {
			t.Fatal(next.err)
		}
		lines = append(lines, next.text)
	}
}

// oneByOne gives a byte a read, as a slow line does.
type oneByOne struct{ io.Reader }

func (o oneByOne) Read(p []byte) (int, error) { return o.Reader.Read(p[:min(len(p), 1)]) }

func TestKeys(t *testing.T) {
	const up, down, right, left = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D"
	for name, tt := range map[string]struct {
		keys string
		want []string
	}{
		"a line":                      {"/price\r", []string{"/price"}},
		"several lines pasted":        {"/price\n/help\r\n/supply\r", []string{"/price", "/help", "/supply"}},
		"a long paste":                {strings.Repeat("/help\r", 200), slices.Repeat([]string{"/help"}, 200)},
		"arrows":                      {"ac" + left + "b" + right + "d\r", []string{"abcd"}},
		"backspace and delete":        {"abcx\x7f" + left + left + "\x1b[3~\r", []string{"ac"}},
		"history":                     {"one\rtwo\r" + up + up + "\r" + up + up + down + "\r", []string{"one", "two", "one", "one"}},
		"history without blank lines": {"one\rtwo\rtwo\r\r \r" + up + up + "\r", []string{"one", "two", "two", "", " ", "one"}},
		"back from history":           {"one\rtw" + up + down + "o\r", []string{"one", "two"}},
		"Home and End":                {"b\x1b[Ha\x1b[Fc\r", []string{"abc"}},
		"Home and End, as screen has": {"b\x1b[1~a\x1b[4~c\r", []string{"abc"}},
		"Home and End, application":   {"b\x1bOHa\x1bOFc\r", []string{"abc"}},
		"Ctrl-A and Ctrl-E":           {"b\x01a\x05c\r", []string{"abc"}},
		"Ctrl-K":                      {"abc" + left + left + "\x0b\r", []string{"a"}},
		"Ctrl-U":                      {"abc" + left + "\x15\r", []string{"c"}},
		"Ctrl-W":                      {"/staked 0x12\x17x\r", []string{"/staked x"}},
		"words":                       {"a b\x1b[1;5D\x1b[1;5Dx\x1b[1;5Cy\x1bbz\x1bf!\r", []string{"xa zyb!"}},
		"many words at once":          {"ab" + strings.Repeat("\x1bb", 120) + "x\r", []string{"xab"}},
		"Ctrl-D in a line":            {"ab" + left + "\x04\r", []string{"a"}},
		"Ctrl-D alone":                {"one\r\x04two\r", []string{"one"}},
		"Ctrl-C":                      {"one\rtwo\x03three\r", []string{"one"}},
		"Tab":                         {"/pr\t7\t\r", []string{"/price 7d "}},
		"Tab to what is common":       {"/exists t\tr\t1\r", []string{"/exists TRON 1"}},
		"Tab, nothing to add":         {"/exists T\t\tELE\t\r", []string{"/exists Telegram "}},
		"Tab in the middle":           {"/p 7d\x1b[H" + right + right + "\t\r", []string{"/price 7d"}},
		"Tab with nothing known":      {"hello\t\r", []string{"hello"}},
		"wide characters":             {"/price 代币" + left + "x\x7f\r", []string{"/price 代币"}},
		"wide characters erased":      {"代币😀\x7f\x7f\r", []string{"代"}},
		"keys of no use":              {"a\x1b[5~\x1b[15~\x1b[24~b\r", []string{"ab"}},
		"F1 to F4":                    {"a\x1bOP\x1b[[A\x1bO2Pb\r", []string{"ab"}},
		"Escape, then Enter":          {"a\x1b\rb\r", []string{"a", "b"}},
		"Escape, then an arrow":       {"ac\x1b" + left + "b\r", []string{"abc"}},
		"Escape, then Ctrl-C":         {"a\r\x1b\x03b\r", []string{"a"}},
		"Escape, then a Tab":          {"/pr\x1b\t\r", []string{"/price "}},
		"Escape, then a character":    {"a\x1b代b\r", []string{"a代b"}},
		"Alt and Backspace":           {"/staked 0x12\x1b\x7fx\r", []string{"/staked x"}},
		"a sequence without an end":   {"a\x1b[" + strings.Repeat("1;", 1000) + "\rb\r", []string{"a", "b"}},
		"a sequence of 2000 bytes":    {"a\x1b[" + strings.Repeat("1;", 1000) + "Hb\r", []string{"ab"}},
		"a window's title":            {"a\x1b]0;title\x07b\x1b]0;title\x1b\\c\r", []string{"abc"}},
		"a bracketed paste":           {"\x1b[200~/price\r/help\x1b[201~\rx\r", []string{"/price", "/help", "x"}},
		"a paste that does not end":   {"\x1b[200~a\x03", nil},
		"Latin-1":                     {"M\xfcller\r\xe4\r\xe4\xe4代\r", []string{"M?ller", "?", "??代"}},
		"half a character":            {"\xe4\xbbx\xe4\xbb\r\xe4\xbb\x1b[Dy\r", []string{"?x?", "y?"}},
		"replacement characters":      {"\ufffd\ufffd\ufffd\r\x04", []string{"???"}},
		"bytes, then Ctrl-C":          {"a\r" + string(slices.Repeat([]byte{0x80, 0xff, 0xc3}, 500)) + "\x03b\r", []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			// At once, and as slowly as can be.
			for _, in := range []io.Reader{strings.NewReader(tt.keys), oneByOne{strings.NewReader(tt.keys)}} {
				if got, _ := edited(t, in, &fakeTTY{width: 80}); !slices.Equal(got, tt.want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			}
		})
	}
}

func TestTabShowsTheChoices(t *testing.T) {
	_, shown := edited(t, strings.NewReader("/price \t\x15\x04"), &fakeTTY{width: 80})
	if !strings.Contains(shown, "24h  7d  30d\r\n> /price ") {
		t.Errorf("shown: %q", shown)
	}
}

// Package term counts a cell a character.
func TestWideCharactersAreErasedWhole(t *testing.T) {
	for _, keys := range []string{"代币\x7f\x15\x04", "代币\r\x1b[A\x7f\x15\x04"} { // typed, and from the history
		_, shown := edited(t, oneByOne{strings.NewReader(keys)}, &fakeTTY{width: 80})
		after := shown[strings.LastIndex(shown, "币"):]
		if !strings.Contains(after, "\r\x1b[3D\x1b[K> 代") {
			t.Errorf("the line is not shown anew: %q", after)
		}
	}
}

func TestALineWrapsAtTheWidthThatTheTerminalHas(t *testing.T) {
	for _, tty := range []*fakeTTY{{width: 20}, {width: 0}} {
		lines, shown := edited(t, strings.NewReader(strings.Repeat("x", 30)+"\x01y\r"), tty)
		if want := []string{"y" + strings.Repeat("x", 30)}; !slices.Equal(lines, want) {
			t.Errorf("%d: got %q", tty.width, lines)
		}
		if up := strings.Contains(shown, "\x1b[A"); up != (tty.width == 20) {
			t.Errorf("%d wide, the cursor goes up is %t: %q", tty.width, up, shown)
		}
	}
}

func TestControlZSuspends(t *testing.T) {
	tty := &fakeTTY{width: 80}
	if lines, _ := edited(t, strings.NewReader("ab\x1ac\r"), tty); tty.suspended != 1 || !slices.Equal(lines, []string{"abc"}) {
		t.Errorf("suspended %d times, lines %q", tty.suspended, lines)
	}
}

func TestATerminalThatCannotBeEditedIsAnError(t *testing.T) {
	tty := &fakeTTY{err: errors.New("gone")}
	e := newEditor(strings.NewReader("a\r"), io.Discard, "> ", tty, completeDemo)
	if got := e.readLine(); !errors.Is(got.err, tty.err) {
		t.Errorf("got %v", got.err)
	}
}

func TestAPanicLeavesTheTerminalAsItWasFound(t *testing.T) {
	tty := &fakeTTY{width: 80}
	e := newEditor(strings.NewReader("/\thelp\r"), io.Discard, "> ", tty, func(string) []string { panic("of a command") })
	if got := e.readLine(); got.err == nil || !strings.Contains(got.err.Error(), "panic with a string") || tty.isRaw {
		t.Errorf("got %+v, left in raw mode: %t", got, tty.isRaw)
	}
}

func TestAClosedEditorLeavesTheTerminalAlone(t *testing.T) {
	tty := &fakeTTY{width: 80}
	e := newEditor(strings.NewReader("a\r"), io.Discard, "> ", tty, completeDemo)
	e.close()
	if got := e.readLine(); !errors.Is(got.err, io.EOF) {
		t.Errorf("got %+v", got)
	}
	if e.resume(); tty.isRaw {
		t.Error("it is in raw mode")
	}
}

func FuzzEditor(f *testing.F) {
	f.Add("/pr\t\x1b[A\x1b[D代\x7f\r")
	f.Add("\x1b[1;5D\x1bb\x0b\x15\x17\x14\xff\x1b")
	f.Fuzz(func(t *testing.T, keys string) {
		edited(t, strings.NewReader(keys), &fakeTTY{width: 30})
	})
}
