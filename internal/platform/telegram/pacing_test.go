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

// sameCommands returns the same command from each of n users in the group.
func sameCommands(n int, text string) (all []faketelegram.Message) {
	for i := range n {
		all = append(all, inGroup(int64(1+i), text))
	}
	return all
}

// differentCommands returns a different command from each of n users in the group.
func differentCommands(n int) (all []faketelegram.Message) {
	for i := range n {
		all = append(all, inGroup(int64(1+i), fmt.Sprint("/staked ", i)))
	}
	return all
}

// Edits count towards a chat's rate. If the rate is used up, only the presser is told, at once.
func TestEditsKeepTheRatesOfTheirChat(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.answerAllWith(refreshed("x", 1))
		r.run()
		r.api.Push(inGroup(ann, "/price"))
		r.waitSent(1)
		// The next answers are newer. They have no button, so the press finds the first card's.
		r.answerAllWith(&chat.Reply{Title: chat.Say("y"), Source: refreshed("", 2).Source})
		// Seven more messages use up the chat's rate for as long as an edit may wait.
		for _, m := range differentCommands(7) {
			r.api.Push(m)
		}
		r.waitRequested(1 + 7)

		pressed := time.Now()
		r.press(ann, "Refresh")
		told := r.pressAnswers(1)[0]
		if !strings.Contains(told.Text, "Busy") || !told.Alert {
			t.Errorf("told %+v, want an alert that the chat is busy", told)
		}
		check(t, "the presser is told at once", time.Since(pressed) < time.Second, true)
		sent := r.waitIdle(time.Minute)
		check(t, "edits of the card", sent[0].Edits, 0)
		check(t, "messages about it to the chat", r.events.Of("busy_sent"), 0)
	}, paced)
}

// answersByText counts the answers by chat, topic and text. A shared message counts once for each user that it
// answers.
func (r *adapterTest) answersByText() map[string]int {
	counts := map[string]int{}
	for _, m := range r.api.Sent() {
		lines := strings.SplitN(m.Text, "\n", 3) // The third line, if any, tells how many asked.
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

// withoutArgs is how printArgs prints the arguments of a command that has none.
var withoutArgs = fmt.Sprint(chat.Typed())

func TestAnswersOfOneTopicAreShared(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.handler.Reply = printArgs
		r.adapter.CommandTimeout = time.Minute
		r.run()
		var messages []faketelegram.Message
		for user := range int64(10) {
			messages = append(messages, inGroup(1+user, "/price"), inGroup(1+user, "/price").In(7))
		}
		r.pushAndWait(messages...)
		checkAnswers(t, r.answersByText(), map[string]int{
			"-1001/0 price " + withoutArgs: 10,
			"-1001/7 price " + withoutArgs: 10,
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
		messages := sameCommands(10, "/price")
		messages = append(messages, inGroup(100, "/staked a"), inGroup(101, "/staked b"))
		r.pushAndWait(messages...)
		checkAnswers(t, r.answersByText(), map[string]int{
			"-1001/0 price " + withoutArgs:                  6,
			"-1001/0 refused " + withoutArgs:                2,
			"-1001/0 ⚠️ price " + withoutArgs:               2,
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
		r.pushAndWait(inGroup(102, "/mylogins"), inGroup(103, "/mylogins"))
		checkAnswers(t, r.answersByText(), map[string]int{
			"102/0 mylogins " + withoutArgs:      1,
			"103/0 mylogins " + withoutArgs:      1,
			"-1001/0 " + said(answeredPrivately): 2,
		})
	}, paced)
}

// The first answer is sent at once. The others share one message. Its text is the newest answer. It replies to the
// user who waited longest.
func TestSharedMessageIsNewestAndRepliesToFirst(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		requests := 0 // The handler gets one at a time, as they are sent below.
		r.handler.Reply = func(context.Context, *chat.Request) *chat.Reply {
			requests++
			return &chat.Reply{Title: chat.Say("Price"), Text: chat.Say(fmt.Sprintf("Answer %d.", requests))}
		}
		r.run()
		var ids []int64
		for _, m := range sameCommands(6, "/price") {
			body := r.api.Update(m)
			ids = append(ids, m["message_id"].(int64))
			go r.postUpdate(body)
			time.Sleep(50 * time.Millisecond)
		}
		sent := r.waitSent(2)
		for i, want := range []struct {
			replyTo  int64
			answered int
			text     string
		}{
			{ids[0], 1, "Answer 1."},
			{ids[1], 5, "Answer 6."},
		} {
			check(t, want.text+" replies to", sent[i].ReplyTo, want.replyTo)
			check(t, want.text+" answers users", answered(sent[i]), want.answered)
			check(t, want.text+" is the text", strings.Contains(sent[i].Text, want.text), true)
		}
		check(t, "note below one answer", strings.Contains(sent[0].Text, "who asked"), false)
		if gap := sent[1].At.Sub(sent[0].At); gap < time.Second {
			t.Errorf("the second message comes after %v, want a second or more", gap)
		}
		synctest.Wait() // Each command is counted after its message.
		check(t, "send_shared", r.events.Of("send_shared"), 4)
	}, byWebhook, paced)
}
