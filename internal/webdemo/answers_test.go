package webdemo_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/webdemo"
	"herald/internal/words"
)

// commands are lines to type; those that are private say so.
func commands(c *client) map[string]bool {
	staker, idle := c.wallet(0), c.wallet(1)
	return map[string]bool{
		"/help": false, "/price": false, "/price 24h": false, "/price 7d": false, "/price 30d": false, "/supply": false,
		"/staked " + staker: false, "/staked " + idle: false, "/staked 0x12": false,
		"/mylogins": true, "/exists": true, "/verify " + staker: true, "/verify " + idle: true,
		"/exists @unregistered": true, "/exists GitHub 70001": true, "/verify @member " + staker: true,
	}
}

func TestEveryCommandIsAnsweredOnBothSides(t *testing.T) {
	c := connect(t)
	for _, asker := range c.state().Askers {
		for _, place := range c.state().Chats {
			for line, private := range commands(c) {
				r := c.say(asker.Name, place, line)
				for _, side := range []string{webdemo.Telegram, webdemo.Discord} {
					e := c.answered(side, r.Asked[side])
					about := fmt.Sprintf("%s of %s in %s on %s is answered by\n%s", line, asker.Name, place, side, e.Message)
					want := ""
					if private || place == webdemo.Private || line == "/staked 0x12" && side == webdemo.Discord {
						want = asker.Name
					}
					c.waitFor("what was asked to be seen by those who see the answer: "+about, func(a webdemo.Event) bool {
						return a.Kind == webdemo.KindAsked && a.Side == side && a.ID == e.ReplyTo && (a.For == want || a.For == "" && side == webdemo.Telegram)
					})
					if e.For != want || e.Chat != place || e.From != webdemo.Bot {
						t.Errorf("for %q, want %q, in %q: %s", e.For, want, e.Chat, about)
					}
					if !strings.Contains(string(e.Message), "simulated") {
						t.Errorf("not marked as simulated: %s", about)
					}
				}
			}
		}
	}
}

func TestAPictureCanBeLoaded(t *testing.T) {
	c := connect(t)
	var telegram struct {
		Photo []struct {
			URL           string
			Width, Height int
		}
	}
	var discord struct {
		Embeds []struct {
			Image struct {
				URL, Description string
				Width, Height    int
			}
		}
		Attachments []any
	}
	// A machine that is too busy to draw in time answers without a picture.
	c.wait("pictures", func([]webdemo.Event) bool {
		r := c.say("member", webdemo.Group, "/price 7d")
		_ = json.Unmarshal(c.answered(webdemo.Telegram, r.Asked[webdemo.Telegram]).Message, &telegram)
		_ = json.Unmarshal(c.answered(webdemo.Discord, r.Asked[webdemo.Discord]).Message, &discord)
		return len(telegram.Photo) > 0 && discord.Embeds[0].Image.URL != ""
	})
	photo, image := telegram.Photo[0], discord.Embeds[0].Image
	if photo.Width == 0 || photo.Height == 0 || image.Width != photo.Width || image.Description == "" || len(discord.Attachments) != 0 {
		t.Errorf("%+v, %+v", telegram, discord)
	}
	for _, address := range []string{photo.URL, image.URL} {
		if status, text := c.send("GET", address, "", nil); status != 200 || !strings.HasPrefix(text, "\x89PNG") {
			t.Errorf("%s: %d, %.20q", address, status, text)
		}
	}
}

// kind is what a button asks, whenever it was made.
func kind(side string, b button) string {
	words := strings.Fields(b.Data) // version, edit, time, command …
	return fmt.Sprint(side, words[1], words[3:])
}

// TestEveryButtonDoesSomething presses each kind of button of the public answers
// on both sides, and of what they lead to.
func TestEveryButtonDoesSomething(t *testing.T) {
	c := connect(t)
	pressed := map[string]bool{}
	for _, line := range []string{"/price", "/price 7d", "/supply", "/staked " + c.wallet(0), "/staked " + c.wallet(1), "/help"} {
		r := c.say("member", webdemo.Group, line)
		for side, asked := range r.Asked {
			message := c.answered(side, asked)
			todo := buttons(message)
			for len(todo) > 0 {
				b := todo[0]
				todo = todo[1:]
				if b.Data == "" || pressed[kind(side, b)] {
					continue
				}
				pressed[kind(side, b)] = true
				before := len(c.wait("what was", func([]webdemo.Event) bool { return true }))
				r := c.act(webdemo.Act{Side: side, Kind: "press", As: "unregistered", Chat: webdemo.Group, Message: message.ID, Button: b.Data})
				c.wait(fmt.Sprintf("%q below %s to do something on %s", b.Label, line, side), func(all []webdemo.Event) bool {
					return slices.ContainsFunc(all[before:], func(e webdemo.Event) bool {
						todo = append(todo, buttons(e)...)
						if side == webdemo.Telegram {
							return e.Kind == webdemo.KindAlert && e.ID == r.Asked[side] && e.For == "unregistered"
						}
						return e.Kind == webdemo.KindMessage && e.Side == side && (e.ID == message.ID || e.ReplyTo == message.ID)
					})
				})
			}
		}
	}
	if len(pressed) < 12 {
		t.Errorf("only these were found: %v", pressed)
	}
}

// The button of a period is not below the answer about it, which also holds where a
// machine is too busy to draw.
func TestAnEditTakesThePlaceOfItsMessage(t *testing.T) {
	c := connect(t)
	r := c.say("member", webdemo.Group, "/price")
	isWeek := func(b button) bool { return b.Label == "7 d" }
	for side, asked := range r.Asked {
		message := c.answered(side, asked)
		week := buttons(message)[slices.IndexFunc(buttons(message), isWeek)]
		c.act(webdemo.Act{Side: side, Kind: "press", As: "moderator", Chat: webdemo.Group, Message: message.ID, Button: week.Data})
		edited := c.waitFor("the edit on "+side, func(e webdemo.Event) bool {
			return e.Kind == webdemo.KindMessage && e.Side == side && e.ID == message.ID && !slices.ContainsFunc(buttons(e), isWeek)
		})
		if edited.ReplyTo != asked || edited.For != "" {
			t.Errorf("%+v", edited)
		}
	}
}

func TestAForcedReplyIsUnderstood(t *testing.T) {
	for _, place := range []string{webdemo.Group, webdemo.Private} {
		c := connect(t)
		r := c.act(webdemo.Act{Side: webdemo.Telegram, Kind: "say", As: "member", Chat: place, Text: "/staked"})
		question := c.answered(webdemo.Telegram, r.Asked[webdemo.Telegram])
		if !strings.Contains(string(question.Message), `"force_reply":true`) {
			t.Fatalf("%s", question.Message)
		}
		r = c.act(webdemo.Act{Side: webdemo.Telegram, Kind: "say", As: "member", Chat: place, Text: c.wallet(0), ReplyTo: question.ID})
		said := c.waitFor("the reply", func(e webdemo.Event) bool { return e.ID == r.Asked[webdemo.Telegram] })
		answer := c.answered(webdemo.Telegram, said.ID)
		if said.ReplyTo != question.ID || !strings.Contains(string(answer.Message), "Staked") {
			t.Errorf("%+v is answered by %s", said, answer.Message)
		}
	}
}

func TestAModalIsOpenedAndSent(t *testing.T) {
	c := connect(t)
	r := c.act(webdemo.Act{Side: webdemo.Discord, Kind: "say", As: "member", Chat: webdemo.Group, Text: "/staked 0x12"})
	wrong := c.answered(webdemo.Discord, r.Asked[webdemo.Discord])
	r = c.act(webdemo.Act{Side: webdemo.Discord, Kind: "press", As: "member", Chat: webdemo.Group, Message: wrong.ID, Button: buttons(wrong)[0].Data})
	modal := c.waitFor("the modal", func(e webdemo.Event) bool { return e.Kind == webdemo.KindModal })
	if modal.For != "member" || modal.ID != r.Asked[webdemo.Discord] || !strings.Contains(string(modal.Message), `"custom_id":"wallet"`) {
		t.Fatalf("%+v: %s", modal, modal.Message)
	}
	submit := webdemo.Act{Side: webdemo.Discord, Kind: "submit", As: "member", Chat: webdemo.Group, Message: modal.ID,
		Values: map[string]string{"wallet": c.wallet(0)}}
	c.act(submit)
	c.waitFor("the answer", func(e webdemo.Event) bool {
		return e.Side == webdemo.Discord && e.Kind == webdemo.KindMessage && strings.Contains(string(e.Message), "Staked")
	})
	submit.As, submit.Language = "moderator", "en"
	if status, _ := c.send("POST", "/act", string(mustJSON(submit)), nil); status != 400 {
		t.Errorf("the modal of another was sent: %d", status)
	}
}

func mustJSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func TestChoicesAreOffered(t *testing.T) {
	c := connect(t)
	for text, want := range map[string]string{
		"/price ":               `[{"name":"24h","value":"24h"},{"name":"7d","value":"7d"},{"name":"30d","value":"30d"}]`,
		"/price 7":              `[{"name":"7d","value":"7d"}]`,
		"/price period:3":       `[{"name":"30d","value":"30d"}]`,
		"/exists @m":            `[{"name":"@member","value":"@member"},{"name":"@moderator","value":"@moderator"}]`,
		"/exists GitHub 7":      `[]`,
		"/exists platform:gith": `[{"name":"GitHub","value":"GitHub"}]`,
		"/staked ":              `[]`,
		"/nothing ":             `[]`,
		"price":                 `[]`,
		"":                      `[]`,
		"/":                     `[]`,
	} {
		r := c.act(webdemo.Act{Side: webdemo.Discord, Kind: "complete", As: "member", Chat: webdemo.Group, Text: text})
		if string(r.Choices) != want {
			t.Errorf("%q: %s, want %s", text, r.Choices, want)
		}
	}
}

func TestAnInlineResultIsSentForAllToSee(t *testing.T) {
	c := connect(t)
	ask := webdemo.Act{Side: webdemo.Telegram, Kind: "complete", As: "member", Chat: webdemo.Group, Text: "supply"}
	r := c.act(ask)
	var results []struct{ ID, Title string }
	if err := json.Unmarshal(r.Choices, &results); err != nil || len(results) != 1 {
		t.Fatalf("%s, %v", r.Choices, err)
	}
	ask.Kind, ask.Message, ask.Button = "choose", r.Query, results[0].ID
	c.act(ask)
	sent := c.waitFor("the result", func(e webdemo.Event) bool { return e.Kind == webdemo.KindMessage && e.From == "member" })
	if sent.For != "" || !strings.Contains(string(sent.Message), "via_bot") || !strings.Contains(string(sent.Message), "Total") {
		t.Errorf("%+v %s", sent, sent.Message)
	}
}

func TestAModeratorAsksInThePersonsMenu(t *testing.T) {
	c := connect(t)
	pick := webdemo.Act{Side: webdemo.Discord, Kind: "pick", As: "moderator", Chat: webdemo.Group, Text: "Check registration", Target: "unregistered"}
	r := c.act(pick)
	if e := c.answered(webdemo.Discord, r.Asked[webdemo.Discord]); e.For != "moderator" || !strings.Contains(string(e.Message), "isn't registered") {
		t.Errorf("%+v %s", e, e.Message)
	}
	for _, change := range []func(*webdemo.Act){
		func(a *webdemo.Act) { a.As = "member" },
		func(a *webdemo.Act) { a.Chat = webdemo.Private },
		func(a *webdemo.Act) { a.Target = "nobody" },
		func(a *webdemo.Act) { a.Text = "Check" },
	} {
		other := pick
		change(&other)
		if r := c.act(other); r.Hint == "" || r.Asked != nil {
			t.Errorf("%+v: %+v", other, r)
		}
	}
}

func TestAReplyMeansItsSender(t *testing.T) {
	c := connect(t)
	said := c.say("unregistered", webdemo.Group, "hello").Asked[webdemo.Telegram]
	r := c.act(webdemo.Act{Side: webdemo.Telegram, Kind: "say", As: "moderator", Chat: webdemo.Group, Text: "/exists", ReplyTo: said})
	if e := c.answered(webdemo.Telegram, r.Asked[webdemo.Telegram]); e.For != "moderator" || !strings.Contains(string(e.Message), "isn't registered") {
		t.Errorf("%+v %s", e, e.Message)
	}
}

// TestAnOldAppIsPointedToThePrivateChat has the app of a person who has not
// started the bot know nothing of ephemeral commands.
func TestAnOldAppIsPointedToThePrivateChat(t *testing.T) {
	c := connect(t)
	ask := webdemo.Act{Side: webdemo.Telegram, Kind: "say", As: "member", Chat: webdemo.Group, Text: "/mylogins", OldApp: true}
	pointer := c.answered(webdemo.Telegram, c.act(ask).Asked[webdemo.Telegram])
	if pointer.For != "" || buttons(pointer)[0].URL != "https://t.me/"+c.state().BotName+"?start=mylogins" {
		t.Fatalf("%+v %s", pointer, pointer.Message)
	}
	started := c.act(webdemo.Act{Side: webdemo.Telegram, Kind: "say", As: "member", Chat: webdemo.Private, Text: "/start mylogins"})
	if e := c.answered(webdemo.Telegram, started.Asked[webdemo.Telegram]); e.For != "member" || !strings.Contains(string(e.Message), "Harbor Swap") {
		t.Errorf("%+v %s", e, e.Message)
	}
	c.waitFor("the pointer to go", func(e webdemo.Event) bool { return e.Kind == webdemo.KindGone && e.ID == pointer.ID })
}

func TestDiscordsAppDoesNotSendWhatItCannot(t *testing.T) {
	c := connect(t)
	for text, hint := range map[string]string{
		"/staked":                 "needs its option",
		"/start":                  "There is no command /start here.",
		"/":                       "There is no command / here.",
		"/supply now":             "no option left",
		"/exists @nobody":         "must be somebody here",
		"/exists user:7000000003": "must be somebody here",
	} {
		r := c.say("moderator", webdemo.Group, text)
		if !strings.Contains(r.Hint, hint) || r.Asked[webdemo.Discord] != "" || r.Asked[webdemo.Telegram] == "" {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

func TestTheAppsLanguageIsSpoken(t *testing.T) {
	c := connect(t)
	for _, language := range c.state().Languages {
		title := words.Say(chat.Language(language), chat.Say("help.title"))
		r := c.act(webdemo.Act{Side: webdemo.Both, Kind: "say", As: "member", Chat: webdemo.Private, Language: language, Text: "/help"})
		for side, asked := range r.Asked {
			if e := c.answered(side, asked); !strings.Contains(string(e.Message), title) {
				t.Errorf("%s on %s: %s", language, side, e.Message)
			}
		}
	}
}

func TestTheMenuIsTheAskersOwn(t *testing.T) {
	c := connect(t)
	menu := func(as, place, language string) (m webdemo.Menu) {
		c.call("/menu?as="+as+"&chat="+place+"&language="+language, nil, &m)
		return m
	}
	for _, test := range []struct{ as, place, language, telegram, discord string }{
		{"member", webdemo.Group, "es", "Precio de HRLD", `"description_localized":"Precio de HRLD`},
		{"member", webdemo.Group, "en", `"is_ephemeral":true`, `"name":"exists"`},
		{"moderator", webdemo.Group, "en", "or somebody else", `"name":"Check registration"`},
		{"member", webdemo.Private, "ru", "Цена HRLD", "Цена HRLD"},
	} {
		m := menu(test.as, test.place, test.language)
		if !strings.Contains(string(m.Telegram), test.telegram) || !strings.Contains(string(m.Discord), test.discord) {
			t.Errorf("%+v:\n%s\n%s", test, m.Telegram, m.Discord)
		}
	}
	if m := menu("member", webdemo.Group, "en"); strings.Contains(string(m.Discord), "Check registration") {
		t.Errorf("a member is offered the moderators' menu: %s", m.Discord)
	}
}
