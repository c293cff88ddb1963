package membership

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/service/staking/evmabi"
)

// person is somebody with one account and two wallets. The test notes what they do, and so what the bot must
// have saved about them.
type person struct {
	w        *world
	name     string // in the events and failures of the world
	platform string // "discord" or "telegram"
	id       string // on the platform
	did      string // at the partner
	wallets  [2]common.Address

	// mu guards the fields below.
	mu      sync.Mutex
	in      map[string]bool // the communities that they are in
	unseen  map[string]bool // the communities that they entered, and have not sent a command in since
	pressed bool            // whether they ever pressed a button to save a wallet
	// saved lists the presses since the last /forget, oldest first. The judge needs the earlier ones for
	// the times before the last press.
	saved []savedWallet
	// sure is whether it is known what the bot has saved: the last wallet of saved, or none if saved is empty.
	sure  bool
	cards [2]*card // the latest card with a button to save, by wallet

	actionsInFlight int // presses and /forget that have begun and not ended
	actionsBegun    int // presses and /forget that have ever begun
}

// savedWallet is a wallet and the time of the press that saves it.
type savedWallet struct {
	wallet      common.Address
	from        time.Time
	unconfirmed bool // The press may have failed, so that the previous wallet may still be saved.
}

// addPerson adds person i, who stakes nothing. People with an even i are on Discord, the others on Telegram.
func (w *world) addPerson(i int) {
	p := &person{
		w:        w,
		platform: "discord",
		id:       strconv.Itoa(700000000000000100 + i),
		in:       map[string]bool{},
		unseen:   map[string]bool{},
		sure:     true,
	}
	if i%2 == 1 {
		p.platform = "telegram"
		p.id = strconv.Itoa(7000000100 + i)
	}
	p.name = fmt.Sprintf("%s %d", p.platform, i)
	p.did = fmt.Sprintf("did:herald:%012x", 0xabc000+i)
	for k := range p.wallets {
		hash := evmabi.Keccak256(fmt.Sprint("wallet ", i, " ", k))
		p.wallets[k] = common.BytesToAddress(hash[:20])
	}
	w.people = append(w.people, p)
	for _, c := range communities {
		if isGroup(c) == (p.platform == "telegram") {
			p.enter(c)
			p.unseen[c] = false
		}
	}
	if p.platform == "telegram" {
		w.telegram.Start(number(p.id))
		w.telegram.SetUser(faketelegram.Person(number(p.id)))
	}
}

// home returns the first (0) or the second (1) community of the person's platform.
func (p *person) home(i int) string {
	if p.platform == "telegram" {
		return []string{groupA, groupB}[i]
	}
	return []string{serverA, serverB}[i]
}

// enter makes the person a member of a community.
func (p *person) enter(community string) {
	p.mu.Lock()
	p.in[community] = true
	p.unseen[community] = true
	p.mu.Unlock()
	if isGroup(community) {
		p.w.telegram.Promote(number(community), number(p.id), "member")
	} else {
		p.w.discord.Enter(community, p.id)
	}
}

// leave ends the person's membership of a community.
func (p *person) leave(community string) {
	p.mu.Lock()
	p.in[community] = false
	p.mu.Unlock()
	if isGroup(community) {
		p.w.telegram.Promote(number(community), number(p.id), "left")
	} else {
		p.w.discord.Leave(community, p.id)
	}
	p.w.judge.forget(p, community)
}

// badgesIn returns the badges that the person has in a community, sorted.
func (p *person) badgesIn(community string) (ids []string) {
	if isGroup(community) {
		if tag := p.w.telegram.Tag(number(community), number(p.id)); tag != "" {
			ids = []string{tag}
		}
		return ids
	}
	for _, role := range roles {
		if p.w.discord.HasRole(community, p.id, role) {
			ids = append(ids, role)
		}
	}
	return ids
}

// act runs a press or a /forget of the person. It reports whether no other press or /forget of theirs
// overlapped with it. If one did, it is not known which of them the bot carried out last.
func (p *person) act(action func()) (alone bool) {
	p.mu.Lock()
	p.actionsBegun++
	nth := p.actionsBegun
	overlapsEarlier := p.actionsInFlight > 0
	p.actionsInFlight++
	p.mu.Unlock()
	action()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.actionsInFlight--
	overlapsLater := p.actionsBegun > nth
	return !overlapsEarlier && !overlapsLater
}

// command sends a command in a community, or in private if community is "". It blocks until there is an
// answer, for at most answerTime.
func (p *person) command(community, name, argument string) (answer *card, answered bool) {
	if p.platform == "telegram" {
		text := "/" + name
		if community != "" {
			text += "@" + faketelegram.Username
		}
		if argument != "" {
			text += " " + argument
		}
		return p.w.commandOnTelegram(p, community, text)
	}
	options := map[string]string{}
	if argument != "" {
		options["wallet"] = argument
	}
	return p.w.commandOnDiscord(p, community, name, options)
}

// showUp sends /help in a community, so that the bot sees the person there.
func (p *person) showUp(community string) {
	_, answered := p.command(community, "help", "")
	p.w.note("%s: /help in %s, answered %t", p.name, community, answered)
	if answered && p.w.faultOf(community) == works {
		p.mu.Lock()
		p.unseen[community] = false
		p.mu.Unlock()
	}
}

// verify asks for the card of a wallet with /verify, and keeps the card if it has a button to save the wallet.
func (p *person) verify(community string, wallet int) {
	if p.platform == "telegram" {
		community = "" // The answer would come in private anyway.
	}
	c, answered := p.command(community, "verify", p.wallets[wallet].Hex())
	if answered && c.button("save", p.wallets[wallet].Hex()) != "" {
		p.mu.Lock()
		p.cards[wallet] = c
		p.mu.Unlock()
	}
	p.w.note("%s: /verify wallet %d in %q, answered %t", p.name, wallet, community, answered)
}

// press presses the button to save a wallet below its latest card, if there is a card. It reports whether
// the answer says that the wallet is saved.
func (p *person) press(wallet int) (isSaved bool) {
	address := p.wallets[wallet]
	c := p.beginPress(wallet)
	if c == nil {
		return false
	}
	var answer *card
	var answered bool
	alone := p.act(func() {
		state := c.button("save", address.Hex())
		if p.platform == "telegram" {
			answer, answered = p.w.pressOnTelegram(p, c, state)
		} else {
			answer, answered = p.w.pressOnDiscord(p, c, state)
		}
	})
	isSaved = answered && answer.button("forget") != ""
	p.w.note("%s: presses save of wallet %d, answered %t, saved %t", p.name, wallet, answered, isSaved)
	if answered && !isSaved {
		p.w.note("  %.100q", answer.text)
	}
	if isSaved && alone {
		p.confirm(address)
	}
	return isSaved
}

// beginPress returns the latest card of a wallet, or nil. If there is a card, it notes that the wallet may be
// saved from now on.
func (p *person) beginPress(wallet int) *card {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cards[wallet] == nil {
		return nil
	}
	p.pressed = true
	p.saved = append(p.saved, savedWallet{wallet: p.wallets[wallet], from: time.Now(), unconfirmed: true})
	p.sure = false
	return p.cards[wallet]
}

// confirm notes that a press for a wallet succeeded, if no press for the other wallet has begun since.
func (p *person) confirm(wallet common.Address) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.saved) == 0 {
		return
	}
	last := &p.saved[len(p.saved)-1]
	if last.wallet == wallet {
		last.unconfirmed = false
		p.sure = true
	}
}

// forget sends /forget. If the bot answers, it must have deleted the person's wallets from the store.
func (p *person) forget(community string) {
	var answered bool
	p.mu.Lock()
	p.sure = false
	p.mu.Unlock()
	alone := p.act(func() { _, answered = p.command(community, "forget", "") })
	ended := time.Now()
	p.w.note("%s: /forget, answered %t", p.name, answered)
	if answered && alone && p.w.faultOf("store") == works {
		p.mu.Lock()
		// A press may have begun after the answer. Its wallet stays in the list.
		p.saved = slices.DeleteFunc(p.saved, func(s savedWallet) bool { return s.from.Before(ended) })
		p.sure = len(p.saved) == 0
		p.mu.Unlock()
		p.w.judgeForgotten(p)
	}
}

// wallet returns the wallet that the bot must have saved, or nil if it must have saved none. If sure is
// false, that is unknown.
func (p *person) wallet() (wallet *common.Address, sure bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.sure {
		return nil, false
	}
	if len(p.saved) == 0 {
		return nil, true
	}
	last := p.saved[len(p.saved)-1]
	return &last.wallet, true
}
