package web_test

import (
	"fmt"
	"maps"
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

// publicCommands returns commands whose answers everyone in the group may read.
func publicCommands(staker, idle string) []string {
	return []string{"/price", "/price 7d", "/price 1500", "/supply", "/staked " + staker, "/staked " + idle}
}

// privateCommands returns commands whose answers only the sender may read.
func privateCommands(staker string) []string {
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

// checkReaders asks the commands as each person in each chat, on both sides, and checks who can read each answer.
func (c *client) checkReaders() {
	c.Helper()
	staker, idle := c.wallet(stakerWallet), c.wallet(idleWallet)
	private := privateCommands(staker)
	for _, person := range c.state().People {
		for _, place := range c.state().Chats {
			for _, command := range append(private, publicCommands(staker, idle)...) {
				reader := "" // everyone
				if place == web.Private || slices.Contains(private, command) {
					reader = person.Name
				}
				for side, e := range c.say(person.Name, place, command) {
					if e.For != reader || e.Chat != place || e.From != web.Bot {
						c.Errorf("%s of %s in %s on %s is answered from %s for %q in %s, want for %q",
							command, person.Name, place, side, e.From, e.For, e.Chat, reader)
					}
				}
			}
			c.checkReaderWithOldApp(person.Name, place)
		}
	}
}

// checkReaderWithOldApp asks a private command with an app that cannot send ephemeral messages. In the group, everyone
// may read the answer, because it only leads to the private chat.
func (c *client) checkReaderWithOldApp(person, place string) {
	c.Helper()
	e := c.answer(web.Act{
		Side:   web.Telegram,
		Kind:   "say",
		As:     person,
		Chat:   place,
		Text:   "/mylogins",
		OldApp: true,
	})
	if place == web.Private && e.For == "" {
		c.Errorf("everyone can read %+v", e)
	}
}

// secretWords matches words that are only in the answers to private commands.
var secretWords = regexp.MustCompile(
	`Harbor Swap|Night Market|[Rr]egistered|No logins|yours|our wallet|Check the wallet`,
)

// privateCommand matches a private command in an event of Discord.
var privateCommand = regexp.MustCompile(`"command":"(mylogins|exists|verify)"`)

func TestOnlyReadersGetAnswers(t *testing.T) {
	c := connect(t)
	c.checkReaders()
	loginsReaders := map[string]bool{} // the sides and people that get the logins of the registered person
	for _, e := range c.received() {
		text := string(e.Message)
		if strings.Contains(text, "Harbor Swap") {
			loginsReaders[e.Side+" "+e.For] = true
		}
		isForAll := e.For == ""
		if !isForAll {
			continue
		}
		if e.Chat == web.Private || e.Kind == web.KindMessage && secretWords.MatchString(text) {
			t.Errorf("everyone can read a private answer on %s in %s: %s", e.Side, e.Chat, text)
		}
		isPrivateOnDiscord := e.Side == web.Discord && privateCommand.MatchString(text)
		if isPrivateOnDiscord || strings.Contains(text, `"ephemeral_message_id"`) {
			t.Errorf("everyone can read a private command: %s", text)
		}
	}
	want := map[string]bool{"telegram registered": true, "discord registered": true}
	if !maps.Equal(loginsReaders, want) {
		t.Errorf("the registered person's logins are shown to %v, want %v", loginsReaders, want)
	}
}

// joinStep is a person's request to join a group, and what the bot does.
type joinStep struct {
	person   string
	group    string // its Required
	language string
	wallet   string // the person's answer to the bot's question, or "" if the bot asks none
	told     string // a part of the message to the person
	state    string // of the request, which moderators see
}

// The demo has no limit on join requests, so a person can make several.
func TestPersonAndModeratorsSeeTheStateOfAJoinRequest(t *testing.T) {
	c := connect(t)
	staker, idle := c.wallet(stakerWallet), c.wallet(idleWallet)
	notIn := words.Say(chat.Spanish, chat.Say("join.no"))
	for _, step := range []joinStep{
		{person: "registered", group: "registered", language: "en", told: "You're in", state: "approved"},
		{person: "registered", group: "staker", language: "en", wallet: staker, told: "You're in", state: "approved"},
		{person: "unregistered", group: "registered", language: "es", told: notIn, state: "open"},
		{person: "moderator", group: "staker", language: "en", wallet: idle, told: "Not in yet: ", state: "open"},
		{person: "unregistered", group: "registered", language: "en", told: "you're not registered yet", state: "open"},
		{person: "registered", group: "registered", language: "en", told: "You're in", state: "approved"},
	} {
		c.checkJoin(step)
	}
}

// checkJoin makes the request of a step, and checks what the person and the moderators see.
func (c *client) checkJoin(step joinStep) {
	c.Helper()
	before := len(c.received())
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
	told := c.waitEvent(before, step.told, func(e web.Event) bool {
		return e.Kind == web.KindMessage && strings.Contains(string(e.Message), step.told)
	})
	if told.For != step.person || told.Chat != web.Private {
		c.Errorf("%+v: the message in %s is for %q: %s", step, told.Chat, told.For, told.Message)
	}
	state := fmt.Sprintf(`{"required":%q,"state":%q}`, step.group, step.state)
	c.waitEvent(before, state, func(e web.Event) bool {
		return e.Kind == web.KindJoin && e.From == step.person && string(e.Message) == state
	})
}

func TestAGroupThatDoesNotExistCannotBeJoined(t *testing.T) {
	c := connect(t)
	join := web.Act{Side: web.Telegram, Kind: "join", As: "registered", Target: "nobody"}
	if status, text := c.send("POST", "/act", join, nil); status != http.StatusBadRequest {
		t.Errorf("%d %s", status, text)
	}
}

func (c *client) turnOn(fault string)  { c.setFault(fault, true) }
func (c *client) turnOff(fault string) { c.setFault(fault, false) }

func (c *client) setFault(name string, on bool) {
	c.Helper()
	c.call("POST", "/faults", map[string]bool{name: on}, &web.State{})
}

// later lets six hours pass, so that the bot checks the saved addresses.
func (c *client) later() {
	c.Helper()
	c.call("POST", "/later", struct{}{}, new(string))
}

// shortStaker is the address of stakerWallet in the bot's messages.
const shortStaker = "0x56B9…9ea2"

// saveStaker saves stakerWallet for the registered person, on both sides.
func (c *client) saveStaker() {
	c.Helper()
	for side, card := range c.say("registered", web.Private, "/verify "+c.wallet(stakerWallet)) {
		const fromStart = 0
		c.waitBadges(fromStart, side, `[]`)
		saved := c.press("registered", card, "save")
		if !strings.Contains(string(saved.Message), "You have Staker in Herald demo") {
			c.Errorf("the press is answered by %s", saved.Message)
		}
		c.waitBadges(fromStart, side, `["registered"]`)
	}
}

// The badge stays while the node is unavailable. It is removed after two checks that found no stake.
func TestTheBadgeIsRemovedAfterTwoChecksAndExplained(t *testing.T) {
	c := connect(t)
	c.saveStaker()
	before := len(c.received())
	c.turnOn("chain")
	c.later()
	c.later()
	c.turnOff("chain")
	c.turnOn("unstaked")
	c.later()
	for _, e := range c.received()[before:] {
		if e.Kind == web.KindBadges {
			t.Errorf("after an outage, and one check without a stake, %s have the badge", e.Message)
		}
	}
	c.later()
	c.waitBadges(before, web.Telegram, `[]`)
	c.waitBadges(before, web.Discord, `[]`)

	notice := c.answerAfter(before, web.Telegram, "the removal")
	if notice.For != "registered" || notice.Chat != web.Private {
		t.Errorf("the notice in %s is for %q", notice.Chat, notice.For)
	}
	for _, want := range []string{"Staker is removed in Herald demo", "No stake found in " + shortStaker, " UTC"} {
		if !strings.Contains(string(notice.Message), want) {
			t.Errorf("the notice lacks %q: %s", want, notice.Message)
		}
	}
	c.checkAnswer("/verify", "No stake found in "+shortStaker)
	c.checkAnswer("/forget", "I no longer have "+shortStaker)
	c.checkAnswer("/forget", "I have nothing saved")
}

// checkAnswer sends a text of the registered person to the private chat on both sides, and checks that both answers
// contain want.
func (c *client) checkAnswer(text, want string) {
	c.Helper()
	for side, e := range c.say("registered", web.Private, text) {
		if !strings.Contains(string(e.Message), want) {
			c.Errorf("%s on %s is answered by %s, want %q", text, side, e.Message, want)
		}
	}
}

func TestAHintExplainsWhyDiscordDoesNotSendACommand(t *testing.T) {
	c := connect(t)
	say := web.Act{Side: web.Discord, Kind: "say", As: "moderator", Chat: web.Group}
	for text, hint := range map[string]string{
		"/staked":                "needs its option",
		"/start":                 "There is no command /start here.",
		"/supply now":            "no option for",
		"/staked 0x @registered": "no option for",
		"/exists Git 70001":      "no option for",
	} {
		say.Text = text
		if r := c.act(say); !strings.Contains(r.Hint, hint) {
			t.Errorf("%s: the hint is %q, want %q", text, r.Hint, hint)
		}
	}
}

// visibleFault is a fault and a command whose answer shows it.
type visibleFault struct {
	name    string
	command string // stakerWallet is added to /staked
	want    string // a part of the answer
}

// visibleFaults returns all faults, in groups of faults that do not affect each other's commands.
func visibleFaults() [][]visibleFault {
	var unavailable []visibleFault
	for _, s := range services.New().Services() {
		command := commandstest.Asking(s.Name)
		unavailable = append(unavailable, visibleFault{name: s.Name, command: command, want: "can't be reached"})
	}
	return [][]visibleFault{
		unavailable,
		{
			{name: "pool", command: "/staked", want: "20 of 21 pools"},
			{name: "old quote", command: "/price", want: "⚠️ HRLD"},
		},
		{
			{name: "old block", command: "/staked", want: "out of sync"},
			{name: "rate limit", command: "/price", want: "limiting my requests"},
		},
		{
			{name: "fresh bot", command: "/price 7d", want: "Chart available from"},
			{name: "unstaked", command: "/staked", want: "Not staked"},
		},
	}
}

func TestEachFaultIsVisibleInAnAnswer(t *testing.T) {
	for _, group := range visibleFaults() {
		t.Run(group[0].name, func(t *testing.T) {
			c := connect(t)
			on := map[string]bool{}
			for _, f := range group {
				on[f.name] = true
			}
			c.call("POST", "/faults", on, &web.State{})
			for _, f := range group {
				command := f.command
				if command == "/staked" {
					command += " " + c.wallet(stakerWallet)
				}
				say := web.Act{Side: web.Telegram, Kind: "say", As: "registered", Chat: web.Private, Text: command}
				e := c.answer(say)
				if !strings.Contains(string(e.Message), f.want) {
					t.Errorf("%s: %s is answered by %s, want %q", f.name, command, e.Message, f.want)
				}
			}
		})
	}
}

func TestEachFaultOfThePageIsTested(t *testing.T) {
	tested := slices.Concat(visibleFaults()...)
	for _, f := range connect(t).state().Faults {
		isFault := func(v visibleFault) bool { return v.name == f.Name }
		if !slices.ContainsFunc(tested, isFault) {
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
		before := len(c.received())
		c.answer(web.Act{Side: web.Discord, Kind: "say", As: "moderator", Chat: web.Group, Text: text})
		asked := c.waitEvent(before, text, func(e web.Event) bool { return e.Kind == web.KindAsked })
		if !strings.Contains(string(asked.Message), `"options":`+want) {
			t.Errorf("%s: %s", text, asked.Message)
		}
	}
}

// pickUnregistered picks the command in the context menu of the unregistered person on Discord.
var pickUnregistered = web.Act{
	Side:   web.Discord,
	Kind:   "pick",
	As:     "moderator",
	Chat:   web.Group,
	Text:   "Check registration",
	Target: "unregistered",
}

// checkUnregistered does an Act, and checks that the bot tells only the moderator that the person is not registered.
func (c *client) checkUnregistered(a web.Act) {
	c.Helper()
	if e := c.answer(a); e.For != "moderator" || !strings.Contains(string(e.Message), "isn't registered") {
		c.Errorf("%+v is answered for %s by %s", a, e.For, e.Message)
	}
}

func TestModeratorsAskAboutAPersonByTheirContextMenu(t *testing.T) {
	c := connect(t)
	c.checkUnregistered(pickUnregistered)
	byMember := pickUnregistered
	byMember.As = "registered"
	if r := c.act(byMember); r.Hint == "" {
		t.Errorf("%+v was sent", byMember)
	}
}

func TestTheContextMenuOfAnUnknownPersonCannotBePicked(t *testing.T) {
	ofUnknown := pickUnregistered
	ofUnknown.Target = "nobody"
	connect(t).checkNotThere(ofUnknown)
}

// checkNotThere checks that an Act fails because its person or its message does not exist.
func (c *client) checkNotThere(a web.Act) {
	c.Helper()
	status, text := c.send("POST", "/act", a, nil)
	if status != http.StatusBadRequest || !strings.Contains(text, "no such person or message") {
		c.Errorf("%+v: %d %s", a, status, text)
	}
}

func TestModeratorsAskAboutAPersonByAReply(t *testing.T) {
	c := connect(t)
	before := len(c.received())
	c.act(web.Act{Side: web.Telegram, Kind: "say", As: "unregistered", Chat: web.Group, Text: "hello"})
	hello := c.waitEvent(before, "hello", func(e web.Event) bool { return e.Kind == web.KindAsked })
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

// withoutJoiners returns the message of an event without word joiners. The bot writes them between Chinese characters.
func withoutJoiners(e web.Event) string { return strings.ReplaceAll(string(e.Message), "\u2060", "") }

func TestPrivateAndPublicAnswersHaveTheirLanguage(t *testing.T) {
	c := connect(t)
	private := web.Act{Side: web.Discord, Kind: "say", As: "registered", Chat: web.Private, Text: "/help"}
	public := web.Act{
		Side:     web.Telegram,
		Kind:     "say",
		As:       "registered",
		Chat:     web.Group,
		Language: "en",
		Text:     "/status",
	}
	for _, l := range chat.Languages() {
		private.Language = string(l)
		e := c.answer(private)
		if title := words.Say(l, chat.Say("help.title")); !strings.Contains(withoutJoiners(e), title) {
			t.Errorf("in the person's language %s: %s", l, e.Message)
		}
		var state web.State
		c.call("POST", "/language", map[string]string{"language": string(l)}, &state)
		if state.ChatLanguage != string(l) {
			t.Errorf("the chat's language is %s, want %s", state.ChatLanguage, l)
		}
		e = c.answer(public)
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

// Only the moderator's menu has the command in the context menu of a person on Discord.
func TestAMenuIsInThePersonsLanguage(t *testing.T) {
	c := connect(t)
	contextCommand := fmt.Sprintf(`"label":%q`, words.Say(chat.Spanish, chat.Say("exists.menu")))
	for person, isModerator := range map[string]bool{"registered": false, "moderator": true} {
		_, menu := c.send("GET", "/menu?as="+person+"&chat=group&language=es", nil, nil)
		for _, want := range []string{`"description":"Precio y gráfico de HRLD`, `"is_ephemeral":true`} {
			if !strings.Contains(menu, want) {
				t.Errorf("the menu of %s lacks %s: %s", person, want, menu)
			}
		}
		if strings.Contains(menu, contextCommand) != isModerator {
			t.Errorf("the menu of %s: %s", person, menu)
		}
	}
}

// originTest is a request of this page or of another site's.
type originTest struct {
	method, path string
	change       func(*http.Request)
	want         int // the status
}

func TestRequestsOfOtherSitesAreRefused(t *testing.T) {
	c := connect(t)
	port := c.url[strings.LastIndex(c.url, ":"):]
	withHeader := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	withHost := func(name string) func(*http.Request) {
		return func(r *http.Request) { r.Host = name + port }
	}
	hello := web.Act{Side: web.Telegram, Kind: "say", As: "registered", Chat: web.Group, Text: "hello"}
	for name, tt := range map[string]originTest{
		"another host name":            {"GET", "/state", withHost("evil.example"), http.StatusMisdirectedRequest},
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

func TestHeadersIsolateThePageFromOtherSites(t *testing.T) {
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
