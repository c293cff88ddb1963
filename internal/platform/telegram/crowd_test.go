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

// A user who asks once is answered even while another floods the groups and Telegram answers with 429. An update that
// waits for its chat's rate does not run.
func TestEverybodyIsAnsweredWithinTheRates(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			simulated(t, func(t *testing.T, r *adapterTest) {
				a := newAudience(r, seed)
				a.flood()
				a.start = time.Now()
				a.failSomeMessages()
				for i := range 1 + a.Int64N(240) {
					a.ask(a.message(i, group-a.Int64N(a.groups)))
				}
				time.Sleep(time.Second)
				// In each group, only a few messages are being sent.
				if running, most := a.running(), 4*int(a.groups); running > most {
					t.Errorf("%d updates run, want at most %d", running, most)
				}
				for _, replica := range a.replicas {
					replica.waitIdle(6 * time.Minute)
				}
				a.checkAnswers()
				a.checkRates()
			}, byWebhook, paced)
		})
	}
}

// audience is a crowd in several groups. Each sender asks once, except for user 1, who floods the groups.
type audience struct {
	*adapterTest
	*rand.Rand
	replicas []*adapterTest
	groups   int64 // the number of groups; their IDs count down from group
	// commands are what the crowd asks. They are so few that even a flooded group's rate suffices for all answers: each
	// takes two messages of each replica.
	commands []string
	start    time.Time // when the crowd begins to ask
	got429   bool      // whether a 429 delays answers
	asked    map[question]int
	// overShare has the IDs of questions whose senders have used up their share of the chat's rate. The answers may be
	// late.
	overShare map[int64]bool
}

// question is what a message asks in its group. Answers to the same question may share a message.
type question struct {
	group int64
	title string // of the answer
}

// questionIn returns the question that a command asks.
func questionIn(m faketelegram.Message) question {
	words := strings.Fields(strings.TrimPrefix(m["text"].(string), "/"))
	return question{
		group: m["chat"].(faketelegram.Chat).ID,
		title: answerTitle(words[0], chat.Typed(words[1:]...)),
	}
}

// answerTitle returns the title of the answer to a command. It is the first line of the answer's message.
func answerTitle(command string, args chat.Args) string { return fmt.Sprint(command, args) }

// newAudience starts one or two replicas, and chooses how many groups there are.
func newAudience(r *adapterTest, seed uint64) *audience {
	r.handler.Reply = func(_ context.Context, req *chat.Request) *chat.Reply {
		return &chat.Reply{Title: chat.Say(answerTitle(req.Command, req.Args))}
	}
	a := &audience{
		adapterTest: r,
		Rand:        rand.New(rand.NewPCG(seed, 0)),
		replicas:    []*adapterTest{r},
		commands:    []string{"/price", "/staked all"},
		asked:       map[question]int{},
		overShare:   map[int64]bool{},
	}
	if a.IntN(2) == 0 {
		a.replicas = append(a.replicas, r.secondAdapter())
		a.commands = a.commands[:1]
	}
	for _, replica := range a.replicas {
		replica.run()
	}
	a.groups = 1 + a.Int64N(4)
	return a
}

// message returns a command of a user, a channel or an anonymous administrator. number tells the senders apart.
func (a *audience) message(number, group int64) faketelegram.Message {
	m := writes(faketelegram.Group(group), 1000+number, a.commands[a.IntN(len(a.commands))])
	switch a.IntN(4) {
	case 0:
		return onBehalfOf(-7000-number, m)
	case 1:
		return onBehalfOf(group, m)
	}
	return m
}

// ask delivers a command to one of the replicas. It must be answered.
func (a *audience) ask(m faketelegram.Message) {
	a.asked[questionIn(m)]++
	a.replicas[a.IntN(len(a.replicas))].deliverMessage(m)
}

// flood makes user 1 use up their share of the rate in some of the groups. Then that user and two others are the first
// to ask what everybody asks.
func (a *audience) flood() {
	var flooded []int64
	for g := range a.Int64N(a.groups + 1) {
		flooded = append(flooded, group-g)
	}
	for _, group := range flooded {
		for i := range 25 {
			a.replicas[0].deliverMessage(writes(faketelegram.Group(group), 1, fmt.Sprint("/staked ", i)))
		}
	}
	time.Sleep(20 * time.Second)
	for _, group := range flooded {
		for _, user := range []int64{2, 1, 3} { // Users 1 and 3 share a message.
			m := writes(faketelegram.Group(group), user, a.commands[0])
			a.asked[questionIn(m)]++
			a.replicas[0].deliverMessage(m)
			if user == 1 {
				a.overShare[m["message_id"].(int64)] = true
			}
			synctest.Wait()
		}
	}
}

// failSomeMessages makes Telegram refuse up to two messages with 429.
func (a *audience) failSomeMessages() {
	for range a.IntN(3) {
		a.got429 = true
		retryAfter := time.Duration(1+a.IntN(120)) * time.Second
		a.api.Fail("sendMessage", telegramtest.TooMany(retryAfter))
	}
}

// running returns how many updates run at all replicas.
func (a *audience) running() int {
	n := 0
	for _, replica := range a.replicas {
		n += len(replica.adapter.inFlight.running)
	}
	return n
}

// checkAnswers checks that every question is answered, and within 6 seconds: a second for each turn, a second for the
// question's second message, and the burst. An answer may be late if a 429 delays it, or if its sender has used up
// their share.
func (a *audience) checkAnswers() {
	a.Helper()
	answers := map[question]int{}
	for _, m := range a.api.Sent() {
		title, _, _ := strings.Cut(m.Text, "\n")
		q := question{group: m.Chat, title: title}
		answers[q] += answered(m)
		isOfFlood := a.asked[q] == 0
		mayBeLate := isOfFlood || a.got429 || a.overShare[m.ReplyTo]
		if took := m.At.Sub(a.start); !mayBeLate && took > 6*time.Second {
			a.Errorf("%+v is answered after %v, want at most 6s", q, took)
		}
	}
	for q, n := range a.asked {
		if answers[q] != n {
			a.Errorf("%+v: %d of %d are answered; events %v", q, answers[q], n, a.events)
		}
	}
}

// checkRates checks that a chat gets at most 9 messages in a second and 20 in a minute, and that all chats together
// get at most 30 in a second.
func (a *audience) checkRates() {
	a.Helper()
	sent := a.api.Sent()
	for _, first := range sent {
		withinSecond := sentWithin(sent, first.At, time.Second)
		if len(withinSecond) > 30 {
			a.Errorf("%d messages within a second, want at most 30", len(withinSecond))
		}
		if n := perChat(withinSecond)[first.Chat]; n > 9 {
			a.Errorf("a chat gets %d messages within a second, want at most 9", n)
		}
		withinMinute := sentWithin(sent, first.At, time.Minute)
		if n := perChat(withinMinute)[first.Chat]; n > 20 {
			a.Errorf("a chat gets %d messages within a minute, want at most 20", n)
		}
	}
}

// sentWithin returns the messages that were sent in a window of time.
func sentWithin(sent []faketelegram.Sent, start time.Time, window time.Duration) (within []faketelegram.Sent) {
	for _, m := range sent {
		if after := m.At.Sub(start); after >= 0 && after < window {
			within = append(within, m)
		}
	}
	return within
}

// toGroup matches the form of a call about a group. The IDs of groups are negative.
var toGroup = regexp.MustCompile(`name="chat_id"\s+-`)

// holdGroups makes Telegram refuse messages to groups with 429 for a time, and take a while for each message. It must
// be called before run.
func (r *adapterTest) holdGroups(length, callTakes time.Duration) {
	end := time.Now().Add(length)
	r.divert("sendMessage", time.Hour, func(req *http.Request) (*http.Response, error) {
		time.Sleep(callTakes)
		body, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(body))
		if left := time.Until(end); toGroup.Match(body) && left > 0 {
			return limited(int(left.Seconds()) + 1)(req)
		}
		return r.api.RoundTrip(req)
	})
}

// heldGroups is a crowd in groups, while Telegram refuses the answers with 429.
type heldGroups struct {
	groups    int
	people    int           // in each group
	questions int           // how many different ones are asked
	refused   time.Duration // how long Telegram answers with 429
}

// longPause is how long a 429 lasts. Nobody asks in its first second.
const longPause = 26 * time.Second

var heldSizes = map[string]heldGroups{
	"ten groups":      {groups: 10, people: 110, questions: 1, refused: longPause},
	"eight questions": {groups: 10, people: 110, questions: 8, refused: longPause},
	// Four questions take seven messages, which fit into 20 seconds.
	"one group, at its pace": {groups: 1, people: 1100, questions: 4},
}

// askOrder is the order in which the people in heldGroups ask.
type askOrder string

const (
	groupByGroup askOrder = "group by group"
	mixed        askOrder = "mixed"
)

// ask makes everybody in the groups ask.
func (h heldGroups) ask(r *adapterTest, order askOrder) {
	people := rand.New(rand.NewPCG(1, 1)).Perm(h.groups * h.people)
	if order == groupByGroup {
		slices.Sort(people)
	}
	for _, i := range people {
		where := faketelegram.Group(group - int64(i/h.people))
		r.deliverMessage(writes(where, int64(1000+i), fmt.Sprint("/staked ", i%h.questions)))
	}
}

// askInPrivate makes 80 users ask one after another in their private chats, and returns when each asked.
func (r *adapterTest) askInPrivate() map[int64]time.Time {
	asked := map[int64]time.Time{}
	for user := int64(1); user <= 80; user++ {
		asked[user] = time.Now()
		r.deliverMessage(inPrivate(user, "/price"))
		time.Sleep(700 * time.Millisecond)
	}
	return asked
}

// checkHeldGroups checks that people in private chats wait for less than 1.2 seconds. When the 429 ends, each group may
// get three messages at once. The rate of all chats allows these 30 messages in 1.2 seconds.
func checkHeldGroups(t *testing.T, order askOrder, callTakes time.Duration) {
	t.Helper()
	for way, change := range ways {
		inBubble(t, heldSizes, func(t *testing.T, tt heldGroups) {
			r := setUp(t, change, paced)
			r.holdGroups(tt.refused, callTakes)
			r.run()
			time.Sleep(time.Second)
			tt.ask(r, order)
			asked := r.askInPrivate()
			inGroups := 0
			for _, m := range r.waitIdle(time.Minute) {
				at, isPrivate := asked[m.Chat]
				if isPrivate && m.At.Sub(at) >= 1200*time.Millisecond {
					t.Errorf("%s: user %d waits %v", way, m.Chat, m.At.Sub(at))
				}
				if m.Chat < 0 {
					inGroups += answered(m)
				}
				delete(asked, m.Chat)
			}
			check(t, "private answers that are missing", len(asked), 0)
			if way == "polling" { // By webhook, a delivery may be refused with 503, which this test does not repeat.
				check(t, "answers in groups", inGroups, tt.groups*tt.people)
			}
		})
	}
}

func TestGroupsThatAreHeldDelayNobody(t *testing.T) {
	checkHeldGroups(t, groupByGroup, 0)
}

func TestMixedGroupsThatAreHeldDelayNobody(t *testing.T) {
	checkHeldGroups(t, mixed, 60*time.Millisecond)
}

// An answer that is being sent does not wait for its chat. Its update stays in Telegram's queue until the answer is
// delivered, however many updates are behind it. (An answer that takes longer than hangsAfter counts as hanging.)
func TestAnswersOnTheirWayStayQueued(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.divert("sendMessage", time.Hour, func(req *http.Request) (*http.Response, error) {
			time.Sleep(hangsAfter - 10*time.Millisecond)
			return r.api.RoundTrip(req)
		})
		r.pushPrices(250)
		r.run()
		time.Sleep(hangsAfter - 20*time.Millisecond)
		check(t, "updates in Telegram's queue", len(r.api.Pending()), 250)
		r.waitSent(250)
	})
}
