package telegram

import (
	"context"
	"errors"
	"flag"
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

var doorRuns = flag.Uint64("door.runs", 12, "how many random runs of the door are played")

// stakers is a group for stakers. The group holders is for registered people.
const stakers = -1003

var doorChats = map[int64]faketelegram.Chat{
	holders: holdersChat,
	stakers: {ID: stakers, Type: "supergroup", Title: "MAT Stakers"},
}

func withStakers(c *Config) { c.Settings.JoinChats[stakers] = chat.Requirement{Staker: true} }

// evidence is what a service says about an applicant's account, wallet or stake.
type evidence string

const (
	// Of an account, and of the owner of a wallet.
	evidenceOwn      evidence = "theirs"
	evidenceAnothers evidence = "another's"
	evidenceNobodys  evidence = "nobody's"
	// Of a stake.
	evidenceStaked evidence = "staked"
	evidencePartly evidence = "partly" // some pools cannot be read
	evidenceIdle   evidence = "idle"
	evidenceUnread evidence = "unread" // no pool can be read
	// Of each.
	evidenceFails evidence = "failing"
	evidenceHangs evidence = "hanging"
)

// applicant is somebody who may ask to join a group.
type applicant struct {
	id, group             int64
	guarded               bool // whether Telegram queries the bot about their request
	account, owner, stake evidence
	// acted is set once they have pressed or typed something.
	acted bool
}

// wallet returns the only wallet that they name.
func (p *applicant) wallet() common.Address { return common.Address{byte(p.id)} }

// deserves reports whether they have what the group requires.
func (p *applicant) deserves() bool {
	if p.account != evidenceOwn {
		return false
	}
	stakes := p.owner == evidenceOwn && (p.stake == evidenceStaked || p.stake == evidencePartly)
	return p.group == holders || stakes
}

// process is one bot. Once it is killed, none of its calls arrives.
type process struct {
	*adapterTest
	killed atomic.Bool
	stop   func() error
}

// newProcess returns a process with the adapter of r. It does not run yet.
func newProcess(r *adapterTest) *process {
	p := &process{adapterTest: r}
	r.adapter.api = botapi.New(botapi.Config{Token: r.adapter.Settings.Token, URL: r.api.URL, Transport: p})
	return p
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
	// rough lets everything happen. Otherwise, everybody who deserves it must be let in.
	rough bool
	// restarted is set once a process was ended.
	restarted bool
	live      atomic.Pointer[[]*process]
	isIn      map[string]bool // by user and group; the lock of api guards it
}

// newDoorTest makes the people, and starts one process or, by webhook, two replicas.
func newDoorTest(r *adapterTest, seed uint64) *doorTest {
	d := &doorTest{
		adapterTest: r,
		Rand:        rand.New(rand.NewPCG(seed, 26)),
		rough:       seed%2 == 0,
		isIn:        map[string]bool{},
	}
	for id := range int64(40) {
		d.people = append(d.people, d.newApplicant(id+1))
	}
	for group, c := range doorChats {
		r.api.GrantInvite(group, true)
		r.api.SetChat(faketelegram.ChatInfo{Chat: c, JoinByRequest: true})
		for _, p := range d.people {
			r.api.Promote(group, p.id, "left")
		}
	}
	accounts := source[core.Identity, core.Account](d.accountOf)
	stakes := source[common.Address, core.Stake](d.stakeOf)
	d.router = joinRouter(r.T, accounts, stakes)
	r.api.Watch(d.see)
	d.live.Store(&[]*process{})
	for range d.replicas() {
		d.start()
	}
	time.Sleep(time.Second)
	return d
}

// newApplicant chooses what a user has. Most have an account.
func (d *doorTest) newApplicant(id int64) *applicant {
	return &applicant{
		id:      id,
		group:   pick(d, holders, int64(stakers)),
		guarded: d.IntN(2) == 0,
		account: pick(d, evidenceOwn, evidenceOwn, evidenceOwn, evidenceOwn, evidenceNobodys, evidenceFails, evidenceHangs),
		owner:   pick(d, evidenceOwn, evidenceOwn, evidenceOwn, evidenceAnothers, evidenceNobodys, evidenceFails),
		stake:   pick(d, evidenceStaked, evidenceStaked, evidencePartly, evidenceIdle, evidenceUnread, evidenceFails),
	}
}

// pick returns one of the values at random.
func pick[T any](d *doorTest, of ...T) T { return of[d.IntN(len(of))] }

// replicas returns how many processes serve at a time.
func (d *doorTest) replicas() int {
	if d.adapter.Settings.WebhookURL == "" {
		return 1
	}
	return 2
}

// accountOf is the partner's answer about a user, or about the owner of a wallet.
func (d *doorTest) accountOf(ctx context.Context, id core.Identity) (core.Account, error) {
	answer := evidenceNobodys
	var number int
	if id.Platform == "EVM" {
		number = int(common.HexToAddress(id.UID)[0])
		answer = d.people[number-1].owner
	} else if number, _ = strconv.Atoi(id.UID); number <= len(d.people) {
		answer = d.people[number-1].account
	}
	switch answer {
	case evidenceHangs:
		<-ctx.Done()
		fallthrough
	case evidenceFails:
		return core.Account{}, partner.Service.Fail(core.Unreachable, errors.New("down"))
	case evidenceNobodys:
		return core.Account{}, nil
	}
	return core.Account{DID: fmt.Sprint("did:x:", answer, number)}, nil
}

// stakeOf is the chain's answer about a wallet.
func (d *doorTest) stakeOf(_ context.Context, wallet common.Address) (core.Stake, error) {
	failed := partner.Service.Fail(core.SlowAnswer, errors.New("down"))
	stake := core.Stake{Checked: 20, BlockTime: time.Now()}
	answer := d.people[wallet[0]-1].stake
	if answer == evidenceFails {
		return stake, failed
	}
	if answer == evidenceStaked || answer == evidencePartly {
		stake.Staked = []core.PoolAmount{{Amount: decimal.NewFromInt(1)}}
	}
	if answer == evidencePartly || answer == evidenceUnread {
		stake.Failed = []core.UnreadPool{{Err: failed}}
	}
	return stake, nil
}

// start starts a process beside those that run.
func (d *doorTest) start() {
	p := newProcess(d.secondAdapter())
	p.stop = p.serve(platformtest.Routed{Router: d.router})
	live := append(slices.Clone(*d.live.Load()), p)
	d.live.Store(&live)
}

// signal ends a process.
type signal int

const (
	sigterm signal = iota
	sigkill
)

// restart ends the oldest process and starts another one. It waits for a process that ends by itself, unless another
// one serves meanwhile.
func (d *doorTest) restart(by signal) {
	d.restarted = true
	live := *d.live.Load()
	oldest, rest := live[0], live[1:]
	d.live.Store(&rest)
	oldest.killed.Store(by == sigkill)
	if by == sigkill || len(rest) > 0 {
		go oldest.stop()
	} else if err := oldest.stop(); err != nil {
		d.Error(err)
	}
	d.start()
}

// deliver posts the queued updates to a webhook, a quarter of them to both replicas.
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
		p := live[replica%len(live)]
		if p.postUpdate(body) == http.StatusOK && !p.killed.Load() {
			return
		}
		replica++
	}
}

// write makes a user write in their private chat. Text that is not a command answers the newest question there.
func (d *doorTest) write(p *applicant, text string) {
	isQuestion := func(m faketelegram.Sent) bool { return m.Markup.ForceReply }
	m := inPrivate(p.id, text)
	question := d.newestTo(p, isQuestion)
	if question.ID != 0 && text[0] != '/' {
		m = m.ReplyingTo(question)
	}
	p.acted = true
	d.api.Push(m)
}

// pressIn makes a user press a button of a message.
func (d *doorTest) pressIn(p *applicant, where faketelegram.Chat, message int64, data string) {
	p.acted = true
	d.api.Press(p.id, where, message, data)
}

// newestTo returns the newest message to a user that matches.
func (d *doorTest) newestTo(p *applicant, matches func(faketelegram.Sent) bool) (newest faketelegram.Sent) {
	for _, m := range d.api.Sent() {
		if m.Chat == p.id && matches(m) {
			newest = m
		}
	}
	return newest
}

// doorAction is one thing that happens. p acts, or is acted upon. other is anybody.
type doorAction func(d *doorTest, p, other *applicant)

// usualActions must not keep anybody out who deserves to be let in. roughActions may.
var (
	usualActions = []doorAction{
		requestJoin, requestJoin, requestJoin, requestJoin,
		sendWallet, sendWallet,
		failOneCall,
		restartByTerm,
	}
	roughActions = append(slices.Clip(usualActions),
		restartByKill,
		pressTryAgain,
		sendOddText,
		settleElsewhere,
		refuseOneCall,
		strangersAsk,
		pressForged, pressForged, pressForged, pressForged,
	)
)

func requestJoin(d *doorTest, p, _ *applicant) {
	d.api.RequestJoin(doorChats[p.group], faketelegram.Person(p.id), p.guarded)
}

func sendWallet(d *doorTest, p, _ *applicant) { d.write(p, p.wallet().Hex()) }

func failOneCall(d *doorTest, _, _ *applicant) {
	d.fail(
		telegramtest.Page(502),
		telegramtest.Page(502).CarriedOut(),
		telegramtest.TooMany(time.Second),
		telegramtest.Hang(),
		telegramtest.Hang().CarriedOut(),
		telegramtest.ResetBefore(),
		telegramtest.Fault{DropAnswer: true},
	)
}

func restartByTerm(d *doorTest, _, _ *applicant) {
	if d.IntN(4) == 0 {
		d.restart(sigterm)
	}
}

func restartByKill(d *doorTest, _, _ *applicant) {
	if d.IntN(4) == 0 {
		d.restart(sigkill)
	}
}

func pressTryAgain(d *doorTest, p, _ *applicant) {
	const label = "Try again"
	m := d.newestTo(p, func(m faketelegram.Sent) bool { return dataOf(m, label) != "" })
	if m.ID != 0 {
		d.pressIn(p, faketelegram.Private(p.id), m.ID, dataOf(m, label))
	}
}

func sendOddText(d *doorTest, p, other *applicant) {
	link := fmt.Sprint("/start join_", other.group)
	command := fmt.Sprint("/join ", other.group, " ", p.wallet())
	d.write(p, pick(d, "0x12", "x", link, command))
}

// settleElsewhere is a moderator who decides, or a user who takes their request back.
func settleElsewhere(d *doorTest, p, _ *applicant) {
	state := pick(d, faketelegram.JoinApproved, faketelegram.JoinDeclined, faketelegram.JoinWithdrawn)
	d.api.CloseJoin(p.group, p.id, state)
}

func refuseOneCall(d *doorTest, _, _ *applicant) {
	d.fail(
		telegramtest.Status(400),
		telegramtest.Status(403),
		telegramtest.NoRights(),
		telegramtest.TooMany(20*time.Second),
	)
}

// strangersAsk makes up to 200 strangers ask to join at once.
func strangersAsk(d *doorTest, _, _ *applicant) {
	for range d.IntN(200) {
		stranger := faketelegram.Person(d.Int64N(1<<40) + 10_000)
		d.api.RequestJoin(holdersChat, stranger, d.IntN(2) == 0)
	}
}

// pressForged is a press of a button that the bot did not make, often below another user's message.
func pressForged(d *doorTest, p, other *applicant) {
	where := pick(d,
		faketelegram.Private(p.id),
		faketelegram.Private(other.id),
		faketelegram.Private(other.id),
		doorChats[p.group],
		faketelegram.Group(group),
	)
	withWallet := fmt.Sprint("1 n 0 join ", stakers, " ", p.wallet())
	data := pick(d,
		withWallet,
		withWallet,
		fmt.Sprint("1 e 0 join ", other.group),
		"1 e 0 join -5",
		"1 e 0 join",
		fmt.Sprint("0 e 0 join ", p.group),
	)
	message := d.newestTo(other, func(faketelegram.Sent) bool { return true }).ID
	d.pressIn(p, where, max(1, message), data)
}

// act makes one thing happen.
func (d *doorTest) act() {
	p, other := pick(d, d.people...), pick(d, d.people...)
	actions := usualActions
	if d.rough {
		actions = roughActions
	}
	pick(d, actions...)(d, p, other)
	d.deliver()
}

// doorCalls are the methods that fail.
var doorCalls = []string{
	"sendMessage",
	"editMessageText",
	"approveChatJoinRequest",
	"answerChatJoinRequestQuery",
	"getChatMember",
	"answerCallbackQuery",
}

// fail makes the next call of one of the doorCalls fail.
func (d *doorTest) fail(faults ...telegramtest.Fault) {
	method := pick(d, doorCalls...)
	d.api.Heal(method)
	d.api.Fail(method, pick(d, faults...))
}

// walletNumber finds the IDs in the applicants' wallets.
var walletNumber = regexp.MustCompile("(?i)0x([0-2][0-9a-f])0{38}")

// see checks what Telegram shows to somebody. The lock of api is held.
func (d *doorTest) see(e faketelegram.Event) {
	switch {
	case e.Join != nil:
		d.isIn[fmt.Sprint(e.Join.From.ID, e.Chat)] = e.Join.State == faketelegram.JoinApproved
	case e.Message != nil:
		d.checkShown(e.Message.Chat, faketelegram.Shown(e.Message.Text, e.Message.Entities, e.Message.Markup))
	case e.Notice != nil:
		d.checkShown(e.Notice.User, e.Notice.Text)
	}
}

// checkShown checks a text that a reader sees. A negative reader is a group, which must not be told anything.
func (d *doorTest) checkShown(reader int64, text string) {
	wrong := reader < 0 || strings.Contains(text, "did:x")
	if reader > 0 && reader <= int64(len(d.people)) && strings.Contains(text, "Not registered yet") {
		wrong = wrong || d.people[reader-1].account != evidenceNobodys
	}
	for group, c := range doorChats {
		saysIn := strings.Contains(text, "You're in: "+c.Title)
		wrong = wrong || saysIn && !d.isIn[fmt.Sprint(reader, group)]
	}
	for _, found := range walletNumber.FindAllStringSubmatch(text, -1) {
		owner := found[1]
		wrong = wrong || owner != "00" && !strings.EqualFold(owner, fmt.Sprintf("%02x", reader))
	}
	if wrong {
		d.Errorf("%d is told %q", reader, text)
	}
}

// checkRequests checks that each request has at most one answer, and the right one.
func (d *doorTest) checkRequests() {
	for _, j := range d.api.JoinRequests() {
		p := &applicant{id: j.From.ID, group: j.Chat.ID}
		if p.id <= int64(len(d.people)) {
			p = d.people[p.id-1]
		}
		answers := answersOf(j)
		approved := slices.Contains(answers, "approve")
		// A query that was left open may be approved later, if its user acts.
		approvedLater := p.acted && slices.Equal(answers, []string{"queue", "approve"})
		if len(answers) > 1 && !approvedLater {
			d.Errorf("%+v of %+v is answered more than once: %v", j, p, answers)
		}
		provedNothing := p.group == stakers && !p.acted
		if approved && (!p.deserves() || provedNothing) {
			d.Errorf("%+v of %+v is approved", j, p)
		}
		mayBeOpen := d.rough || p.group == stakers || p.acted || d.restarted && p.guarded
		if p.deserves() && !approved && !mayBeOpen {
			d.Errorf("%+v of %+v is not approved: %v", j, p, answers)
		}
	}
}

// checkUnasked checks that nobody gets two messages within a minute without having written.
func (d *doorTest) checkUnasked() {
	last := map[string]time.Time{}
	for _, call := range d.api.Calls("sendMessage") {
		isReply := call.Params["reply_parameters"] != nil
		if isReply || call.Fault != (telegramtest.Fault{}) {
			continue
		}
		to := string(call.Params["chat_id"])
		if gap := call.At.Sub(last[to]); gap < time.Minute {
			d.Errorf("%s gets two messages within %v", to, gap)
		}
		last[to] = call.At
	}
}

// isOpen reports whether a request of a user is open.
func (d *doorTest) isOpen(p *applicant) bool {
	return slices.ContainsFunc(d.api.JoinRequests(), func(j faketelegram.JoinRequest) bool {
		return j.From.ID == p.id && j.State == faketelegram.JoinOpen
	})
}

// askAgain makes everybody whose request is open follow the link. It checks that those who deserve it are let in.
func (d *doorTest) askAgain() {
	for _, p := range d.people {
		if !d.isOpen(p) {
			continue
		}
		for _, text := range []string{fmt.Sprint("/start join_", p.group), p.wallet().Hex()} {
			d.write(p, text)
			d.deliver()
			time.Sleep(9 * time.Second)
		}
		if d.isOpen(p) == p.deserves() {
			d.Errorf("%+v has an open request: %v; told %q", p, d.isOpen(p), d.toldTo(p.id))
		}
	}
}

// Whatever fails, whoever forges and however often the bot restarts, a request has one answer, nobody is let in
// without a proof, and nobody reads anything about somebody else.
func TestTheDoorLetsInWhomItShould(t *testing.T) {
	ways := []func(*Config){func(*Config) {}, byWebhook}
	for seed := range *doorRuns {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			way := ways[seed/2%2]
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
				d.checkRequests()
				d.checkUnasked()
				d.askAgain()
				d.checkRequests()
				d.checkUnasked()
			}, way, withJoins, withStakers, paced)
		})
	}
}
