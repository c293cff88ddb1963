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

// audience is a crowd in several groups. Each user asks once, except for the user who floods the groups. They ask so
// few different questions that a chat's rate suffices for all answers.
type audience struct {
	*adapterTest
	*rand.Rand
	replicas []*adapterTest
	start    time.Time
	held     bool           // a 429 delays answers
	asked    map[string]int // by group and question
	// overShare has the IDs of questions whose senders have used up their share, so that the answers may be late.
	overShare map[int64]bool
	// questions fit into the rate of a flooded group: each takes two messages of each replica.
	questions []string
	groups    int64 // their number
}

// questions are for one replica. Two replicas get only the first.
var questions = []string{"/price", "/staked all"}

// newAudience starts one or two replicas, and chooses how many groups there are.
func newAudience(r *adapterTest, seed uint64) *audience {
	r.handler.Reply = func(_ context.Context, req *chat.Request) *chat.Reply {
		return &chat.Reply{Title: chat.Say(fmt.Sprint(req.Command, req.Args))}
	}
	a := &audience{
		adapterTest: r,
		Rand:        rand.New(rand.NewPCG(seed, 0)),
		replicas:    []*adapterTest{r},
		asked:       map[string]int{},
		overShare:   map[int64]bool{},
	}
	if a.IntN(2) == 0 {
		a.replicas = append(a.replicas, r.secondAdapter())
	}
	for _, replica := range a.replicas {
		replica.run()
	}
	a.questions = questions[:3-len(a.replicas)]
	a.groups = 1 + a.Int64N(4)
	return a
}

// ask delivers a question to one of the replicas.
func (a *audience) ask(m faketelegram.Message) {
	words := strings.Fields(m["text"].(string)[1:])
	key := fmt.Sprint(m["chat"].(faketelegram.Chat).ID, " ", words[0], chat.Typed(words[1:]...))
	a.asked[key]++
	a.replicas[a.IntN(len(a.replicas))].deliverMessage(m)
}

// question returns a question of a member, a channel or an anonymous administrator.
func (a *audience) question(number, group int64) faketelegram.Message {
	m := writes(faketelegram.Group(group), 1000+number, a.questions[a.IntN(len(a.questions))])
	switch a.IntN(4) {
	case 0:
		return onBehalfOf(-7000-number, m)
	case 1:
		return onBehalfOf(group, m)
	}
	return m
}

// flood makes user 1 use up their share in some of the groups. Then that user and two others are the first to ask
// what everybody asks.
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
			a.asked[fmt.Sprint(group, " price", chat.Typed())]++
			m := writes(faketelegram.Group(group), user, questions[0])
			a.replicas[0].deliverMessage(m)
			if user == 1 {
				a.overShare[m["message_id"].(int64)] = true
			}
			synctest.Wait()
		}
	}
}

// holdBack makes Telegram answer up to two messages with 429.
func (a *audience) holdBack() {
	for range a.IntN(3) {
		a.held = true
		pause := time.Duration(1+a.IntN(120)) * time.Second
		a.api.Fail("sendMessage", telegramtest.TooMany(pause))
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

// checkAnswers checks that everybody is answered, and within 6 seconds: a second for each turn, a second for the
// question's second message, and the burst. An answer may be late if a 429 delays it, or if its sender has used up
// their share.
func (a *audience) checkAnswers() {
	a.Helper()
	answers := map[string]int{}
	for _, m := range a.api.Sent() {
		question, _, _ := strings.Cut(m.Text, "\n")
		key := fmt.Sprint(m.Chat, " ", question)
		answers[key] += answered(m)
		mayBeLate := a.asked[key] == 0 || a.held || a.overShare[m.ReplyTo]
		if took := m.At.Sub(a.start); !mayBeLate && took > 6*time.Second {
			a.Errorf("%s is answered after %v, want at most 6s", key, took)
		}
	}
	for question, n := range a.asked {
		if answers[question] != n {
			a.Errorf("%s: %d of %d are answered; events %v", question, answers[question], n, a.events)
		}
	}
}

// checkRates checks that a chat gets at most 9 messages in a second and 20 in a minute, and that all chats together
// get at most 30 in a second.
func (a *audience) checkRates() {
	a.Helper()
	sent := a.api.Sent()
	for _, first := range sent {
		second := sentWithin(sent, first.At, time.Second)
		if len(second) > 30 {
			a.Errorf("%d messages within a second, want at most 30", len(second))
		}
		if n := perChat(second)[first.Chat]; n > 9 {
			a.Errorf("a chat gets %d messages within a second, want at most 9", n)
		}
		minute := sentWithin(sent, first.At, time.Minute)
		if n := perChat(minute)[first.Chat]; n > 20 {
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

// A user who asks once is answered even while another floods the groups and Telegram answers with 429. An update that
// waits for its chat's rate does not run.
func TestEverybodyIsAnsweredWithinTheRates(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			simulated(t, func(t *testing.T, r *adapterTest) {
				a := newAudience(r, seed)
				a.flood()
				a.start = time.Now()
				a.holdBack()
				for i := range 1 + a.Int64N(240) {
					a.ask(a.question(i, group-a.Int64N(a.groups)))
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

// toGroup matches the form of a call about a group.
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

// heldGroups are groups in which people ask, while Telegram refuses the answers with 429.
type heldGroups struct {
	groups    int
	people    int // in each group
	questions int // different ones
	held      time.Duration
}

// longPause is how long a 429 lasts. Nobody asks in its first second.
const longPause = 26 * time.Second

var heldSizes = map[string]heldGroups{
	"ten groups":      {groups: 10, people: 110, questions: 1, held: longPause},
	"eight questions": {groups: 10, people: 110, questions: 8, held: longPause},
	// Four questions take seven messages, which fit into 20 seconds.
	"one group, at its pace": {groups: 1, people: 1100, questions: 4},
}

// ask makes everybody in the groups ask, in random order if mixed is set, or else group by group.
func (h heldGroups) ask(r *adapterTest, mixed bool) {
	order := rand.New(rand.NewPCG(1, 1)).Perm(h.groups * h.people)
	if !mixed {
		slices.Sort(order)
	}
	for _, i := range order {
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
func checkHeldGroups(t *testing.T, mixed bool, callTakes time.Duration) {
	t.Helper()
	for way, change := range ways {
		inBubble(t, heldSizes, func(t *testing.T, tt heldGroups) {
			r := setUp(t, change, paced)
			r.holdGroups(tt.held, callTakes)
			r.run()
			time.Sleep(time.Second)
			tt.ask(r, mixed)
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
			if way == "polling" { // A delivery that is turned away is not repeated here.
				check(t, "answers in groups", inGroups, tt.groups*tt.people)
			}
		})
	}
}

func TestGroupsThatAreHeldDelayNobody(t *testing.T) {
	const mixed = false
	checkHeldGroups(t, mixed, 0)
}

func TestMixedGroupsThatAreHeldDelayNobody(t *testing.T) {
	const mixed = true
	checkHeldGroups(t, mixed, 60*time.Millisecond)
}

// An answer in flight, or delayed by a service, does not wait for its chat. Its update stays in Telegram's queue until
// the answer is delivered, however many updates are behind it.
func TestAnswersOnTheirWayStayQueued(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.holdGroups(0, hangsAfter-10*time.Millisecond)
		r.pushPrices(250)
		r.run()
		time.Sleep(hangsAfter - 20*time.Millisecond)
		check(t, "updates in Telegram's queue", len(r.api.Pending()), 250)
		r.waitSent(250)
	})
}
