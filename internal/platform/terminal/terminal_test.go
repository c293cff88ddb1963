package terminal_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"herald/internal/chat"
	"herald/internal/platform"
	"herald/internal/platform/platformtest"
	"herald/internal/platform/terminal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ platform.Adapter = (*terminal.Adapter)(nil)

var users = []terminal.User{
	{Name: "registered", User: chat.User{Platform: "telegram", ID: "1"}},
	{Name: "unregistered", User: chat.User{Platform: "telegram", ID: "2"}},
	{Name: "moderator", User: chat.User{Platform: "discord", ID: "3"}, Role: chat.Moderator},
}

// retelling answers with what a request says. It asks for the one word of /staked.
var retelling = &platformtest.Handler{Reply: func(_ context.Context, req *chat.Request) *chat.Reply {
	reply := &chat.Reply{Title: chat.Say(fmt.Sprintf("%s %v from %s:%s %t %d", req.Command, req.Args, req.From.Platform, req.From.ID, req.Direct, req.Role))}
	if req.Command == "staked" && req.Args.Len() != 1 {
		reply.Ask = &chat.Ask{Command: "staked"}
	}
	return reply
}}

func config(in io.Reader, out io.Writer) terminal.Config {
	return terminal.Config{In: in, Out: out, Users: users, Log: slog.New(slog.DiscardHandler)}
}

// talk is what Out holds after handler has answered all of in.
func talk(t *testing.T, in string, handler platform.Handler) string {
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
		price  = "price {[] map[]}"
		start  = "start {[] map[]}" + first
		nobody = "[!] Nobody by that name\nType one of: /as registered, /as unregistered, /as moderator\n\n"
		secret = "(only you see this)\n"
	)
	for in, want := range map[string]string{
		"":                                   "",
		"/PRICE@herald\r\n":                  price + first,
		"  /exists\t Telegram   7 \n":        secret + "exists {[Telegram 7] map[]}" + first,
		"/save 0x1\n/nobody\n":               secret + "save {[0x1] map[]}" + first + "nobody {[] map[]}" + first,
		"/price\n\n/start\n":                 price + first + "start {[] map[]}" + first,
		"hello you\n/ price\n/@herald\n":     start + "{[price] map[]}" + first + "{[] map[]}" + first,
		"0x12\nis 0x12 ok\n":                 "staked {[0x12] map[]}" + first + "staked {[is 0x12 ok] map[]}" + first,
		"/AS Unregistered\n/price\n":         "Now asking as unregistered\n\n" + price + second,
		"/as moderator\n/price\n":            "Now asking as moderator\n\n" + price + third,
		"/as\n/as root\n/as moderator now\n": nobody + nobody + nobody,
		"/price \xff\xfe \x00\n":             "price {[ ] map[]}" + first,
		"/price\n QUIT\t\n/help\n":           price + first,
		"/staked\n0x1\nw2\n":                 "staked {[] map[]}" + first + "staked {[0x1] map[]}" + first + start,
		"/staked\n0x1 2\nquit now\n0x3\n":    "staked {[] map[]}" + first + "staked {[0x1 2] map[]}" + first + "staked {[quit now] map[]}" + first + "staked {[0x3] map[]}" + first,
		"/staked\n \nw1\n":                   "staked {[] map[]}" + first + start,
		"/staked\n/price\nw1\n":              "staked {[] map[]}" + first + price + first + start,
		"/staked\n/as moderator\nw1\n":       "staked {[] map[]}" + first + "Now asking as moderator\n\nstart {[] map[]}" + third,
		"please quit\n/exit now\n":           start + "exit {[now] map[]}" + first,
	} {
		if got := talk(t, in, retelling); got != want {
			t.Errorf("%q: got  %q\nwant %q", in, got, want)
		}
	}
}

// screen is an Out that keeps what each Write shows.
type screen chan string

func (s screen) Write(p []byte) (int, error) {
	s <- string(p)
	return len(p), nil
}

func TestAdapterKeepsTheContract(t *testing.T) {
	platformtest.TestAdapter(t, func(t *testing.T) platformtest.AdapterTest {
		in, keyboard := io.Pipe()
		t.Cleanup(func() { keyboard.Close() })
		out := make(screen, 1000)
		var all []platformtest.Message
		return platformtest.AdapterTest{
			Adapter: terminal.New(config(in, out)),
			Ask: func(_ *testing.T, command string, argument ...string) {
				// A pipe takes a line when it is read, which for the next one
				// is after the answer.
				go fmt.Fprintln(keyboard, "/"+command, strings.Join(argument, " "))
			},
			Messages: func(t *testing.T, atLeast int) []platformtest.Message {
				t.Helper()
				for len(all) < atLeast || len(out) > 0 {
					select {
					case text := <-out:
						body, private := strings.CutPrefix(strings.TrimSuffix(text, "\n\n"), "(only you see this)\n")
						all = append(all, platformtest.Message{Text: body, Private: private})
					case <-time.After(20 * time.Second):
						t.Fatalf("not %d messages in time: %+v", atLeast, all)
					}
				}
				return all
			},
			Faults: func() []string { return nil },
			Args:   func(wallet string) chat.Args { return chat.Typed(wallet) },
		}
	})
}
