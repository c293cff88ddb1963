package webdemo_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/webdemo"
)

// within bounds waits for what should come at once, and for a service that is
// given up on after seconds.
const within = 20 * time.Second

// client asks the demo as the page does, and remembers what it is told.
type client struct {
	*testing.T
	url string

	mu      sync.Mutex
	told    []webdemo.Event
	changed chan struct{}
}

// connect is a client of a new demo.
func connect(t *testing.T) *client {
	t.Helper()
	url, _ := startDemo(t)
	c := &client{T: t, url: strings.TrimSuffix(url, "/")}
	c.listen()
	return c
}

// again is a client that comes later.
func (c *client) again() *client {
	c.Helper()
	later := &client{T: c.T, url: c.url}
	later.listen()
	return later
}

// listen begins to remember what is told, and returns once that is live.
func (c *client) listen() {
	c.Helper()
	c.changed = make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/events", nil)
	if err != nil {
		c.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	ended := make(chan struct{})
	c.Cleanup(func() { stop(); <-ended })
	go func() {
		defer close(ended)
		defer resp.Body.Close()
		lines := bufio.NewReader(resp.Body)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			if data, is := bytes.CutPrefix(line, []byte("data: ")); is {
				var e webdemo.Event
				if err := json.Unmarshal(data, &e); err != nil {
					c.Errorf("an event is not of the protocol: %v", err)
				}
				c.mu.Lock()
				c.told = append(c.told, e)
				close(c.changed)
				c.changed = make(chan struct{})
				c.mu.Unlock()
			}
		}
	}()
	c.wait("the stream to be live", func(all []webdemo.Event) bool {
		return slices.ContainsFunc(all, func(e webdemo.Event) bool { return e.Kind == webdemo.KindLive })
	})
}

// wait returns all that was told once it is enough.
func (c *client) wait(what string, enough func([]webdemo.Event) bool) []webdemo.Event {
	c.Helper()
	deadline := time.After(within)
	for {
		c.mu.Lock()
		all, changed := slices.Clone(c.told), c.changed
		c.mu.Unlock()
		if enough(all) {
			return all
		}
		select {
		case <-changed:
		case <-deadline:
			c.Fatalf("waited for %s; what was told:\n%s", what, listed(all))
		}
	}
}

// waitFor returns the first event that fits.
func (c *client) waitFor(what string, fits func(webdemo.Event) bool) (found webdemo.Event) {
	c.Helper()
	c.wait(what, func(all []webdemo.Event) bool {
		i := slices.IndexFunc(all, fits)
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found
}

// answered waits for the bot's message that answers what was asked on a side.
func (c *client) answered(side, asked string) webdemo.Event {
	c.Helper()
	return c.waitFor("an answer to "+asked+" on "+side, func(e webdemo.Event) bool {
		return e.Kind == webdemo.KindMessage && e.Side == side && e.ReplyTo == asked && asked != ""
	})
}

func listed(all []webdemo.Event) string {
	var b strings.Builder
	for _, e := range all {
		fmt.Fprintf(&b, "%s %s in %s for %q by %q: %s -> %s %.300s\n", e.Kind, e.Side, e.Chat, e.For, e.From, e.ID, e.ReplyTo, e.Message)
	}
	return b.String()
}

// send makes a call and returns the answer's status and text.
func (c *client) send(method, path, body string, change func(*http.Request)) (status int, text string) {
	c.Helper()
	req, err := http.NewRequestWithContext(c.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
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

// call makes a call that must succeed. No body is a GET.
func (c *client) call(path string, body, result any) {
	c.Helper()
	method, sent := http.MethodGet, []byte(nil)
	if body != nil {
		method = http.MethodPost
		sent, _ = json.Marshal(body)
	}
	status, text := c.send(method, path, string(sent), nil)
	if status != http.StatusOK {
		c.Fatalf("%s %s: %d: %s", path, sent, status, text)
	}
	if err := json.Unmarshal([]byte(text), result); err != nil {
		c.Fatalf("%s: %v", path, err)
	}
}

func (c *client) act(a webdemo.Act) (r webdemo.Result) {
	c.Helper()
	if a.Language == "" {
		a.Language = "en"
	}
	c.call("/act", a, &r)
	return r
}

// say types a text on both sides.
func (c *client) say(as, chat, text string) webdemo.Result {
	c.Helper()
	return c.act(webdemo.Act{Side: webdemo.Both, Kind: "say", As: as, Chat: chat, Text: text})
}

func (c *client) state() (s webdemo.State) {
	c.Helper()
	c.call("/state", nil, &s)
	return s
}

// wallet is that of an example: the one that stakes is 0, one that does not 1.
func (c *client) wallet(n int) string {
	c.Helper()
	_, wallet, _ := strings.Cut(c.state().Examples[n].Text, " ")
	return wallet
}

// shows folds events as the page does, into what is shown at last.
func shows(all []webdemo.Event) (shown []webdemo.Event) {
	for _, e := range all {
		i := slices.IndexFunc(shown, func(s webdemo.Event) bool { return s.Side == e.Side && s.ID == e.ID })
		switch e.Kind {
		case webdemo.KindReset:
			shown = nil
		case webdemo.KindGone:
			shown = slices.Delete(shown, i, i+1)
		case webdemo.KindMessage, webdemo.KindThinking, webdemo.KindAsked, webdemo.KindFailed:
			if i < 0 {
				shown = append(shown, e)
			} else {
				shown[i] = e
			}
		}
	}
	return shown
}

// button is one below a message on either side.
type button struct{ Label, Data, URL string }

// buttons are those below a message.
func buttons(e webdemo.Event) (all []button) {
	var m struct {
		Markup struct {
			Rows [][]struct {
				Text string
				Data string `json:"callback_data"`
				URL  string
			} `json:"inline_keyboard"`
		} `json:"reply_markup"`
		Rows []struct {
			Components []struct {
				Label    string
				CustomID string `json:"custom_id"`
				URL      string
			}
		} `json:"components"`
	}
	_ = json.Unmarshal(e.Message, &m)
	for _, row := range m.Markup.Rows {
		for _, b := range row {
			all = append(all, button{b.Text, b.Data, b.URL})
		}
	}
	for _, row := range m.Rows {
		for _, b := range row.Components {
			all = append(all, button{b.Label, b.CustomID, b.URL})
		}
	}
	return all
}
