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

// People ask to join, write, and press buttons, at random. Whatever fails, whoever forges and however often the bot
// restarts, a join request has one answer, nobody is let in without a proof, and nobody reads anything about somebody
// else. .ci/nightly plays more runs.
func TestTheDoorLetsInWhomItShould(t *testing.T) {
	ways := []func(*Config){func(*Config) {}, byWebhook}
	for seed := range *doorRuns {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			way := ways[seed/2%2] // Every way gets both odd and even seeds: see rough.
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

// evidence is what a service says about an applicant's account, wallet or stake.
type evidence string

// The partner says whose an account or a wallet is.
const (
	evidenceOwn      evidence = "theirs"
	evidenceAnothers evidence = "another's"
	evidenceNobodys  evidence = "nobody's"
)

// The chain says what a wallet stakes.
const (
	evidenceStaked evidence = "staked"
	evidencePartly evidence = "partly" // staked, but some pools cannot be read
	evidenceIdle   evidence = "idle"   // nothing is staked
	evidenceUnread evidence = "unread" // no pool can be read
)

// Either service may not answer.
const (
	evidenceFails evidence = "failing"
	evidenceHangs evidence = "hanging"
)

// applicant is somebody who may ask to join a group.
type applicant struct {
	id, group int64
	guarded   bool     // whether Telegram sends the bot a query about their request
	account   evidence // whether they have an account
	owner     evidence // who owns their wallet
	stake     evidence // what their wallet stakes
	acted     bool     // whether they have pressed or typed something
}

// wallet returns the only wallet that they name.
func (p *applicant) wallet() common.Address { return common.Address{byte(p.id)} }

// deserves reports whether they have what the group requires.
func (p *applicant) deserves() bool {
	isRegistered := p.account == evidenceOwn
	if p.group == holders {
		return isRegistered
	}
	ownsWallet := p.owner == evidenceOwn
	stakes := p.stake == evidenceStaked || p.stake == evidencePartly
	return isRegistered && ownsWallet && stakes
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

// doorTest is one run of the test: people who ask to join, and the processes that answer.
type doorTest struct {
	*adapterTest
	*rand.Rand
	router *router.Router
	people []*applicant
	// rough selects roughActions. They may keep people out who deserve to be let in; usualActions must not.
	rough bool
	// restarted is set once a process has been ended.
	restarted bool
	// live holds the processes that serve, the oldest first.
	live atomic.Pointer[[]*process]
	// isIn has the users who are in a group, by membershipKey. The lock of api guards it.
	isIn map[string]bool
}

func membershipKey(user, group int64) string { return fmt.Sprint(user, " ", group) }

// newDoorTest chooses the people, and starts one process or, by webhook, two replicas.
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
	number, answer := d.evidenceOf(id)
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

// evidenceOf returns the number of the applicant whose ID or wallet id is, and what the partner says about it.
// Strangers have no account.
func (d *doorTest) evidenceOf(id core.Identity) (number int, answer evidence) {
	if id.Platform == "EVM" {
		number = int(common.HexToAddress(id.UID)[0])
		return number, d.people[number-1].owner
	}
	number, _ = strconv.Atoi(id.UID)
	if number > len(d.people) {
		return number, evidenceNobodys
	}
	return number, d.people[number-1].account
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

// restart ends the oldest process and starts another one. If no other process serves, it waits first until a process
// that gets a SIGTERM has ended.
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

// deliver delivers the queued updates to the replicas' webhooks, a quarter of them twice. A single process polls them.
func (d *doorTest) deliver() {
	for d.replicas() == 2 && len(d.api.Pending()) > 0 {
		for _, body := range d.api.Dequeue() {
			deliveries := pick(d, 1, 1, 1, 2)
			for range deliveries {
				go d.deliverTo(d.IntN(2), body)
			}
		}
	}
}

// deliverTo delivers an update to one replica after another, beginning with the given one, until one has taken it.
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

// An action is chosen at random. One that is listed several times happens more often.
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

// settleElsewhere makes a moderator decide a request, or its user take it back.
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

// pressForged makes a user press a button that the bot did not make, often below another user's message.
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

// fail makes the next call of one of the doorCalls fail with one of the faults.
func (d *doorTest) fail(faults ...telegramtest.Fault) {
	method := pick(d, doorCalls...)
	d.api.Heal(method)
	d.api.Fail(method, pick(d, faults...))
}

// see notes who is in a group, and checks what Telegram shows to somebody. The lock of api is held.
func (d *doorTest) see(e faketelegram.Event) {
	switch {
	case e.Join != nil:
		d.isIn[membershipKey(e.Join.From.ID, e.Chat)] = e.Join.State == faketelegram.JoinApproved
	case e.Message != nil:
		d.checkShown(e.Message.Chat, faketelegram.Shown(e.Message.Text, e.Message.Entities, e.Message.Markup))
	case e.Notice != nil:
		d.checkShown(e.Notice.User, e.Notice.Text)
	}
}

// checkShown checks a text that a reader sees. A negative reader is a group, which must not be told anything.
func (d *doorTest) checkShown(reader int64, text string) {
	isGroup := reader < 0
	showsAccount := strings.Contains(text, "did:x")
	if isGroup || showsAccount || d.deniesAccount(reader, text) || d.saysInWrongly(reader, text) ||
		showsOthersWallet(reader, text) {
		d.Errorf("%d is told %q", reader, text)
	}
}

// deniesAccount reports whether an applicant is told that they have no account although they may have one.
func (d *doorTest) deniesAccount(reader int64, text string) bool {
	isApplicant := reader > 0 && reader <= int64(len(d.people))
	if !isApplicant || !strings.Contains(text, "Not registered yet") {
		return false
	}
	return d.people[reader-1].account != evidenceNobodys
}

// saysInWrongly reports whether a user is told that they are in a group where they are not.
func (d *doorTest) saysInWrongly(reader int64, text string) bool {
	for group, c := range doorChats {
		saysIn := strings.Contains(text, "You're in: "+c.Title)
		if saysIn && !d.isIn[membershipKey(reader, group)] {
			return true
		}
	}
	return false
}

// walletNumber finds the IDs in the applicants' wallets.
var walletNumber = regexp.MustCompile("(?i)0x([0-2][0-9a-f])0{38}")

// showsOthersWallet reports whether a user reads the wallet of another applicant.
func showsOthersWallet(reader int64, text string) bool {
	for _, found := range walletNumber.FindAllStringSubmatch(text, -1) {
		owner := found[1]
		isApplicants := owner != "00"
		if isApplicants && !strings.EqualFold(owner, fmt.Sprintf("%02x", reader)) {
			return true
		}
	}
	return false
}

// checkRequests checks that each join request has at most one answer, and the right one.
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
		queryMayBeLost := d.restarted && p.guarded
		mayBeOpen := d.rough || p.group == stakers || p.acted || queryMayBeLost
		if p.deserves() && !approved && !mayBeOpen {
			d.Errorf("%+v of %+v is not approved: %v", j, p, answers)
		}
	}
}

// checkUnasked checks that nobody gets two messages within a minute, apart from replies to what they wrote.
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

// askAgain makes everybody whose request is open follow the link in the bot's messages, and send their wallet. It
// checks that those who deserve it are let in, and nobody else.
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
		isLetIn := !d.isOpen(p)
		if isLetIn != p.deserves() {
			d.Errorf("%+v is let in: %v; told %q", p, isLetIn, d.toldTo(p.id))
		}
	}
}
