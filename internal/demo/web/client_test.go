package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/app"
	"herald/internal/demo/web"
	"herald/internal/platform/platformtest"
)

// startDemo runs `bot demo --web` until the test ends, and returns the page's address.
func startDemo(t *testing.T) (url string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	printed, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := app.DemoWeb(ctx, out, os.Stderr)
		out.CloseWithError(io.EOF)
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the demo ends with %v", err)
		}
	})
	lines := bufio.NewScanner(printed)
	for lines.Scan() {
		if url := regexp.MustCompile(`http://\S+`).FindString(lines.Text()); url != "" {
			go func() { _, _ = io.Copy(io.Discard, printed) }()
			return url
		}
	}
	t.Fatal("the demo prints no address")
	return ""
}

// client makes calls to a demo, as its page does, and records the demo's events.
type client struct {
	*testing.T
	url string // of the demo, without a slash at its end

	mu     sync.Mutex
	events []web.Event
}

// connect starts a demo and returns a client that receives its events. It makes the test parallel.
func connect(t *testing.T) *client {
	t.Helper()
	t.Parallel()
	c := &client{T: t, url: strings.TrimSuffix(startDemo(t), "/")}
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer resp.Body.Close()
		c.receive(resp.Body)
	}()
	c.waitEvent(0, "the stream to be live", func(e web.Event) bool { return e.Kind == web.KindLive })
	return c
}

// receive records the events of a stream until it ends.
func (c *client) receive(stream io.Reader) {
	for lines := bufio.NewReader(stream); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		data, isEvent := bytes.CutPrefix(line, []byte("data: "))
		if !isEvent {
			continue
		}
		var e web.Event
		if json.Unmarshal(data, &e) != nil {
			e.Kind = "not an event: " + string(data)
		}
		c.mu.Lock()
		c.events = append(c.events, e)
		c.mu.Unlock()
	}
}

// received returns the events so far.
func (c *client) received() []web.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clip(c.events)
}

// waitEvent waits for an event that matches, and returns the first one. It ignores the first skip events. what
// describes the event if it does not come.
func (c *client) waitEvent(skip int, what string, matches func(web.Event) bool) (found web.Event) {
	c.Helper()
	platformtest.WaitUntil(c, what, func() bool {
		events := c.received()[skip:]
		i := slices.IndexFunc(events, matches)
		if i >= 0 {
			found = events[i]
		}
		return i >= 0
	})
	return found
}

// send makes a call with body as JSON, and returns the status and the body of the response. If change is not nil, send
// calls it with the request first.
func (c *client) send(method, path string, body any, change func(*http.Request)) (status int, text string) {
	c.Helper()
	sent, err := json.Marshal(body)
	if err != nil {
		c.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(c.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(sent))
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(req)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Fatal(err)
	}
	return resp.StatusCode, string(read)
}

// call makes a call that must succeed, and decodes the response into result.
func (c *client) call(method, path string, body, result any) {
	c.Helper()
	status, text := c.send(method, path, body, nil)
	if status != http.StatusOK {
		c.Fatalf("%s %+v: %d: %s", path, body, status, text)
	}
	if err := json.Unmarshal([]byte(text), result); err != nil {
		c.Fatalf("%s: %v", path, err)
	}
}

func (c *client) state() (s web.State) {
	c.Helper()
	c.call("GET", "/state", nil, &s)
	return s
}

// The wallets among the examples of the State.
const (
	stakerWallet = 0
	idleWallet   = 1 // stakes nothing
)

// wallet returns stakerWallet or idleWallet.
func (c *client) wallet(n int) string {
	c.Helper()
	var wallets []string
	for _, e := range c.state().Examples {
		if wallet, isStaked := strings.CutPrefix(e.Text, "/staked "); isStaked {
			wallets = append(wallets, wallet)
		}
	}
	return wallets[n]
}

// act makes the call POST /act.
func (c *client) act(a web.Act) (r web.Result) {
	c.Helper()
	c.call("POST", "/act", a, &r)
	return r
}

// answer does an Act, and waits for the bot's next message on its side. The message is new or has changed.
func (c *client) answer(a web.Act) web.Event {
	c.Helper()
	before := len(c.received())
	c.act(a)
	return c.answerAfter(before, a.Side, a.Kind+" "+a.Text)
}

// answerAfter waits for the bot's next message on a side. It ignores the first skip events. question describes what the
// message answers.
func (c *client) answerAfter(skip int, side, question string) web.Event {
	c.Helper()
	return c.waitEvent(skip, "the answer on "+side+" to "+question, func(e web.Event) bool {
		return e.Kind == web.KindMessage && e.Side == side
	})
}

// press presses a button under a message in the name of a person, and waits for the answer. The button's data must name
// the command.
func (c *client) press(as string, on web.Event, command string) web.Event {
	c.Helper()
	button := regexp.MustCompile(`"(callback_data|custom_id)":"([^"]* ` + command + `[^"]*)"`).FindSubmatch(on.Message)
	if button == nil {
		c.Fatalf("no button for %s: %s", command, on.Message)
	}
	return c.answer(web.Act{
		Side:    on.Side,
		Kind:    "press",
		As:      as,
		Chat:    on.Chat,
		Message: on.ID,
		Button:  string(button[2]),
	})
}

// waitBadges waits for the event that exactly these people have the badge on a side. names is a JSON list, such as
// `["registered"]`. waitBadges ignores the first skip events.
func (c *client) waitBadges(skip int, side, names string) {
	c.Helper()
	c.waitEvent(skip, names+" to have the badge on "+side, func(e web.Event) bool {
		return e.Kind == web.KindBadges && e.Side == side && string(e.Message) == names
	})
}

// say sends a person's text on both sides, and returns the answers by side.
func (c *client) say(as, chat, text string) map[string]web.Event {
	c.Helper()
	before := len(c.received())
	c.act(web.Act{Side: web.Both, Kind: "say", As: as, Chat: chat, Text: text})
	return map[string]web.Event{
		web.Telegram: c.answerAfter(before, web.Telegram, text),
		web.Discord:  c.answerAfter(before, web.Discord, text),
	}
}
