package telegram

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/telegram/telegramtest"
	"herald/internal/words"
)

// inline has ann ask, and returns what she is answered.
func (r *rig) inline(query string) telegramtest.InlineAnswer {
	r.Helper()
	before := len(r.api.InlineAnswers())
	r.api.Inline(ann, query, "")
	r.waitFor("an answer to an inline query", func() bool { return len(r.api.InlineAnswers()) > before })
	return r.api.InlineAnswers()[before]
}

func TestAnInlineQueryMeansPublicCommandsAlone(t *testing.T) {
	wallet, commands := commandstest.Wallet, commandstest.Healthy().Router(t).Commands()
	for query, want := range map[string][]string{
		"":                   {"price", "supply"},
		"  ":                 {"price", "supply"},
		"price":              {"price"},
		"/price":             {"price"},
		"PR":                 {"price"},
		"s":                  {"supply"},
		"supply":             {"supply"},
		wallet:               {"staked " + wallet},
		"staked " + wallet:   {"staked " + wallet},
		"Staked  " + wallet:  {"staked " + wallet},
		wallet[:41]:          nil,
		wallet + "0":         nil,
		wallet + " " + "x":   nil,
		"staked":             nil,
		"staked 0x":          nil,
		"price 7d":           nil,
		"pricey":             nil,
		"help":               nil,
		"status":             nil,
		"start":              nil,
		"mylogins":           nil,
		"mylogins 2":         nil,
		"my":                 nil,
		"exists":             nil,
		"exists 5":           nil,
		"exists Telegram 5":  nil,
		"verify " + wallet:   nil,
		"verify 5 " + wallet: nil,
		"@everyone":          nil,
		"\u202etekcop":       nil,
	} {
		var requests []chat.Request
		for _, line := range want {
			words := strings.Fields(line)
			requests = append(requests, chat.Request{Command: words[0], Args: chat.Typed(words[1:]...)})
		}
		if got := parseInline(query, commands); fmt.Sprint(got) != fmt.Sprint(requests) {
			t.Errorf("%q means %+v, want %q", query, got, want)
		}
	}
}

// What a result says is what the command says, and Telegram keeps it for as long
// as that is fresh.
func TestAnInlineResultIsTheAnswerWhileItIsFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w, router := product(t, nil)
		w.Price.FreshUntil = time.Now().Add(time.Hour + 30*time.Second + time.Second/2)
		w.Supply.FreshUntil = time.Now().Add(3 * time.Hour)
		r.serve(router)
		time.Sleep(time.Hour)
		for query, want := range map[string]struct {
			typed []string
			cache int
		}{
			"":                  {[]string{"price", "supply"}, 30},
			"su":                {[]string{"supply"}, 30}, // It says what that is worth.
			commandstest.Wallet: {[]string{"staked " + commandstest.Wallet}, 0},
		} {
			got := r.inline(query)
			if len(got.Results) != len(want.typed) || got.CacheTime != want.cache || got.Personal || got.Button != "" {
				t.Fatalf("%q is answered by %+v", query, got)
			}
			for i, result := range got.Results {
				answer := router.wants(t, telegramtest.Group(group), want.typed[i])
				m, ok := r.api.Choose(got.QueryID, result.ID, telegramtest.Group(group))
				if !ok || m.Text != answer.Text || !strings.HasPrefix(m.Text, result.Title+"\n") || result.Description == "" {
					t.Errorf("%q has the result %+v, which is sent as %q", query, result, m.Text)
				}
				for _, row := range m.Markup.Rows {
					for _, b := range row {
						if b.Data != "" {
							t.Errorf("%q has the button %+v", query, b)
						}
					}
				}
			}
		}
	})
}

// Everybody's queries are counted by themselves.
func TestAnInlineQueryIsARequestOfItsAsker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		r.run()
		r.api.Inline(ann, "price", "")
		r.api.Inline(ann+1, "price", "")
		time.Sleep(time.Minute)
		got := r.handler.Requests()
		if len(got) != 2 || got[0].Chat == got[1].Chat {
			t.Fatalf("requests %+v", got)
		}
		for _, req := range got {
			if req.From != userOf(ann) && req.From != userOf(ann+1) || !strings.HasSuffix(req.Chat, req.From.ID) ||
				req.ID == "" || req.Direct || req.Whispers || req.Community != "" || req.Role != chat.Member {
				t.Errorf("request %+v", req)
			}
		}
	})
}

// What is no answer is no result: nobody should send it. A button says why, to the
// asker alone.
func TestAnInlineQueryWithoutAnAnswerSaysWhy(t *testing.T) {
	failing := func(title string) chat.Reply {
		return chat.Reply{Title: chat.Say(title), Tone: chat.Warning, ToAsker: true}
	}
	hint := words.Say(chat.English, chat.SayWith("telegram.inline_hint", chat.Values{"commands": chat.Plain("price")}))
	for name, tt := range map[string]struct {
		query    string
		reply    func() chat.Reply
		button   string
		cache    int
		personal bool
		asked    int
	}{
		"a limit":     {"price", func() chat.Reply { return failing("Too many") }, "Too many", 5, true, 1},
		"unchecked":   {"price", func() chat.Reply { return chat.Reply{Title: chat.Say("unchecked.title")} }, "Could not be checked", 5, true, 1},
		"a panic":     {"price", func() chat.Reply { panic("inline") }, "Something went wrong", 5, true, 1},
		"no command":  {"hello there", nil, hint, 3600, false, 0},
		"private":     {"mylogins", nil, hint, 3600, false, 0},
		"long noise":  {strings.Repeat("\u202e😀", 128), nil, hint, 3600, false, 0},
		"half a word": {"0x5290840009852788", nil, hint, 3600, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := setUpInMemory(t, nil)
				r.handler.Reply = func(context.Context, chat.Request) chat.Reply { return tt.reply() }
				r.run()
				got := r.inline(tt.query)
				if len(got.Results) != 0 || got.Button != tt.button || got.CacheTime != tt.cache || got.Personal != tt.personal {
					t.Errorf("answered by %+v", got)
				}
				if n := len(r.handler.Requests()); n != tt.asked {
					t.Errorf("%d requests, want %d", n, tt.asked)
				}
				// The button leads to the private chat, where /start is answered.
				r.handler.Reply = nil
				r.api.Push(telegramtest.Text(telegramtest.Private(ann), telegramtest.Person(ann), "/start "+got.Start))
				if m := r.sent(1)[0]; m.Chat != ann || m.Text != "start" {
					t.Errorf("the button is answered by %+v", m)
				}
			})
		})
	}
}

// secondFails answers "price", and fails at anything else.
type secondFails struct{ *chattest.Handler }

func (h secondFails) Commands() chat.Commands {
	all := h.Handler.Commands()
	supply := all[0]
	supply.Name = "supply"
	return append(all, supply)
}

// One answer that fails does not take the other along, and is soon asked again.
func TestWhatCouldBeAnsweredOfAnInlineQueryIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		r.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply {
			if req.Command == "price" {
				return chat.Reply{Title: chat.Say("price"), FreshUntil: time.Now().Add(time.Hour)}
			}
			return chat.Reply{Title: chat.Say("unchecked.title")}
		}
		r.serve(secondFails{r.handler})
		if got := r.inline(""); len(got.Results) != 1 || got.Results[0].ID != "price" || got.CacheTime != 5 || !got.Personal || got.Button != "" {
			t.Errorf("answered by %+v", got)
		}
	})
}

// An answer that comes too late, or is not taken, harms nothing, and is repeated
// only if it certainly was not taken.
func TestAnInlineQueryIsAnsweredOnceOrNotAtAll(t *testing.T) {
	for name, tt := range map[string]struct {
		takes             time.Duration
		fault             telegramtest.Fault
		calls, unanswered int
	}{
		"in time":     {calls: 1},
		"too late":    {takes: 16 * time.Second, calls: 1, unanswered: 1},
		"a short 429": {fault: telegramtest.TooMany(2 * time.Second), calls: 2},
		"a long 429":  {fault: telegramtest.TooMany(time.Minute), calls: 1, unanswered: 1},
		"a 502":       {fault: telegramtest.Page(502), calls: 1, unanswered: 1},
		"a 400":       {fault: telegramtest.NoRights(), calls: 1, unanswered: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := setUpInMemory(t, nil)
				r.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply {
					if strings.HasPrefix(req.Chat, "inline ") {
						time.Sleep(tt.takes)
					}
					return chat.Reply{Title: chat.Say(req.Command)}
				}
				r.api.Fail("answerInlineQuery", tt.fault)
				r.run()
				r.api.Inline(ann, "price", "")
				r.api.Push(telegramtest.Text(telegramtest.Private(ann), telegramtest.Person(ann), "/price"))
				time.Sleep(2 * time.Minute)
				if calls := len(r.api.Calls("answerInlineQuery")); calls != tt.calls || r.events.of("inline_unanswered") != tt.unanswered {
					t.Errorf("%d calls, want %d; %d unanswered, want %d", calls, tt.calls, r.events.of("inline_unanswered"), tt.unanswered)
				}
				if len(r.api.Sent()) != 1 || len(r.api.Pending()) != 0 {
					t.Errorf("%d messages, and %d updates are not acknowledged", len(r.api.Sent()), len(r.api.Pending()))
				}
			})
		})
	}
}

// A server that does not know dates takes the results without them, and is given
// no more.
func TestInlineResultsGoWithoutDatesToAServerThatRefusesThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, router := product(t, nil)
		r.api.MakeOlder(telegramtest.Older{DateTime: true})
		r.serve(router)
		for i := range 2 {
			got := r.inline("")
			if len(got.Results) != 2 {
				t.Fatalf("answered by %+v", got)
			}
			if calls := len(r.api.Calls("answerInlineQuery")); calls != 2+i {
				t.Errorf("%d calls after %d queries", calls, i+1)
			}
		}
	})
}

// Nothing of a private command is found by any query, by whomever.
func TestNoInlineQueryFindsWhatIsPrivate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, router := product(t, nil)
		r.serve(router)
		for _, c := range router.Commands() {
			for _, query := range []string{c.Name, c.Name + " 2", c.Name + " " + commandstest.Wallet, c.Name + " Telegram 12345", fmt.Sprint(c.Name, " 12345 ", commandstest.Wallet)} {
				got := r.inline(query)
				if c.Visibility == chat.Private && len(got.Results) != 0 {
					t.Errorf("%q finds %+v", query, got.Results)
				}
			}
		}
		for _, seen := range r.api.Seen() {
			if strings.Contains(seen.Text, "Dapp") || strings.Contains(seen.Text, "did:") {
				t.Errorf("people see %+v", seen)
			}
		}
	})
}
