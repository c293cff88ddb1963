package telegram

import (
	"slices"
	"testing"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
)

// What the bot is in a chat.
var (
	gone       = faketelegram.Standing{Status: "left"}
	kicked     = faketelegram.Standing{Status: "kicked"}
	member     = faketelegram.Standing{Status: "member"}
	admin      = faketelegram.Standing{Status: "administrator"}
	restricted = faketelegram.Standing{Status: "restricted", IsMember: true, MayWrite: true}
	muted      = faketelegram.Standing{Status: "restricted", IsMember: true}
)

// Chats that the bot is added to, or promoted in.
var (
	helloSupergroup = faketelegram.Group(group)
	helloGroup      = faketelegram.Chat{ID: -5, Type: "group"}
	helloChannel    = faketelegram.Chat{ID: -1007, Type: "channel"}
)

// helloCase is what happens to the bot in a chat, and how many messages it sends there.
type helloCase struct {
	chat      faketelegram.Chat
	standings []faketelegram.Standing // of the bot, one after another
	then      func(*adapterTest)      // what happens right after; may be nil
	sent      int                     // messages
	refused   int                     // calls of sendMessage
}

// deliverTwice delivers each queued update twice to a webhook. It does nothing if the adapter polls.
func (r *adapterTest) deliverTwice() {
	if r.adapter.Settings.WebhookURL == "" {
		return
	}
	bodies := r.api.Dequeue()
	for _, body := range slices.Concat(bodies, bodies) {
		go r.postUpdate(body)
	}
}

// runHello starts the adapter, makes the case happen, and waits for ten minutes.
func (r *adapterTest) runHello(tt helloCase) (stop func() error) {
	r.answerAllWith(&chat.Reply{Title: chat.Say("x")})
	stop = r.run()
	time.Sleep(time.Second)
	for i, standing := range tt.standings[1:] {
		r.api.ChangeBot(tt.chat, tt.standings[i], standing)
	}
	r.deliverTwice()
	if tt.then != nil {
		tt.then(r)
	}
	r.deliverTwice()
	time.Sleep(10 * time.Minute)
	return stop
}

// checkHellos checks how many messages the bot sends in each of the cases, and that it sends no more after a restart.
func checkHellos(t *testing.T, cases map[string]helloCase) {
	t.Helper()
	for way, setting := range ways {
		inBubble(t, cases, func(t *testing.T, tt helloCase) {
			r := setUp(t, setting, paced)
			stop := r.runHello(tt)
			sent := r.api.Sent()
			check(t, way+": messages", len(sent), tt.sent)
			check(t, way+": refused calls", len(r.api.Calls("sendMessage"))-tt.sent, tt.refused)
			for _, m := range sent {
				check(t, way+": chat", m.Chat, tt.chat.ID)
				check(t, way+": silent", m.Silent, true)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			r.secondAdapter().run()
			time.Sleep(time.Minute)
			check(t, way+": messages after a restart", len(r.api.Sent()), tt.sent)
		})
	}
}

func TestHelloIsSaidOnceToAGroup(t *testing.T) {
	checkHellos(t, map[string]helloCase{
		"added":               {chat: helloSupergroup, standings: []faketelegram.Standing{gone, member}, sent: 1},
		"to a basic group":    {chat: helloGroup, standings: []faketelegram.Standing{gone, member}, sent: 1},
		"as an administrator": {chat: helloSupergroup, standings: []faketelegram.Standing{kicked, admin}, sent: 1},
		"promoted at once":    {chat: helloSupergroup, standings: []faketelegram.Standing{gone, member, admin}, sent: 1},
		"while limited": {
			chat:      helloSupergroup,
			standings: []faketelegram.Standing{gone, member},
			then:      func(r *adapterTest) { r.api.Fail("sendMessage", telegramtest.TooMany(time.Minute)) },
			sent:      1,
			refused:   1,
		},
		"added again": {
			chat:      helloSupergroup,
			standings: []faketelegram.Standing{gone, member},
			then: func(r *adapterTest) {
				time.Sleep(time.Minute)
				r.api.ChangeBot(helloSupergroup, member, gone)
				r.api.ChangeBot(helloSupergroup, gone, member)
			},
			sent: 2,
		},
	})
}

func TestNoHelloWhereTheBotMayNotWrite(t *testing.T) {
	checkHellos(t, map[string]helloCase{
		"muted":             {chat: helloSupergroup, standings: []faketelegram.Standing{gone, muted}},
		"to a channel":      {chat: helloChannel, standings: []faketelegram.Standing{gone, admin}},
		"to a private chat": {chat: faketelegram.Private(ann), standings: []faketelegram.Standing{kicked, member}},
		"where no member may": {
			chat:      helloSupergroup,
			standings: []faketelegram.Standing{gone, member},
			then:      func(r *adapterTest) { r.api.Mute(group) },
			refused:   1,
		},
	})
}

func TestNoHelloFromAMemberOfTheGroup(t *testing.T) {
	checkHellos(t, map[string]helloCase{
		"promoted and demoted": {
			chat:      helloSupergroup,
			standings: []faketelegram.Standing{member, admin, restricted, member},
		},
		"allowed to write": {
			chat:      helloSupergroup,
			standings: []faketelegram.Standing{muted, restricted, member},
		},
		"removed": {
			chat:      helloSupergroup,
			standings: []faketelegram.Standing{member, kicked, gone},
		},
		"with its group": {
			chat:      helloGroup,
			standings: []faketelegram.Standing{member},
			then:      func(r *adapterTest) { r.api.Upgrade(helloGroup, helloSupergroup) },
		},
	})
}

// The link that adds the bot also sends /start. The hello answers it.
func TestHelloAnswersTheStartOfItsLink(t *testing.T) {
	start := func(r *adapterTest) { r.api.Push(inGroup(ann, "/start@herald_bot true")) }
	startLater := func(r *adapterTest) {
		time.Sleep(time.Minute)
		start(r)
	}
	added := []faketelegram.Standing{gone, member}
	checkHellos(t, map[string]helloCase{
		"by the link":   {chat: helloSupergroup, standings: added, then: start, sent: 1},
		"started later": {chat: helloSupergroup, standings: added, then: startLater, sent: 2},
	})
}

func TestTheHellosRequestHasNoUser(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.runHello(helloCase{chat: helloSupergroup, standings: []faketelegram.Standing{gone, member}})
		req := r.handler.Requests()[0]
		check(t, "command", req.Command, chat.HelloCommand)
		check(t, "community", req.Community, "-1001")
		check(t, "chat", req.Chat, "-1001")
		check(t, "direct", req.Direct, false)
		check(t, "user", req.From.ID, "")
	})
}

// Only the /start in the group that the bot was added to may come with the link that added it.
func TestAStartElsewhereIsAnswered(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.run()
		time.Sleep(time.Second)
		r.api.ChangeBot(faketelegram.Group(group), gone, member)
		start := time.Now()
		r.api.Push(inPrivate(ann, "/start"))
		r.api.Push(writes(faketelegram.Group(group-1), ann, "/start@herald_bot"))
		time.Sleep(time.Minute)
		sent := r.waitSent(3) // and the hello
		check(t, "chat of the first answer", sent[0].Chat, ann)
		if took := sent[0].At.Sub(start); took > helloAfter/4 {
			t.Errorf("answered in private after %v", took)
		}
	})
}
