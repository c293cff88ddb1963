package telegram

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
)

// audience is a crowd in several groups. Everybody but the floods asks once, and few
// enough different questions that their chat has room for the answers.
type audience struct {
	*adapterTest
	*rand.Rand
	replicas []*adapterTest
	start    time.Time
	held     bool           // by a 429
	asked    map[string]int // by group and question
	// over has the IDs of questions from senders who have used up their share, and wait for it.
	over map[int64]bool
	// questions are as many as a flooded group has room for: each takes two messages of
	// each replica.
	questions []string
}

var questions = []string{"/price", "/staked all"}

// ask hands a question to one of the replicas.
func (a *audience) ask(m faketelegram.Message) {
	words := strings.Fields(m["text"].(string)[1:])
	a.asked[fmt.Sprint(m["chat"].(faketelegram.Chat).ID, " ", words[0], chat.Typed(words[1:]...))]++
	a.replicas[a.IntN(len(a.replicas))].send(m)
}

// anybody is a member, a channel or an anonymous administrator who asks a question.
func (a *audience) anybody(number, group int64) faketelegram.Message {
	m := writes(faketelegram.Group(group), 1000+number, a.questions[a.IntN(len(a.questions))])
	switch a.IntN(4) {
	case 0:
		return sentAs(-7000-number, m)
	case 1:
		return sentAs(group, m)
	}
	return m
}

// flood has one person in each of some groups use up what they may have. Then they are
// the first who ask what others ask too.
func (a *audience) flood(groups ...int64) {
	for _, group := range groups {
		for i := range 25 {
			a.replicas[0].send(writes(faketelegram.Group(group), 1, fmt.Sprint("/staked ", i)))
		}
	}
	time.Sleep(20 * time.Second)
	for _, group := range groups {
		for _, user := range []int64{2, 1, 3} { // The second and the third share a message.
			a.asked[fmt.Sprint(group, " price", chat.Typed())]++
			m := writes(faketelegram.Group(group), user, questions[0])
			a.replicas[0].send(m)
			if user == 1 {
				a.over[m["message_id"].(int64)] = true
			}
			synctest.Wait()
		}
	}
}

// check fails the test unless everybody was answered in time and every rate was kept.
func (a *audience) check() {
	a.Helper()
	answers, sent := map[string]int{}, a.api.Sent()
	for _, m := range sent {
		question, _, _ := strings.Cut(m.Text, "\n")
		key := fmt.Sprint(m.Chat, " ", question)
		answers[key] += answered(m)
		// A turn a second at most for each question, its second message, and the burst.
		if took := m.At.Sub(a.start); a.asked[key] > 0 && !a.held && !a.over[m.ReplyTo] && took > 6*time.Second {
			a.Errorf("%s is answered after %v", key, took)
		}
		for window, most := range map[time.Duration]int{time.Second: 9, time.Minute: 20} {
			n, all := 0, 0
			for _, other := range sent {
				if gap := other.At.Sub(m.At); gap >= 0 && gap < window {
					all++
					if other.Chat == m.Chat {
						n++
					}
				}
			}
			if n > most || window == time.Second && all > 30 {
				a.Errorf("within %v a chat has %d messages, and all have %d", window, n, all)
			}
		}
	}
	for question, n := range a.asked {
		if answers[question] != n {
			a.Errorf("%s: %d of %d are answered; events %v", question, answers[question], n, a.events)
		}
	}
}

// Whoever asks once is answered within their fair share, at the rates of all, while
// others flood and Telegram holds groups back; and an update that only waits does not run.
func TestEverybodyIsAnsweredWithinTheRates(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			simulated(t, func(t *testing.T, r *adapterTest) {
				r.handler.Reply = func(_ context.Context, req *chat.Request) *chat.Reply {
					return &chat.Reply{Title: chat.Say(fmt.Sprint(req.Command, req.Args))}
				}
				a := &audience{adapterTest: r, Rand: rand.New(rand.NewPCG(seed, 0)), replicas: []*adapterTest{r}, asked: map[string]int{}}
				a.over = map[int64]bool{}
				if a.IntN(2) == 0 {
					a.replicas = append(a.replicas, r.again())
				}
				for _, each := range a.replicas {
					each.run()
				}
				a.questions = questions[:3-len(a.replicas)]
				groups := 1 + a.Int64N(4)
				var flooded []int64
				for g := range a.Int64N(groups + 1) {
					flooded = append(flooded, group-g)
				}
				a.flood(flooded...)
				a.start = time.Now()
				for range a.IntN(3) {
					a.held = true
					r.api.Fail("sendMessage", telegramtest.TooMany(time.Duration(1+a.IntN(120))*time.Second))
				}
				for i := range 1 + a.Int64N(240) {
					a.ask(a.anybody(i, group-a.Int64N(groups)))
				}
				time.Sleep(time.Second)
				running := 0
				for _, each := range a.replicas {
					running += len(each.adapter.inFlight.running)
				}
				if most := int(groups) * 4; running > most { // Each group: a few messages that are being sent.
					t.Errorf("%d updates run", running)
				}
				for _, each := range a.replicas {
					each.idle(6 * time.Minute)
				}
				a.check()
			}, byWebhook, paced)
		})
	}
}

// toGroup matches the body of a call about a group: a form.
var toGroup = regexp.MustCompile(`name="chat_id"\s+-`)

// holdGroups has Telegram refuse the messages to groups with 429 for so long, and take each
// message after the time that a call takes. It must be called before run.
func (r *adapterTest) holdGroups(length, callTakes time.Duration) {
	end := time.Now().Add(length)
	r.carry("sendMessage", time.Hour, func(req *http.Request) (*http.Response, error) {
		time.Sleep(callTakes)
		body, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(body))
		if left := time.Until(end); toGroup.Match(body) && left > 0 {
			return limited(int(left.Seconds()) + 1)(req)
		}
		return r.api.RoundTrip(req)
	})
}

// Many people in each of many groups wait for the end of a 429, all for the same answer, or for
// their group's pace. Somebody in a private chat, behind them in the queue and then again and
// again, does not: at the end of the 429 they wait for the three messages that each group may send
// at once, which take 1.2 seconds at the global rate.
func TestGroupsThatAreHeldDelayNobody(t *testing.T) {
	type test struct {
		groups, people, questions int
		held                      time.Duration
	}
	const held = 26 * time.Second // of which one passes before anybody asks
	sizes := map[string]test{
		"ten groups":             {10, 110, 1, held},
		"eight questions":        {10, 110, 8, held},
		"one group, at its pace": {1, 1100, 4, 0}, // Four questions take seven messages, which fit into 20 seconds.
	}
	for way, change := range ways {
		for order, takes := range map[string]time.Duration{"group by group": 0, "mixed": 60 * time.Millisecond} {
			inBubble(t, sizes, func(t *testing.T, tt test) {
				r := setUp(t, change, paced)
				r.holdGroups(tt.held, takes)
				r.run()
				time.Sleep(time.Second)
				all := rand.New(rand.NewPCG(1, 1)).Perm(tt.groups * tt.people)
				if order == "group by group" {
					slices.Sort(all)
				}
				for _, i := range all {
					r.send(writes(faketelegram.Group(group-int64(i/tt.people)), int64(1000+i), fmt.Sprint("/staked ", i%tt.questions)))
				}
				asked := map[int64]time.Time{}
				for user := range int64(80) {
					asked[1+user] = time.Now()
					r.send(inPrivate(1+user, "/price"))
					time.Sleep(700 * time.Millisecond)
				}
				for _, m := range r.idle(time.Minute) {
					if at, is := asked[m.Chat]; is && m.At.Sub(at) >= 1200*time.Millisecond {
						t.Errorf("%s, %s: somebody waits %v", way, order, m.At.Sub(at))
					}
					delete(asked, m.Chat)
				}
				inGroups := 0
				for _, m := range r.api.Sent() {
					if m.Chat < 0 {
						inGroups += answered(m)
					}
				}
				check(t, "private answers that are missing", len(asked), 0)
				if way == "polling" { // A delivery that is turned away is not repeated here.
					check(t, "answers in groups", inGroups, tt.groups*tt.people)
				}
			})
		}
	}
}

// An answer that is on its way, or that a service delays, waits for nothing of its chat: it
// stays in Telegram's queue until it is out, however many stand behind it.
func TestAnswersOnTheirWayStayQueued(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.holdGroups(0, hangsAfter-10*time.Millisecond)
		r.ask(250)
		r.run()
		time.Sleep(hangsAfter - 20*time.Millisecond)
		check(t, "updates in Telegram's queue", len(r.api.Pending()), 250)
		r.sent(250)
	})
}
