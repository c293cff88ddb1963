package telegram

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
)

// What concerns its reader alone leaves the group after half a minute, or at a stop.
func TestAnErrorLeavesItsGroup(t *testing.T) {
	refusal := chat.Reply{Tone: chat.Warning, Title: chat.Say("Too many commands"), Ephemeral: true}
	type test struct {
		message faketelegram.Message
		reply   chat.Reply
		stays   bool
	}
	inBubble(t, map[string]test{
		"a refusal":            {inGroup(ann, "/price"), refusal, false},
		"in a topic":           {inGroup(ann, "/price").In(7), refusal, false},
		"not for the nameless": {anonymous(faketelegram.Group(group), "/exists 77"), refusal, false},
		"in private":           {inPrivate(ann, "/price"), refusal, true},
		"an answer":            {inGroup(ann, "/price"), chat.Reply{Title: chat.Say("x")}, true},
		"could not be checked": {inGroup(ann, "/price"), chat.Reply{Title: chat.Say("unchecked.title")}, true},
		"a question": {inGroup(ann, "/staked"), chat.Reply{Title: chat.Say("Which?"), Ephemeral: true,
			Ask: &chat.Ask{Command: "staked", Question: chat.Say("Which?")}}, true},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		r.answer(tt.reply)
		r.carry("deleteMessage", noticeLasts+4*time.Minute, func(*http.Request) (*http.Response, error) {
			return response(http.StatusTooManyRequests, `{"ok":false,"error_code":429,"parameters":{"retry_after":60}}`)
		})
		stop := r.run()
		r.api.Push(tt.message)
		r.sent(1)
		time.Sleep(noticeLasts - time.Second)
		before := r.one().Deleted || r.events.Of("deleteMessage") > 0
		time.Sleep(5 * time.Minute)
		if before || r.one().Deleted == tt.stays || r.events.Of("remove_abandoned") != 0 {
			t.Errorf("deleted before 30 s: %t, in the end: %t", before, r.one().Deleted)
		}
		tt.message["message_id"] = int64(999)
		r.api.Push(tt.message)
		r.sent(2)
		start := time.Now()
		if err := stop(); err != nil || time.Since(start) > time.Second || r.api.Sent()[1].Deleted == tt.stays {
			t.Errorf("stopped after %v, %v: %+v", time.Since(start), err, r.api.Sent()[1])
		}
	})
}

// With CLEAN_CHAT a card goes when a newer one of its command is out in the same chat
// and topic, and no other does.
func TestANewCardTakesTheOneBeforeItAway(t *testing.T) {
	price := func() faketelegram.Message { return inGroup(ann, "/price") }
	const failing, refused, edited = "could not be checked", "refused", "edited"
	for name, tt := range map[string]struct {
		messages []faketelegram.Message
		how      map[int]string
		want     string // the messages that stand in the end, by their numbers
	}{
		"the same command":       {[]faketelegram.Message{price(), price(), price()}, nil, "3"},
		"by another name":        {[]faketelegram.Message{inGroup(ann, "/help"), inGroup(ann, "/start")}, nil, "2"},
		"another argument":       {[]faketelegram.Message{inGroup(ann, "/staked 0x1"), inGroup(ann, "/staked 0x2")}, nil, "2"},
		"switched off":           {[]faketelegram.Message{price(), price()}, nil, "1 2"},
		"another command":        {[]faketelegram.Message{price(), inGroup(ann, "/help")}, nil, "1 2"},
		"another topic":          {[]faketelegram.Message{price().In(7), price().In(8), price()}, nil, "1 2 3"},
		"the same topic":         {[]faketelegram.Message{price().In(7), price().In(7)}, nil, "2"},
		"another chat":           {[]faketelegram.Message{price(), writes(faketelegram.Group(-1002), ann, "/price")}, nil, "1 2"},
		"in private":             {[]faketelegram.Message{inPrivate(ann, "/price"), inPrivate(ann, "/price")}, nil, "1 2"},
		"no answer":              {[]faketelegram.Message{price(), price()}, map[int]string{2: failing}, "1 2"},
		"no answer, then one":    {[]faketelegram.Message{price(), price(), price(), price()}, map[int]string{2: failing, 3: failing}, "4"},
		"a card that is not out": {[]faketelegram.Message{price(), price()}, map[int]string{2: refused}, "1"},
		"an edit":                {[]faketelegram.Message{price(), inGroup(ann, "/help")}, map[int]string{2: edited}, "1 2"},
	} {
		t.Run(name, func(t *testing.T) {
			simulated(t, func(t *testing.T, r *rig) {
				n := 0
				r.handler.Reply = func(context.Context, chat.Request) chat.Reply {
					if tt.how[n] == failing {
						return chat.Reply{Title: chat.Say("unchecked.title")}
					}
					return refreshed(fmt.Sprint(n), n)
				}
				r.run()
				for i, m := range tt.messages {
					n = i + 1
					if tt.how[n] == refused {
						r.api.Fail("sendMessage", faketelegram.NoRights(), faketelegram.NoRights())
					}
					r.give(m)
					if tt.how[n] == edited {
						r.api.Press(ann, faketelegram.Group(group), r.api.Sent()[0].ID, "1 e 0 price")
						r.idle(time.Minute)
					}
					time.Sleep(time.Second)
				}
				var stand []string
				for i, m := range r.api.Sent() {
					if !m.Deleted {
						stand = append(stand, fmt.Sprint(i+1))
					}
				}
				if got := strings.Join(stand, " "); got != tt.want {
					t.Errorf("in the end %q stand, want %q", got, tt.want)
				}
			}, func(c *Config) { c.CleanChat = name != "switched off" })
		})
	}
}

// Several who ask the same at once may share a message, which stays.
func TestASharedCardDoesNotTakeItselfAway(t *testing.T) {
	simulated(t, func(t *testing.T, r *rig) {
		r.run()
		for i := range 5 {
			r.api.Push(inGroup(int64(ann+i), "/price"))
		}
		r.idle(time.Minute)
		time.Sleep(time.Second)
		sent := r.api.Sent()
		for i, m := range sent {
			if m.Deleted == (i == len(sent)-1) {
				t.Errorf("of %d messages, %d is deleted: %t", len(sent), i+1, m.Deleted)
			}
		}
	}, paced, func(c *Config) { c.CleanChat = true })
}
