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

// publicLines returns commands with answers that everybody may read.
func publicLines(staker, idle string) []string {
	return []string{"/price", "/price 7d", "/price 1500", "/supply", "/staked " + staker, "/staked " + idle}
}

// privateLines returns commands with answers that only the asker may read.
func privateLines(staker string) []string {
	return []string{
		"/mylogins",
		"/exists",
		"/verify " + staker,
		"/verify 0x12",
		"/exists @unregistered",
		"/exists GitHub 70001",
		"/verify @registered " + staker,
	}
}

// askEverything asks the commands as each person in each place, on both sides. It checks who can read each answer.
func (c *client) askEverything() {
	c.Helper()
	staker, idle := c.wallet(0), c.wallet(1)
	private := privateLines(staker)
	for _, person := range c.state().People {
		for _, place := range c.state().Chats {
			for _, line := range append(private, publicLines(staker, idle)...) {
				reader := ""
				if place == web.Private || slices.Contains(private, line) {
					reader = person.Name
				}
				for side, e := range c.say(person.Name, place, line) {
					if e.For != reader || e.Chat != place || e.From != web.Bot {
						c.Errorf("%s of %s in %s on %s is answered from %s for %q in %s, want for %q",
							line, person.Name, place, side, e.From, e.For, e.Chat, reader)
					}
				}
			}
			c.askWithAnOldApp(person.Name, place)
		}
	}
}

// askWithAnOldApp asks a private command as an app does that cannot send ephemeral messages. In a group, a pointer
// leads to the private chat.
func (c *client) askWithAnOldApp(person, place string) {
	c.Helper()
	e := c.answer(web.Act{
		Side:   web.Telegram,
		Kind:   "say",
		As:     person,
		Chat:   place,
		Text:   "/mylogins",
		OldApp: true,
	})
	if e.For == "" && place == web.Private {
		c.Errorf("%+v is for all", e)
	}
}

// Words that are only in the answers to private commands.
var secretWords = regexp.MustCompile(
	`Harbor Swap|Night Market|[Rr]egistered|No logins|yours|our wallet|Check the wallet`,
)

// askedPrivately matches a private command as Discord shows it.
var askedPrivately = regexp.MustCompile(`"command":"(mylogins|exists|verify)"`)

func TestAnswersReachThoseWhoMayRead(t *testing.T) {
	c := connect(t)
	c.askEverything()
	readers := map[string]bool{} // of the member's logins, by side
	for _, e := range c.seen() {
		text := string(e.Message)
		if strings.Contains(text, "Harbor Swap") {
			readers[e.Side+" "+e.For] = true
		}
		if e.For != "" {
			continue
		}
		if e.Chat == web.Private || e.Kind == web.KindMessage && secretWords.MatchString(text) {
			t.Errorf("for all on %s in %s: %s", e.Side, e.Chat, text)
		}
		if e.Side == web.Discord && askedPrivately.MatchString(text) || strings.Contains(text, `"ephemeral_message_id"`) {
			t.Errorf("all see what was asked in private: %s", text)
		}
	}
	if len(readers) != 2 || !readers["telegram registered"] || !readers["discord registered"] {
		t.Errorf("the member's logins are shown to %v", readers)
	}
}

// joinStep is a person who asks to join a group, and what becomes of it.
type joinStep struct {
	person   string
	group    string
	language string
	wallet   string // the answer to the question, "" if there is none
	told     string // within the message to the person
	state    string // that moderators see
}

// Nobody waits for a limit, also not who asks again.
func TestJoinRequestsAreSeenFromBothSides(t *testing.T) {
	c := connect(t)
	staker, idle := c.wallet(0), c.wallet(1)
	notIn := words.Say(chat.Spanish, chat.Say("join.no"))
	for _, step := range []joinStep{
		{person: "registered", group: "registered", language: "en", told: "You're in", state: "approved"},
		{person: "registered", group: "staker", language: "en", wallet: staker, told: "You're in", state: "approved"},
		{person: "unregistered", group: "registered", language: "es", told: notIn, state: "open"},
		{person: "moderator", group: "staker", language: "en", wallet: idle, told: "Not in yet: ", state: "open"},
		{person: "unregistered", group: "registered", language: "en", told: "you're not registered yet", state: "open"},
		{person: "registered", group: "registered", language: "en", told: "You're in", state: "approved"},
	} {
		c.join(step)
	}
}

// join takes a step, and checks what the person and the moderators see.
func (c *client) join(step joinStep) {
	c.Helper()
	before := len(c.seen())
	c.act(web.Act{Side: web.Telegram, Kind: "join", As: step.person, Target: step.group, Language: step.language})
	if step.wallet != "" {
		question := c.answerAfter(before, web.Telegram, "the request")
		if !strings.Contains(string(question.Message), `"force_reply":true`) {
			c.Errorf("got %s, want a forced reply", question.Message)
		}
		c.act(web.Act{
			Side:    web.Telegram,
			Kind:    "say",
			As:      step.person,
			Chat:    web.Private,
			Message: question.ID,
			Text:    step.wallet,
		})
	}
	told := c.next(before, step.told, func(e web.Event) bool {
		return e.Kind == web.KindMessage && strings.Contains(string(e.Message), step.told)
	})
	if told.For != step.person || told.Chat != web.Private {
		c.Errorf("%+v: %q is told in %s: %s", step, told.For, told.Chat, told.Message)
	}
	shown := fmt.Sprintf(`{"required":%q,"state":%q}`, step.group, step.state)
	c.next(before, shown, func(e web.Event) bool {
		return e.Kind == web.KindJoin && e.From == step.person && string(e.Message) == shown
	})
}

func TestAGroupThatDoesNotExistCannotBeJoined(t *testing.T) {
	c := connect(t)
	join := web.Act{Side: web.Telegram, Kind: "join", As: "registered", Target: "nobody"}
	if status, text := c.send("POST", "/act", join, nil); status != http.StatusBadRequest {
		t.Errorf("%d %s", status, text)
	}
}

// fault turns a fault on or off.
func (c *client) fault(name string, on bool) {
	c.Helper()
	c.call("POST", "/faults", map[string]bool{name: on}, &web.State{})
}

// later lets six hours pass, after which the saved addresses are checked.
func (c *client) later() {
	c.Helper()
	c.call("POST", "/later", struct{}{}, new(string))
}

// shownWallet is the wallet that stakes, as the bot shortens it.
const shownWallet = "0x56B9…9ea2"

// saveStaker saves the wallet that stakes for the registered person, on both sides.
func (c *client) saveStaker() {
	c.Helper()
	for side, card := range c.say("registered", web.Private, "/verify "+c.wallet(0)) {
		c.have(0, side, `[]`)
		saved := c.press("registered", card, "save")
		if !strings.Contains(string(saved.Message), "You have Staker in Herald demo") {
			c.Errorf("the press is answered by %s", saved.Message)
		}
		c.have(0, side, `["registered"]`)
	}
}

// The badge stays while the node is down. It is removed once two checks have found no stake.
func TestTheBadgeStaysThenGoesAndIsExplained(t *testing.T) {
	c := connect(t)
	c.saveStaker()
	before := len(c.seen())
	c.fault("chain", true)
	c.later()
	c.later()
	c.fault("chain", false)
	c.fault("unstaked", true)
	c.later()
	for _, e := range c.seen()[before:] {
		if e.Kind == web.KindBadges {
			t.Errorf("after an outage, and one check without a stake, %s have the badge", e.Message)
		}
	}
	c.later()
	c.have(before, web.Telegram, `[]`)
	c.have(before, web.Discord, `[]`)

	note := c.answerAfter(before, web.Telegram, "the removal")
	if note.For != "registered" || note.Chat != web.Private {
		t.Errorf("%q is told in %s", note.For, note.Chat)
	}
	for _, want := range []string{"Staker is removed in Herald demo", "No stake found in " + shownWallet, " UTC"} {
		if !strings.Contains(string(note.Message), want) {
			t.Errorf("the notice lacks %q: %s", want, note.Message)
		}
	}
	c.checkAnswer("/verify", "No stake found in "+shownWallet)
	c.checkAnswer("/forget", "I no longer have "+shownWallet)
	c.checkAnswer("/forget", "I have nothing saved")
}

// checkAnswer asks as the registered person in private, on both sides, and checks the answers.
func (c *client) checkAnswer(text, want string) {
	c.Helper()
	for side, e := range c.say("registered", web.Private, text) {
		if !strings.Contains(string(e.Message), want) {
			c.Errorf("%s on %s is answered by %s, want %q", text, side, e.Message, want)
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

// visibleFault is a fault, a question of the registered person, and what the answer says because of the fault.
type visibleFault struct {
	name string
	text string // the wallet that stakes follows /staked
	want string
}

// visibleFaults returns groups of faults that do not affect each other.
func visibleFaults() [][]visibleFault {
	var down []visibleFault
	for _, s := range services.New().Services() {
		down = append(down, visibleFault{s.Name, commandstest.Asking(s.Name), "can't be reached"})
	}
	return [][]visibleFault{
		down,
		{{"pool", "/staked", "20 of 21 pools"}, {"old quote", "/price", "⚠️ HRLD"}},
		{{"old block", "/staked", "out of sync"}, {"rate limit", "/price", "limiting my requests"}},
		{{"fresh bot", "/price 7d", "Chart available from"}, {"unstaked", "/staked", "Not staked"}},
	}
}

func TestEachFaultIsSeenInAnAnswer(t *testing.T) {
	for _, group := range visibleFaults() {
		t.Run(group[0].name, func(t *testing.T) {
			c := connect(t)
			on := map[string]bool{}
			for _, f := range group {
				on[f.name] = true
			}
			c.call("POST", "/faults", on, &web.State{})
			for _, f := range group {
				text := f.text
				if text == "/staked" {
					text += " " + c.wallet(0)
				}
				question := web.Act{Side: web.Telegram, Kind: "say", As: "registered", Chat: web.Private, Text: text}
				e := c.answer(question)
				if !strings.Contains(string(e.Message), f.want) {
					t.Errorf("%s: %s is answered by %s, want %q", f.name, text, e.Message, f.want)
				}
			}
		})
	}
}

func TestEachFaultOfThePageIsTested(t *testing.T) {
	tested := slices.Concat(visibleFaults()...)
	for _, f := range connect(t).state().Faults {
		isName := func(v visibleFault) bool { return v.name == f.Name }
		if !slices.ContainsFunc(tested, isName) {
			t.Errorf("visibleFaults lacks %q", f.Name)
		}
	}
}

func TestWordsBecomeOptionsOnDiscord(t *testing.T) {
	c := connect(t)
	option := func(name, value string) string { return fmt.Sprintf(`{"name":%q,"person":"","value":%q}`, name, value) }
	for text, want := range map[string]string{
		"/exists @unregistered":       `[{"name":"user","person":"unregistered","value":""}]`,
		"/exists GitHub 70001":        `[` + option("platform", "GitHub") + `,` + option("uid", "70001") + `]`,
		"/exists 7000000003":          `[` + option("uid", "7000000003") + `]`,
		"/exists 7000000001 Telegram": `[` + option("platform", "Telegram") + `,` + option("uid", "7000000001") + `]`,
	} {
		before := len(c.seen())
		c.answer(web.Act{Side: web.Discord, Kind: "say", As: "moderator", Chat: web.Group, Text: text})
		asked := c.next(before, text, func(e web.Event) bool { return e.Kind == web.KindAsked })
		if !strings.Contains(string(asked.Message), `"options":`+want) {
			t.Errorf("%s: %s", text, asked.Message)
		}
	}
}

// pickUnregistered is the entry of a person's menu on Discord.
var pickUnregistered = web.Act{
	Side:   web.Discord,
	Kind:   "pick",
	As:     "moderator",
	Chat:   web.Group,
	Text:   "Check registration",
	Target: "unregistered",
}

// checkUnregistered checks that a moderator alone is told that somebody isn't registered.
func (c *client) checkUnregistered(a web.Act) {
	c.Helper()
	if e := c.answer(a); e.For != "moderator" || !strings.Contains(string(e.Message), "isn't registered") {
		c.Errorf("%+v is answered for %s by %s", a, e.For, e.Message)
	}
}

func TestModeratorsAskAboutOthersByTheirMenu(t *testing.T) {
	c := connect(t)
	c.checkUnregistered(pickUnregistered)
	asMember := pickUnregistered
	asMember.As = "registered"
	if r := c.act(asMember); r.Hint == "" {
		t.Errorf("%+v was sent", asMember)
	}
}

func TestTheMenuOfNobodyCannotBePicked(t *testing.T) {
	ofNobody := pickUnregistered
	ofNobody.Target = "nobody"
	connect(t).checkNotThere(ofNobody)
}

// checkNotThere checks that an Act fails because its person or its message does not exist.
func (c *client) checkNotThere(a web.Act) {
	c.Helper()
	status, text := c.send("POST", "/act", a, nil)
	if status != http.StatusBadRequest || !strings.Contains(text, "no such person or message") {
		c.Errorf("%+v: %d %s", a, status, text)
	}
}

func TestModeratorsAskAboutOthersByAReply(t *testing.T) {
	c := connect(t)
	before := len(c.seen())
	c.act(web.Act{Side: web.Telegram, Kind: "say", As: "unregistered", Chat: web.Group, Text: "hello"})
	hello := c.next(before, "hello", func(e web.Event) bool { return e.Kind == web.KindAsked })
	c.checkUnregistered(web.Act{
		Side:    web.Telegram,
		Kind:    "say",
		As:      "moderator",
		Chat:    web.Group,
		Text:    "/exists",
		Message: hello.ID,
	})
}

func TestHiddenButtonsCannotBePressed(t *testing.T) {
	c := connect(t)
	for side, message := range c.say("registered", web.Group, "/exists") {
		press := web.Act{
			Side:    side,
			Kind:    "press",
			As:      "registered",
			Chat:    web.Group,
			Message: message.ID,
			Button:  "1 e 0 exists",
		}
		c.answer(press)
		press.As = "moderator"
		c.checkNotThere(press)
	}
}

// withoutJoiners returns the message of an event without word joiners, which hold Chinese words together.
func withoutJoiners(e web.Event) string { return strings.ReplaceAll(string(e.Message), "\u2060", "") }

func TestAPersonAndAChatEachHaveALanguage(t *testing.T) {
	c := connect(t)
	help := web.Act{Side: web.Discord, Kind: "say", As: "registered", Chat: web.Private, Text: "/help"}
	status := web.Act{
		Side:     web.Telegram,
		Kind:     "say",
		As:       "registered",
		Chat:     web.Group,
		Language: "en",
		Text:     "/status",
	}
	for _, l := range chat.Languages() {
		help.Language = string(l)
		e := c.answer(help)
		if title := words.Say(l, chat.Say("help.title")); !strings.Contains(withoutJoiners(e), title) {
			t.Errorf("in the person's language %s: %s", l, e.Message)
		}
		var state web.State
		c.call("POST", "/language", map[string]string{"language": string(l)}, &state)
		if state.ChatLanguage != string(l) {
			t.Errorf("the chat speaks %s, want %s", state.ChatLanguage, l)
		}
		e = c.answer(status)
		if title := words.Say(l, chat.Say("status.all")); !strings.Contains(withoutJoiners(e), title) {
			t.Errorf("in the chat's language %s: %s", l, e.Message)
		}
	}
}

func TestThePageHasEveryLanguage(t *testing.T) {
	var languages []string
	for _, l := range chat.Languages() {
		languages = append(languages, string(l))
	}
	if got := connect(t).state().Languages; !slices.Equal(got, languages) {
		t.Errorf("got %q, want %q", got, languages)
	}
}

// Only moderators have the entry of a person's menu.
func TestAMenuIsInThePersonsLanguage(t *testing.T) {
	c := connect(t)
	entry := fmt.Sprintf(`"label":%q`, words.Say(chat.Spanish, chat.Say("exists.menu")))
	for person, isModerator := range map[string]bool{"registered": false, "moderator": true} {
		_, menu := c.send("GET", "/menu?as="+person+"&chat=group&language=es", nil, nil)
		for _, want := range []string{`"description":"Precio y gráfico de HRLD`, `"is_ephemeral":true`} {
			if !strings.Contains(menu, want) {
				t.Errorf("the menu of %s lacks %s: %s", person, want, menu)
			}
		}
		if strings.Contains(menu, entry) != isModerator {
			t.Errorf("the menu of %s: %s", person, menu)
		}
	}
}

// foreignRequest is a request that a page of another site could make.
type foreignRequest struct {
	method, path string
	change       func(*http.Request)
	want         int // the status
}

func TestOtherSitesAreRefused(t *testing.T) {
	c := connect(t)
	port := c.url[strings.LastIndex(c.url, ":"):]
	withHeader := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	withHost := func(name string) func(*http.Request) {
		return func(r *http.Request) { r.Host = name + port }
	}
	hello := web.Act{Side: web.Telegram, Kind: "say", As: "registered", Chat: web.Group, Text: "hello"}
	for name, tt := range map[string]foreignRequest{
		"another name of this address": {"GET", "/state", withHost("evil.example"), http.StatusMisdirectedRequest},
		"localhost":                    {"GET", "/state", withHost("localhost"), http.StatusOK},
		"another origin":               {"POST", "/act", withHeader("Origin", "https://evil.example"), http.StatusForbidden},
		"another site":                 {"POST", "/act", withHeader("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		"the page itself":              {"POST", "/act", withHeader("Sec-Fetch-Site", "same-origin"), http.StatusOK},
		"the page in an older browser": {"POST", "/act", withHeader("Origin", c.url), http.StatusOK},
	} {
		if status, text := c.send(tt.method, tt.path, hello, tt.change); status != tt.want {
			t.Errorf("%s: %d, want %d: %s", name, status, tt.want, text)
		}
	}
}

func TestThePageForbidsOtherSites(t *testing.T) {
	c := connect(t)
	resp, err := (&http.Client{Timeout: 20 * time.Second}).Get(c.url + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	policy := []string{
		"default-src 'self'",
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
		"object-src 'none'",
	}
	for name, want := range map[string]string{
		"Content-Security-Policy":      strings.Join(policy, "; "),
		"Cross-Origin-Resource-Policy": "same-origin",
		"Access-Control-Allow-Origin":  "",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
