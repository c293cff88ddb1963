// Package platformtest is shared by the tests of all adapters:
//
//	suite.go    TestAdapter, which tests the contract of platform.Adapter
//	handler.go  a platform.Handler with public and private commands
//	reply.go    a reply with all fields set
//	events.go   counts of an adapter's events
//	library.go  checks whether a library has gained what our own code replaces
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

// TestAdapter tests the contract of platform.Adapter. It calls open for each part. If the adapter does not become
// ready, it tests nothing else.
func TestAdapter(t *testing.T, open func(t *testing.T) AdapterTest) {
	becomesReady := t.Run("it becomes ready", func(t *testing.T) { open(t).run(t, &Handler{}) })
	if !becomesReady {
		return
	}
	for name, test := range map[string]func(*testing.T, AdapterTest){
		"a request says who asked what and where":      testRequests,
		"a chat is private or in a community":          testChats,
		"one answer to each of many requests":          testOneAnswerEach,
		"a slow command delays no other":               testSlowCommand,
		"a private answer reaches its sender alone":    testPrivateAnswers,
		"an ephemeral reply reaches its sender alone":  testEphemeralReply,
		"a reply is shown with every field":            testEveryField,
		"a reply of any length is shortened and shown": testLongReplies,
		"a panic stays with its sender":                testPanic,
		"what is in flight is finished at the end":     testDrain,
		"a press is a request of whoever presses":      testPresses,
		"a private answer to a press replaces nothing": testPrivateAnswerToPress,
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

// AdapterTest has an adapter that is not running yet, and a fake of its platform. The tests act as one user, called the
// sender.
type AdapterTest struct {
	Adapter platform.Adapter
	// Ask sends a command as the sender, in a chat of Community where the sender can be answered privately. It does not
	// wait for the answer. The argument is the wallet of "staked".
	Ask func(t *testing.T, command string, argument ...string)
	// Community is the ID of a community. It is "" on a platform without communities: Ask then sends commands in the
	// sender's private chat with the bot.
	Community string
	// AskDirect is like Ask, but sends the command in the sender's private chat with the bot. It is nil on a platform
	// without private chats or without communities.
	AskDirect func(t *testing.T, command string, argument ...string)
	// Locale is the sender's language tag, such as "pt-BR". It is "" if the platform does not tell a bot the language.
	Locale string
	// Ephemeral is true if the platform can answer Ask with a message in the same chat that only the sender can read.
	Ephemeral bool
	// Messages returns the messages shown now, in order. It does not wait.
	Messages func() []Message
	// Faults returns the errors that the platform found in the adapter's calls.
	Faults func() []string
	// Press presses the button with this label below the newest message. It does not wait for the answer. It is nil on
	// a platform without buttons.
	Press func(t *testing.T, label string, by Presser)
	// Args returns the Args that the adapter makes of the argument of "staked".
	Args func(wallet string) chat.Args
}

// Message is a message that a fake platform shows.
type Message struct {
	Text string
	// Private is true if only the sender can read the message.
	Private bool
}

// Presser is the person who presses a button.
type Presser string

const (
	// Sender sent the command that the message answers.
	Sender Presser = "the sender"
	// Another is another person who sees the message.
	Another Presser = "another person"
)

// run starts the adapter, and waits until it is ready. The adapter runs until the caller calls stop, which returns the
// result of Run, or until the test ends.
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
	WaitUntil(t, "Ready to return true while Run runs", h.Adapter.Ready)
	return stop
}

// messages returns the messages shown once there are at least atLeast. It fails the test if that takes too long.
func (h AdapterTest) messages(t *testing.T, atLeast int) (shown []Message) {
	t.Helper()
	areShown := holdsInTime(func() bool {
		shown = h.Messages()
		return len(shown) >= atLeast
	})
	if !areShown {
		t.Fatalf("%d messages are shown, want at least %d: %+v", len(shown), atLeast, shown)
	}
	return shown
}

// testRequests checks each field of two requests of one sender in one chat.
func testRequests(t *testing.T, h AdapterTest) {
	const wallet = "0x52908400098527886E0F7030069857D2E4169EE7"
	handler := &Handler{}
	h.run(t, handler)
	h.Ask(t, "staked", wallet)
	h.messages(t, 1)
	h.Ask(t, "price")
	h.messages(t, 2)
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
	if staked.Locale != h.Locale {
		t.Errorf("the sender's Locale is %q, want %q", staked.Locale, h.Locale)
	}
}

// testChats checks that a request in a community has the community's ID and is not Direct, and that a request in a
// private chat has no community and is Direct.
func testChats(t *testing.T, h AdapterTest) {
	handler := &Handler{}
	h.run(t, handler)
	h.Ask(t, "price")
	h.messages(t, 1)
	checkChat(t, handler.Requests()[0], h.Community)
	if h.AskDirect != nil {
		h.AskDirect(t, "price")
		h.messages(t, 2)
		checkChat(t, handler.Requests()[1], "")
	}
}

// checkChat checks a request in a community, or in a private chat if community is "".
func checkChat(t *testing.T, req chat.Request, community string) {
	t.Helper()
	isDirect := community == ""
	if req.Community != community || req.Direct != isDirect {
		t.Errorf("a request has the Community %q and Direct %t, want %q and %t",
			req.Community, req.Direct, community, isDirect)
	}
}

// testOneAnswerEach checks that each of several requests is answered exactly once.
func testOneAnswerEach(t *testing.T, h AdapterTest) {
	const requests = 12
	handler := &Handler{Reply: func(_ context.Context, req *chat.Request) *chat.Reply {
		return &chat.Reply{Title: chat.Say("answer to " + req.ID)}
	}}
	stop := h.run(t, handler)
	for range requests {
		h.Ask(t, "price")
	}
	h.messages(t, requests)
	if err := stop(); err != nil { // An answer that is sent twice is shown twice once stop returns.
		t.Fatal(err)
	}
	messages := h.messages(t, requests)
	for _, req := range handler.Requests() {
		isAnswer := func(m Message) bool { return strings.Contains(m.Text, "answer to "+req.ID) }
		if !slices.ContainsFunc(messages, isAnswer) {
			t.Errorf("no answer to request %s in %+v", req.ID, messages)
		}
	}
	if len(messages) != requests || len(handler.Requests()) != requests {
		t.Errorf("%d messages and %d requests, want %d", len(messages), len(handler.Requests()), requests)
	}
}

// testSlowCommand checks that commands are answered while an earlier command of the same sender in the same chat still
// runs.
func testSlowCommand(t *testing.T, h AdapterTest) {
	const quick = 3
	finish := make(chan struct{})
	finishOnce := sync.OnceFunc(func() { close(finish) })
	handler := &Handler{Reply: func(_ context.Context, req *chat.Request) *chat.Reply {
		if req.Command == "help" {
			<-finish
		}
		return &chat.Reply{Title: chat.Say("answer to " + req.Command)}
	}}
	h.run(t, handler)
	defer finishOnce() // If the test fails, the slow command must still end before Run is stopped.
	h.Ask(t, "help")
	WaitUntil(t, "the slow command", func() bool { return len(handler.Requests()) == 1 })
	for range quick {
		h.Ask(t, "price")
	}
	for _, m := range h.messages(t, quick) {
		if !strings.Contains(m.Text, "answer to price") {
			t.Errorf("beside a slow command, %q is shown", m.Text)
		}
	}
	finishOnce()
	last := h.messages(t, quick+1)[quick]
	if !strings.Contains(last.Text, "answer to help") {
		t.Errorf("the slow command is answered with %q", last.Text)
	}
}

// testPrivateAnswers checks that the answers to two private commands reach the sender, and that nobody else can read
// any part of them.
func testPrivateAnswers(t *testing.T, h AdapterTest) {
	const secret = "nobodyelsesbusiness"
	handler := &Handler{Reply: func(_ context.Context, req *chat.Request) *chat.Reply {
		reply, _ := FullReply()
		reply.Title = chat.Say(secret)
		reply.Text = chat.Say(secret)
		reply.Notes = []chat.Text{chat.Say(secret)}
		return reply
	}}
	h.run(t, handler)
	commands := []string{"mylogins", "exists"}
	for _, command := range commands {
		h.Ask(t, command)
	}
	answersShown := func() (n int) {
		for _, m := range h.Messages() {
			if m.Private && strings.Contains(m.Text, secret) {
				n++
			}
		}
		return n
	}
	if !holdsInTime(func() bool { return answersShown() == len(commands) }) {
		t.Errorf("the sender can read %d answers, want %d: %+v", answersShown(), len(commands), h.Messages())
	}
	for _, m := range h.Messages() {
		isPartOfAnswer := strings.Contains(m.Text, secret) || strings.Contains(m.Text, "marker")
		if isPartOfAnswer && !m.Private {
			t.Errorf("everybody can read %q", m.Text)
		}
	}
}

// testEphemeralReply checks CanReplyEphemerally. If it is true, only the sender can read a reply for the sender alone,
// even if the command is public.
func testEphemeralReply(t *testing.T, h AdapterTest) {
	handler := &Handler{Reply: func(context.Context, *chat.Request) *chat.Reply {
		return &chat.Reply{Title: chat.Say("for you"), Audience: chat.SenderAlone}
	}}
	h.run(t, handler)
	h.Ask(t, "price")
	m := h.messages(t, 1)[0]
	if got := handler.Requests()[0].CanReplyEphemerally; got != h.Ephemeral {
		t.Errorf("CanReplyEphemerally is %t, want %t", got, h.Ephemeral)
	}
	if h.Ephemeral && !m.Private {
		t.Errorf("everybody can read %q, which is for the sender alone", m.Text)
	}
}

// testEveryField checks that each marker of FullReply is shown.
func testEveryField(t *testing.T, h AdapterTest) {
	reply, markers := FullReply()
	h.run(t, &Handler{Reply: func(context.Context, *chat.Request) *chat.Reply { return reply }})
	h.Ask(t, "price")
	text := h.messages(t, 1)[0].Text
	for _, marker := range markers {
		if !strings.Contains(text, marker) {
			t.Errorf("%s is not shown in %q", marker, text)
		}
	}
}

// testLongReplies checks that each of longReplies is shown, with the first word of its title.
func testLongReplies(t *testing.T, h AdapterTest) {
	replies := longReplies()
	h.run(t, &Handler{Reply: inTurn(replies)})
	for i := range replies {
		h.Ask(t, "price")
		if text := h.messages(t, i+1)[i].Text; !strings.Contains(text, "kept") {
			t.Errorf("reply %d is shown as %q", i, text)
		}
	}
}

// inTurn returns a Handler's Reply that answers the first request with the first reply, the second with the second, and
// so on.
func inTurn(replies []*chat.Reply) func(context.Context, *chat.Request) *chat.Reply {
	var asked atomic.Int32
	return func(context.Context, *chat.Request) *chat.Reply { return replies[asked.Add(1)-1] }
}

// longReplies returns replies that are longer than any platform's limit, each by another field.
func longReplies() []*chat.Reply {
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
	return []*chat.Reply{
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

// testPanic checks that a panic of the handler is answered with a reference, and that the next command is answered.
func testPanic(t *testing.T, h AdapterTest) {
	const secret = "what somebody typed"
	h.run(t, &Handler{Reply: func(_ context.Context, req *chat.Request) *chat.Reply {
		if req.Command == "help" {
			panic(secret)
		}
		return &chat.Reply{Title: chat.Say(req.Command)}
	}})
	h.Ask(t, "help")
	text := h.messages(t, 1)[0].Text
	if !strings.Contains(text, "Something went wrong") || !strings.Contains(text, "Reference ") ||
		strings.Contains(text, secret) {
		t.Errorf("a panic is told as %q", text)
	}
	h.Ask(t, "price")
	if text := h.messages(t, 2)[1].Text; !strings.Contains(text, "price") {
		t.Errorf("after a panic the next answer is %q", text)
	}
}

// testDrain checks that Run, when it is stopped, waits for the command in flight and for its answer.
func testDrain(t *testing.T, h AdapterTest) {
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
	if messages := h.messages(t, 1); len(messages) != 1 || !strings.Contains(messages[0].Text, "finished") {
		t.Errorf("the command in flight is answered with %+v", messages)
	}
}

// testPresses presses a button under an answer four times. A newer answer replaces the message. An older answer and a
// refusal do not, and only the user who pressed can read what is shown instead.
func testPresses(t *testing.T, h AdapterTest) {
	if h.Press == nil {
		return
	}
	const button = "pressed here"
	start := time.Now().Add(-time.Hour) // A time in the future would mean that the clock has jumped back.
	answer := func(title string, asOf time.Time) *chat.Reply {
		return &chat.Reply{
			Title:   chat.Say(title),
			Source:  chat.Source{AsOf: chat.Version{Time: asOf}},
			Actions: []chat.Action{{Label: chat.Say(button), Command: "price", Edit: true}},
		}
	}
	refusal := &chat.Reply{Title: chat.Say("notforyou"), Tone: chat.Warning, Audience: chat.SenderAlone}
	presses := []struct {
		by    Presser
		reply *chat.Reply
		shown string // the title of the message with the button, after the press
	}{
		{by: Sender, reply: answer("answer 2", start.Add(2*time.Minute)), shown: "answer 2"},
		{by: Another, reply: refusal, shown: "answer 2"},
		{by: Another, reply: answer("answer 4", start.Add(4*time.Minute)), shown: "answer 4"},
		{by: Sender, reply: answer("too old", start), shown: "answer 4"},
	}
	replies := []*chat.Reply{answer("answer 1", start.Add(time.Minute))}
	for _, press := range presses {
		replies = append(replies, press.reply)
	}
	handler := &Handler{Reply: inTurn(replies)}
	stop := h.run(t, handler)
	h.Ask(t, "price")
	h.messages(t, 1)
	for n, press := range presses {
		h.Press(t, button, press.by)
		// The first request is the command, so press n becomes request n+1.
		WaitUntil(t, "the request of the press", func() bool { return len(handler.Requests()) > n+1 })
		requests := handler.Requests()
		checkPress(t, requests[0], requests[n+1], press.by)
		WaitUntil(t, press.shown+" to be shown", func() bool {
			return strings.Contains(h.messages(t, 1)[0].Text, press.shown)
		})
	}
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	for i, m := range h.Messages() {
		isMessageWithButton := i == 0 && strings.Contains(m.Text, "answer 4")
		if !m.Private && !isMessageWithButton {
			t.Errorf("the presses left %+v", m)
		}
	}
}

// checkPress checks the request that a press became. asked is the request whose answer has the button.
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

// testPrivateAnswerToPress checks that the private answer to a button under a public message does not replace that
// message, and that only the user who pressed can read it.
func testPrivateAnswerToPress(t *testing.T, h AdapterTest) {
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
	h.messages(t, 1)
	h.Press(t, button, Sender)
	WaitUntil(t, "the press", func() bool { return len(handler.Requests()) == 2 })
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	messages := h.messages(t, 2)
	for i, m := range messages {
		isMessageWithButton := i == 0 && strings.Contains(m.Text, public)
		if !m.Private && !isMessageWithButton {
			t.Errorf("the press left %+v", m)
		}
	}
	isAnswer := func(m Message) bool { return m.Private && strings.Contains(m.Text, secret) }
	if !slices.ContainsFunc(messages, isAnswer) {
		t.Errorf("the sender cannot read the private answer: %+v", messages)
	}
}

// Start calls run in another goroutine. When the test ends, Start ends the context of run and waits until run returns.
// stop does that earlier, and returns the error of run.
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
	if !holdsInTime(holds) {
		t.Fatalf("waited for %s", what)
	}
}

// holdsInTime blocks until a condition holds and returns true, or returns false after a minute.
func holdsInTime(holds func() bool) bool {
	deadline := time.Now().Add(time.Minute)
	for !holds() {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	return true
}
