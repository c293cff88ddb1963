package discord

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/discord/discordtest"
)

const aWallet = "0x52908400098527886E0F7030069857D2E4169EE7"

// whichWallet asks for the wallet of "staked" until it is right.
func whichWallet(_ context.Context, req chat.Request) chat.Reply {
	if req.Args.Value("wallet") == aWallet {
		return chat.Reply{Title: chat.Say("staked by " + req.From.ID)}
	}
	return chat.Reply{Title: chat.Say("Check the wallet address"), ToAsker: true, Ask: &chat.Ask{
		Command: "staked", Param: "wallet", Question: chat.Say("Which wallet?"), Example: aWallet,
	}}
}

// After a wrong wallet the asker presses, writes another, and is asked again until
// it is right; others see nothing but the answer.
func TestWhatIsMissingIsAskedForInAModal(t *testing.T) {
	h := connected(t, func(h *harness, _ *Config) { h.handler.Reply = whichWallet }, patient)
	p := h.asked(t, "staked")
	for _, wallet := range []string{"0x1", " " + aWallet + "\n"} {
		if a := p.Answer(); !a.Ephemeral || a.SeenBy != "5" || !strings.Contains(a.Text(), "Check the wallet") {
			t.Errorf("asked as %+v", a)
		}
		b, ok := p.Answer().Button("Which wallet?")
		if !ok {
			t.Fatalf("no button under %+v", p.Answer())
		}
		open := h.push(t, p.Press("5", b.CustomID))
		a, err := open.Wait(h.ctx)
		if err != nil || a.Type != openModal || a.Modal == nil || len(a.Modal.Inputs) != 1 {
			t.Fatalf("%+v, %v; refused: %q", a, err, h.fake.Problems())
		}
		if in := a.Modal.Inputs[0]; a.Modal.Title != "Which wallet?" || in.Label != "Which wallet?" || in.Placeholder != aWallet || !in.Required {
			t.Errorf("shown: %+v", a.Modal)
		}
		p = h.push(t, open.Submit(map[string]string{"wallet": wallet}))
		if _, err := p.Wait(h.ctx); err != nil {
			t.Fatalf("%v; refused: %q", err, h.fake.Problems())
		}
	}
	if a := p.Answer(); a.Ephemeral || a.Type != showMessage || !strings.Contains(a.Text(), "staked by 5") {
		t.Errorf("%+v", a)
	}
	req := h.handler.Requests()[2]
	if want := chat.Named(map[string]string{"wallet": aWallet}); req.Command != "staked" || !reflect.DeepEqual(req.Args, want) || req.Chat != "8" || req.Community != "7" {
		t.Errorf("asked as %+v", req)
	}
	h.unrefused(t)
}

func TestAModalByHTTP(t *testing.T) {
	h, address := byHTTP(t, func(h *harness, _ *Config) { h.handler.Reply = whichWallet }, patient)
	p, _, err := h.fake.Post(h.ctx, address, discordtest.Interaction{Command: "staked", UserID: "5", GuildID: "7"})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := p.Answer().Button("Which wallet?")
	open, _, err := h.fake.Post(h.ctx, address, p.Press("5", b.CustomID))
	if err != nil || open.Answer().Modal == nil {
		t.Fatalf("%+v, %v", open.Answer(), err)
	}
	sent, _, err := h.fake.Post(h.ctx, address, open.Submit(map[string]string{"wallet": aWallet}))
	if a := sent.Answer(); err != nil || !strings.Contains(a.Text(), "staked by 5") {
		t.Errorf("%+v, %v", a, err)
	}
	h.unrefused(t)
}

// A modal can be forged as anything else can: what it asks is what may be typed.
func TestAForgedModalGainsNothing(t *testing.T) {
	h := connected(t, nil, patient)
	for state, param := range map[string]string{"1 a 0 mylogins page": "page", "1 a 0 exists user": "user", "1 a 0 nonsense x": "x"} {
		modal := &discordtest.Modal{CustomID: state, Inputs: []discordtest.Input{{CustomID: param, Value: "6", InLabel: true}}}
		if a := h.answer(t, discordtest.Interaction{Modal: modal, UserID: "6", GuildID: "7"}); !a.Ephemeral || a.SeenBy != "6" {
			t.Errorf("%s: %+v", state, a)
		}
	}
	for _, req := range h.handler.Requests() {
		if req.Target != nil || req.Role != chat.Member || req.From.ID != "6" {
			t.Errorf("asked as %+v", req)
		}
	}
	h.unrefused(t)
}

// What concerns the asker alone is shown to them alone as long as no promise was
// seen by all.
func TestRefusalsOfPublicCommandsReachTheAskerAlone(t *testing.T) {
	refusal := func(chat.Request) chat.Reply {
		return chat.Reply{Title: chat.Say("Too many commands"), ToAsker: true}
	}
	h := connected(t, nil, patient)
	h.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply { return refusal(req) }
	if a := h.asked(t, "price").Answer(); !a.Ephemeral || a.SeenBy != "5" || a.Type != showMessage {
		t.Errorf("%+v", a)
	}
	h.handler.Reply = func(context.Context, chat.Request) chat.Reply {
		return chat.Reply{Title: chat.Say("Too many commands"), ToAsker: true, Image: &curve}
	}
	if a := h.asked(t, "price").Answer(); !a.Ephemeral || a.SeenBy != "5" || len(a.Attachments) != 1 {
		t.Errorf("with a picture: %+v", a)
	}
	slow := connected(t, nil)
	sluggish(slow, refusal)
	if a := slow.asked(t, "price").Answer(); a.Ephemeral || a.Edits != 1 || !strings.Contains(a.Text(), "Too many") {
		t.Errorf("after a promise: %+v", a)
	}
	h.unrefused(t)
	slow.unrefused(t)
}

// names are the choices shown.
func names(a discordtest.Answer) string {
	all := []string{}
	for _, c := range a.Choices {
		if c.Value != c.Name {
			return "a value of its own"
		}
		all = append(all, c.Name)
	}
	return strings.Join(all, " ")
}

func TestChoicesAreOfferedWhileAnArgumentIsWritten(t *testing.T) {
	h := connected(t, nil)
	byPost, address := byHTTP(t, nil)
	for _, test := range []struct{ command, option, written, want string }{
		{"exists", "platform", "", "Telegram Discord EVM"},
		{"exists", "platform", "d", "Discord"},
		{"exists", "platform", " D", "Discord"},
		{"exists", "platform", "e", "EVM Telegram"},
		{"exists", "platform", "SCORD", "Discord"},
		{"exists", "platform", "x", ""},
		{"exists", "platform", strings.Repeat("\u202e", 6000), ""},
		{"exists", "uid", "1", ""},
		{"exists", "nonsense", "1", ""},
		{"nonsense", "platform", "d", ""},
	} {
		i := discordtest.Interaction{Command: test.command, Options: map[string]string{test.option: test.written}, Focused: test.option}
		p, status, err := byPost.fake.Post(h.ctx, address, i)
		if err != nil || status != http.StatusOK {
			t.Fatalf("status %d, %v", status, err)
		}
		for way, a := range map[string]discordtest.Answer{"over the gateway": h.answer(t, i), "by HTTP": p.Answer()} {
			if got := names(a); got != test.want || a.Type != 8 {
				t.Errorf("%s %q %s: %q, want %q", test.option, test.written, way, got, test.want)
			}
		}
	}
	if n := len(h.handler.Requests()) + len(byPost.handler.Requests()); n != 0 {
		t.Errorf("%d requests were made of it", n)
	}
	h.unrefused(t)
	byPost.unrefused(t)
}

func TestNoMoreChoicesAreOfferedThanDiscordTakes(t *testing.T) {
	var many []string
	for n := range 100 {
		many = append(many, fmt.Sprint("choice ", n))
	}
	commands := chat.Commands{{Name: "x", Forms: []chat.Form{{Params: []chat.Param{{Name: "p", Choices: many}}}}}}
	i, err := decode([]byte(`{"id":"1","type":4,"token":"t","user":{"id":"5"},"data":{"name":"x","type":1,"options":[{"name":"p","type":3,"value":"9","focused":true}]}}`))
	if err != nil || !i.forUs() {
		t.Fatal(err)
	}
	for written, want := range map[string]int{"": 25, "choice": 25, "9": 19} {
		i.Data.Options[0].Value = written
		raw := fmt.Sprint(choicesFor(i, commands).Data)
		if n := strings.Count(raw, "choice") / 2; n != want {
			t.Errorf("%q: %d choices", written, n)
		}
	}
}

// Where there is no room, choices are what can be done without.
func TestChoicesAreNotPromisedWhereThereIsNoRoom(t *testing.T) {
	release := make(chan struct{})
	h := connected(t, func(h *harness, _ *Config) { h.until(release, "done") }, func(a *Adapter) { a.inHand = make(chan struct{}, 1) })
	p := h.push(t, discordtest.Interaction{Command: "price"})
	h.wait(t, "request", func() bool { return len(h.handler.Requests()) == 1 })
	typing := h.push(t, discordtest.Interaction{Command: "exists", Options: map[string]string{"platform": "d"}, Focused: "platform"})
	h.wait(t, "the drop", func() bool { return h.counts.of("dropped") == 1 })
	close(release)
	if _, err := p.Wait(h.ctx); err != nil || typing.Answer().Callbacks != 0 {
		t.Errorf("%v, %+v", err, typing.Answer())
	}
	h.unrefused(t)
}

// A user may bring the bot along anywhere, and is a member there at most.
func TestWhoBringsTheBotAlongIsAMember(t *testing.T) {
	h := connected(t, nil, patient)
	for name, i := range map[string]discordtest.Interaction{
		"a guild of their own": {GuildID: "7", UserInstalled: true, Permissions: 8},
		"a chat of some":       {PrivateChannel: true},
	} {
		for command, private := range map[string]bool{"price": false, "mylogins": true} {
			i.Command, i.UserID = command, "5"
			if a := h.answer(t, i); a.Ephemeral != private {
				t.Errorf("%s in %s: %+v", command, name, a)
			}
		}
		i.Command, i.Users = "exists", map[string]string{"user": "6"}
		h.answer(t, i)
		if req := h.handler.Requests()[len(h.handler.Requests())-1]; req.Role != chat.Member || req.Community != "" || req.Direct || req.Target == nil {
			t.Errorf("%s: asked as %+v", name, req)
		}
	}
	h.unrefused(t)
}

// speaking is a handler that answers in the language of the asker.
type speaking struct{ *chattest.Handler }

func (speaking) Language(req chat.Request, private bool) chat.Language {
	if l, spoken := chat.LanguageOf(req.Locale); spoken && private {
		return l
	}
	return chat.English
}

// What the adapter says itself is in the language of whom it is said to.
func TestTheAdapterSpeaksTheLanguageOfTheAsker(t *testing.T) {
	h := prepare(t, nil)
	patient(h.Adapter)
	h.handler.Reply = func(context.Context, chat.Request) chat.Reply {
		return chat.Reply{Title: chat.Say("price"), AsOf: start, Actions: []chat.Action{refresh}}
	}
	h.serve(t, speaking{h.handler})
	h.wait(t, "a connection", h.Ready)
	said := map[string][]string{}
	for _, locale := range []string{"en-US", "ru", "zh-CN", "xx"} {
		p := h.push(t, discordtest.Interaction{Command: "price", UserID: "5", Locale: locale})
		if _, err := p.Wait(h.ctx); err != nil {
			t.Fatal(err)
		}
		b, _ := p.Answer().Button("Refresh")
		for _, state := range []string{b.CustomID, "0 old"} {
			said[locale] = append(said[locale], h.answer(t, p.Press("5", state)).Text())
		}
	}
	if !slices.Equal(said["en-US"], said["xx"]) || !strings.Contains(said["xx"][0], "Already up to date") {
		t.Errorf("%q", said)
	}
	for _, locale := range []string{"ru", "zh-CN"} {
		l, _ := chat.LanguageOf(locale)
		for n, reply := range []chat.Reply{upToDate(l), chat.OldButton()} {
			reply.Language = l
			if want := render(reply).Embeds[0].Title; !strings.Contains(said[locale][n], want) {
				t.Errorf("%s: %q, want %q", locale, said[locale][n], want)
			}
		}
	}
	h.unrefused(t)
}
