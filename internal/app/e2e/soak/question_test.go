//go:build soak

package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/sandbox"
)

// badWord is a word of every malformed input; no answer and no log line may
// repeat it.
const badWord = "zqxtyped"

// asker is somebody in the chats.
type asker struct {
	uid       string
	moderator bool // of the moderated groups
	operator  bool
	// unreachable is one whom a Telegram bot may not write to.
	unreachable bool
	// anonymous speaks in the name of a group.
	anonymous bool
}

// question is one command and what may be answered to it.
type question struct {
	asker   asker
	command string
	words   []string // arguments as they are typed
	names   []string // and what Discord calls them
	target  string   // the person replied to or picked
	group   bool
	// moderated is a group in which moderators are.
	moderated bool
	private   bool
	// refusals are the titles of which one is due; none is an answer that is
	// due.
	refusals []string
	// services means that it asks a service, rights that it asks the platform
	// for the asker's rights; each may fail.
	services, rights bool
	// check judges an answer that is no refusal.
	check func(lines []string) (verdict, error)

	asked time.Time
}

// String is the question as a person would repeat it.
func (q *question) String() string {
	return fmt.Sprintf("/%s %s by %+v about %q, group %v", q.command, strings.Join(q.words, " "), q.asker, q.target, q.group)
}

const (
	titleWallet    = "Check the wallet address"
	titleAsk       = "Which wallet?"
	titlePeriod    = "Check the period"
	titlePlatform  = "Check the platform"
	titleID        = "Check the ID"
	titleTooMuch   = "Check what you typed"
	titleForbidden = "For moderators only"
	titleUnknown   = "Unknown command"
)

// titles are all of refusals.
var titles = []string{titleWallet, titleAsk, titlePeriod, titlePlatform, titleID, titleTooMuch, titleForbidden, titleUnknown}

// askers are those of one platform: the three of the sandbox, and others who
// are registered nowhere.
func askers(w sandbox.World, platform string) []asker {
	all := []asker{
		{uid: w.Registered.UID(platform)},
		{uid: w.Newcomer.UID(platform), moderator: true},
		{uid: w.Unregistered.UID(platform)},
		{uid: operatorUID, operator: true},
	}
	for i := range 12 {
		all = append(all, asker{uid: fmt.Sprint(7100000000 + i), moderator: i%2 == 0})
	}
	if platform == "Telegram" {
		all = append(all, asker{anonymous: true, moderator: true}, asker{uid: "7200000001", unreachable: true})
	}
	return all
}

const operatorUID = "7300000001"

// generator makes the questions of one platform.
type generator struct {
	*rand.Rand
	truth
	platform string
	askers   []asker
}

func newQuestions(w sandbox.World, platform string, seed, stream uint64) *generator {
	return &generator{rand.New(rand.NewPCG(seed, stream)), newTruth(w), platform, askers(w, platform)}
}

// next is a random question in a random place.
func (s *generator) next() *question {
	q := &question{asker: s.askers[s.IntN(len(s.askers))], group: s.IntN(4) > 0, moderated: s.IntN(2) == 0}
	if s.IntN(3) == 0 { // those with something to tell ask most
		q.asker = s.askers[s.IntN(3)]
	}
	if q.asker.anonymous || q.asker.unreachable {
		q.group = true
	}
	kinds := []struct {
		weight int
		make   func(*question)
	}{
		{15, s.askPrice}, {15, s.askSupply}, {30, s.askStake}, {8, s.askBadStake}, {12, s.askLogins},
		{8, s.askSelf}, {8, s.askPerson}, {10, s.askAccount}, {5, s.askBadAccount}, {3, s.askHelp},
		{3, s.askStatus}, {3, s.askUnknown}, {3, s.askWrongly}, {8, s.askVerify}, {4, s.askVerifyPerson},
	}
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	n := s.IntN(total)
	for _, k := range kinds {
		if n -= k.weight; n < 0 {
			k.make(q)
			break
		}
	}
	return q
}

func (s *generator) askPrice(q *question) {
	q.command, q.services, q.check = "price", true, s.checkPrice
}

func (s *generator) askSupply(q *question) {
	q.command, q.services, q.check = "supply", true, s.checkSupply
}

func (s *generator) askHelp(q *question) { q.command, q.check = "help", checkHelp }

func (s *generator) askStatus(q *question) {
	q.command, q.services, q.check = "status", true, checkStatus
}

func (s *generator) askStake(q *question) {
	wallet := s.World.Staker
	switch s.IntN(3) {
	case 0:
		wallet = s.World.Idle
	case 1:
		wallet = common.BigToAddress(common.Big1)
		wallet[3] = byte(s.IntN(256))
	}
	text := wallet.Hex()
	if s.IntN(3) == 0 {
		text = strings.ToLower(text)
	}
	q.command, q.words, q.names, q.services = "staked", []string{text}, []string{"wallet"}, true
	q.check = func(lines []string) (verdict, error) { return s.checkStake(wallet, lines) }
}

func (s *generator) askBadStake(q *question) {
	hex := s.World.Staker.Hex()
	swapped := []byte(hex)
	for i := len(swapped) - 1; i > 1; i-- {
		if letter := swapped[i] | 0x20; letter >= 'a' && letter <= 'f' {
			swapped[i] ^= 0x20
			break
		}
	}
	bad := []string{
		badWord, "0x12", badWord + ".eth", hex[2:], string(swapped), hex[:41] + "g", "\u202e" + hex,
		strings.Repeat("9", 3000), "<@1>@everyone" + badWord, "0x" + strings.Repeat("𝟘", 40), "\x00" + badWord,
	}
	q.command, q.words, q.names = "staked", []string{bad[s.IntN(len(bad))]}, []string{"wallet"}
	q.refusals = []string{titleWallet}
}

// askWrongly leaves out what is needed, or gives too much of it or another.
func (s *generator) askWrongly(q *question) {
	switch s.IntN(3) {
	case 0:
		q.command, q.refusals = "staked", []string{titleAsk}
	case 1:
		q.command, q.words, q.names, q.refusals = "price", []string{badWord}, []string{"period"}, []string{titlePeriod}
	case 2:
		q.command, q.words, q.names, q.refusals = "supply", []string{badWord}, []string{"when"}, []string{titleTooMuch}
	}
}

// askUnknown asks in private on Telegram: in a group the command may be another
// bot's, and there is no answer.
func (s *generator) askUnknown(q *question) {
	q.command, q.private, q.refusals = badWord, s.platform == "Discord", []string{titleUnknown}
	if s.platform == "Telegram" {
		q.group, q.asker = false, s.askers[0]
	}
}

func (s *generator) askLogins(q *question) {
	q.command, q.private, q.services = "mylogins", true, true
	q.check = func(lines []string) (verdict, error) { return s.checkLogins(s.platform, q.asker.uid, lines) }
}

func (s *generator) askSelf(q *question) {
	s.exists(q, "Your", core.Identity{Platform: s.platform, UID: q.asker.uid})
}

// exists asks about "Your" account or "This" one.
func (s *generator) exists(q *question, whose string, id core.Identity) {
	q.command, q.private, q.services = "exists", true, true
	q.check = func(lines []string) (verdict, error) { return s.checkExists(whose, id, lines) }
}

// askVerify asks whether a wallet is one's own.
func (s *generator) askVerify(q *question) {
	s.verify(q, "yours", core.Identity{Platform: s.platform, UID: q.asker.uid})
}

func (s *generator) verify(q *question, whose string, id core.Identity) {
	wallet := []common.Address{s.World.Staker, s.World.Idle, common.BigToAddress(common.Big1)}[s.IntN(3)]
	q.command, q.private, q.services = "verify", true, true
	q.words, q.names = []string{wallet.Hex()}, []string{"wallet"}
	q.check = func(lines []string) (verdict, error) { return s.checkVerify(whose, id, wallet, lines) }
}

// askVerifyPerson asks about another by reply or by pick.
func (s *generator) askVerifyPerson(q *question) {
	q.target = s.another(q)
	s.verify(q, "theirs", core.Identity{Platform: s.platform, UID: q.target})
	s.asModerator(q)
}

// another is somebody but the asker.
func (s *generator) another(q *question) string {
	uid := q.asker.uid
	for uid == q.asker.uid || uid == "" {
		uid = s.askers[s.IntN(len(s.askers))].uid
	}
	return uid
}

// askPerson asks about another by reply, by pick or by ID.
func (s *generator) askPerson(q *question) {
	uid := s.another(q)
	s.exists(q, "This", core.Identity{Platform: s.platform, UID: uid})
	if q.target = uid; s.platform == "Telegram" && s.IntN(2) == 0 {
		q.target, q.words = "", []string{uid}
	}
	s.asModerator(q)
}

// askAccount asks by platform and ID, of which some try to become markup.
func (s *generator) askAccount(q *question) {
	accounts := slices.Concat(s.World.Registered.Accounts, s.World.Newcomer.Accounts, s.World.Unregistered.Accounts,
		[]core.Identity{
			{Platform: "Email", UID: "@everyone"}, {Platform: "Email", UID: "<@700000000000000001>"},
			{Platform: "Email", UID: "**x**[y](https://z.example)"}, {Platform: "Email", UID: "`/price`"},
			{Platform: "YouTube", UID: "70001"}, {Platform: "Telegram", UID: "1"},
		})
	id := accounts[s.IntN(len(accounts))]
	platform := id.Platform
	if s.IntN(2) == 0 {
		platform = strings.ToLower(platform)
	}
	s.exists(q, "This", id)
	q.words, q.names = []string{platform, id.UID}, []string{"platform", "uid"}
	s.asModerator(q)
}

func (s *generator) askBadAccount(q *question) {
	bad := [][]string{{"moon", badWord}, {"Telegram", badWord}, {"EVM", "0x12"}, {"BTC", "0x1"}}
	q.command, q.private = "exists", true
	q.words, q.names = bad[s.IntN(len(bad))], []string{"platform", "uid"}
	// Rights may be asked for first, or the input looked at.
	q.refusals = []string{titleID}
	if q.words[0] == "moon" {
		q.refusals = []string{titlePlatform}
	}
	if !s.moderates(q) {
		q.refusals = append(q.refusals, titleForbidden)
	}
	q.rights = s.asksRights(q)
}

// asModerator makes q one that only moderators may ask.
func (s *generator) asModerator(q *question) {
	q.rights = s.asksRights(q)
	if !s.moderates(q) {
		q.services, q.refusals = false, []string{titleForbidden}
	}
}

func (s *generator) moderates(q *question) bool {
	return q.asker.operator || q.asker.moderator && q.group && q.moderated
}

// asksRights reports whether the platform has to be asked: Discord says with
// each command what its sender may do.
func (s *generator) asksRights(q *question) bool {
	return s.platform == "Telegram" && q.group && !q.asker.operator
}
