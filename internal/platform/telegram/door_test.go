package telegram

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/service/partner"
)

// What is known of an account, of a wallet's owner or of a stake. An account or an owner
// may also be theirs.
const (
	nobody, failing, hanging    = "", "failing", "hanging"
	staked, partly, idle, blind = "staked", "partly", "idle", "blind"
)

// applicant is somebody who may ask to join a group.
type applicant struct {
	id      int64
	group   faketelegram.Chat
	guarded bool
	// account is a DID, nobody, failing or hanging; owner is the same of wallet.
	account, owner, stake string
	wallet                common.Address
	// acted is set once they have pressed or typed something, and disturbed if a moderator
	// or they themselves close their request.
	acted, disturbed bool
}

// deserves reports whether the applicant has what the group requires.
func (p *applicant) deserves() bool {
	own := fmt.Sprint("did:x:", p.id)
	return p.account == own && (p.group.ID == holders || p.owner == own && (p.stake == staked || p.stake == partly))
}

// process is one bot, which dies without another call once killed is set.
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
	router *chat.Router
	people []*applicant
	// rough lets everything happen, and not just what nobody may be left out for.
	rough, restarted bool

	mu   sync.Mutex // guards live
	live []*process

	// The lock of api guards these two: who is in a group, and who typed which wallet.
	in, typed map[string]bool
}

var doorChats = []faketelegram.Chat{holdersChat, {ID: stakers, Type: "supergroup", Title: "MAT Stakers"}}

// newDoorTest makes the people, and starts one process or, by webhook, two replicas.
func newDoorTest(r *adapterTest, seed uint64) *doorTest {
	d := &doorTest{adapterTest: r, Rand: rand.New(rand.NewPCG(seed, 26)), rough: seed%2 == 0, in: map[string]bool{}, typed: map[string]bool{}}
	for _, c := range doorChats {
		r.api.GrantInvite(c.ID, true)
		r.api.SetChat(faketelegram.ChatInfo{Chat: c, JoinByRequest: true})
	}
	for i := range int64(40) {
		own := fmt.Sprint("did:x:", 1000+i)
		p := &applicant{id: 1000 + i, group: doorChats[d.IntN(2)], guarded: d.IntN(2) == 0, wallet: common.Address{byte(1 + i)}}
		p.account = d.one(own, own, own, own, nobody, failing, hanging)
		p.owner = d.one(own, own, own, "did:x:another", nobody, failing)
		p.stake = d.one(staked, staked, partly, idle, blind, failing)
		d.people = append(d.people, p)
		for _, c := range doorChats {
			r.api.Promote(c.ID, p.id, "left")
		}
	}
	d.router = joinRouter(r.T, r.adapter.Limiter, source[core.Identity, core.Account](d.accountOf), source[common.Address, core.Stake](d.stakeOf))
	r.api.Watch(d.see)
	for range d.replicas() {
		d.start()
	}
	time.Sleep(time.Second)
	return d
}

func (d *doorTest) one(of ...string) string { return of[d.IntN(len(of))] }

// replicas returns how many processes serve at a time.
func (d *doorTest) replicas() int {
	if d.adapter.Settings.WebhookURL == "" {
		return 1
	}
	return 2
}

func (d *doorTest) accountOf(ctx context.Context, id core.Identity) (core.Account, error) {
	for _, p := range d.people {
		says := p.account
		if id != core.IdentityOf(p.wallet) {
			if id.UID != fmt.Sprint(p.id) {
				continue
			}
		} else {
			says = p.owner
		}
		switch says {
		case hanging:
			<-ctx.Done()
			fallthrough
		case failing:
			return core.Account{}, partner.Service.Fail(core.Unreachable, errors.New("down"))
		}
		return core.Account{DID: says}, nil
	}
	return core.Account{}, nil
}

func (d *doorTest) stakeOf(_ context.Context, wallet common.Address) (core.Stake, error) {
	s := core.Stake{Checked: 20, Block: 1, BlockTime: time.Now()}
	for _, p := range d.people {
		if p.wallet != wallet {
			continue
		}
		if p.stake == staked || p.stake == partly {
			s.Staked = []core.PoolAmount{{Pool: core.Pool{Address: common.Address{19: 1}}, Amount: decimal.NewFromInt(1)}}
		}
		if p.stake == partly || p.stake == blind {
			s.Failed = []core.UnreadPool{{Err: partner.Service.Fail(core.SlowAnswer, nil)}}
		}
		if p.stake == failing {
			return core.Stake{}, partner.Service.Fail(core.Unreachable, errors.New("down"))
		}
	}
	return s, nil
}

// start starts a process beside those that run.
func (d *doorTest) start() {
	p := &process{adapterTest: d.again()}
	p.adapter.api = botapi.New(botapi.Config{Token: p.adapter.Settings.Token, URL: d.api.URL, Transport: p})
	p.stop = p.serve(d.router)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.live = append(d.live, p)
}

// restart ends the oldest process, by SIGKILL or by SIGTERM, and starts another one.
func (d *doorTest) restart(kill bool) {
	d.restarted = true
	d.mu.Lock()
	old := d.live[0]
	d.live = d.live[1:]
	d.mu.Unlock()
	old.killed.Store(kill)
	if kill || d.replicas() > 1 {
		go old.stop()
	} else if err := old.stop(); err != nil {
		d.Error(err)
	}
	d.start()
}

// deliver has the webhook get what is queued, a part of it twice.
func (d *doorTest) deliver() {
	if d.replicas() == 1 {
		return
	}
	for _, body := range d.api.Dequeue() {
		for range 1 + d.IntN(4)/3 {
			go d.deliverTo(d.IntN(2), body)
		}
	}
}

// deliverTo delivers an update to one replica after another, until one has taken it.
func (d *doorTest) deliverTo(replica int, body []byte) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
		d.mu.Lock()
		p := d.live[replica%len(d.live)]
		d.mu.Unlock()
		if p.deliver(body) == http.StatusOK && !p.killed.Load() {
			return
		}
		replica++
	}
}

// says has the person send a text in their private chat, as the answer to the newest
// question there if there is one.
func (d *doorTest) says(p *applicant, text string) {
	m := inPrivate(p.id, text)
	if sent := d.newest(p, func(m faketelegram.Sent) bool { return m.Markup.ForceReply }); sent.ID != 0 && !strings.HasPrefix(text, "/") {
		m = m.ReplyingTo(sent)
	}
	d.api.Change(func() { d.typed[fmt.Sprint(p.id, anyWallet.FindString(strings.ToLower(text)))] = true })
	p.acted = true
	d.api.Push(m)
	d.deliver()
}

// presses has the person press a button of a message in a chat.
func (d *doorTest) presses(p *applicant, in faketelegram.Chat, message int64, data string) {
	p.acted = true
	d.api.Press(p.id, in, message, data)
	d.deliver()
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

func (d *doorTest) asksToJoin(p *applicant) {
	d.api.RequestJoin(p.group, faketelegram.Person(p.id), p.guarded)
	d.deliver()
}

// act has one thing happen.
func (d *doorTest) act() {
	p, other := d.people[d.IntN(len(d.people))], d.people[d.IntN(len(d.people))]
	gentle, wild := 9, 18
	n := d.IntN(wild)
	if !d.rough {
		n = d.IntN(gentle)
	}
	switch n {
	default:
		d.asksToJoin(p)
	case 4, 5:
		d.says(p, p.wallet.Hex())
	case 6:
		d.fail(telegramtest.Page(502), telegramtest.Page(502).CarriedOut(), telegramtest.TooMany(time.Second), telegramtest.Hang(),
			telegramtest.Hang().CarriedOut(), telegramtest.ResetBefore(), telegramtest.Fault{DropAnswer: true})
	case 7:
		if d.IntN(4) == 0 {
			d.restart(false)
		}
	case 8:
		m := d.newest(p, func(m faketelegram.Sent) bool { return dataOf(m, "Try again") != "" })
		if m.ID != 0 && d.rough {
			d.presses(p, faketelegram.Private(p.id), m.ID, dataOf(m, "Try again"))
		}
	case 9:
		d.says(p, d.one(other.wallet.Hex(), "0x12", "x", fmt.Sprint("/start join_", other.group.ID), fmt.Sprint("/join ", other.group.ID, " ", p.wallet)))
	case 10, 15, 16, 17:
		in := []faketelegram.Chat{faketelegram.Private(p.id), faketelegram.Private(other.id), faketelegram.Private(other.id), other.group, faketelegram.Group(group)}[d.IntN(5)]
		named := d.one(fmt.Sprint("1 e 0 join ", stakers, " ", p.wallet), fmt.Sprint("1 n 0 join ", stakers, " ", p.wallet))
		d.api.Change(func() { d.typed[fmt.Sprint(p.id, strings.ToLower(p.wallet.Hex()))] = true })
		data := d.one(named, named, fmt.Sprint("1 e 0 join ", other.group.ID), fmt.Sprint("1 n 0 join ", p.group.ID), "1 e 0 join -5", "1 e 0 join", fmt.Sprint("0 e 0 join ", p.group.ID))
		d.presses(p, in, max(1, d.newest(other, func(faketelegram.Sent) bool { return true }).ID), data)
	case 11:
		p.disturbed = true
		d.api.CloseJoin(p.group.ID, p.id, []faketelegram.JoinState{faketelegram.JoinApproved, faketelegram.JoinDeclined, faketelegram.JoinWithdrawn}[d.IntN(3)])
	case 12:
		d.fail(telegramtest.Status(400), telegramtest.Status(403), telegramtest.NoRights(), telegramtest.TooMany(20*time.Second))
	case 13:
		if d.IntN(3) == 0 {
			d.restart(true)
		}
	case 14:
		for range d.IntN(200) {
			d.api.RequestJoin(holdersChat, faketelegram.Person(d.Int64N(1<<40)+10_000), d.IntN(2) == 0)
		}
		d.deliver()
	}
}

// fail has one call of a method go wrong.
func (d *doorTest) fail(with ...telegramtest.Fault) {
	method := d.one("sendMessage", "editMessageText", "approveChatJoinRequest", "answerChatJoinRequestQuery", "getChatMember", "answerCallbackQuery")
	d.api.Heal(method)
	d.api.Fail(method, with[d.IntN(len(with))])
}

// anyWallet is the wallet of one of the people.
var anyWallet = regexp.MustCompile("0x[0-2][0-9a-f]0{38}")

// see checks what somebody is shown. The lock of api is held.
func (d *doorTest) see(e faketelegram.Event) {
	var reader int64
	text := ""
	switch {
	case e.Join != nil:
		d.in[fmt.Sprint(e.Join.From.ID, e.Chat)] = e.Join.State == faketelegram.JoinApproved
	case e.Message != nil:
		reader, text = e.Message.Chat, faketelegram.Shown(e.Message.Text, e.Message.Entities, e.Message.Markup)
	case e.Notice != nil:
		reader, text = e.Notice.User, e.Notice.Text
	}
	if reader < 0 || strings.Contains(text, "did:x") {
		d.Errorf("%d is told %q", reader, text)
	}
	for _, c := range doorChats {
		if told := strings.Contains(text, "You're in: "+c.Title) || strings.Contains(text, fmt.Sprint("You're in: ", c.ID)); told && !d.in[fmt.Sprint(reader, c.ID)] {
			d.Errorf("%d is told %q and is not in", reader, text)
		}
	}
	if strings.Contains(text, "Not registered yet") && !slices.ContainsFunc(d.people, func(p *applicant) bool { return p.id == reader && p.account == nobody }) && reader < 10_000 {
		d.Errorf("%d is told %q, and nobody knows", reader, text)
	}
	for _, wallet := range anyWallet.FindAllString(strings.ToLower(text), -1) {
		if !d.typed[fmt.Sprint(reader, wallet)] {
			d.Errorf("%d is told of a wallet that they did not name: %q", reader, text)
		}
	}
}

// judge fails the test unless the door has kept its promises so far.
func (d *doorTest) judge() {
	byID := map[int64]*applicant{}
	for _, p := range d.people {
		byID[p.id] = p
	}
	for _, j := range d.api.JoinRequests() {
		p, answers := byID[j.From.ID], answersOf(j)
		if p == nil {
			p = &applicant{id: j.From.ID, group: j.Chat}
		}
		approved := slices.Contains(answers, "approve")
		again := p.acted && slices.Equal(answers, []string{"queue", "approve"}) // they have asked once more
		if len(answers) > 1 && !again || approved && (!p.deserves() || j.Chat.ID == stakers && !p.acted) {
			d.Errorf("%+v of %+v is answered with %v", j, p, answers)
		}
		mayWait := d.rough || p.disturbed || p.acted || d.restarted && p.guarded
		if !approved && p.deserves() && j.Chat.ID == holders && !mayWait {
			d.Errorf("%+v of %+v is left out", j, p)
		}
	}
	last := map[string]time.Time{}
	for _, c := range d.api.Calls("sendMessage") {
		to := string(c.Params["chat_id"])
		if c.Params["reply_parameters"] != nil || c.Fault != (telegramtest.Fault{}) {
			continue
		}
		if c.At.Sub(last[to]) < time.Minute {
			d.Errorf("%s gets two messages within %v", to, c.At.Sub(last[to]))
		}
		last[to] = c.At
	}
}

// helpThemselves has everybody whose request is open ask once more, by the link, when
// nothing fails any more. Whoever deserves it is then let in.
func (d *doorTest) helpThemselves() {
	open := func(p *applicant) bool {
		return slices.ContainsFunc(d.api.JoinRequests(), func(j faketelegram.JoinRequest) bool {
			return j.From.ID == p.id && j.State == faketelegram.JoinOpen
		})
	}
	for _, p := range d.people {
		if !open(p) {
			continue
		}
		d.says(p, fmt.Sprint("/start join_", p.group.ID))
		if time.Sleep(9 * time.Second); p.group.ID == stakers {
			d.says(p, p.wallet.Hex())
			time.Sleep(9 * time.Second)
		}
		if open(p) == p.deserves() {
			d.Errorf("%+v has an open request: %v; told %q", p, open(p), d.toldTo(p.id))
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
				for _, method := range []string{"sendMessage", "editMessageText", "approveChatJoinRequest", "answerChatJoinRequestQuery", "getChatMember", "answerCallbackQuery"} {
					d.api.Heal(method)
				}
				time.Sleep(2 * time.Minute)
				d.judge()
				d.helpThemselves()
				d.judge()
			}, []func(*Config){func(*Config) {}, byWebhook}[seed/2%2], withJoins, withStakers, paced)
		})
	}
}

func withStakers(c *Config) { c.Settings.JoinChats[stakers] = chat.Staker }
