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

// answered returns how many users a message answers.
func answered(m faketelegram.Sent) int {
	if found := answersMany.FindStringSubmatch(m.Text); found != nil {
		n, _ := strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
		return n
	}
	return 1
}

// crowd returns the same command from each of n users in the group.
func crowd(n int, text string) (all []faketelegram.Message) {
	for i := range n {
		all = append(all, inGroup(int64(1+i), text))
	}
	return all
}

// flood returns a different command from each of n users in the group.
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

// answersByText counts the answers by chat, topic and text. A shared message counts for each user that it answers.
func (r *adapterTest) answersByText() map[string]int {
	counts := map[string]int{}
	for _, m := range r.api.Sent() {
		lines := strings.SplitN(m.Text, "\n", 3) // The third tells how many asked.
		text := strings.Join(lines[:min(2, len(lines))], " ")
		counts[fmt.Sprintf("%d/%d %s", m.Chat, m.Thread, text)] += answered(m)
	}
	return counts
}

func checkAnswers(t *testing.T, got, want map[string]int) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("answered\n%v, want\n%v", got, want)
	}
}

// printArgs answers with the command and its arguments.
func printArgs(_ context.Context, req *chat.Request) *chat.Reply {
	return &chat.Reply{Title: chat.Say(req.Command), Text: chat.Say(fmt.Sprint(req.Args))}
}

// noArgs is how printArgs prints a command without arguments.
var noArgs = fmt.Sprint(chat.Typed())

func TestAnswersOfOneTopicAreShared(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.handler.Reply = printArgs
		r.adapter.CommandTimeout = time.Minute
		r.run()
		var messages []faketelegram.Message
		for user := range int64(10) {
			messages = append(messages, inGroup(1+user, "/price"), inGroup(1+user, "/price").In(7))
		}
		r.give(messages...)
		checkAnswers(t, r.answersByText(), map[string]int{
			"-1001/0 price " + noArgs: 10,
			"-1001/7 price " + noArgs: 10,
		})
	}, paced)
}

// A refusal and a warning are not the answer that others wait for.
func TestOnlyEqualAnswersAreShared(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.handler.Reply = func(ctx context.Context, req *chat.Request) *chat.Reply {
			reply := printArgs(ctx, req)
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
		r.give(append(crowd(10, "/price"), inGroup(100, "/staked a"), inGroup(101, "/staked b"))...)
		checkAnswers(t, r.answersByText(), map[string]int{
			"-1001/0 price " + noArgs:                       6,
			"-1001/0 refused " + noArgs:                     2,
			"-1001/0 ⚠️ price " + noArgs:                    2,
			"-1001/0 staked " + fmt.Sprint(chat.Typed("a")): 1,
			"-1001/0 staked " + fmt.Sprint(chat.Typed("b")): 1,
		})
	}, paced)
}

func TestPrivateAnswersAreNotShared(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.handler.Reply = printArgs
		r.api.Start(102)
		r.api.Start(103)
		r.run()
		r.give(inGroup(102, "/mylogins"), inGroup(103, "/mylogins"))
		checkAnswers(t, r.answersByText(), map[string]int{
			"102/0 mylogins " + noArgs:           1,
			"103/0 mylogins " + noArgs:           1,
			"-1001/0 " + said(answeredPrivately): 2,
		})
	}, paced)
}

// The first answer is sent at once. The others share a message with the newest answer, which is a reply to the user who
// waited longest.
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
		if gap := sent[1].At.Sub(sent[0].At); gap < time.Second {
			t.Errorf("the second message comes after %v", gap)
		}
		check(t, "send_shared", r.events.Of("send_shared"), 4)
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
