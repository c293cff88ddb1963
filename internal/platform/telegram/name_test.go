package telegram

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
)

// withRenamedBot runs a test with an adapter whose bot has got the name new_bot while it ran.
func withRenamedBot(t *testing.T, way func(*Config), test func(*testing.T, *adapterTest)) {
	t.Helper()
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.run()
		time.Sleep(2 * nameGap)
		r.api.Rename("new_bot")
		test(t, r)
	}, way)
}

// Commands with the new name are answered at once, even if many come together.
func TestARenamedBotAnswersToItsNewName(t *testing.T) {
	for _, way := range ways {
		for _, text := range []string{"/price@new_bot", "@New_bot /price", "@new_bot, /price@NEW_BOT"} {
			withRenamedBot(t, way, func(t *testing.T, r *adapterTest) {
				calls := r.events.Of("getMe")
				for i := range int64(5) {
					r.deliverMessage(inGroup(ann+i, text))
				}
				r.waitSent(5)
				check(t, text+": calls of getMe", r.events.Of("getMe")-calls, 1)
				check(t, "lines of the log", r.logs.Lines("another name"), 1)
				r.deliverMessage(inGroup(ann, "/price@herald_bot")) // It is another bot's now.
				time.Sleep(time.Second)
				r.waitSent(5)
			})
		}
	}
}

// A group may have many commands of other bots.
func TestTheNameIsAskedOnceAMinute(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.run()
		for range 600 {
			r.api.Push(inGroup(ann, "/price@OtherBot"))
			r.api.Push(inGroup(ann, "/moon@AnotherBot")) // not a command of ours
			time.Sleep(time.Second)
		}
		if n := r.events.Of("getMe"); n < 10 || n > 12 {
			t.Errorf("%d calls of getMe in ten minutes", n)
		}
		check(t, "messages", len(r.api.Sent()), 0)
	})
}

func TestADescriptionOfAnotherBotChangesNoName(t *testing.T) {
	for _, wrong := range []string{`{}`, `{"id":1,"is_bot":true,"username":"other_bot","first_name":"Other"}`} {
		simulated(t, func(t *testing.T, r *adapterTest) {
			start := time.Now()
			r.divert("getMe", time.Hour, func(req *http.Request) (*http.Response, error) {
				if time.Since(start) < nameGap {
					return r.api.RoundTrip(req)
				}
				body := io.NopCloser(strings.NewReader(`{"ok":true,"result":` + wrong + `}`))
				return &http.Response{StatusCode: http.StatusOK, Body: body, Request: req}, nil
			})
			r.run()
			time.Sleep(2 * nameGap)
			before := r.events.Of("getMe")
			r.deliverMessage(inGroup(ann, "/price@other_bot"))
			r.deliverMessage(inGroup(ann, "/price@herald_bot"))
			time.Sleep(time.Second)
			r.waitSent(1)
			check(t, wrong+": calls of getMe", r.events.Of("getMe")-before, 1)
			check(t, wrong+": lines of the log", r.logs.Lines("describes another bot"), 1)
		})
	}
}

// Links have the new name although nobody has used it, and although Telegram does not answer for a while.
func TestLinksHaveTheNewNameWithinTheHour(t *testing.T) {
	withRenamedBot(t, ways["polling"], func(t *testing.T, r *adapterTest) {
		r.handler.Reply = secretReply
		r.api.Push(inGroup(ann, "/mylogins"))
		r.waitSent(1)
		r.api.Fail("getMe", telegramtest.Hang())
		time.Sleep(2 * time.Hour)
		r.api.Push(inGroup(ann, "/mylogins"))
		for i, want := range []string{"https://t.me/herald_bot?start=mylogins", "https://t.me/new_bot?start=mylogins"} {
			check(t, "link", r.waitSent(2)[i].Markup.Rows[0][0].URL, want)
		}
	})
}

// A press opens the private chat with the bot by its name. Telegram refuses any other.
func TestARenameBeforeAnAnswerLosesNothing(t *testing.T) {
	for _, way := range ways {
		withRenamedBot(t, way, func(t *testing.T, r *adapterTest) {
			r.handler.Reply = func(context.Context, *chat.Request) *chat.Reply {
				r.api.Rename("newest_bot")
				return &chat.Reply{Title: chat.Say("confidential")}
			}
			r.api.Press(ann, faketelegram.Group(group), 1, "1 n 0 mylogins")
			if r.adapter.Settings.WebhookURL != "" {
				for _, body := range r.api.Dequeue() {
					go r.postUpdate(body)
				}
			}
			check(t, "opens", r.waitPressAnswer(2)[0].URL, "https://t.me/newest_bot?start=mylogins")
			check(t, "messages", len(r.api.Sent()), 0)
		})
	}
}

// waitPressAnswer waits for the answer to one press, and checks how many calls it took.
func (r *adapterTest) waitPressAnswer(calls int) []faketelegram.Notice {
	r.Helper()
	r.waitFor("the answer to the press", func() bool { return len(r.api.Notices()) == 1 })
	check(r.T, "calls of answerCallbackQuery", len(r.api.Calls("answerCallbackQuery")), calls)
	return r.api.Notices()
}
