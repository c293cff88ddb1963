package platformtest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/platform"
)

// Message is a message that a fake platform shows.
type Message struct {
	Text string
	// Private marks a message that the sender alone can read.
	Private bool
}

// AdapterTest has an adapter that is not running yet, and a fake of its platform.
type AdapterTest struct {
	Adapter platform.Adapter
	// Ask gives a command in a group, or in the platform's only chat, as somebody who can
	// be answered privately. It does not wait for the answer. The argument is the wallet
	// of "staked".
	Ask func(t *testing.T, command string, argument ...string)
	// Messages returns the messages shown, in order, once there are at least atLeast. It fails the test if that takes
	// too long.
	Messages func(t *testing.T, atLeast int) []Message
	// Faults returns the errors that the platform found in the adapter's calls.
	Faults func() []string
	// Press presses the button with this label below the newest message. It does not wait for the answer. It is nil on
	// a platform without buttons.
	Press func(t *testing.T, label string, by Presser)
	// Args returns the Args that the adapter makes of the argument of "staked".
	Args func(wallet string) chat.Args
}

// Presser is the person who presses a button.
type Presser string

const (
	// Sender sent the command that the message answers.
	Sender Presser = "the sender"
	// Another is another person who sees the message.
	Another Presser = "another person"
)

// TestAdapter tests the contract of platform.Adapter. It calls open for each part.
func TestAdapter(t *testing.T, open func(t *testing.T) AdapterTest) {
	for name, test := range map[string]func(*testing.T, AdapterTest){
		"a request says who asked what and where":      requests,
		"one answer to each of many requests":          oneAnswerEach,
		"a private answer reaches its sender alone":    privacy,
		"a reply is shown with every field":            everyField,
		"a reply of any length is shortened and shown": limits,
		"a panic stays with its sender":                panics,
		"what is in flight is finished at the end":     drain,
		"a press is a request of whoever presses":      presses,
		"a private answer to a press replaces nothing": privatePresses,
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			test(t, h)
			if faults := h.Faults(); len(faults) > 0 {
				t.Errorf("the platform refuses %q", faults)
			}
		})
	}
}

// run runs the adapter until the test ends. stop ends it earlier, and returns the result of
// Run.
func (h AdapterTest) run(t *testing.T, handler platform.Handler) (stop func() error) {
	t.Helper()
	if h.Adapter.Ready() {
		t.Error("ready before Run")
	}
	stop = Start(t, func(ctx context.Context) error { return h.Adapter.Run(ctx, handler) })
	t.Cleanup(func() {
		if err := stop(); err != nil || h.Adapter.Ready() {
			t.Errorf("Run: %v; ready after it: %v", err, h.Adapter.Ready())
		}
	})
	return stop
}

func requests(t *testing.T, h AdapterTest) {
	const wallet = "0x52908400098527886E0F7030069857D2E4169EE7"
	handler := &Handler{}
	h.run(t, handler)
	h.Ask(t, "staked", wallet)
	h.Messages(t, 1)
	h.Ask(t, "price")
	h.Messages(t, 2)
	got := handler.Requests()
	if len(got) != 2 {
		t.Fatalf("%d requests, want 2: %+v", len(got), got)
	}
	staked, price := got[0], got[1]
	if staked.Command != "staked" || !reflect.DeepEqual(staked.Args, h.Args(wallet)) {
		t.Errorf("staked with a wallet became %+v", staked)
	}
	if price.Command != "price" || price.Args.Len() != 0 {
		t.Errorf("price became %+v", price)
	}
	if staked.ID == "" || staked.ID == price.ID {
		t.Errorf("the IDs are %q and %q", staked.ID, price.ID)
	}
	if staked.From.Platform == "" || staked.From.ID == "" || staked.From != price.From {
		t.Errorf("one person asked as %+v and as %+v", staked.From, price.From)
	}
	if staked.Chat == "" || staked.Chat != price.Chat {
		t.Errorf("the requests in one chat have the chats %q and %q", staked.Chat, price.Chat)
	}
}

func oneAnswerEach(t *testing.T, h AdapterTest) {
	const requests = 12
	handler := &Handler{Reply: func(_ context.Context, req *chat.Request) *chat.Reply {
		return &chat.Reply{Title: chat.Say("answer to " + req.ID)}
	}}
	stop := h.run(t, handler)
	for range requests {
		h.Ask(t, "price")
	}
	h.Messages(t, requests)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	messages := h.Messages(t, requests)
	for _, req := range handler.Requests() {
		told := func(m Message) bool { return strings.Contains(m.Text, "answer to "+req.ID) }
		if !slices.ContainsFunc(messages, told) {
			t.Errorf("no answer to request %s in %+v", req.ID, messages)
		}
	}
	if len(messages) != requests || len(handler.Requests()) != requests {
		t.Errorf("%d messages and %d requests, want %d", len(messages), len(handler.Requests()), requests)
	}
}

func privacy(t *testing.T, h AdapterTest) {
	const secret = "nobodyelsesbusiness"
	handler := &Handler{Reply: func(_ context.Context, req *chat.Request) *chat.Reply {
		reply, _ := FullReply()
		reply.Title = chat.Say(secret)
		reply.Text = chat.Say(secret)
		reply.Notes = []chat.Text{chat.Say(secret)}
		return reply
	}}
	h.run(t, handler)
	for _, command := range []string{"mylogins", "exists"} {
		h.Ask(t, command)
	}
	var private int
	for n := 2; private < 2; n++ {
		private = 0
		for _, m := range h.Messages(t, n) {
			if m.Private && strings.Contains(m.Text, secret) {
				private++
			}
			if !m.Private && (strings.Contains(m.Text, secret) || strings.Contains(m.Text, "marker")) {
				t.Fatalf("everybody can read %q", m.Text)
			}
		}
	}
}

func everyField(t *testing.T, h AdapterTest) {
	reply, markers := FullReply()
	h.run(t, &Handler{Reply: func(context.Context, *chat.Request) *chat.Reply { return reply }})
	h.Ask(t, "price")
	text := h.Messages(t, 1)[0].Text
	for _, marker := range markers {
		if !strings.Contains(text, marker) {
			t.Errorf("%s is not shown in %q", marker, text)
		}
	}
}

// longReplies returns replies that are too long for every platform with a limit, each in
// another field.
func longReplies() []chat.Reply {
	long := strings.Repeat("long @here <b>**_ 😀 ", 2000)
	var many []chat.Field
	for i := range 3000 {
		name := chat.Plain(fmt.Sprintf("name %d", i))
		many = append(many, chat.Field{Name: name, Value: chat.Untrusted("value_*[`")})
	}
	var headings []chat.Section
	for i := range 2000 {
		heading := chat.Say(fmt.Sprintf("heading %d", i))
		headings = append(headings, chat.Section{Heading: heading, Fields: many[:2]})
	}
	kept := chat.Say("kept")
	notes := slices.Repeat([]chat.Text{chat.Say(long)}, 18)
	return []chat.Reply{
		{Title: kept, Text: chat.Say(long)},
		{Title: kept, Notes: notes},
		{
			Title: kept,
			Sections: []chat.Section{
				{Heading: chat.Say("many"), Fields: many},
				{Heading: chat.Say("few"), Fields: many[:2]},
			},
		},
		{Title: kept, Sections: headings},
		{
			Title: kept,
			Sections: []chat.Section{{
				Heading: chat.Say(long),
				Fields:  []chat.Field{{Name: chat.Plain(long), Value: chat.Untrusted(long)}},
			}},
		},
		{Title: chat.Say("kept " + long), Text: chat.Say(long), Sections: headings, Notes: notes[:1]},
	}
}

func limits(t *testing.T, h AdapterTest) {
	replies := longReplies()
	var asked atomic.Int32
	handler := &Handler{Reply: func(context.Context, *chat.Request) *chat.Reply {
		return &replies[asked.Add(1)-1]
	}}
	h.run(t, handler)
	for i := range replies {
		h.Ask(t, "price")
		if text := h.Messages(t, i+1)[i].Text; !strings.Contains(text, "kept") {
			t.Errorf("reply %d is shown as %q", i, text)
		}
	}
}

func panics(t *testing.T, h AdapterTest) {
	const secret = "what somebody typed"
	h.run(t, &Handler{Reply: func(_ context.Context, req *chat.Request) *chat.Reply {
		if req.Command == "help" {
			panic(secret)
		}
		return &chat.Reply{Title: chat.Say(req.Command)}
	}})
	h.Ask(t, "help")
	text := h.Messages(t, 1)[0].Text
	if !strings.Contains(text, "Something went wrong") || !strings.Contains(text, "Reference ") ||
		strings.Contains(text, secret) {
		t.Errorf("a panic is told as %q", text)
	}
	h.Ask(t, "price")
	if text := h.Messages(t, 2)[1].Text; !strings.Contains(text, "price") {
		t.Errorf("after a panic the next answer is %q", text)
	}
}

func drain(t *testing.T, h AdapterTest) {
	started, finish := make(chan struct{}), make(chan struct{})
	stop := h.run(t, &Handler{Reply: func(context.Context, *chat.Request) *chat.Reply {
		close(started)
		<-finish
		return &chat.Reply{Title: chat.Say("finished")}
	}})
	h.Ask(t, "price")
	<-started
	time.AfterFunc(50*time.Millisecond, func() { close(finish) })
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	select {
	case <-finish:
	default:
		t.Error("Run did not wait for the command in flight")
	}
	if messages := h.Messages(t, 1); len(messages) != 1 || !strings.Contains(messages[0].Text, "finished") {
		t.Errorf("the command in flight is answered with %+v", messages)
	}
}

// checkPress checks the request that a press became, under the answer to another request.
func checkPress(t *testing.T, asked, pressed chat.Request, by Presser) {
	t.Helper()
	if pressed.Command != "price" || pressed.Chat != asked.Chat || pressed.Community != asked.Community {
		t.Errorf("asked %+v, and the press became %+v", asked, pressed)
	}
	isSender := pressed.From == asked.From
	if pressed.From.ID == "" || isSender != (by == Sender) {
		t.Errorf("asked as %+v, and pressed as %+v", asked.From, pressed.From)
	}
}

// presses checks that the person who presses is the sender, that a newer answer replaces the message, that an older one
// does not, and that a refusal does not and is shown to nobody else.
func presses(t *testing.T, h AdapterTest) {
	if h.Press == nil {
		return
	}
	const button, refusal = "pressed here", "notforyou"
	start := time.Now().Add(-time.Hour) // A time in the future would mean that the clock has jumped back.
	var asked atomic.Int64
	handler := &Handler{Reply: func(context.Context, *chat.Request) *chat.Reply {
		n := asked.Add(1)
		if n == 3 {
			return &chat.Reply{Title: chat.Say(refusal), Tone: chat.Warning, Audience: chat.SenderAlone}
		}
		asOf := start.Add(time.Duration(n) * time.Minute)
		if n == 5 {
			asOf = start
		}
		return &chat.Reply{
			Title:   chat.Say(fmt.Sprintf("answer %d", n)),
			Source:  chat.Source{AsOf: chat.Version{Time: asOf}},
			Actions: []chat.Action{{Label: chat.Say(button), Command: "price", Edit: true}},
		}
	}}
	stop := h.run(t, handler)
	h.Ask(t, "price")
	h.Messages(t, 1)
	for n, by := range []Presser{Sender, Another, Another} {
		h.Press(t, button, by)
		WaitUntil(t, "the press to be asked", func() bool { return len(handler.Requests()) == n+2 })
		requests := handler.Requests()
		checkPress(t, requests[0], requests[n+1], by)
		if n == 1 {
			continue
		}
		WaitUntil(t, "the answer to the press in place", func() bool {
			return strings.Contains(h.Messages(t, 1)[0].Text, fmt.Sprintf("answer %d", n+2))
		})
	}
	h.Press(t, button, Sender)
	WaitUntil(t, "the press with an older answer", func() bool { return len(handler.Requests()) == 5 })
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	for i, m := range h.Messages(t, 0) {
		if !m.Private && (i > 0 || !strings.Contains(m.Text, "answer 4")) {
			t.Errorf("the presses left %+v", m)
		}
	}
}

// privatePresses checks that the private answer to a button under a public message replaces nothing, and that nobody
// else can read it.
func privatePresses(t *testing.T, h AdapterTest) {
	if h.Press == nil {
		return
	}
	const button, public, secret = "mine", "foreverybody", "nobodyelsesbusiness"
	handler := &Handler{Reply: func(_ context.Context, req *chat.Request) *chat.Reply {
		if req.Command == "mylogins" {
			return &chat.Reply{Title: chat.Say(secret)}
		}
		return &chat.Reply{
			Title:   chat.Say(public),
			Actions: []chat.Action{{Label: chat.Say(button), Command: "mylogins", Edit: true}},
		}
	}}
	stop := h.run(t, handler)
	h.Ask(t, "price")
	h.Messages(t, 1)
	h.Press(t, button, Sender)
	WaitUntil(t, "the press", func() bool { return len(handler.Requests()) == 2 })
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	var read bool
	for i, m := range h.Messages(t, 2) {
		switch {
		case m.Private:
			read = read || strings.Contains(m.Text, secret)
		case i > 0 || !strings.Contains(m.Text, public):
			t.Errorf("the press left %+v", m)
		}
	}
	if !read {
		t.Error("the sender reads nothing")
	}
}

// Start calls run, and ends it when the test ends. stop ends it earlier, and returns its
// result.
func Start(t *testing.T, run func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(2 * platform.DrainTime):
			return fmt.Errorf("it did not end within %v", 2*platform.DrainTime)
		}
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

// WaitUntil waits until a condition holds. It fails the test after a minute, for busy machines.
func WaitUntil(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s", what)
		}
	}
}
