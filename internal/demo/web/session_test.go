package web_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/demo/fake/services"
	"herald/internal/demo/web"
	"herald/internal/words"
)

// TestAnswersReachThoseWhoMayRead asks every command on both sides: what is private to one
// person is in no event for others.
func TestAnswersReachThoseWhoMayRead(t *testing.T) {
	c := connect(t)
	staker, idle := c.wallet(0), c.wallet(1)
	public := []string{"/price", "/price 7d", "/price 1500", "/supply", "/staked " + staker, "/staked " + idle}
	private := []string{"/mylogins", "/exists", "/verify " + staker, "/verify 0x12", "/exists @unregistered", "/exists GitHub 70001", "/verify @registered " + staker}
	for _, person := range c.state().People {
		for _, place := range c.state().Chats {
			for _, line := range append(private, public...) {
				for side, e := range c.say(person.Name, place, line) {
					want := ""
					if place == web.Private || slices.Contains(private, line) {
						want = person.Name
					}
					about := fmt.Sprintf("%s of %s in %s on %s", line, person.Name, place, side)
					if e.For != want || e.Chat != place || e.From != web.Bot {
						t.Errorf("%s is answered from %s for %q in %s, want from bot for %q in %s", about, e.From, e.For, e.Chat, want, place)
					}
				}
			}
			// The answer in the private chat, after a pointer in the group.
			old := c.answer(web.Act{Side: web.Telegram, Kind: "say", As: person.Name, Chat: place, Text: "/mylogins", OldApp: true})
			if old.For == "" && place == web.Private {
				t.Errorf("%+v is for all", old)
			}
		}
	}
	// All of these stand in answers to private commands alone.
	asked := regexp.MustCompile(`"command":"(mylogins|exists|verify)"`)
	secret := regexp.MustCompile(`Harbor Swap|Night Market|[Rr]egistered|No logins|yours|our wallet|Check the wallet`)
	found := map[string]bool{}
	for _, e := range c.seen() {
		text := string(e.Message)
		if e.Chat == web.Private && e.For == "" || e.Kind == web.KindMessage && e.For == "" && secret.MatchString(text) {
			t.Errorf("for all on %s in %s: %s", e.Side, e.Chat, text)
		}
		if e.For == "" && (e.Side == web.Discord && asked.MatchString(text) || strings.Contains(text, `"ephemeral_message_id"`)) {
			t.Errorf("all see what was asked in private: %s", text)
		}
		if strings.Contains(text, "Harbor Swap") {
			found[e.Side+e.For] = true
		}
	}
	if len(found) != 2 || !found["telegramregistered"] || !found["discordregistered"] {
		t.Errorf("the member's logins are shown to %v", found)
	}
}

// TestJoinRequestsAreSeenFromBothSides has people ask to join, and looks at what the bot
// tells them and at what moderators see. Nobody waits for a limit.
func TestJoinRequestsAreSeenFromBothSides(t *testing.T) {
	c := connect(t)
	for _, test := range []struct{ person, group, language, wallet, told, state string }{
		{"registered", "registered", "en", "", "You're in", "approved"},
		{"registered", "staker", "en", c.wallet(0), "You're in", "approved"},
		{"unregistered", "registered", "es", "", words.Say(chat.Spanish, chat.Say("join.no")), "open"},
		{"moderator", "staker", "en", c.wallet(1), "Not in yet: ", "open"},
		// Once more, after an open request and an approved one.
		{"unregistered", "registered", "en", "", "you're not registered yet", "open"},
		{"registered", "registered", "en", "", "You're in", "approved"},
	} {
		before := len(c.seen())
		c.act(web.Act{Side: web.Telegram, Kind: "join", As: test.person, Target: test.group, Language: test.language})
		if test.wallet != "" {
			question := c.answerAfter(before, web.Telegram, "the request")
			if !strings.Contains(string(question.Message), `"force_reply":true`) {
				t.Errorf("got %s, want a forced reply", question.Message)
			}
			c.act(web.Act{Side: web.Telegram, Kind: "say", As: test.person, Chat: web.Private, Message: question.ID, Text: test.wallet})
		}
		told := c.next(before, test.told, func(e web.Event) bool {
			return e.Kind == web.KindMessage && strings.Contains(string(e.Message), test.told)
		})
		if told.For != test.person || told.Chat != web.Private {
			t.Errorf("%+v: %q is told in %s: %s", test, told.For, told.Chat, told.Message)
		}
		want := fmt.Sprintf(`{"required":%q,"state":%q}`, test.group, test.state)
		c.next(before, want, func(e web.Event) bool {
			return e.Kind == web.KindJoin && e.From == test.person && string(e.Message) == want
		})
	}
	if status, text := c.send("POST", "/act", web.Act{Side: web.Telegram, Kind: "join", As: "registered", Target: "nobody"}, nil); status != 400 {
		t.Errorf("a group that does not exist: %d %s", status, text)
	}
}

// The badge stays while the node is down, goes once two checks have found no stake, and its
// owner learns why.
func TestTheBadgeStaysThenGoesAndIsExplained(t *testing.T) {
	c := connect(t)
	fault := func(name string, on bool) { c.call("POST", "/faults", map[string]bool{name: on}, &web.State{}) }
	later := func() { c.call("POST", "/later", struct{}{}, new(string)) }
	for side, card := range c.say("registered", web.Private, "/verify "+c.wallet(0)) {
		c.have(0, side, `[]`)
		if saved := c.press("registered", card, "save"); !strings.Contains(string(saved.Message), "You have Staker in Herald demo") {
			t.Errorf("the press is answered by %s", saved.Message)
		}
		c.have(0, side, `["registered"]`)
	}
	before := len(c.seen())
	fault("chain", true)
	later()
	later()
	fault("chain", false)
	fault("unstaked", true)
	later()
	for _, e := range c.seen()[before:] {
		if e.Kind == web.KindBadges {
			t.Errorf("after a node that was down, and one check without a stake, %s have the badge", e.Message)
		}
	}
	later()
	for _, side := range []string{web.Telegram, web.Discord} {
		c.have(before, side, `[]`)
	}
	const wallet = "0x56B9…9ea2"
	note := c.answerAfter(before, web.Telegram, "the removal")
	for _, want := range []string{"Staker is removed in Herald demo", "No stake found in " + wallet, " UTC"} {
		if note.For != "registered" || note.Chat != web.Private || !strings.Contains(string(note.Message), want) {
			t.Errorf("%q is told in %s, without %q: %s", note.For, note.Chat, want, note.Message)
		}
	}
	for _, ask := range []struct{ text, want string }{
		{"/verify", "No stake found in " + wallet}, {"/forget", "I no longer have " + wallet}, {"/forget", "I have nothing saved"},
	} {
		for side, e := range c.say("registered", web.Private, ask.text) {
			if !strings.Contains(string(e.Message), ask.want) {
				t.Errorf("%s on %s is answered by %s, want %q", ask.text, side, e.Message, ask.want)
			}
		}
	}
}

func TestDiscordSaysWhyItDoesNotSend(t *testing.T) {
	c := connect(t)
	discord := web.Act{Side: web.Discord, Kind: "say", As: "moderator", Chat: web.Group}
	for text, hint := range map[string]string{
		"/staked":                "needs its option",
		"/start":                 "There is no command /start here.",
		"/supply now":            "no option for",
		"/staked 0x @registered": "no option for",
		"/exists Git 70001":      "no option for",
	} {
		discord.Text = text
		if r := c.act(discord); !strings.Contains(r.Hint, hint) {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

func TestEachFaultIsSeenInAnAnswer(t *testing.T) {
	type fault struct{ name, text, want string }
	var down []fault
	for _, s := range services.New().Services() {
		down = append(down, fault{s.Name, commandstest.Asking(s.Name), "can't be reached"})
	}
	// The faults of one line do not affect each other.
	groups := [][]fault{
		down,
		{{"pool", "/staked", "20 of 21 pools"}, {"old quote", "/price", "⚠️ HRLD"}},
		{{"old block", "/staked", "out of sync"}, {"rate limit", "/price", "limiting my requests"}},
		{{"fresh bot", "/price 7d", "Chart from"}, {"unstaked", "/staked", "Not staked"}},
	}
	tried := slices.Concat(groups...)
	for _, f := range connect(t).state().Faults {
		if !slices.ContainsFunc(tried, func(t fault) bool { return t.name == f.Name }) {
			t.Errorf("no group tries the fault %q", f.Name)
		}
	}
	for _, group := range groups {
		t.Run(group[0].name, func(t *testing.T) {
			c, on := connect(t), map[string]bool{}
			for _, f := range group {
				on[f.name] = true
			}
			c.call("POST", "/faults", on, &web.State{})
			for _, f := range group {
				text := f.text
				if text == "/staked" {
					text += " " + c.wallet(0)
				}
				e := c.answer(web.Act{Side: web.Telegram, Kind: "say", As: "registered", Chat: web.Private, Text: text})
				if !strings.Contains(string(e.Message), f.want) {
					t.Errorf("%s: %s is answered by %s, want %q", f.name, text, e.Message, f.want)
				}
			}
		})
	}
}

func TestWordsBecomeOptionsOnDiscord(t *testing.T) {
	c := connect(t)
	for text, want := range map[string]string{
		"/exists @unregistered":       `[{"name":"user","person":"unregistered","value":""}]`,
		"/exists GitHub 70001":        `[{"name":"platform","person":"","value":"GitHub"},{"name":"uid","person":"","value":"70001"}]`,
		"/exists 7000000003":          `[{"name":"uid","person":"","value":"7000000003"}]`,
		"/exists 7000000001 Telegram": `[{"name":"platform","person":"","value":"Telegram"},{"name":"uid","person":"","value":"7000000001"}]`,
	} {
		before := len(c.seen())
		c.answer(web.Act{Side: web.Discord, Kind: "say", As: "moderator", Chat: web.Group, Text: text})
		asked := c.next(before, text, func(e web.Event) bool { return e.Kind == web.KindAsked })
		if !strings.Contains(string(asked.Message), `"options":`+want) {
			t.Errorf("%s: %s", text, asked.Message)
		}
	}
}

// TestModeratorsAskAboutOthers asks by the person's menu on Discord and by a reply on
// Telegram.
func TestModeratorsAskAboutOthers(t *testing.T) {
	c := connect(t)
	pick := web.Act{Side: web.Discord, Kind: "pick", As: "moderator", Chat: web.Group, Text: "Check registration", Target: "unregistered"}
	before := len(c.seen())
	c.act(web.Act{Side: web.Telegram, Kind: "say", As: "unregistered", Chat: web.Group, Text: "hello"})
	said := c.next(before, "hello", func(e web.Event) bool { return e.Kind == web.KindAsked })
	reply := web.Act{Side: web.Telegram, Kind: "say", As: "moderator", Chat: web.Group, Text: "/exists", Message: said.ID}
	for _, ask := range []web.Act{pick, reply} {
		if e := c.answer(ask); e.For != "moderator" || !strings.Contains(string(e.Message), "isn't registered") {
			t.Errorf("%+v is answered for %s by %s", ask, e.For, e.Message)
		}
	}
	pick.As = "registered"
	if r := c.act(pick); r.Hint == "" {
		t.Errorf("%+v was sent", pick)
	}
}

func TestHiddenButtonsCannotBePressed(t *testing.T) {
	c := connect(t)
	for side, message := range c.say("registered", web.Group, "/exists") {
		press := web.Act{Side: side, Kind: "press", As: "registered", Chat: web.Group, Message: message.ID, Button: "1 e 0 exists"}
		c.answer(press)
		press.As = "moderator"
		if status, text := c.send("POST", "/act", press, nil); status != 400 || !strings.Contains(text, "no such person or message") {
			t.Errorf("%+v: %d %s", press, status, text)
		}
	}
}

func TestLanguageAndMenuArePersonal(t *testing.T) {
	c := connect(t)
	var languages []string
	for _, l := range chat.Languages() {
		languages = append(languages, string(l))
		e := c.answer(web.Act{Side: web.Discord, Kind: "say", As: "registered", Chat: web.Private, Language: string(l), Text: "/help"})
		// Chinese words are held together by word joiners.
		said := func(e web.Event) string { return strings.ReplaceAll(string(e.Message), "\u2060", "") }
		if title := words.Say(l, chat.Say("help.title")); !strings.Contains(said(e), title) {
			t.Errorf("%s: %s", l, e.Message)
		}
		var now web.State
		c.call("POST", "/language", map[string]string{"language": string(l)}, &now)
		e = c.answer(web.Act{Side: web.Telegram, Kind: "say", As: "registered", Chat: web.Group, Language: "en", Text: "/status"})
		if title := words.Say(l, chat.Say("status.all")); !strings.Contains(said(e), title) || now.ChatLanguage != string(l) {
			t.Errorf("the chat speaks %s: %+v: %s", l, now, e.Message)
		}
	}
	if got := c.state().Languages; !slices.Equal(got, languages) {
		t.Errorf("the page has the languages %q, want %q", got, languages)
	}
	for as, person := range map[string]bool{"registered": false, "moderator": true} {
		_, menu := c.send("GET", "/menu?as="+as+"&chat=group&language=es", nil, nil)
		inSpanish := strings.Contains(menu, `"description":"Precio y gráfico de HRLD`)
		label := fmt.Sprintf(`"label":%q`, words.Say(chat.Spanish, chat.Say("exists.menu")))
		if !inSpanish || !strings.Contains(menu, `"is_ephemeral":true`) || strings.Contains(menu, label) != person {
			t.Errorf("%s: %s", as, menu)
		}
	}
}

// TestOtherSitesAreRefused sends the requests that a page of another site could make.
func TestOtherSitesAreRefused(t *testing.T) {
	c := connect(t)
	port := c.url[strings.LastIndex(c.url, ":"):]
	act := web.Act{Side: web.Telegram, Kind: "say", As: "registered", Chat: web.Group, Text: "hello"}
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
		"the page itself":              {"POST", "/act", header("Sec-Fetch-Site", "same-origin"), http.StatusOK},
		"the page in an older browser": {"POST", "/act", header("Origin", c.url), http.StatusOK},
	} {
		if status, text := c.send(test.method, test.path, act, test.change); status != test.want {
			t.Errorf("%s: %d, want %d: %s", name, status, test.want, text)
		}
	}
	resp, err := (&http.Client{Timeout: 20 * time.Second}).Get(c.url + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for name, want := range map[string]string{
		"Content-Security-Policy":      "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Access-Control-Allow-Origin":  "",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
