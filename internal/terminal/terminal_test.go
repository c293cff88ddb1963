package terminal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/terminal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ chat.Adapter = (*terminal.Adapter)(nil)

var askers = []terminal.Asker{
	{Name: "registered", User: chat.User{Platform: "telegram", ID: "1"}},
	{Name: "unregistered", User: chat.User{Platform: "telegram", ID: "2"}},
	{Name: "moderator", User: chat.User{Platform: "discord", ID: "3"}, Role: chat.Moderator},
}

// retelling answers with what a request says.
var retelling = &chattest.Handler{Reply: func(_ context.Context, req chat.Request) chat.Reply {
	return chat.Reply{Title: chat.Say(fmt.Sprintf("%s %v from %s:%s %t %d", req.Command, req.Args, req.From.Platform, req.From.ID, req.Direct, req.Role))}
}}

func config(in io.Reader, out io.Writer) terminal.Config {
	return terminal.Config{In: in, Out: out, Askers: askers, Log: slog.New(slog.DiscardHandler)}
}

// talk is what Out holds after handler has answered all of in.
func talk(t *testing.T, in string, handler chat.Handler) string {
	t.Helper()
	var out strings.Builder
	if err := terminal.New(config(strings.NewReader(in), &out)).Run(t.Context(), handler); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestLinesAreAnsweredInOrder(t *testing.T) {
	const (
		first  = " from telegram:1 true 0\n\n"
		second = " from telegram:2 true 0\n\n"
		third  = " from discord:3 true 1\n\n"
		price  = "price {false [] map[]}"
		hint   = "Commands begin with a slash\nWrite /help for what I can do.\n\n"
		nobody = "[!] Nobody by that name\nWrite one of: /as registered, /as unregistered, /as moderator\n\n"
		secret = "(only you see this)\n"
	)
	for in, want := range map[string]string{
		"":                                   "",
		"\n \t\n\r\n\n":                      "",
		"/price":                             price + first,
		"/PRICE@herald\r\n":                  price + first,
		"  /exists\t Telegram   7 \n":        secret + "exists {false [Telegram 7] map[]}" + first,
		"/dance @ann\n":                      "dance {false [@ann] map[]}" + first,
		"/price\n\n/start\n":                 price + first + "start {false [] map[]}" + first,
		"hello\n/\n/ price\n/@herald\n":      hint + hint + hint + hint,
		"/AS Unregistered\n/price\n":         "Now asking as unregistered\n\n" + price + second,
		"/as moderator\n/price\n":            "Now asking as moderator\n\n" + price + third,
		"/as\n/as root\n/as moderator now\n": nobody + nobody + nobody,
		"/price \xff\xfe \x00\n":             "price {false [ ] map[]}" + first,
		"/price\n QUIT\t\n/help\n":           price + first,
		"/price\n/exit\n/help\n":             price + first,
		"please quit\n/exit now\n":           hint + "exit {false [now] map[]}" + first,
	} {
		if got := talk(t, in, retelling); got != want {
			t.Errorf("%q: got  %q\nwant %q", in, got, want)
		}
	}
}

// spanish reads Spanish, and has a private command with an alias.
type spanish struct{ chattest.Handler }

func (*spanish) Commands() chat.Commands {
	return chat.Commands{{Name: "mylogins", Aliases: []string{"logins"}, Visibility: chat.Private}}
}

func (*spanish) Language(req chat.Request, private bool) chat.Language {
	if req.Direct && private {
		return chat.Spanish
	}
	return chat.English
}

func TestAliasesArePrivateTooAndTheAdaptersOwnWordsAreTheAskers(t *testing.T) {
	if out := talk(t, "/logins\n", &spanish{}); out != "(only you see this)\nlogins\n\n" {
		t.Errorf("got %q", out)
	}
	if out := talk(t, strings.Repeat("x", 1<<20+1), &spanish{}); !strings.Contains(out, "1.048.576") { // with commas in English
		t.Errorf("got %q", out)
	}
}

func TestLongLinesAreToldAndPassed(t *testing.T) {
	const most = 1 << 20
	longest := "/price " + strings.Repeat("x", most-len("/price "))
	for name, tt := range map[string]struct {
		line string
		told int
	}{
		"the longest":          {longest, 0},
		"the longest, Windows": {longest + "\r", 0},
		"a byte more":          {longest + "x", 2},
		"two bytes more":       {longest + "xx", 2},
		"CR past the bound":    {longest + "\r\r\rx", 2},
		"far more":             {strings.Repeat(" ", 5*most), 2},
	} {
		out := talk(t, tt.line+"\n/help\n"+strings.TrimSuffix(tt.line, "\r"), &chattest.Handler{})
		if got := strings.Count(out, "[!] That line is too long\n"); got != tt.told || !strings.Contains(out, "help\n\n") {
			t.Errorf("%s: told %d times, want %d; the next line is answered: %t", name, got, tt.told, strings.Contains(out, "help\n\n"))
		}
	}
}

type brokenPipe struct{ err error }

func (b brokenPipe) Read([]byte) (int, error)  { return 0, b.err }
func (b brokenPipe) Write([]byte) (int, error) { return 0, b.err }

func TestBrokenPipesEndRun(t *testing.T) {
	broken := brokenPipe{errors.New("broken pipe")}
	for name, c := range map[string]terminal.Config{
		"reading": config(broken, io.Discard),
		"writing": config(strings.NewReader("/price\n"), broken),
	} {
		if err := terminal.New(c).Run(t.Context(), &chattest.Handler{}); !errors.Is(err, broken.err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
