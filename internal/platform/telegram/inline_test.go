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

// inline sends an inline query of ann's, and returns its answer.
func (r *adapterTest) inline(query string) faketelegram.InlineAnswer {
	r.Helper()
	answer, answered := r.api.WaitInline(r.api.Inline(ann, query, ""), atOnce)
	if !answered {
		r.Errorf("%q is not answered", query)
	}
	return answer
}

// inlineCommands returns some of the product's commands. /price has the alias "chart".
func inlineCommands(t *testing.T) chat.Commands {
	t.Helper()
	names := []string{"price", "supply", "staked", "mylogins", "exists", "verify", "help", "status", "start"}
	isOther := func(c chat.Command) bool { return !slices.Contains(names, c.Name) }
	commands := slices.DeleteFunc(commandstest.Healthy().Router(t).Commands(), isOther)
	price := &commands[0]
	price.Aliases = map[string][]string{"chart": {"24h"}}
	return commands
}

func TestInlineQueryFindsCommandsByTheirNames(t *testing.T) {
	commands := inlineCommands(t)
	for query, want := range map[string]string{
		"":       "price supply",
		"  ":     "price supply",
		"price":  "price",
		"/price": "price",
		"PR":     "price",
		"s":      "supply",
		"/Chart": "price",
	} {
		var found []string
		for _, req := range parseInline(query, commands) {
			found = append(found, req.Command)
			check(t, query+": arguments", req.Args.Len(), 0)
		}
		check(t, query, strings.Join(found, " "), want)
	}
}

func TestInlineQueryFindsAWallet(t *testing.T) {
	wallet := commandstest.Wallet
	commands := inlineCommands(t)
	for _, query := range []string{
		wallet,
		wallet[2:],
		"staked " + wallet,
		"Staked  " + wallet,
		"staked (" + wallet + ") please",
		"is " + wallet + " ok",
		"https://etherscan.io/address/" + wallet,
	} {
		found := parseInline(query, commands)
		if len(found) != 1 || found[0].Command != "staked" || !strings.Contains(fmt.Sprint(found[0].Args), wallet[2:]) {
			t.Errorf("%q means %+v", query, found)
		}
	}
}

func TestInlineQueryIgnoresPrivateAndUnfinishedRequests(t *testing.T) {
	wallet := commandstest.Wallet
	commands := inlineCommands(t)
	for _, query := range []string{
		wallet[:41], wallet + "0", "0x" + strings.Repeat("5", 64), // not as long as a wallet
		"staked", "staked 0x", "price 7d", "pricey",
		"help", "status", "start", "mylogins", "mylogins 2", "my",
		"exists", "exists 5", "exists Telegram 5",
		"verify " + wallet, "verify 5 " + wallet,
		"@everyone", "\u202etekcop",
	} {
		if found := parseInline(query, commands); len(found) != 0 {
			t.Errorf("%q means %+v", query, found)
		}
	}
}

// checkOneResult checks that a query has one result, which sends the text of answer, and that Telegram may cache it for
// cacheSeconds.
func (r *adapterTest) checkOneResult(query string, answer *chat.Reply, cacheSeconds int) {
	r.Helper()
	got := r.inline(query)
	if len(got.Results) != 1 || got.Personal || got.Button != "" {
		r.Fatalf("%q is answered by %+v", query, got)
	}
	check(r, query+": seconds in the cache", got.CacheTime, cacheSeconds)
	result := got.Results[0]
	m, ok := r.api.Choose(got.QueryID, result.ID, faketelegram.Group(group))
	check(r, query+": the result can be sent", ok, true)
	check(r, query+": text", m.Text, shown(answer).Text)
	if !strings.HasPrefix(m.Text, result.Title+"\n") || result.Description == "" {
		r.Errorf("%q has the result %+v, which is sent as %q", query, result, m.Text)
	}
	check(r, query+": button to refresh", dataOf(m, "🔄 Refresh"), "")
}

func TestInlineResultIsCachedWhileFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, answers, router := product(t)
		r.serve(platformtest.Routed{Router: router})
		time.Sleep(time.Second) // The first polls are half a second apart.
		answers.Price.FreshUntil = time.Now().Add(30*time.Second + time.Second/2)
		answers.Supply.FreshUntil = time.Now().Add(3 * time.Hour)
		answer := func(command string, args ...string) *chat.Reply {
			return router.Handle(t.Context(), &chat.Request{Command: command, Args: chat.Typed(args...)})
		}
		r.checkOneResult("price", answer("price"), 30)
		r.checkOneResult("supply", answer("supply"), 30) // because it includes the price
		r.checkOneResult(commandstest.Wallet, answer("staked", commandstest.Wallet), 0)
	})
}

func TestEmptyInlineQueryHasSeveralResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, router := product(t)
		r.serve(platformtest.Routed{Router: router})
		if got := r.inline(""); len(got.Results) < 2 {
			t.Errorf("answered by %+v", got)
		}
	})
}

// panicsTwice is a handler that also panics when it is asked for the language of an inline answer. The adapter asks for
// it to answer after the first panic.
type panicsTwice struct{ *platformtest.Handler }

func (h panicsTwice) Language(req *chat.Request, visibility chat.Visibility) chat.Language {
	if req.Inline {
		panic("twice")
	}
	return h.Handler.Language(req, visibility)
}

// inlineFailure is a query without a result, and its answer.
type inlineFailure struct {
	query        string
	reply        func(context.Context, *chat.Request) *chat.Reply // nil if no command must be asked
	panicsTwice  bool                                             // whether the reply about a panic panics, too
	button       string                                           // above the empty results
	cacheSeconds int
}

// serve starts the adapter with a handler that fails in this way.
func (f inlineFailure) serve(r *adapterTest) {
	r.handler.Reply = f.reply
	if f.panicsTwice {
		r.serve(panicsTwice{r.handler})
	} else {
		r.run()
	}
}

func inlineFailures() map[string]inlineFailure {
	panics := func(context.Context, *chat.Request) *chat.Reply { panic("inline") }
	refuses := func(context.Context, *chat.Request) *chat.Reply { return privateReply("Too many") }
	hint := chat.SayWith("telegram.inline_hint.commands", chat.Values{"commands": chat.Plain("price")})
	return map[string]inlineFailure{
		"a limit": {
			query:        "price",
			reply:        refuses,
			button:       "Too many",
			cacheSeconds: 5,
		},
		"a panic": {
			query:        "price",
			reply:        panics,
			button:       "Something went wrong",
			cacheSeconds: 5,
		},
		"two panics": {
			query:        "price",
			reply:        panics,
			panicsTwice:  true,
			button:       "Something went wrong",
			cacheSeconds: 5,
		},
		"a private command": {
			query:        "mylogins",
			button:       words.Say(chat.English, hint),
			cacheSeconds: 3600,
		},
	}
}

// A failure is not a result, because nobody should send it to a chat. Instead, a button tells only the user the reason.
func TestInlineFailureSaysWhy(t *testing.T) {
	inBubble(t, inlineFailures(), func(t *testing.T, tt inlineFailure) {
		r := setUp(t)
		tt.serve(r)
		got := r.inline(tt.query)
		mustBeAsked := tt.reply != nil
		check(t, "a command is asked", len(r.handler.Requests()) != 0, mustBeAsked)
		check(t, "results", len(got.Results), 0)
		check(t, "button", got.Button, tt.button)
		check(t, "cache time", got.CacheTime, tt.cacheSeconds)
		check(t, "personal", got.Personal, mustBeAsked)
	})
}

func TestTheButtonOfAnInlineFailureLeadsToTheStart(t *testing.T) {
	inBubble(t, inlineFailures(), func(t *testing.T, tt inlineFailure) {
		r := setUp(t)
		tt.serve(r)
		got := r.inline(tt.query)
		r.handler.Reply = nil
		r.api.Push(inPrivate(ann, "/start "+got.Start))
		m := r.waitSent(1)[0]
		check(t, "chat", m.Chat, ann)
		check(t, "text", m.Text, "start")
	})
}

// Each user's queries count towards a limit of their own, by the request's chat.
func TestInlineQueryIsAskedAsAMember(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.run()
		r.inline("price")
		req := r.handler.Requests()[0]
		check(t, "from", req.From, userOf(ann))
		check(t, "chat", req.Chat, fmt.Sprint("inline ", ann))
		check(t, "direct", req.Direct, false)
		check(t, "can reply ephemerally", req.CanReplyEphemerally, false)
		check(t, "role", req.Role, chat.Member)
	})
}

// Telegram takes only one answer to a query, so an answer that it may have taken can be sent again.
func TestAnInlineAnswerThatMayBeTakenIsRepeatedOnce(t *testing.T) {
	type test struct {
		fault             telegramtest.Fault
		calls, unanswered int
	}
	inBubble(t, map[string]test{
		"a short 429":             {fault: telegramtest.TooMany(2 * time.Second), calls: 2},
		"a long 429":              {fault: telegramtest.TooMany(time.Minute), calls: 1, unanswered: 1},
		"a 502":                   {fault: telegramtest.Page(502), calls: 2},
		"a 502, but it is taken":  {fault: telegramtest.Page(502).CarriedOut(), calls: 2},
		"a refusal of its styles": {fault: telegramtest.Status(400), calls: 2},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		r.api.Fail("answerInlineQuery", tt.fault)
		r.run()
		r.api.Inline(ann, "price", "")
		time.Sleep(2 * time.Minute)
		check(t, "calls", len(r.api.Calls("answerInlineQuery")), tt.calls)
		check(t, "unanswered", r.events.Of("inline_unanswered"), tt.unanswered)
		check(t, "updates that are not acknowledged", len(r.api.Pending()), 0)
	})
}
