package telegram

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/platform/platformtest"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/router"
	"herald/internal/service/partner"
)

// stakers is a group for stakers, as holders is for registered people.
const stakers = -1003

var doorChats = map[int64]faketelegram.Chat{holders: holdersChat, stakers: {ID: stakers, Type: "supergroup", Title: "MAT Stakers"}}

func withStakers(c *Config) { c.Settings.JoinChats[stakers] = chat.Requirement{Staker: true} }

// applicant is somebody who may ask to join a group. The account, and the owner of the
// wallet, are "theirs", "another's", "nobody's", "failing" or "hanging". The stake is
// "staked", "partly", "idle", "unread" or "failing".
type applicant struct {
	id, group             int64
	guarded               bool
	account, owner, stake string
	// acted is set once they have pressed or typed something.
	acted bool
}

// wallet is the only one that they name.
func (p *applicant) wallet() common.Address { return common.Address{byte(p.id)} }

// deserves reports whether they have what the group requires.
func (p *applicant) deserves() bool {
	return p.account == "theirs" && (p.group == holders || p.owner == "theirs" && (p.stake == "staked" || p.stake == "partly"))
}

// process is one bot, none of whose calls arrives once it is killed.
type process struct {
	*adapterTest
	killed atomic.Bool
	stop   func() error
}

func (p *process) RoundTrip(req *http.Request) (*http.Response, error) {
	if p.killed.Load() {
		return nil, errors.New("the process is gone")
	}
	return p.adapterTest.RoundTrip(req)
}

// doorTest is one run of the property.
type doorTest struct {
	*adapterTest
	*rand.Rand
	router *router.Router
	people []*applicant
	// rough lets everything happen; otherwise nobody may be left out for what happens.
	rough, restarted bool
	live             atomic.Pointer[[]*process]
	in               map[string]bool // who is in a group; the lock of api guards it
}

// newDoorTest makes the people, and starts one process or, by webhook, two replicas.
func newDoorTest(r *adapterTest, seed uint64) *doorTest {
	d := &doorTest{adapterTest: r, Rand: rand.New(rand.NewPCG(seed, 26)), rough: seed%2 == 0, in: map[string]bool{}}
	for id := range int64(40) {
		p := &applicant{id: id + 1, group: pick(d, holders, int64(stakers)), guarded: d.IntN(2) == 0}
		p.account = pick(d, "theirs", "theirs", "theirs", "theirs", "nobody's", "failing", "hanging")
		p.owner = pick(d, "theirs", "theirs", "theirs", "another's", "nobody's", "failing")
		p.stake = pick(d, "staked", "staked", "partly", "idle", "unread", "failing")
		d.people = append(d.people, p)
	}
	for group, c := range doorChats {
		r.api.GrantInvite(group, true)
		r.api.SetChat(faketelegram.ChatInfo{Chat: c, JoinByRequest: true})
		for _, p := range d.people {
			r.api.Promote(group, p.id, "left")
		}
	}
	d.router = joinRouter(r.T, source[core.Identity, core.Account](d.accountOf), source[common.Address, core.Stake](d.stakeOf))
	r.api.Watch(d.see)
	d.live.Store(&[]*process{})
	for range d.replicas() {
		d.start()
	}
	time.Sleep(time.Second)
	return d
}

func pick[T any](d *doorTest, of ...T) T { return of[d.IntN(len(of))] }

// replicas returns how many processes serve at a time.
func (d *doorTest) replicas() int {
	if d.adapter.Settings.WebhookURL == "" {
		return 1
	}
	return 2
}

func (d *doorTest) accountOf(ctx context.Context, id core.Identity) (core.Account, error) {
	says, number := "nobody's", int(common.HexToAddress(id.UID)[0])
	if id.Platform == "EVM" {
		says = d.people[number-1].owner
	} else if number, _ = strconv.Atoi(id.UID); number <= len(d.people) {
		says = d.people[number-1].account
	}
	switch says {
	case "hanging":
		<-ctx.Done()
		fallthrough
	case "failing":
		return core.Account{}, partner.Service.Fail(core.Unreachable, errors.New("down"))
	case "nobody's":
		return core.Account{}, nil
	}
	return core.Account{DID: fmt.Sprint("did:x:", says, number)}, nil
}

func (d *doorTest) stakeOf(_ context.Context, wallet common.Address) (s core.Stake, err error) {
	s.Checked, s.BlockTime = 20, time.Now()
	failed := partner.Service.Fail(core.SlowAnswer, errors.New("down"))
	switch says := d.people[wallet[0]-1].stake; says {
	case "failing":
		return s, failed
	case "staked", "partly":
		s.Staked = []core.PoolAmount{{Amount: decimal.NewFromInt(1)}}
		if says == "staked" {
			return s, nil
		}
		fallthrough
	case "unread":
		s.Failed = []core.UnreadPool{{Err: failed}}
	}
	return s, nil
}

// start starts a process beside those that run.
func (d *doorTest) start() {
	p := &process{adapterTest: d.again()}
	p.adapter.api = botapi.New(botapi.Config{Token: p.adapter.Settings.Token, URL: d.api.URL, Transport: p})
	p.stop = p.serve(platformtest.Routed{Router: d.router})
	live := append(slices.Clone(*d.live.Load()), p)
	d.live.Store(&live)
}

// restart ends the oldest process, by SIGKILL or by SIGTERM, and starts another one.
func (d *doorTest) restart(kill bool) {
	d.restarted = true
	old, rest := (*d.live.Load())[0], (*d.live.Load())[1:]
	d.live.Store(&rest)
	old.killed.Store(kill)
	if kill || len(rest) > 0 {
		go old.stop()
	} else if err := old.stop(); err != nil {
		d.Error(err)
	}
	d.start()
}

// deliver has a webhook get what is queued, a part of it at both replicas.
func (d *doorTest) deliver() {
	for d.replicas() == 2 && len(d.api.Pending()) > 0 {
		for _, body := range d.api.Dequeue() {
			for range 1 + d.IntN(4)/3 {
				go d.deliverTo(d.IntN(2), body)
			}
		}
	}
}

// deliverTo delivers an update to one replica after another, until one has taken it.
func (d *doorTest) deliverTo(replica int, body []byte) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
		live := *d.live.Load()
		if p := live[replica%len(live)]; p.deliver(body) == http.StatusOK && !p.killed.Load() {
			return
		}
		replica++
	}
}

// says has a person write in their private chat; what is no command answers the newest
// question there.
func (d *doorTest) says(p *applicant, text string) {
	m := inPrivate(p.id, text)
	if question := d.newest(p, func(m faketelegram.Sent) bool { return m.Markup.ForceReply }); question.ID != 0 && text[0] != '/' {
		m = m.ReplyingTo(question)
	}
	p.acted = true
	d.api.Push(m)
}

// presses has a person press a button of a message.
func (d *doorTest) presses(p *applicant, in faketelegram.Chat, message int64, data string) {
	p.acted = true
	d.api.Press(p.id, in, message, data)
}

// newest returns the newest message to a person that fits.
func (d *doorTest) newest(p *applicant, fits func(faketelegram.Sent) bool) (newest faketelegram.Sent) {
	for _, m := range d.api.Sent() {
		if m.Chat == p.id && fits(m) {
			newest = m
		}
	}
	return newest
}

// act has one thing happen.
func (d *doorTest) act() {
	p, other := pick(d, d.people...), pick(d, d.people...)
	kinds := 8
	if d.rough {
		kinds = 18
	}
	switch n := d.IntN(kinds); n {
	default:
		d.api.RequestJoin(doorChats[p.group], faketelegram.Person(p.id), p.guarded)
	case 4, 5:
		d.says(p, p.wallet().Hex())
	case 6:
		d.fail(telegramtest.Page(502), telegramtest.Page(502).CarriedOut(), telegramtest.TooMany(time.Second), telegramtest.Hang(),
			telegramtest.Hang().CarriedOut(), telegramtest.ResetBefore(), telegramtest.Fault{DropAnswer: true})
	case 7, 8:
		if d.IntN(4) == 0 {
			d.restart(n == 8)
		}
	case 9:
		if m := d.newest(p, func(m faketelegram.Sent) bool { return dataOf(m, "Try again") != "" }); m.ID != 0 {
			d.presses(p, faketelegram.Private(p.id), m.ID, dataOf(m, "Try again"))
		}
	case 10:
		d.says(p, pick(d, "0x12", "x", fmt.Sprint("/start join_", other.group), fmt.Sprint("/join ", other.group, " ", p.wallet())))
	case 11:
		d.api.CloseJoin(p.group, p.id, pick(d, faketelegram.JoinApproved, faketelegram.JoinDeclined, faketelegram.JoinWithdrawn))
	case 12:
		d.fail(telegramtest.Status(400), telegramtest.Status(403), telegramtest.NoRights(), telegramtest.TooMany(20*time.Second))
	case 13:
		for range d.IntN(200) {
			d.api.RequestJoin(holdersChat, faketelegram.Person(d.Int64N(1<<40)+10_000), d.IntN(2) == 0)
		}
	case 14, 15, 16, 17: // a forged button
		in := pick(d, faketelegram.Private(p.id), faketelegram.Private(other.id), faketelegram.Private(other.id), doorChats[p.group], faketelegram.Group(group))
		named := fmt.Sprint("1 n 0 join ", stakers, " ", p.wallet())
		data := pick(d, named, named, fmt.Sprint("1 e 0 join ", other.group), "1 e 0 join -5", "1 e 0 join", fmt.Sprint("0 e 0 join ", p.group))
		d.presses(p, in, max(1, d.newest(other, func(faketelegram.Sent) bool { return true }).ID), data)
	}
	d.deliver()
}

var doorCalls = []string{"sendMessage", "editMessageText", "approveChatJoinRequest", "answerChatJoinRequestQuery", "getChatMember", "answerCallbackQuery"}

// fail has one call of a method go wrong.
func (d *doorTest) fail(with ...telegramtest.Fault) {
	method := pick(d, doorCalls...)
	d.api.Heal(method)
	d.api.Fail(method, pick(d, with...))
}

// itsNumber finds the wallets of the people.
var itsNumber = regexp.MustCompile("(?i)0x([0-2][0-9a-f])0{38}")

// see checks what somebody is shown. The lock of api is held.
func (d *doorTest) see(e faketelegram.Event) {
	reader, text := int64(0), ""
	switch {
	case e.Join != nil:
		d.in[fmt.Sprint(e.Join.From.ID, e.Chat)] = e.Join.State == faketelegram.JoinApproved
	case e.Message != nil:
		reader, text = e.Message.Chat, faketelegram.Shown(e.Message.Text, e.Message.Entities, e.Message.Markup)
	case e.Notice != nil:
		reader, text = e.Notice.User, e.Notice.Text
	}
	unknown := reader > 0 && reader <= int64(len(d.people)) && d.people[reader-1].account != "nobody's"
	wrong := reader < 0 || strings.Contains(text, "did:x") || unknown && strings.Contains(text, "Not registered yet")
	for group, c := range doorChats {
		wrong = wrong || strings.Contains(text, "You're in: "+c.Title) && !d.in[fmt.Sprint(reader, group)]
	}
	for _, wallet := range itsNumber.FindAllStringSubmatch(text, -1) {
		wrong = wrong || wallet[1] != "00" && !strings.EqualFold(wallet[1], fmt.Sprintf("%02x", reader))
	}
	if wrong {
		d.Errorf("%d is told %q", reader, text)
	}
}

// judge fails the test unless the door has kept its promises so far.
func (d *doorTest) judge() {
	for _, j := range d.api.JoinRequests() {
		p, answers := &applicant{id: j.From.ID, group: j.Chat.ID}, answersOf(j)
		if p.id <= int64(len(d.people)) {
			p = d.people[p.id-1]
		}
		approved := slices.Contains(answers, "approve")
		again := p.acted && slices.Equal(answers, []string{"queue", "approve"})
		mayBeOpen := d.rough || p.group == stakers || p.acted || d.restarted && p.guarded
		if len(answers) > 1 && !again || approved && (!p.deserves() || p.group == stakers && !p.acted) || p.deserves() && !approved && !mayBeOpen {
			d.Errorf("%+v of %+v is answered with %v", j, p, answers)
		}
	}
	last := map[string]time.Time{}
	for _, c := range d.api.Calls("sendMessage") {
		if c.Params["reply_parameters"] != nil || c.Fault != (telegramtest.Fault{}) {
			continue
		}
		to := string(c.Params["chat_id"])
		if c.At.Sub(last[to]) < time.Minute {
			d.Errorf("%s gets two messages within %v", to, c.At.Sub(last[to]))
		}
		last[to] = c.At
	}
}

func (d *doorTest) isOpen(p *applicant) bool {
	return slices.ContainsFunc(d.api.JoinRequests(), func(j faketelegram.JoinRequest) bool {
		return j.From.ID == p.id && j.State == faketelegram.JoinOpen
	})
}

// askAgain has everybody whose request is open follow the link. Whoever deserves it is in.
func (d *doorTest) askAgain() {
	for _, p := range d.people {
		if !d.isOpen(p) {
			continue
		}
		for _, text := range []string{fmt.Sprint("/start join_", p.group), p.wallet().Hex()} {
			d.says(p, text)
			d.deliver()
			time.Sleep(9 * time.Second)
		}
		if d.isOpen(p) == p.deserves() {
			d.Errorf("%+v has an open request: %v; told %q", p, d.isOpen(p), d.toldTo(p.id))
		}
	}
}

// Whatever fails, whoever forges and however often the bot restarts, a request has one
// answer, nobody is let in without a proof, and nobody reads anything about somebody else.
func TestTheDoorLetsInWhomItShould(t *testing.T) {
	for seed := range uint64(24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			simulated(t, func(t *testing.T, r *adapterTest) {
				d := newDoorTest(r, seed)
				for range 80 {
					d.act()
					time.Sleep(time.Duration(d.IntN(3000)) * time.Millisecond)
				}
				for _, method := range doorCalls {
					d.api.Heal(method)
				}
				time.Sleep(2 * time.Minute)
				d.judge()
				d.askAgain()
				d.judge()
			}, []func(*Config){func(*Config) {}, byWebhook}[seed/2%2], withJoins, withStakers, paced)
		})
	}
}
