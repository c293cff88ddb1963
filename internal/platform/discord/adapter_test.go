package discord

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/demo/fake/transporttest"
	"herald/internal/platform/platformtest"
	"herald/internal/secret"
	"herald/internal/secret/logtest"
	"herald/internal/store"
)

// way is how interactions arrive.
type way string

const (
	overGateway way = "gateway"
	byHTTP      way = "HTTP"
)

// adapterTest is an Adapter that is connected to a fake of Discord.
type adapterTest struct {
	*Adapter
	way     way
	fake    *discordtest.Server
	handler *platformtest.Handler
	logged  *logtest.Buffer
	address string               // the origin of the Adapter's HTTP server
	stop    func() error         // stops Run and returns its error
	events  *platformtest.Events // the events that the Adapter has counted
}

// change changes the Config of an Adapter, or the fake, before the Adapter is made.
type change func(*adapterTest, *Config)

// newAdapterTest returns an adapterTest whose Adapter does not run yet.
func newAdapterTest(t *testing.T, fake *discordtest.Server, w way, changes ...change) *adapterTest {
	t.Helper()
	t.Cleanup(fake.Close)
	h := &adapterTest{
		way:     w,
		fake:    fake,
		handler: &platformtest.Handler{},
		logged:  &logtest.Buffer{},
		events:  &platformtest.Events{},
	}
	c := Config{
		Settings:  Settings{Token: secret.New(fake.Token), APIURL: fake.URL()},
		Dedup:     store.NewMemory(),
		Log:       h.logged.Logger(),
		Count:     h.events.Add,
		Connected: func(name string) { h.events.Add("connected as " + name) },
		Retried:   func(error) {},
	}
	if w == byHTTP {
		c.PublicKey = fake.PublicKey
	}
	for _, change := range changes {
		change(h, &c)
	}
	h.Adapter = New(c)
	return h
}

// listen serves the Adapter's HTTP handler on a listener until the test ends.
func (h *adapterTest) listen(t *testing.T, l net.Listener) {
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: h.Adapter}}
	server.Start()
	t.Cleanup(server.Close)
	h.address = server.URL
}

// run runs the Adapter until stop is called, or until the test ends.
func (h *adapterTest) run(t *testing.T) {
	h.stop = platformtest.Start(t, func(ctx context.Context) error { return h.Run(ctx, multilingual{h.handler}) })
}

// multilingual is a handler that speaks the user's language in private, and English otherwise.
type multilingual struct{ *platformtest.Handler }

func (multilingual) Language(req *chat.Request, visibility chat.Visibility) chat.Language {
	language, isSpoken := chat.LanguageOf(req.Locale)
	if isSpoken && visibility == chat.Private {
		return language
	}
	return chat.English
}

// untilSimulate is how long simulate sleeps before it makes an Adapter. Simulated time begins in 2000, and the time in
// Discord's IDs begins in 2015.
const untilSimulate = 20 * 365 * 24 * time.Hour

// simulate runs test in simulated time, with an Adapter that is connected. It fails the test if the fake refuses a
// call.
func simulate(t *testing.T, w way, test func(*testing.T, *adapterTest), changes ...change) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(untilSimulate)
		toFake, toAdapter := discordtest.NewNetwork(), discordtest.NewNetwork()
		transporttest.ChangeDefault(t, func(d *http.Transport) { d.Proxy, d.DialContext = nil, toFake.Dial })
		h := newAdapterTest(t, discordtest.NewOn(toFake), w, changes...)
		h.gateway.Dial = toFake.Dial
		h.fake.Client = &http.Client{Transport: &http.Transport{DialContext: toAdapter.Dial}}
		t.Cleanup(h.fake.Client.CloseIdleConnections)
		h.listen(t, toAdapter)
		h.run(t)
		pass(time.Second)
		test(t, h)
		if refused := h.fake.Problems(); len(refused) > 0 {
			t.Errorf("the fake refused calls: %q", refused)
		}
		if t.Failed() {
			t.Logf("counted %v; shown %+v; log:\n%s", h.events, h.fake.Messages(), h.logged)
		}
	})
}

// simulateBothWays calls simulate for both ways.
func simulateBothWays(t *testing.T, test func(*testing.T, *adapterTest), changes ...change) {
	for _, w := range []way{overGateway, byHTTP} {
		t.Run(string(w), func(t *testing.T) { simulate(t, w, test, changes...) })
	}
}

// simulateEach calls simulate for each case of a table, over the gateway.
func simulateEach[T any](t *testing.T, cases map[string]T, test func(*testing.T, *adapterTest, T)) {
	t.Helper()
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			simulate(t, overGateway, func(t *testing.T, h *adapterTest) { test(t, h, tt) })
		})
	}
}

// equal fails the test unless got is want.
func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// checkCount fails the test unless the adapter has counted the event want times.
func (h *adapterTest) checkCount(t *testing.T, event string, want int) {
	t.Helper()
	equal(t, "count of "+event, h.events.Of(event), want)
}

// messages returns the messages that are shown. It ends the test unless there are want messages.
func (h *adapterTest) messages(t *testing.T, want int) []fakediscord.Message {
	t.Helper()
	all := h.fake.Messages()
	if len(all) != want {
		t.Fatalf("got %d messages, want %d: %+v", len(all), want, all)
	}
	return all
}

// checkText fails the test unless the answer contains the text.
func checkText(t *testing.T, answer interface{ Text() string }, text string) {
	t.Helper()
	if !strings.Contains(answer.Text(), text) {
		t.Errorf("got %q, want it to say %q", answer.Text(), text)
	}
}

// pass lets simulated time pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Opcodes of the gateway.
const (
	opReconnect      = 7
	opInvalidSession = 9
)

// mend undoes a Break of the fake: calls of the route succeed again.
func (h *adapterTest) mend(route fakediscord.Route) { h.fake.Break(route, discordtest.Fault{}) }

// command returns a command of user 5 in guild 7.
func command(name string) fakediscord.Interaction {
	return fakediscord.Interaction{Command: name, UserID: "5", GuildID: "7", ChannelID: "8"}
}

// send delivers an interaction to the bot, and does not wait for the answer. If the bot refuses an interaction that
// arrives by HTTP, send counts an event such as "status 503".
func (h *adapterTest) send(t *testing.T, i fakediscord.Interaction) *fakediscord.Pending {
	t.Helper()
	if h.way == overGateway {
		p, err := h.fake.Push(i)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p, body := h.fake.Prepare(i)
	go func() {
		status, err := h.fake.Post(context.Background(), h.address, p, body)
		if status == http.StatusOK && err != nil {
			t.Error(err)
		} else if status != http.StatusOK && err == nil {
			h.events.Add(fmt.Sprint("status ", status))
		}
	}()
	return p
}

// ask sends an interaction and waits for its whole answer.
func (h *adapterTest) ask(t *testing.T, i fakediscord.Interaction) *fakediscord.Pending {
	t.Helper()
	p := h.send(t, i)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := p.Wait(ctx); err != nil {
		t.Fatalf("no answer: %v", err)
	}
	synctest.Wait()
	return p
}

// replyAfter makes the handler return r to each command, after a time.
func (h *adapterTest) replyAfter(after time.Duration, r *chat.Reply) {
	h.handler.Reply = func(context.Context, *chat.Request) *chat.Reply {
		time.Sleep(after)
		return r
	}
}

func TestTheBotsNameIsMadeHarmless(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		const harmless = "Herald @\u2060everyone"
		h.connected("Her\u202eald\n@everyone")
		h.ask(t, command("price"))
		equal(t, "name in a request", h.handler.Requests()[0].BotName, harmless)
		h.checkCount(t, "connected as "+harmless, 1)
	})
}

func TestAdapterKeepsTheContract(t *testing.T) {
	for _, w := range []way{overGateway, byHTTP} {
		t.Run(string(w), func(t *testing.T) {
			platformtest.TestAdapter(t, func(t *testing.T) platformtest.AdapterTest {
				h := newAdapterTest(t, discordtest.New(), w)
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				h.listen(t, l)
				return h.contractTest()
			})
		})
	}
}

// contractTest returns what platformtest.TestAdapter needs. User 5 is the sender, and user 6 is the other person.
func (h *adapterTest) contractTest() platformtest.AdapterTest {
	const locale = "pt-BR"
	ask := func(t *testing.T, i fakediscord.Interaction, argument []string) {
		i.Locale = locale
		if len(argument) > 0 {
			i.Options = map[string]string{"wallet": argument[0]}
		}
		h.send(t, i)
	}
	return platformtest.AdapterTest{
		Adapter: h.Adapter,
		Ask: func(t *testing.T, name string, argument ...string) {
			ask(t, command(name), argument)
		},
		Community: command("").GuildID,
		AskDirect: func(t *testing.T, name string, argument ...string) {
			ask(t, fakediscord.Interaction{Command: name, UserID: "5", ChannelID: "9"}, argument)
		},
		Locale:    locale,
		Ephemeral: true,
		Press:     h.pressNewest,
		Messages:  h.shown,
		Faults:    h.fake.Problems,
		Args:      func(wallet string) chat.Args { return chat.Named(map[string]string{"wallet": wallet}) },
	}
}

// pressNewest presses the button with this label, on the newest message that has one.
func (h *adapterTest) pressNewest(t *testing.T, label string, by platformtest.Presser) {
	for _, m := range slices.Backward(h.fake.Messages()) {
		b, hasButton := m.Button(label)
		if !hasButton {
			continue
		}
		i := command("")
		i.Button = b.CustomID
		i.On = &m
		if by == platformtest.Another {
			i.UserID = "6"
		}
		h.send(t, i)
		return
	}
	t.Fatalf("no button %q in %+v", label, h.fake.Messages())
}

// shown returns the messages, without the deferred messages that have no answer yet.
func (h *adapterTest) shown() []platformtest.Message {
	var all []platformtest.Message
	for _, m := range h.fake.Messages() {
		if m.Content != "" {
			all = append(all, platformtest.Message{Text: m.Text() + "\n" + m.Everything(), Private: m.Ephemeral})
		}
	}
	return all
}
