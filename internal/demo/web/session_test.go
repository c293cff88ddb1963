package web_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/demo/web"
	"herald/internal/words"
)

// TestEveryCommandIsAnsweredOnBothSidesToThoseWhoMayRead it, and what is private
// to one is in nothing that others are shown.
func TestEveryCommandIsAnsweredOnBothSidesToThoseWhoMayRead(t *testing.T) {
	c := connect(t)
	staker, idle := c.wallet(0), c.wallet(1)
	public := []string{"/price", "/price 7d", "/supply", "/staked " + staker, "/staked " + idle}
	private := []string{"/mylogins", "/exists", "/verify " + staker, "/verify 0x12", "/exists @unregistered", "/exists GitHub 70001", "/verify @member " + staker}
	for _, asker := range c.state().Askers {
		for _, place := range c.state().Chats {
			for _, line := range append(private, public...) {
				for side, e := range c.say(asker.Name, place, line) {
					want := ""
					if place == web.Private || slices.Contains(private, line) {
						want = asker.Name
					}
					if e.For != want || e.Chat != place || e.From != web.Bot || !strings.Contains(string(e.Message), "simulated") {
						t.Errorf("%s of %s in %s on %s is answered for %q, want %q, by %+v", line, asker.Name, place, side, e.For, want, e)
					}
				}
			}
			// The answer in the private chat, after a pointer in the group.
			old := c.answer(web.Act{Side: web.Telegram, Kind: "say", As: asker.Name, Chat: place, Text: "/mylogins", OldApp: true})
			if old.For == "" && place == web.Private {
				t.Errorf("%+v is for all", old)
			}
		}
	}
	// All of these stand in answers to private commands alone.
	asked := regexp.MustCompile(`"command":"(mylogins|exists|verify)"`)
	secret := regexp.MustCompile(`Harbor Swap|Night Market|[Rr]egistered|No logins|yours|Check the wallet`)
	found := map[string]bool{}
	for _, e := range c.all() {
		text := string(e.Message)
		if e.Chat == web.Private && e.For == "" || e.Kind == web.KindMessage && e.For == "" && secret.MatchString(text) {
			t.Errorf("for all on %s in %s: %s", e.Side, e.Chat, text)
		}
		if e.Side == web.Discord && e.For == "" && asked.MatchString(text) {
			t.Errorf("all see what was asked in private: %s", text)
		}
		if strings.Contains(text, "Harbor Swap") {
			found[e.Side+e.For] = true
		}
	}
	if len(found) != 2 || !found["telegrammember"] || !found["discordmember"] {
		t.Errorf("the member's logins are shown to %v", found)
	}
}

func TestAButtonChangesItsMessageAndAPictureCanBeLoaded(t *testing.T) {
	c := connect(t)
	address := regexp.MustCompile(`"(/file/[^"]+)"`)
	for range 10 { // a picture that is late, as on a busy machine, is there the next time
		if address.Match(c.say("member", web.Group, "/price 7d")[web.Telegram].Message) {
			break
		}
	}
	for side, message := range c.say("member", web.Group, "/price") {
		press := web.Act{Side: side, Kind: "press", As: "moderator", Chat: web.Group, Message: message.ID, Button: c.button(message, " 7d")}
		edited := c.answer(press)
		found := address.FindSubmatch(edited.Message)
		if edited.ID != message.ID || edited.For != "" || found == nil {
			t.Fatalf("%+v became %+v: %s", message, edited, edited.Message)
		}
		if status, text := c.send("GET", string(found[1]), nil, nil); status != 200 || !strings.HasPrefix(text, "\x89PNG") {
			t.Errorf("%s: %d, %.20q", found[1], status, text)
		}
	}
}

func TestWhatIsMissingIsAskedForByAForcedReplyAndByAModal(t *testing.T) {
	c := connect(t)
	ask := web.Act{Side: web.Telegram, Kind: "say", As: "member", Chat: web.Group, Text: "/staked"}
	question := c.answer(ask)
	ask.Text, ask.ReplyTo = c.wallet(0), question.ID
	if answer := c.answer(ask); !strings.Contains(string(question.Message), `"force_reply":true`) || !strings.Contains(string(answer.Message), "Staked") {
		t.Errorf("%s and then %s", question.Message, answer.Message)
	}

	wrong := c.answer(web.Act{Side: web.Discord, Kind: "say", As: "member", Chat: web.Group, Text: "/staked 0x12"})
	c.act(web.Act{Side: web.Discord, Kind: "press", As: "member", Chat: web.Group, Message: wrong.ID, Button: c.button(wrong, "")})
	modal := c.next(0, "the modal", func(e web.Event) bool { return e.Kind == web.KindModal })
	submit := web.Act{Side: web.Discord, Kind: "submit", As: "moderator", Chat: web.Group, Language: "en", Message: modal.ID,
		Values: map[string]string{"wallet": c.wallet(0)}}
	if status, _ := c.send("POST", "/act", submit, nil); status != 400 || modal.For != "member" {
		t.Errorf("the modal for %s was sent by another: %d", modal.For, status)
	}
	submit.As = "member"
	if answer := c.answer(submit); !strings.Contains(string(answer.Message), "Staked") {
		t.Errorf("%s", answer.Message)
	}
}

// TestDiscordsAppOffersChoicesAndDoesNotSendWhatItCannot.
func TestDiscordsAppOffersChoicesAndDoesNotSendWhatItCannot(t *testing.T) {
	c := connect(t)
	discord := web.Act{Side: web.Discord, Kind: "complete", As: "moderator", Chat: web.Group}
	for text, want := range map[string]string{
		"/price ":      `[{"name":"24h","value":"24h"},{"name":"7d","value":"7d"},{"name":"30d","value":"30d"}]`,
		"/exists @m":   `[{"name":"@member","value":"@member"},{"name":"@moderator","value":"@moderator"}]`,
		"/exists gith": `[{"name":"GitHub","value":"GitHub"}]`,
		"/staked ":     `[]`,
		"/nothing ":    `[]`,
	} {
		discord.Text = text
		if r := c.act(discord); string(r.Choices) != want {
			t.Errorf("%q: %s, want %s", text, r.Choices, want)
		}
	}
	discord.Kind = "say"
	for text, hint := range map[string]string{
		"/staked":         "needs its option",
		"/start":          "There is no command /start here.",
		"/supply now":     "no option left",
		"/exists @nobody": "must be somebody here",
	} {
		discord.Text = text
		if r := c.act(discord); !strings.Contains(r.Hint, hint) {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

// TestModeratorsAskAboutOthers in the person's menu on Discord and by a reply on
// Telegram.
func TestModeratorsAskAboutOthers(t *testing.T) {
	c := connect(t)
	pick := web.Act{Side: web.Discord, Kind: "pick", As: "moderator", Chat: web.Group, Text: "Check registration", Target: "unregistered"}
	before := len(c.all())
	c.act(web.Act{Side: web.Telegram, Kind: "say", As: "unregistered", Chat: web.Group, Text: "hello"})
	said := c.next(before, "hello", func(e web.Event) bool { return e.Kind == web.KindAsked })
	reply := web.Act{Side: web.Telegram, Kind: "say", As: "moderator", Chat: web.Group, Text: "/exists", ReplyTo: said.ID}
	for _, ask := range []web.Act{pick, reply} {
		if e := c.answer(ask); e.For != "moderator" || !strings.Contains(string(e.Message), "isn't registered") {
			t.Errorf("%+v is answered for %s by %s", ask, e.For, e.Message)
		}
	}
	pick.As = "member"
	if r := c.act(pick); r.Hint == "" {
		t.Errorf("%+v was sent", pick)
	}
}

// TestAnOldAppIsPointedToThePrivateChat has the app of a person who has not
// started the bot know nothing of ephemeral commands. That the pointer goes again
// is Telegram's to test: only there it is known when the bot has learned its ID.
func TestAnOldAppIsPointedToThePrivateChat(t *testing.T) {
	c := connect(t)
	pointer := c.answer(web.Act{Side: web.Telegram, Kind: "say", As: "member", Chat: web.Group, Text: "/mylogins", OldApp: true})
	if pointer.For != "" || !strings.Contains(string(pointer.Message), `"https://t.me/`+c.state().BotName+`?start=mylogins"`) {
		t.Fatalf("%+v %s", pointer, pointer.Message)
	}
	e := c.answer(web.Act{Side: web.Telegram, Kind: "say", As: "member", Chat: web.Private, Text: "/start mylogins"})
	if e.For != "member" || !strings.Contains(string(e.Message), "Harbor Swap") {
		t.Errorf("%+v %s", e, e.Message)
	}
}

func TestAnInlineResultIsSentForAllToSee(t *testing.T) {
	c := connect(t)
	ask := web.Act{Side: web.Telegram, Kind: "complete", As: "member", Chat: web.Group, Text: "supply"}
	r := c.act(ask)
	result := regexp.MustCompile(`"id":"([^"]+)"`).FindSubmatch(r.Choices)
	if result == nil {
		t.Fatalf("%s", r.Choices)
	}
	ask.Kind, ask.Message, ask.Button = "choose", r.Query, string(result[1])
	if sent := c.answer(ask); sent.For != "" || sent.From != "member" || !strings.Contains(string(sent.Message), "Total") {
		t.Errorf("%+v %s", sent, sent.Message)
	}
}

func TestNobodyPressesWhatTheyDoNotSee(t *testing.T) {
	c := connect(t)
	for side, message := range c.say("member", web.Group, "/exists") {
		press := web.Act{Side: side, Kind: "press", As: "member", Chat: web.Group, Language: "en", Message: message.ID, Button: "1 e 0 exists"}
		c.answer(press)
		press.As = "moderator"
		if status, text := c.send("POST", "/act", press, nil); status != 400 || !strings.Contains(text, "no such message") {
			t.Errorf("%+v: %d %s", press, status, text)
		}
	}
}

func TestTheAppsLanguageAndMenuAreTheAskersOwn(t *testing.T) {
	c := connect(t)
	var languages []string
	for _, l := range chat.Languages() {
		languages = append(languages, string(l))
		e := c.answer(web.Act{Side: web.Discord, Kind: "say", As: "member", Chat: web.Private, Language: string(l), Text: "/help"})
		if title := words.Say(l, chat.Say("help.title")); !strings.Contains(string(e.Message), title) {
			t.Errorf("%s: %s", l, e.Message)
		}
	}
	if got := c.state().Languages; !slices.Equal(got, languages) {
		t.Errorf("the page has the languages %q, want %q", got, languages)
	}
	for as, person := range map[string]bool{"member": false, "moderator": true} {
		_, menu := c.send("GET", "/menu?as="+as+"&chat=group&language=es", nil, nil)
		inSpanish := strings.Contains(menu, `"description":"Precio de HRLD`)
		if !inSpanish || !strings.Contains(menu, `"is_ephemeral":true`) || strings.Contains(menu, `"person":true`) != person {
			t.Errorf("%s: %s", as, menu)
		}
	}
}

func TestWhatIsNotOfTheProtocolIsRefused(t *testing.T) {
	c := connect(t)
	for want, change := range map[string]func(*web.Act){
		"as: ":                     func(a *web.Act) { a.As = "ann" },
		"side: ":                   func(a *web.Act) { a.Side = "irc" },
		"no such message":          func(a *web.Act) { a.Side, a.ReplyTo = web.Telegram, "99" },
		"at most 256 characters":   func(a *web.Act) { a.Side, a.Kind, a.Text = web.Telegram, "complete", strings.Repeat("x", 257) },
		"cannot be done":           func(a *web.Act) { a.Side, a.Kind = web.Discord, "choose" },
		"must be JSON of at most ": func(a *web.Act) { a.Text = strings.Repeat("x", 65<<10) },
	} {
		act := web.Act{Side: web.Both, Kind: "say", As: "member", Chat: web.Group, Language: "en", Text: "/help"}
		change(&act)
		if status, text := c.send("POST", "/act", act, nil); status != 400 || !strings.Contains(text, want) {
			t.Errorf("%s%d %s", want, status, text)
		}
	}
}

// TestOtherSitesAreKeptOut makes the calls that a page elsewhere could have this
// person's browser make.
func TestOtherSitesAreKeptOut(t *testing.T) {
	c := connect(t)
	port := c.url[strings.LastIndex(c.url, ":"):]
	act := web.Act{Side: web.Telegram, Kind: "say", As: "member", Chat: web.Group, Language: "en", Text: "hello"}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for name, test := range map[string]struct {
		method, path string
		change       func(*http.Request)
		want         int
	}{
		"a name that leads here":       {"GET", "/state", host("evil.example" + port), http.StatusMisdirectedRequest},
		"localhost":                    {"GET", "/state", host("localhost" + port), http.StatusOK},
		"another origin":               {"POST", "/act", header("Origin", "https://evil.example"), http.StatusForbidden},
		"another site":                 {"POST", "/act", header("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		"a form":                       {"POST", "/act", header("Content-Type", "text/plain"), http.StatusUnsupportedMediaType},
		"the page itself":              {"POST", "/act", header("Sec-Fetch-Site", "same-origin"), http.StatusOK},
		"the page in an older browser": {"POST", "/act", header("Origin", c.url), http.StatusOK},
	} {
		if status, text := c.send(test.method, test.path, act, test.change); status != test.want {
			t.Errorf("%s: %d, want %d: %s", name, status, test.want, text)
		}
	}
	resp, err := http.Get(c.url + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if policy := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'self';") ||
		resp.Header.Get("Access-Control-Allow-Origin") != "" || resp.Header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
		t.Errorf("%v", resp.Header)
	}
}
