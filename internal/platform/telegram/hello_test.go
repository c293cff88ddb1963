package telegram

import (
	"slices"
	"testing"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
)

// What the bot may be in a chat.
var (
	gone       = faketelegram.Standing{Status: "left"}
	kicked     = faketelegram.Standing{Status: "kicked"}
	member     = faketelegram.Standing{Status: "member"}
	admin      = faketelegram.Standing{Status: "administrator"}
	restricted = faketelegram.Standing{Status: "restricted", IsMember: true, MayWrite: true}
	muted      = faketelegram.Standing{Status: "restricted", IsMember: true}
)

// The bot says hello once, to a group that it was added to and may write in.
func TestHelloIsSaidOnce(t *testing.T) {
	type change struct{ from, to faketelegram.Standing }
	supergroup := faketelegram.Group(group)
	basic, channel := faketelegram.Chat{ID: -5, Type: "group"}, faketelegram.Chat{ID: -1007, Type: "channel"}
	type test struct {
		chat    faketelegram.Chat
		changes []change
		more    func(*adapterTest) // happens right after
		hellos  int
		refused int // by Telegram
	}
	start := func(r *adapterTest) { r.api.Push(inGroup(ann, "/start@herald_bot true")) }
	for way, setting := range ways {
		inBubble(t, map[string]test{
			"added":                 {supergroup, []change{{gone, member}}, nil, 1, 0},
			"to a basic group":      {basic, []change{{gone, member}}, nil, 1, 0},
			"as an administrator":   {supergroup, []change{{kicked, admin}}, nil, 1, 0},
			"as one who may not":    {supergroup, []change{{gone, muted}}, nil, 0, 0},
			"where members may not": {supergroup, []change{{gone, member}}, func(r *adapterTest) { r.api.Mute(group) }, 0, 1},
			"to a channel":          {channel, []change{{gone, admin}}, nil, 0, 0},
			"to a private chat":     {faketelegram.Private(ann), []change{{kicked, member}}, nil, 0, 0},
			"promoted and demoted":  {supergroup, []change{{member, admin}, {admin, restricted}, {restricted, member}}, nil, 0, 0},
			"allowed to write":      {supergroup, []change{{muted, restricted}, {restricted, member}}, nil, 0, 0},
			"removed":               {supergroup, []change{{member, kicked}, {kicked, gone}}, nil, 0, 0},
			"promoted at once":      {supergroup, []change{{gone, member}, {member, admin}}, nil, 1, 0},
			"added again": {supergroup, []change{{gone, member}}, func(r *adapterTest) {
				time.Sleep(time.Minute)
				r.api.ChangeBot(supergroup, member, gone)
				r.api.ChangeBot(supergroup, gone, member)
			}, 2, 0},
			"with its group":             {basic, nil, func(r *adapterTest) { r.api.Upgrade(basic, supergroup) }, 0, 0},
			"by the link that starts it": {supergroup, []change{{gone, member}}, start, 1, 0},
			"started later":              {supergroup, []change{{gone, member}}, func(r *adapterTest) { time.Sleep(time.Minute); start(r) }, 2, 0},
			"while limited":              {supergroup, []change{{gone, member}}, func(r *adapterTest) { r.api.Fail("sendMessage", telegramtest.TooMany(time.Minute)) }, 1, 1},
		}, func(t *testing.T, tt test) {
			r := setUp(t, setting, paced)
			r.answer(&chat.Reply{Title: chat.Say("x")})
			stop := r.run()
			time.Sleep(time.Second)
			for _, c := range tt.changes {
				r.api.ChangeBot(tt.chat, c.from, c.to)
			}
			pass := func() {
				if r.adapter.Settings.WebhookURL == "" {
					return
				}
				bodies := r.api.Dequeue()
				for _, body := range slices.Concat(bodies, bodies) { // each twice
					go r.deliver(body)
				}
			}
			pass()
			if tt.more != nil {
				tt.more(r)
			}
			pass()
			time.Sleep(10 * time.Minute)
			check(t, way+": messages", len(r.api.Sent()), tt.hellos)
			check(t, way+": calls that are refused", len(r.api.Calls("sendMessage"))-tt.hellos, tt.refused)
			for _, m := range r.api.Sent() {
				if m.Chat != tt.chat.ID || !m.Silent {
					t.Errorf("%+v", m)
				}
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			next := r.again()
			next.run()
			time.Sleep(time.Minute)
			check(t, way+": messages after a restart", len(r.api.Sent()), tt.hellos)
			for _, req := range r.handler.Requests() {
				if req.Command == chat.HelloCommand && (req.Community != req.Chat || req.Community == "" || req.Direct || req.From.ID != "") {
					t.Errorf("asked %+v", req)
				}
			}
		})
	}
}

// Only the /start in the group that the bot was added to may come with the link that added it.
func TestAStartElsewhereIsAnswered(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.run()
		time.Sleep(time.Second)
		r.api.ChangeBot(faketelegram.Group(group), gone, member)
		began := time.Now()
		r.api.Push(inPrivate(ann, "/start"))
		r.api.Push(writes(faketelegram.Group(group-1), ann, "/start@herald_bot"))
		time.Sleep(time.Minute)
		sent := r.sent(3) // and the hello
		if took := sent[0].At.Sub(began); sent[0].Chat != ann || took > helloAfter/4 {
			t.Errorf("in private after %v: %+v", took, sent[0])
		}
	})
}
