package telegram

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/ratelimit"
)

var answersMany = regexp.MustCompile(`For ([\d,]+) who asked\.`)

// answered is how many askers a message says that it is for.
func answered(m faketelegram.Sent) int {
	if found := answersMany.FindStringSubmatch(m.Text); found != nil {
		n, _ := strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
		return n
	}
	return 1
}

// crowd is the same command of n people in the group.
func crowd(n int, text string) (all []faketelegram.Message) {
	for i := range n {
		all = append(all, inGroup(int64(1+i), text))
	}
	return all
}

// flood is a different command of each of n people in the group.
func flood(n int) (all []faketelegram.Message) {
	for i := range n {
		all = append(all, inGroup(int64(1+i), fmt.Sprint("/staked ", i)))
	}
	return all
}

// Edits count towards a chat's rate. If the rate is used up, only the presser learns of it, at once.
func TestEditsKeepTheRatesOfTheirChat(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.answer(refreshed("x", 1))
		r.run()
		r.api.Push(inGroup(ann, "/price"))
		r.sent(1)
		r.answer(&chat.Reply{Title: chat.Say("y"), Source: refreshed("", 2).Source})
		for _, m := range flood(7) {
			r.api.Push(m)
		}
		r.inFlight(8)
		pressed := time.Now()
		r.press(ann, "Refresh")
		told := r.pressAnswers(1)[0]
		if !strings.Contains(told.Text, "Busy") || !told.Alert {
			t.Errorf("told %+v", told)
		}
		check(t, "the presser learns of it at once", time.Since(pressed) < time.Second, true)
		check(t, "edits of the card", r.idle(time.Minute)[0].Edits, 0)
		check(t, "messages about it to the chat", r.events.Of("busy_sent"), 0)
	}, paced)
}

// Only what is the same in one place shares a message: not another argument, not
// another topic, no refusal for an answer, and nothing private.
func TestOnlyEqualAnswersAreShared(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		const people = 10
		r.handler.Reply = func(_ context.Context, req *chat.Request) *chat.Reply {
			// The key of a title says what it is, and the tone how it went; the text the rest.
			reply := &chat.Reply{Title: chat.Say(req.Command), Text: chat.Say(fmt.Sprint(req.Args))}
			switch req.From.ID {
			case "1", "2":
				reply.Title = chat.Say("refused")
			case "3", "4":
				reply.Tone = chat.Warning
			}
			return reply
		}
		r.adapter.CommandTimeout = time.Minute
		r.run()
		var messages []faketelegram.Message
		for _, m := range crowd(people, "/price") {
			messages = append(messages, m, inGroup(m["from"].(faketelegram.User).ID, "/price").In(7))
		}
		for i, line := range []string{"/staked a", "/staked b", "/mylogins", "/mylogins"} {
			r.api.Start(int64(100 + i))
			messages = append(messages, inGroup(int64(100+i), line))
		}
		r.give(messages...)
		got := map[string]int{}
		for _, m := range r.api.Sent() {
			text := strings.Join(strings.SplitN(m.Text, "\n", 3)[:min(2, strings.Count(m.Text, "\n")+1)], "\n")
			got[fmt.Sprint(m.Chat, " ", m.Thread, " ", text)] += answered(m)
		}
		none, a, b := fmt.Sprint(chat.Typed()), fmt.Sprint(chat.Typed("a")), fmt.Sprint(chat.Typed("b"))
		want := map[string]int{
			"-1001 0 staked\n" + a: 1, "-1001 0 staked\n" + b: 1, "102 0 mylogins\n" + none: 1, "103 0 mylogins\n" + none: 1,
			"-1001 0 " + said(answeredPrivately): 2,
		}
		for _, thread := range []string{"-1001 0 ", "-1001 7 "} {
			want[thread+"refused\n"+none], want[thread+"⚠️ price\n"+none], want[thread+"price\n"+none] = 2, 2, people-4
		}
		if !maps.Equal(got, want) {
			t.Errorf("answered\n%v, want\n%v", got, want)
		}
	}, paced)
}

// The message that goes is the newest answer, as a reply to whoever waited
// longest. The first goes at once.
func TestSharedMessageIsNewestAndRepliesToFirst(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		asked := 0
		r.handler.Reply = func(context.Context, *chat.Request) *chat.Reply {
			asked++ // One at a time, as they are asked below.
			return &chat.Reply{Title: chat.Say("Price"), Text: chat.Say(fmt.Sprintf("Answer %d.", asked))}
		}
		r.run()
		var ids []int64
		for _, m := range crowd(6, "/price") {
			body := r.api.Update(m)
			ids = append(ids, m["message_id"].(int64))
			go r.deliver(body)
			time.Sleep(50 * time.Millisecond)
		}
		sent := r.sent(2)
		for i, want := range []string{"Answer 1.", "Answer 6."} {
			check(t, "reply to", sent[i].ReplyTo, ids[i])
			check(t, "requests", answered(sent[i]), 1+4*i)
			check(t, want, strings.Contains(sent[i].Text, want), true)
		}
		check(t, "note below one answer", strings.Contains(sent[0].Text, "who asked"), false)
		synctest.Wait()
		if gap := sent[1].At.Sub(sent[0].At); gap < time.Second || r.events.Of("send_shared") != 4 {
			t.Errorf("the second message comes after %v, events %v", gap, r.events)
		}
	}, byWebhook, paced)
}

// ownKeys fails the test if a key is not of this bot: several bots may share one Limiter.
type ownKeys struct {
	ratelimit.Limiter
	t *testing.T
}

func (l ownKeys) Reserve(ctx context.Context, within time.Duration, limits ...ratelimit.Limit) (time.Duration, bool) {
	for _, limit := range limits {
		if !strings.Contains(limit.Key, fmt.Sprint(faketelegram.BotID)) {
			l.t.Errorf("the key %q is of no bot", limit.Key)
		}
	}
	return l.Limiter.Reserve(ctx, within, limits...)
}
