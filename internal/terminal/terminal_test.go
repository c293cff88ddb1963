package terminal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// retell answers with all that a request says.
func retell(_ context.Context, req chat.Request) chat.Reply {
	return chat.Reply{
		Title: chat.Say(req.Command),
		Text:  chat.Say(fmt.Sprint(req.Args)),
		Notes: []chat.Text{chat.Say(fmt.Sprintf("%s %s direct=%t moderator=%t", req.From.Platform, req.From.ID, req.Direct, req.Role == chat.Moderator))},
	}
}

func config(in io.Reader, out io.Writer) terminal.Config {
	return terminal.Config{In: in, Out: out, Askers: askers, Log: slog.New(slog.DiscardHandler)}
}

// talk is what Out holds after handler has answered all of in.
func talk(t *testing.T, in string, handler chat.Handler, change func(*terminal.Config)) string {
	t.Helper()
	var out strings.Builder
	c := config(strings.NewReader(in), &out)
	if change != nil {
		change(&c)
	}
	if err := terminal.New(c).Run(t.Context(), handler); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

var retelling = &chattest.Handler{Reply: retell}

func TestLinesAreAnsweredInOrder(t *testing.T) {
	const (
		first  = "\ntelegram 1 direct=true moderator=false\n\n"
		second = "\ntelegram 2 direct=true moderator=false\n\n"
		third  = "\ndiscord 3 direct=true moderator=true\n\n"
		hint   = "Commands begin with a slash\nWrite /help for what I can do.\n\n"
		nobody = "[!] Nobody by that name\nWrite one of: /as registered, /as unregistered, /as moderator\n\n"
		secret = "(only you see this)\n"
	)
	for name, tt := range map[string]struct{ in, want string }{
		"nothing":                {"", ""},
		"blank lines":            {"\n \t\n\r\n\n", ""},
		"a command":              {"/price\n", "price\n{false [] map[]}" + first},
		"no newline at the end":  {"/price", "price\n{false [] map[]}" + first},
		"a Windows line":         {"/staked 0x1\r\n", "staked\n{false [0x1] map[]}" + first},
		"words and white space":  {"  /exists\t Telegram   7 \n", secret + "exists\n{false [Telegram 7] map[]}" + first},
		"upper case":             {"/PRICE\n", "price\n{false [] map[]}" + first},
		"the bot's name":         {"/price@herald\n", "price\n{false [] map[]}" + first},
		"somebody's name":        {"/exists @ann\n", secret + "exists\n{false [@ann] map[]}" + first},
		"an alias":               {"/start\n", "start\n{false [] map[]}" + first},
		"a private command":      {"/mylogins\n", secret + "mylogins\n{false [] map[]}" + first},
		"an unknown command":     {"/dance\n", "dance\n{false [] map[]}" + first},
		"two in order":           {"/price\n\n/help\n", "price\n{false [] map[]}" + first + "help\n{false [] map[]}" + first},
		"small talk":             {"hello\n", hint},
		"a slash alone":          {"/\n/ price\n/@herald\n", hint + hint + hint},
		"another asker":          {"/as unregistered\n/price\n", "Now asking as unregistered\n\nprice\n{false [] map[]}" + second},
		"a moderator":            {"/AS Moderator\n/price\n", "Now asking as moderator\n\nprice\n{false [] map[]}" + third},
		"there and back":         {"/as moderator\n/as registered\n/price\n", "Now asking as moderator\n\nNow asking as registered\n\nprice\n{false [] map[]}" + first},
		"nobody":                 {"/as\n/as root\n/as moderator now\n/price\n", nobody + nobody + nobody + "price\n{false [] map[]}" + first},
		"bytes that are no text": {"/price \xff\xfe \x00\n", "price\n{false [ ] map[]}" + first},
	} {
		t.Run(name, func(t *testing.T) {
			if got := talk(t, tt.in, retelling, nil); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// aliased has one command, a private one with an alias.
type aliased struct{ chattest.Handler }

func (*aliased) Commands() chat.Commands {
	return chat.Commands{{Name: "mylogins", Aliases: []string{"logins"}, Visibility: chat.Private}}
}

func TestAliasesArePrivateToo(t *testing.T) {
	out := talk(t, "/logins\n", &aliased{}, nil)
	if want := "(only you see this)\nlogins\n\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestEveryAnswerCarriesTheMark(t *testing.T) {
	in := "/price\n/as moderator\n/as root\nhello\n/mylogins\n" + strings.Repeat("x", 1<<20+1) + "\n"
	out := talk(t, in, retelling, func(c *terminal.Config) { c.Mark = chat.Say("(a play)") })
	answers := strings.Split(strings.TrimSuffix(out, "\n\n"), "\n\n")
	if len(answers) != 6 {
		t.Fatalf("%d answers to 6 lines: %q", len(answers), out)
	}
	for _, answer := range answers {
		first, _, _ := strings.Cut(strings.TrimPrefix(answer, "(only you see this)\n"), "\n")
		if !strings.HasSuffix(first, " (a play)") || strings.Count(answer, "(a play)") != 1 {
			t.Errorf("the mark is not at the end of the first line of %q", answer)
		}
	}
}

func TestExitAndQuitLeave(t *testing.T) {
	for _, line := range []string{"exit", "quit", "/exit", " QUIT\t"} {
		if got := talk(t, "/price\n"+line+"\n/help\n", &chattest.Handler{}, nil); got != "price\n\n" {
			t.Errorf("%q: got %q", line, got)
		}
	}
	for _, line := range []string{"/exit now", "/exists", "please quit"} {
		if got := talk(t, line+"\n/help\n", &chattest.Handler{}, nil); !strings.HasSuffix(got, "help\n\n") {
			t.Errorf("%q leaves: got %q", line, got)
		}
	}
}

// spanish is a handler whose asker reads Spanish.
type spanish struct{ chattest.Handler }

func (*spanish) Language(req chat.Request, private bool) chat.Language {
	if req.Direct && private {
		return chat.Spanish
	}
	return chat.English
}

func TestTheAdaptersOwnWordsAreInTheAskersLanguage(t *testing.T) {
	out := talk(t, strings.Repeat("x", 1<<20+1)+"\n", &spanish{}, nil)
	if !strings.Contains(out, "1.048.576") { // with commas in English
		t.Errorf("got %q", out)
	}
}

func TestPromptStandsBeforeEveryLine(t *testing.T) {
	got := talk(t, "hello\n\n", retelling, func(c *terminal.Config) { c.Prompt = true })
	want := "> Commands begin with a slash\nWrite /help for what I can do.\n\n> > \n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLongLinesAreToldAndPassed(t *testing.T) {
	const most = 1 << 20
	longest := "/price " + strings.Repeat("x", most-len("/price "))
	for name, tt := range map[string]struct {
		line string
		long bool
	}{
		"the longest":          {longest, false},
		"the longest, Windows": {longest + "\r", false},
		"a byte more":          {longest + "x", true},
		"CR past the bound":    {longest + "\r\r\rx", true},
		"blank and too long":   {strings.Repeat(" ", most+1), true},
		"far more":             {strings.Repeat("/", 5*most), true},
	} {
		t.Run(name, func(t *testing.T) {
			handler := &chattest.Handler{}
			out := talk(t, tt.line+"\n/help\n"+tt.line, handler, nil)
			if got := strings.Count(out, "[!] That line is too long\n"); (got == 2) != tt.long || got == 1 {
				t.Errorf("told %d times that a line is too long", got)
			}
			if !strings.Contains(out, "help\n\n") {
				t.Errorf("the next line is not answered")
			}
		})
	}
}

func TestRunEndsWhileItWaitsForALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, typed := io.Pipe()
		defer typed.Close()
		a := terminal.New(config(in, io.Discard))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- a.Run(ctx, &chattest.Handler{}) }()
		synctest.Wait()
		if !a.Ready() {
			t.Error("not ready while running")
		}
		start := time.Now()
		cancel()
		if err := <-done; err != nil || time.Since(start) > 0 {
			t.Errorf("ended with %v after %v", err, time.Since(start))
		}
		if a.Ready() {
			t.Error("ready after its end")
		}
	})
}

func TestCommandInHandIsFinished(t *testing.T) {
	for name, tt := range map[string]struct{ needs, takes time.Duration }{
		"in time":  {5 * time.Second, 5 * time.Second},
		"too late": {time.Minute, chat.DrainTime - 3*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				handler := &chattest.Handler{Reply: func(ctx context.Context, _ chat.Request) chat.Reply {
					select {
					case <-time.After(tt.needs):
					case <-ctx.Done():
					}
					return chat.Reply{Title: chat.Say("done")}
				}}
				var out strings.Builder
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- terminal.New(config(strings.NewReader("/price\n/help\n"), &out)).Run(ctx, handler) }()
				synctest.Wait()
				start := time.Now()
				cancel()
				if err := <-ended; err != nil || time.Since(start) != tt.takes {
					t.Errorf("ended with %v after %v, want %v", err, time.Since(start), tt.takes)
				}
				if out.String() != "done\n\n" || len(handler.Requests()) != 1 {
					t.Errorf("out %q, %d requests", out.String(), len(handler.Requests()))
				}
			})
		})
	}
}

func TestPanicsBecomeAnswers(t *testing.T) {
	handler := &chattest.Handler{Reply: func(context.Context, chat.Request) chat.Reply { panic("secret") }}
	out := talk(t, "/mylogins\nhello\n", handler, nil)
	if !strings.HasPrefix(out, "(only you see this)\n[!] Something went wrong\nReference ") || strings.Contains(out, "secret") ||
		strings.Count(out, "\n\n") != 2 {
		t.Errorf("got %q", out)
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
