package telegram

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/telegram/telegramtest"
)

// refreshed is an answer with a button to refresh it, as new as so many minutes.
func refreshed(text string, minutes int) chat.Reply {
	return chat.Reply{
		Title: chat.Say(text), AsOf: time.Unix(int64(1_000_000+60*minutes), 0),
		Actions: []chat.Action{{Label: chat.Say("Refresh"), Command: "price", Edit: true, Refresh: true}},
	}
}

// card is a rig in whose group a card stands: answer 1. Each later answer is
// newer by a minute, unless answers says otherwise.
func card(t *testing.T, change func(*Config), answers ...chat.Reply) *rig {
	t.Helper()
	r := setUpInMemory(t, change)
	var asked atomic.Int64
	r.handler.Reply = func(context.Context, chat.Request) chat.Reply {
		n := int(asked.Add(1))
		if n > 1 && n-2 < len(answers) {
			return answers[n-2]
		}
		return refreshed(fmt.Sprint("answer ", n), n)
	}
	r.run()
	r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/price"))
	r.sent(1)
	return r
}

// one is the only message that was ever sent.
func (r *rig) one() telegramtest.Sent {
	r.Helper()
	return r.sent(1)[0]
}

func TestAPressSaysWhoPressedWhatAndWhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := card(t, nil)
		r.press(77, "Refresh")
		r.told(1)
		req := r.handler.Requests()[1]
		if req.Command != "price" || req.Args.Len() != 0 || req.ID == "" || req.ID == r.handler.Requests()[0].ID {
			t.Errorf("asked as %+v", req)
		}
		if req.From != userOf(77) || req.Community != "-1001" || req.Chat != "-1001" || req.Direct || req.Role != chat.UnknownRole || !req.Whispers {
			t.Errorf("by %+v", req)
		}
	})
}

func TestAFailureIsForThePresserAndLeavesTheAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		reply chat.Reply
		text  string
		alert bool
	}{
		"could not be checked": {chat.Reply{Tone: chat.Warning, Title: chat.Say("unchecked.title"), Text: chat.Say("Down."), Notes: []chat.Text{chat.Say("Reference R")}},
			"⚠️ Could not be checked\nDown.\nReference R", true},
		"a refusal":       {chat.Reply{Tone: chat.Warning, Title: chat.Say("Too many commands"), ToAsker: true}, "⚠️ Too many commands", true},
		"said before":     {chat.Reply{Title: chat.Say("Too many commands"), ToAsker: true, SaidBefore: true}, "Too many commands", false},
		"as new":          {refreshed("the same", 1), "Already up to date", false},
		"older":           {refreshed("older", 0), "Already up to date", false},
		"a question":      {chat.Reply{Title: chat.Say("Which wallet?"), ToAsker: true, Ask: &chat.Ask{Command: "staked"}}, "Which wallet?", true},
		"more than fits":  {chat.Reply{Title: chat.Say("T"), Text: chat.Say(strings.Repeat("x", 190)), ToAsker: true, Notes: []chat.Text{chat.Say("too long"), chat.Say("fits")}}, "T\n" + strings.Repeat("x", 190) + "\nfits", true},
		"an endless line": {chat.Reply{Text: chat.Say(strings.Repeat("😀", 300)), ToAsker: true}, strings.Repeat("😀", 199) + "…", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := card(t, nil, tt.reply)
				r.press(ann+1, "Refresh")
				got := r.told(1)[0]
				if got.Text != tt.text || got.Alert != tt.alert || got.User != ann+1 {
					t.Errorf("told %+v, want %q", got, tt.text)
				}
				if m := r.one(); m.Text != "answer 1" || m.Edits != 0 || !r.api.WaitAcknowledged(soon) {
					t.Errorf("the message is %+v", m)
				}
			})
		})
	}
}

// What somebody is asked after a press in private they can write at once.
func TestAQuestionAfterAPressInPrivateIsAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		r.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply {
			if req.Command == "staked" {
				return chat.Reply{Title: chat.Say("Which wallet?"), ToAsker: true, Ask: &chat.Ask{Command: "staked", Question: chat.Say("Which wallet?")}}
			}
			return chat.Reply{Title: chat.Say("x"), Actions: []chat.Action{{Label: chat.Say("Stake"), Command: "staked", Edit: true}}}
		}
		r.run()
		r.askers(1)
		r.sent(1)
		r.press(10_000, "Stake")
		if m := r.sent(2)[1]; !m.Markup.ForceReply || r.told(1)[0].Text != "" {
			t.Errorf("sent %+v", m)
		}
	})
}

func TestAPressOnWhatCannotBeEditedIsAnsweredBelowIt(t *testing.T) {
	for name, press := range map[string]func(*rig, telegramtest.Sent) (replyTo int64){
		"too old to be shown": func(r *rig, m telegramtest.Sent) int64 {
			r.api.PressOld(ann, chatOf(m), m.ID, dataOf(m, "Refresh"))
			return m.ID
		},
		"deleted": func(r *rig, m telegramtest.Sent) int64 {
			r.api.Delete(m.Chat, m.ID)
			r.api.Press(ann, chatOf(m), m.ID, dataOf(m, "Refresh"))
			return 0
		},
		"never there": func(r *rig, m telegramtest.Sent) int64 {
			r.api.Press(ann, chatOf(m), 9999, dataOf(m, "Refresh"))
			return 0
		},
		"a button that adds": func(r *rig, m telegramtest.Sent) int64 {
			r.api.Press(ann, chatOf(m), m.ID, "1 n 0 price")
			return m.ID
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := card(t, nil)
				replyTo := press(r, r.one())
				sent := r.sent(2)
				if sent[0].Edits != 0 || sent[1].Text != "answer 2" || sent[1].ReplyTo != replyTo || r.told(1)[0].Text != "" {
					t.Errorf("sent %+v", sent)
				}
			})
		})
	}
}

func TestAPressOfWhatIsInNoChatIsTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := card(t, nil)
		r.api.PressInline(ann, "inline-1", dataOf(r.one(), "Refresh"))
		if got := r.told(1)[0]; !strings.Contains(got.Text, "too old") || !got.Alert || len(r.handler.Requests()) != 1 {
			t.Errorf("told %+v", got)
		}
	})
}

// A private command by a forged button goes to whoever pressed it, or opens the
// private chat for them.
func TestAPressForWhatIsPrivateGoesToThePresser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := card(t, nil)
		r.handler.Reply = secretReply
		r.api.Start(ann + 1)
		m := r.one()
		for presser, opens := range map[int64]string{ann + 1: "", ann + 2: "https://t.me/herald_bot?start=mylogins"} {
			r.api.Press(presser, chatOf(m), m.ID, "1 e 0 mylogins")
			synctest.Wait()
			notices := r.api.Notices()
			if got := notices[len(notices)-1]; got.User != presser || got.URL != opens || opens == "" && got.Text != said(answeredPrivately) {
				t.Errorf("told %+v", got)
			}
		}
		sent := r.sent(2)
		if sent[0].Edits != 0 || sent[1].Chat != ann+1 || !strings.Contains(sent[1].Text, "confidential") || r.events.of("private_unreachable") != 1 {
			t.Errorf("sent %+v", sent)
		}
		for _, seen := range r.api.SeenByOthers(ann + 1) {
			if strings.Contains(seen.Text, "confidential") {
				t.Errorf("others see %+v", seen)
			}
		}
	})
}

func TestADeliveredPressIsAnsweredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, func(c *Config) {
			c.WebhookURL, c.WebhookSecret, c.Dedup = "https://bot.example/hook", config.NewSecret(secret), &memory{}
		})
		r.handler.Reply = func(context.Context, chat.Request) chat.Reply { return refreshed("new", 2) }
		r.run()
		r.waitFor("ready", r.adapter.Ready)
		deliver := func(body []byte) int {
			req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
			req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
			w := httptest.NewRecorder()
			r.adapter.ServeHTTP(w, req)
			return w.Code
		}
		deliver(r.api.Update(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/price")))
		m := r.one()
		r.api.Press(ann, chatOf(m), m.ID, "1 e 1 price")
		body := r.api.Dequeue()[0]
		for range 3 {
			if status := deliver(body); status != http.StatusOK {
				t.Errorf("status %d", status)
			}
		}
		r.told(1)
		if n := len(r.handler.Requests()); n != 2 || r.events.of("update_repeated") != 2 {
			t.Errorf("%d requests", n)
		}
	})
}

// Telegram takes no answer to a press that waited for long, and the message is
// edited all the same.
func TestAPressThatWaitedForLongIsCarriedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		r.handler.Reply = func(context.Context, chat.Request) chat.Reply { return refreshed("new", 2) }
		stop := r.run()
		r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/help"))
		m := r.one()
		if err := stop(); err != nil {
			t.Error(err)
		}
		r.handler.Reply = func(context.Context, chat.Request) chat.Reply { return refreshed("newer", 3) }
		r.press(ann, "Refresh")
		time.Sleep(time.Minute)
		r.againInMemory().run()
		if !r.api.WaitAcknowledged(soon) || r.one().Text != "newer" || m.Text != "new" {
			t.Errorf("the message is %+v", r.one())
		}
		if len(r.api.Notices()) != 0 || r.events.of("press_unanswered") != 1 {
			t.Errorf("told %+v, events %v", r.api.Notices(), r.events.n)
		}
	})
}

func TestAPressIsAnsweredOnceTelegramTakesIt(t *testing.T) {
	for name, tt := range map[string]struct {
		faults []telegramtest.Fault
		calls  int
		lost   bool
	}{
		"a 429":        {[]telegramtest.Fault{telegramtest.TooMany(time.Second)}, 2, false},
		"a long 429":   {[]telegramtest.Fault{telegramtest.TooMany(time.Hour)}, 1, true},
		"unclear":      {[]telegramtest.Fault{telegramtest.Page(502)}, 1, true},
		"a refusal":    {[]telegramtest.Fault{telegramtest.Status(400)}, 1, true},
		"nothing else": {nil, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := card(t, nil)
				r.api.Fail("answerCallbackQuery", tt.faults...)
				r.press(ann, "Refresh")
				if !r.api.WaitAcknowledged(time.Minute) || r.one().Text != "answer 2" {
					t.Errorf("the message is %+v", r.one())
				}
				if n := len(r.api.Calls("answerCallbackQuery")); n != tt.calls || (r.events.of("press_unanswered") == 1) != tt.lost {
					t.Errorf("%d calls, events %v", n, r.events.n)
				}
			})
		})
	}
}
