package telegram

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/telegram/telegramtest"
)

var answersMany = regexp.MustCompile(`This answers (\d+) requests\.`)

// answered is how many askers a message says that it is for.
func answered(m telegramtest.Sent) int {
	if found := answersMany.FindStringSubmatch(m.Text); found != nil {
		n, _ := strconv.Atoi(found[1])
		return n
	}
	return 1
}

// asks is a message in the group by one of many people; thread 0 is no topic.
func asks(thread int64, person int, text string) telegramtest.Message {
	m := telegramtest.Text(telegramtest.Group(group), telegramtest.Person(int64(1+person)), text)
	if thread != 0 {
		m.In(thread)
	}
	return m
}

// byWebhook is a paced rig that takes deliveries, and what delivers to it.
func byWebhook(t *testing.T) (r *rig, ask func(...telegramtest.Message)) {
	r, _ = paced(t)
	r.adapter.WebhookURL, r.adapter.WebhookSecret, r.adapter.Dedup = "https://bot.example/hook", config.NewSecret(secret), &memory{}
	return r, func(messages ...telegramtest.Message) {
		r.waitFor("ready", r.adapter.Ready)
		var all sync.WaitGroup
		for _, m := range messages {
			req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(r.api.Update(m)))
			req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
			all.Go(func() {
				w := httptest.NewRecorder()
				if r.adapter.ServeHTTP(w, req); w.Code != http.StatusOK {
					t.Errorf("a delivery is answered with %d", w.Code)
				}
			})
		}
		all.Wait()
	}
}

// byPolling is a paced rig that polls, and what puts updates into its queue.
func byPolling(t *testing.T) (r *rig, ask func(...telegramtest.Message)) {
	r, _ = paced(t)
	return r, func(messages ...telegramtest.Message) {
		for _, m := range messages {
			r.api.Push(m)
		}
		r.settled(time.Minute)
	}
}

var waysIn = map[string]func(*testing.T) (*rig, func(...telegramtest.Message)){"polling": byPolling, "webhook": byWebhook}

func TestManyWhoAskTheSameAtOnceShareThreeMessages(t *testing.T) {
	for name, way := range waysIn {
		for _, askers := range []int{2, 3, 100, 1000} {
			t.Run(fmt.Sprint(name, " ", askers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r, ask := way(t)
					r.run()
					var messages []telegramtest.Message
					for i := range askers {
						messages = append(messages, asks(0, i, "/price"))
					}
					start := time.Now()
					ask(messages...)
					sent := r.api.Sent()
					keepsRates(t, sent)
					total := 0
					for _, m := range sent {
						total += answered(m)
					}
					took := sent[len(sent)-1].At.Sub(start)
					// Of more than 100 updates, polling is shown 100 at a time.
					inSight := name == "webhook" || askers <= 100
					if total != askers || inSight && (len(sent) > 3 || took > 3*time.Second) {
						t.Errorf("%d messages for %d of %d askers in %v", len(sent), total, askers, took)
					}
					if shared := r.events.of("send_shared"); shared != askers-len(sent) {
						t.Errorf("%d are counted as shared", shared)
					}
				})
			})
		}
	}
}

// The first answer goes at once, and those that come while nothing waits have a
// message of their own.
func TestOneAskerAtATimeSharesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, ask := byPolling(t)
		r.run()
		for i := range 5 {
			ask(asks(0, i, "/price"))
			time.Sleep(10 * time.Second)
		}
		for i, m := range r.api.Sent() {
			if m.Text != "price" || m.ReplyTo == 0 {
				t.Errorf("message %d is %+v", i, m)
			}
		}
		if n := len(r.api.Sent()); n != 5 {
			t.Errorf("%d messages to 5 askers", n)
		}
	})
}

// Only what is the same in one place shares a message: 40 people each ask two
// commands in two topics and outside, and everybody something of their own.
func TestOnlyTheSameAnswerInTheSamePlaceIsShared(t *testing.T) {
	const people = 40
	for name, way := range waysIn {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, ask := way(t)
				r.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply {
					// It names the request but for what its title says.
					return chat.Reply{Title: chat.Say(req.Command), Text: chat.Say(fmt.Sprint(req.Args))}
				}
				r.run()
				type place struct {
					thread int64
					typed  string
				}
				want := map[place]int{}
				var messages []telegramtest.Message
				for i := range people {
					for _, thread := range []int64{0, 7, 8} {
						for _, typed := range []string{"/price", "/help", "/staked a", "/staked b"} {
							messages = append(messages, asks(thread, i, typed))
							want[place{thread, fmt.Sprint(typed[1:])}]++
						}
					}
				}
				ask(messages...)
				got := map[place]int{}
				for _, m := range r.api.Sent() {
					title, rest, _ := strings.Cut(m.Text, "\n")
					typed := title
					if strings.Contains(rest, "[a]") {
						typed += " a"
					} else if strings.Contains(rest, "[b]") {
						typed += " b"
					}
					got[place{m.Thread, typed}] += answered(m)
				}
				keepsRates(t, r.api.Sent())
				shed := r.events.of("send_shed")
				for p, n := range want {
					shed -= n - got[p]
					if got[p] > n {
						t.Errorf("%+v: %d of %d askers are answered", p, got[p], n)
					}
				}
				if shed != 0 {
					t.Errorf("%d more are counted as shed than have no answer", shed)
				}
				if all := r.events.of("send_shed"); all > people*len(want)/2 {
					t.Errorf("%d are not answered", all)
				}
			})
		})
	}
}

func TestARefusalNeverStandsForAnAnswer(t *testing.T) {
	const each = 20
	synctest.Test(t, func(t *testing.T) {
		r, ask := byWebhook(t)
		r.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply {
			if id, _ := strconv.Atoi(req.From.ID); id > each {
				return chat.Reply{Tone: chat.Warning, Title: chat.Say("Too many commands")}
			}
			return chat.Reply{Title: chat.Say("Price")}
		}
		r.run()
		var messages []telegramtest.Message
		for i := range 2 * each {
			messages = append(messages, asks(0, i, "/price"))
		}
		ask(messages...)
		got := map[string]int{}
		for _, m := range r.api.Sent() {
			title, _, _ := strings.Cut(m.Text, "\n")
			got[title] += answered(m)
		}
		if got["Price"] != each || got["⚠️ Too many commands"] != each {
			t.Errorf("answered %v", got)
		}
	})
}

// The message that goes is the newest answer, as a reply to whoever waited
// longest.
func TestASharedMessageShowsTheNewestAnswerToTheFirstAsker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, func(c *Config) { c.Pacing = true })
		asked := 0
		r.handler.Reply = func(context.Context, chat.Request) chat.Reply {
			asked++ // One at a time, as they are asked below.
			return chat.Reply{Title: chat.Say("Price"), Text: chat.Say(fmt.Sprintf("Answer %d.", asked)), Notes: make([]chat.Text, 0, 5)}
		}
		r.run()
		var ids []int64
		for i := range 6 {
			_, id := r.api.Push(asks(0, i, "/price"))
			ids = append(ids, id)
			time.Sleep(50 * time.Millisecond)
		}
		sent := r.sent(2)
		if sent[0].ReplyTo != ids[0] || answered(sent[0]) != 1 || !strings.Contains(sent[0].Text, "Answer 1.") {
			t.Errorf("the first message is %+v", sent[0])
		}
		if sent[1].ReplyTo != ids[1] || answered(sent[1]) != 5 || !strings.Contains(sent[1].Text, "Answer 6.") {
			t.Errorf("the second message is %+v", sent[1])
		}
		if gap := sent[1].At.Sub(sent[0].At); gap < time.Second {
			t.Errorf("the second message came after %v", gap)
		}
	})
}

func TestPrivateAnswersAreNeverShared(t *testing.T) {
	const people = 5
	for name, way := range waysIn {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, ask := way(t)
				r.handler.Reply = secretReply
				r.run()
				var messages []telegramtest.Message
				for i := range people {
					r.api.Start(int64(1 + i))
					messages = append(messages, asks(0, i, "/mylogins"))
				}
				ask(messages...)
				answers := perChat(r.api.Sent())
				for i := range int64(people) {
					if answers[1+i] != 1 {
						t.Errorf("person %d got %d answers", 1+i, answers[1+i])
					}
				}
				if answers[group] != people {
					t.Errorf("the group got %d pointers", answers[group])
				}
				for _, m := range r.api.Sent() {
					if answered(m) != 1 || m.Chat == group && m.Text != said(answeredPrivately) {
						t.Errorf("sent %+v", m)
					}
				}
			})
		})
	}
}

func TestWithoutPacingNothingIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		r.run()
		for i := range 90 {
			r.api.Push(asks(0, i, "/price"))
		}
		for _, m := range r.sent(90) {
			if m.Text != "price" {
				t.Errorf("sent %+v", m)
			}
		}
	})
}

// All who wait for a message share what becomes of it: their updates are
// settled, and each is logged by its own reference where it is not out.
func TestWhatBecomesOfASharedMessageIsThatOfAllWhoWaitForIt(t *testing.T) {
	const askers = 20
	for name, tt := range map[string]struct {
		faults     []telegramtest.Fault
		sent, lost int
	}{
		"refused":       {[]telegramtest.Fault{{}, telegramtest.NoRights()}, 1, askers - 1},
		"429":           {[]telegramtest.Fault{{}, telegramtest.TooMany(3 * time.Second)}, 2, 0},
		"unclear once":  {[]telegramtest.Fault{{}, telegramtest.Page(502)}, 2, 0},
		"unclear to it": {[]telegramtest.Fault{{}, telegramtest.Page(502), telegramtest.Page(502), telegramtest.Page(502)}, 1, askers - 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := setUpInMemory(t, func(c *Config) { c.Pacing = true })
				r.api.Fail("sendMessage", tt.faults...)
				r.run()
				r.api.Push(asks(0, 0, "/price"))
				r.sent(1)
				for i := range askers - 1 {
					r.api.Push(asks(0, 1+i, "/price"))
				}
				if sent := r.settled(time.Minute); len(sent) != tt.sent {
					t.Errorf("%d messages, want %d", len(sent), tt.sent)
				}
				if n := strings.Count(r.logs.String(), "was not delivered"); n != tt.lost {
					t.Errorf("%d are logged as not delivered, want %d:\n%s", n, tt.lost, r.logs)
				}
			})
		})
	}
}

// A group in which there is no room left is told so once, and everybody who
// waits counts.
func TestThoseWhoJoinWhereThereIsNoRoomAreToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := paced(t)
		r.run()
		r.flood(60)
		time.Sleep(time.Second / 2)
		for i := range 30 {
			r.api.Push(asks(0, i, "/price"))
		}
		r.settled(time.Minute)
		sent, saidBusy := inChat(r.api.Sent(), group)
		if shed := r.events.of("send_shed"); saidBusy != 1 || len(sent)-saidBusy+shed != 90 {
			t.Errorf("%d messages, %d of them busy, and %d are shed of 90", len(sent), saidBusy, shed)
		}
		for _, m := range sent {
			if strings.HasPrefix(m.Text, "price") {
				t.Errorf("there was room for %+v", m)
			}
		}
	})
}

// A stop lets those who wait have their message, and nothing of it remains.
func TestADrainSendsWhatIsSharedAndForgetsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const askers = 50
		r, _ := paced(t)
		stop := r.run()
		for i := range askers {
			r.api.Push(asks(0, i, "/price"))
		}
		r.waitFor("all in hand", func() bool { return len(r.handler.Requests()) == askers })
		if err := stop(); err != nil {
			t.Error(err)
		}
		total := 0
		for _, m := range r.api.Sent() {
			total += answered(m)
		}
		if total != askers || len(r.api.Pending()) != 0 {
			t.Errorf("%d of %d askers are answered, %d updates are left", total, askers, len(r.api.Pending()))
		}
		time.Sleep(2 * sameAnswerGap)
		w := &r.adapter.shared
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.waiting)+len(w.next) != 0 {
			t.Errorf("%d answers wait and %d are remembered", len(w.waiting), len(w.next))
		}
	})
}
