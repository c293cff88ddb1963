package telegram

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/commands/commandstest"
	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/platform/platformtest"
	"herald/internal/words"
)

// inline has ann ask, and returns what she is answered.
func (r *adapterTest) inline(query string) faketelegram.InlineAnswer {
	r.Helper()
	answer, answered := r.api.WaitInline(r.api.Inline(ann, query, ""), atOnce)
	if !answered {
		r.Errorf("%q is not answered", query)
	}
	return answer
}

func TestInlineQueryFindsOnlyPublicCommands(t *testing.T) {
	wallet := commandstest.Wallet
	// Whatever commands there are besides.
	known := []string{"price", "supply", "staked", "mylogins", "exists", "verify", "help", "status", "start"}
	commands := slices.DeleteFunc(commandstest.Healthy().Router(t).Commands(), func(c chat.Command) bool {
		return !slices.Contains(known, c.Name)
	})
	commands[0].Aliases = map[string][]string{"chart": {"24h"}}
	want := map[string]string{
		"": "price supply", "  ": "price supply", "price": "price", "/price": "price", "PR": "price", "s": "supply", "/Chart": "price",
		wallet: "staked " + wallet, "staked " + wallet: "staked " + wallet, "Staked  " + wallet: "staked " + wallet,
		"https://etherscan.io/address/" + wallet: "staked " + wallet, "staked (" + wallet + ") please": "staked " + wallet,
		wallet[2:]: "staked " + wallet, "is " + wallet + " ok": "staked " + wallet,
	}
	for _, nothing := range []string{
		wallet[:41], wallet + "0", "0x" + strings.Repeat("5", 64), "staked", "staked 0x", "price 7d", "pricey", "help", "status", "start", "mylogins",
		"mylogins 2", "my", "exists", "exists 5", "exists Telegram 5", "verify " + wallet, "verify 5 " + wallet, "@everyone", "\u202etekcop",
	} {
		want[nothing] = ""
	}
	for query, want := range want {
		var found []string
		for _, req := range parseInline(query, commands) {
			found = append(found, req.Command)
			if req.Args.Len() > 0 {
				found = append(found, wallet)
			}
			if req.Args.Len() > 0 && !strings.Contains(fmt.Sprint(req.Args), wallet[2:]) {
				t.Errorf("%q has the arguments %v", query, req.Args)
			}
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%q means %q, want %q", query, got, want)
		}
	}
}

// A result has the text of the command's answer, and Telegram caches it while the answer
// is fresh.
func TestInlineResultIsCachedWhileFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w, router := product(t)
		r.serve(platformtest.Routed{Router: router})
		time.Sleep(time.Second) // The first polls are half a second apart.
		w.Price.FreshUntil = time.Now().Add(30*time.Second + time.Second/2)
		w.Supply.FreshUntil = time.Now().Add(3 * time.Hour)
		for query, want := range map[string]struct {
			command, arg string
			cache        int
		}{
			"price":             {"price", "", 30},
			"supply":            {"supply", "", 30}, // It says what that is worth.
			commandstest.Wallet: {"staked", commandstest.Wallet, 0},
		} {
			got := r.inline(query)
			if len(got.Results) != 1 || got.CacheTime != want.cache || got.Personal || got.Button != "" {
				t.Fatalf("%q is answered by %+v", query, got)
			}
			result := got.Results[0]
			answer := router.Handle(t.Context(), &chat.Request{Command: want.command, Args: chat.Typed(strings.Fields(want.arg)...)})
			m, ok := r.api.Choose(got.QueryID, result.ID, faketelegram.Group(group))
			check(t, query+": there is the result", ok, true)
			check(t, query+": text", m.Text, shown(answer).Text)
			if !strings.HasPrefix(m.Text, result.Title+"\n") || result.Description == "" {
				t.Errorf("%q has the result %+v, which is sent as %q", query, result, m.Text)
			}
			if dataOf(m, "🔄 Refresh") != "" {
				t.Errorf("%q has the buttons %+v", query, m.Markup.Rows)
			}
		}
		if got := r.inline(""); len(got.Results) < 2 {
			t.Errorf("nothing typed is answered by %+v", got)
		}
	})
}

// panicsTwice panics while SomethingWentWrong is made, too.
type panicsTwice struct{ *platformtest.Handler }

func (h panicsTwice) Language(req *chat.Request, visibility chat.Visibility) chat.Language {
	if req.Inline {
		panic("twice")
	}
	return h.Handler.Language(req, visibility)
}

// A failure is no result, because nobody should send it. A button shows why, to the asker
// alone. Everybody's queries are counted by themselves.
func TestInlineFailureSaysWhy(t *testing.T) {
	limit := func() *chat.Reply {
		return &chat.Reply{Title: chat.Say("Too many"), Tone: chat.Warning, Audience: chat.SenderAlone}
	}
	hint := words.Say(chat.English, chat.SayWith("telegram.inline_hint.commands", chat.Values{"commands": chat.Plain("price")}))
	type test struct {
		query  string
		reply  func() *chat.Reply
		button string
		cache  int
		again  bool // whether SomethingWentWrong panics too
	}
	inBubble(t, map[string]test{
		"a limit":    {"price", limit, "Too many", 5, false},
		"a panic":    {"price", func() *chat.Reply { panic("inline") }, "Something went wrong", 5, false},
		"two panics": {"price", func() *chat.Reply { panic("inline") }, "Something went wrong", 5, true},
		"private":    {"mylogins", nil, hint, 3600, false},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		r.handler.Reply = func(context.Context, *chat.Request) *chat.Reply { return tt.reply() }
		if tt.again {
			r.serve(panicsTwice{r.handler})
		} else {
			r.run()
		}
		got, failed := r.inline(tt.query), tt.reply != nil
		for _, req := range r.handler.Requests() {
			check(t, "from", req.From, userOf(ann))
			check(t, "chat", req.Chat, fmt.Sprint("inline ", ann))
			check(t, "direct", req.Direct, false)
			check(t, "can reply ephemerally", req.CanReplyEphemerally, false)
			check(t, "role", req.Role, chat.Member)
		}
		check(t, "results", len(got.Results), 0)
		check(t, "button", got.Button, tt.button)
		check(t, "cache time", got.CacheTime, tt.cache)
		check(t, "personal", got.Personal, failed)
		check(t, "handled", len(r.handler.Requests()) != 0, failed)
		// The button leads to the private chat, where /start is answered.
		r.handler.Reply = nil
		r.api.Push(inPrivate(ann, "/start "+got.Start))
		if m := r.sent(1)[0]; m.Chat != ann || m.Text != "start" {
			t.Errorf("the button is answered by %+v", m)
		}
	})
}

// Telegram takes one answer to a query, so an answer that may have been taken is repeated once.
func TestAnInlineAnswerThatMayBeTakenIsRepeatedOnce(t *testing.T) {
	type test struct {
		fault             telegramtest.Fault
		calls, unanswered int
	}
	inBubble(t, map[string]test{
		"a short 429":      {telegramtest.TooMany(2 * time.Second), 2, 0},
		"a long 429":       {telegramtest.TooMany(time.Minute), 1, 1},
		"a 502":            {telegramtest.Page(502), 2, 0},
		"a 502, but taken": {telegramtest.Page(502).CarriedOut(), 2, 0},
		"its styles":       {telegramtest.Status(400), 2, 0},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		r.api.Fail("answerInlineQuery", tt.fault)
		r.run()
		r.api.Inline(ann, "price", "")
		time.Sleep(2 * time.Minute)
		if calls := len(r.api.Calls("answerInlineQuery")); calls != tt.calls || r.events.Of("inline_unanswered") != tt.unanswered {
			t.Errorf("%d calls, want %d; %d unanswered, want %d", calls, tt.calls, r.events.Of("inline_unanswered"), tt.unanswered)
		}
		if n := len(r.api.Pending()); n != 0 {
			t.Errorf("%d updates are not acknowledged", n)
		}
	})
}
