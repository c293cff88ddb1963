package telegram

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/platform/platformtest"
	"herald/internal/router"
	"herald/internal/secret"
	"herald/internal/words"
)

// How many calls introduce the bot: a menu for each of two scopes and two
// descriptions, each in every language and for readers of any other.
var (
	menus        = 2 * (len(chat.Languages()) + 1)
	descriptions = menus
)

// profileTest is an adapter with the product's commands.
type profileTest struct {
	*adapterTest
	router *router.Router
}

// newProfileTest must be called in simulated time.
func newProfileTest(t *testing.T) *profileTest {
	t.Helper()
	r, _, router := product(t)
	return &profileTest{r, router}
}

// ignoreMarks makes Telegram a server that ignores the mark of ephemeral commands.
func (p *profileTest) ignoreMarks() {
	p.rewrite("setMyCommands", func(body []byte) []byte {
		return bytes.ReplaceAll(body, []byte(`,"is_ephemeral":true`), nil)
	})
}

// runForAMinute starts the adapter and stops it.
func (p *profileTest) runForAMinute() {
	p.Helper()
	stop := p.serve(platformtest.Routed{Router: p.router})
	time.Sleep(time.Minute)
	if err := stop(); err != nil {
		p.Error(err)
	}
}

// checkProfileCalls checks that each menu and description was set once.
func (p *profileTest) checkProfileCalls() {
	p.Helper()
	described := len(p.api.Calls("setMyDescription")) + len(p.api.Calls("setMyShortDescription"))
	check(p, "calls that set menus", len(p.api.Calls("setMyCommands")), menus)
	check(p, "calls that set descriptions", described, descriptions)
}

var markedMenus = map[string]bool{"this version": true, "a server that ignores marks": false}

func TestProfileIsSetOnce(t *testing.T) {
	inBubble(t, markedMenus, func(t *testing.T, marked bool) {
		p := newProfileTest(t)
		if !marked {
			p.ignoreMarks()
		}
		p.runForAMinute()
		p.checkProfileCalls()
		p.adapterTest = p.secondAdapter()
		p.runForAMinute()
		p.checkProfileCalls()
	})
}

// languageCodes are the languages of menus and descriptions; "" is for readers of any other.
func languageCodes() []chat.Language { return append(chat.Languages(), "") }

// The default menu is shown to everybody else, in groups and in private chats.
func TestMenusAreInEveryLanguage(t *testing.T) {
	descriptionOf := map[string]string{ // by scope
		"default":                 "command.exists",
		"all_chat_administrators": "command.exists.moderators",
	}
	inBubble(t, markedMenus, func(t *testing.T, marked bool) {
		p := newProfileTest(t)
		if !marked {
			p.ignoreMarks()
		}
		p.runForAMinute()
		for _, code := range languageCodes() {
			language := cmp.Or(code, chat.English)
			for scope, key := range descriptionOf {
				menu := p.api.MenuOf(faketelegram.MenuKey{Scope: scope, Language: string(code)})
				exists := faketelegram.Command{
					Command:     "exists",
					Description: words.Say(language, chat.Say(key)),
					Ephemeral:   marked,
				}
				if !slices.Contains(menu, exists) {
					t.Errorf("in %q %s read %+v, want %+v", code, scope, menu, exists)
				}
				isPublicPrice := func(c faketelegram.Command) bool { return c.Command == "price" && !c.Ephemeral }
				if !slices.ContainsFunc(menu, isPublicPrice) {
					t.Errorf("in %q %s read %+v, want /price", code, scope, menu)
				}
			}
		}
	})
}

func TestDescriptionsAreInEveryLanguage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProfileTest(t)
		p.runForAMinute()
		for _, code := range languageCodes() {
			language := cmp.Or(code, chat.English)
			topics := chat.Values{"topics": chat.List(p.router.Commands().Topics())}
			long := strings.Join([]string{
				words.Say(language, chat.SayWith("telegram.about", topics)),
				words.Say(language, chat.Say("telegram.about.stakes")),
				words.Say(language, chat.Say("help.honest")),
				words.Say(language, chat.Say("help.wallet")),
			}, "\n")
			short := words.Say(language, chat.SayWith("telegram.short_description", topics))
			check(t, "description in "+string(code), p.api.Description(string(code)), long)
			check(t, "short description in "+string(code), p.api.ShortDescription(string(code)), short)
		}
	})
}

// The description names the first tag, and that there are groups to join. Telegram would refuse
// one that is too long.
func TestDescriptionNamesTheWaysIn(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.adapter.Settings.StakerTags = []chat.Badge{
			{Community: "-5", ID: "Sixteen letters."},
			{Community: "-6", ID: "Whale"},
		}
		r.run()
		time.Sleep(time.Second)
		for _, language := range chat.Languages() {
			description := r.api.Description(string(language))
			toJoin := words.Say(language, chat.Say("telegram.description.join"))
			for _, want := range []string{"/verify", "Sixteen letters.", toJoin} {
				if !strings.Contains(description, want) {
					t.Errorf("in %q the bot is described as %q, want %q", language, description, want)
				}
			}
			if strings.Contains(description, "Whale") {
				t.Errorf("in %q the bot is described as %q", language, description)
			}
		}
	}, withJoins)
}

func TestProfileFailuresDelayNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProfileTest(t)
		p.api.Fail("getMyCommands", telegramtest.Hang(), telegramtest.Page(502), telegramtest.ResetBefore())
		p.api.Fail("setMyCommands", telegramtest.TooMany(10*time.Minute))
		p.serve(platformtest.Routed{Router: p.router})
		p.api.Push(inPrivate(ann, "/price"))
		start := time.Now()
		answer := p.waitSent(1)[0]
		if took := answer.At.Sub(start); took > time.Second || !strings.Contains(answer.Text, "$0.01235") {
			t.Errorf("answered after %v: %+v", took, answer)
		}
	})
}

// A call is repeated no sooner than the server asks.
func TestAMenuIsSetAgainAfterA429(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProfileTest(t)
		p.api.Fail("getMyCommands", telegramtest.Hang(), telegramtest.Page(502), telegramtest.ResetBefore())
		p.api.Fail("setMyCommands", telegramtest.TooMany(10*time.Minute))
		p.serve(platformtest.Routed{Router: p.router})
		time.Sleep(time.Hour)
		calls := p.api.Calls("setMyCommands")
		check(t, "calls that set menus", len(calls), menus+1)
		if gap := calls[1].At.Sub(calls[0].At); gap < 10*time.Minute || gap > 11*time.Minute {
			t.Errorf("the call is repeated after %v", gap)
		}
	})
}

func TestARefusedDescriptionIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProfileTest(t)
		p.api.Fail("setMyDescription", telegramtest.Status(400))
		p.api.Fail("getMyShortDescription", telegramtest.Status(404))
		p.serve(platformtest.Routed{Router: p.router})
		time.Sleep(time.Hour)
		check(t, "refused description", p.api.Description(""), "")
		check(t, "description in English is set", p.api.Description("en") != "", true)
		check(t, "short description that cannot be read", p.api.ShortDescription(""), "")
		check(t, "short description in Vietnamese is set", p.api.ShortDescription("vi") != "", true)
	})
}

// A call that would fail again does not hold up those behind it.
func TestACallThatWouldFailAgainDelaysNoOther(t *testing.T) {
	inBubble(t, map[string]telegramtest.Fault{
		"forbidden": telegramtest.Status(http.StatusForbidden),
		"refused":   telegramtest.Status(http.StatusBadRequest),
	}, func(t *testing.T, fault telegramtest.Fault) {
		p := newProfileTest(t)
		p.api.Break("setMyShortDescription", fault)
		p.serve(platformtest.Routed{Router: p.router})
		time.Sleep(time.Hour)
		check(t, "menus", len(p.api.Calls("setMyCommands")), menus)
		check(t, "descriptions", len(p.api.Calls("setMyDescription")), descriptions/2)
	})
}

const hookURL = "https://bot.example/hooks/telegram"

func withWebhook(c *Config) {
	c.Settings.WebhookURL = hookURL
	c.Settings.WebhookPath = "/hooks/telegram"
	c.Settings.WebhookSecret = secret.New("s")
}

// checkReport checks what bot check reports about the bot and how updates arrive.
func (r *adapterTest) checkReport(want ...string) {
	r.Helper()
	got, _, err := r.adapter.Check(r.Context(), nil)
	for i, line := range got {
		// A second may have passed since the failure.
		got[i] = strings.Replace(line, "1 s ago", "just now", 1)
	}
	if err != nil || !slices.Equal(got, want) {
		r.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestCheckReportsTheNameOfTheBot(t *testing.T) {
	setUp(t).checkReport("@herald_bot, by long polling")
}

// The path of another program's webhook may be a secret.
func TestCheckReportsAnotherWebhookByItsHost(t *testing.T) {
	const another = "https://other.example/in-the-path-of-another"
	r := setUp(t)
	r.api.SetWebhook(another)
	r.checkReport(
		"@herald_bot, by long polling",
		"a webhook is set, to other.example, which `bot run` deletes: is another program using this bot?",
	)
	r = setUp(t, withWebhook)
	r.api.SetWebhook(another)
	r.checkReport(
		"@herald_bot, by webhook",
		"the webhook is set to another address, at other.example: `bot run` replaces it",
	)
}

func TestCheckReportsAWebhookThatIsNotSet(t *testing.T) {
	setUp(t, withWebhook).checkReport(
		"@herald_bot, by webhook",
		"no webhook is set yet: `bot run` sets it",
	)
}

func TestCheckReportsAFailedDelivery(t *testing.T) {
	r := setUp(t, withWebhook)
	r.api.SetWebhook(hookURL)
	r.api.FailDelivery("Wrong response from the webhook:\n502 Bad Gateway \x1b[31m")
	r.checkReport(
		"@herald_bot, by webhook",
		"a delivery failed just now: Wrong response from the webhook: 502 Bad Gateway [31m",
	)
}
