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

// person is somebody with one account and two wallets.
type person struct {
	w        *world
	name     string
	platform string // discord or telegram
	id       string // on the platform
	did      string // at the partner
	wallets  [2]common.Address

	// mu guards the fields below.
	mu      sync.Mutex
	in      map[string]bool // the communities that they are in
	unseen  map[string]bool // the communities that they entered, and have not sent a command in since
	pressed bool            // whether they ever pressed the button
	// saved lists the presses since the last /forget, oldest first. The judge needs the earlier ones for
	// the times before the last. If sure is true, the last wallet is saved, or none if the list is empty.
	saved []savedWallet
	sure  bool
	cards [2]*card // the latest card with a button to save, by wallet

	actionsInFlight int // presses and /forget that have begun and not ended
	actionsBegun    int // presses and /forget that have ever begun
}

// savedWallet is a wallet and the time of the press that saves it.
type savedWallet struct {
	wallet      common.Address
	from        time.Time
	unconfirmed bool // The press may have failed, so that the previous wallet is still saved.
}

// addPerson adds person i, who stakes nothing.
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

// do runs a press or a /forget of the person. It reports whether no other press or /forget of theirs
// overlapped with it: only then is it certain which of them the bot carried out last.
func (p *person) do(action func()) (alone bool) {
	p.mu.Lock()
	p.actionsBegun++
	number := p.actionsBegun
	overlapsEarlier := p.actionsInFlight > 0
	p.actionsInFlight++
	p.mu.Unlock()
	action()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.actionsInFlight--
	overlapsLater := p.actionsBegun > number
	return !overlapsEarlier && !overlapsLater
}

// command sends a command in a community, or in private if community is "". It blocks until there is an
// answer, or until the bot can no longer give one.
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

// showUp sends a command in a community, so that the bot sees that the person is there.
func (p *person) showUp(community string) {
	_, answered := p.command(community, "help", "")
	p.w.note("%s: /help in %s, answered %t", p.name, community, answered)
	if answered && p.w.faultOf(community) == "" {
		p.mu.Lock()
		p.unseen[community] = false
		p.mu.Unlock()
	}
}

// verify asks for the card of a wallet, and keeps it if it has a button to save.
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

// press presses the button of the latest card of a wallet, if there is one. It reports whether the
// answer says that the wallet is saved.
func (p *person) press(wallet int) (isSaved bool) {
	address := p.wallets[wallet]
	c := p.beginPress(wallet)
	if c == nil {
		return false
	}
	var answer *card
	var answered bool
	alone := p.do(func() {
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

// beginPress notes that the wallet of the latest card may be saved from now on, and returns the card, or
// nil if there is none.
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

// confirm notes that the last press saved a wallet, if it was a press for that wallet.
func (p *person) confirm(wallet common.Address) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.saved) - 1
	if last >= 0 && p.saved[last].wallet == wallet {
		p.saved[last].unconfirmed = false
		p.sure = true
	}
}

// forget sends /forget. It fails the test if the bot then answers, and a wallet of theirs is in the store.
func (p *person) forget(community string) {
	var answered bool
	p.mu.Lock()
	p.sure = false
	p.mu.Unlock()
	alone := p.do(func() { _, answered = p.command(community, "forget", "") })
	ended := time.Now()
	p.w.note("%s: /forget, answered %t", p.name, answered)
	if answered && alone && p.w.faultOf("store") == "" {
		p.mu.Lock()
		// A press may have begun after the answer. Its wallet stays in the list.
		p.saved = slices.DeleteFunc(p.saved, func(s savedWallet) bool { return s.from.Before(ended) })
		p.sure = len(p.saved) == 0
		p.mu.Unlock()
		p.w.judge.forgotten(p.w, p)
	}
}

// wallet returns the saved wallet, or nil if none is saved. If sure is false, that is unknown.
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
