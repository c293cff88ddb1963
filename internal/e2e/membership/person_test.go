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
	w                  *world
	name, platform, id string
	did                string
	wallets            [2]common.Address

	mu      sync.Mutex
	in      map[string]bool // the communities that they are in
	away    map[string]bool // the communities that they entered, and have not sent a command in since
	pressed bool            // whether they ever pressed the button
	// saved lists the wallets that may be saved. If sure is true, exactly the last of them is saved, or
	// none if the list is empty.
	saved []saved
	sure  bool
	cards [2]*card // the latest card with a button to save, by wallet
	// active is how many actions of theirs are in flight, and begun how many began so far.
	active, begun int
}

// saved is a wallet that was saved at a time. If maybe is true, the previous wallet may still be saved
// instead.
type saved struct {
	wallet common.Address
	from   time.Time
	maybe  bool
}

// addPerson adds person i, who stakes nothing.
func (w *world) addPerson(i int) {
	p := &person{
		w:        w,
		platform: "discord",
		id:       strconv.Itoa(700000000000000100 + i),
		in:       map[string]bool{},
		away:     map[string]bool{},
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
			p.away[c] = false
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
	p.away[community] = true
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

// do runs an action of the person. It reports whether no other action of theirs overlapped with it.
func (p *person) do(action func()) (alone bool) {
	p.mu.Lock()
	p.active++
	p.begun++
	number := p.begun
	othersInFlight := p.active > 1
	p.mu.Unlock()
	action()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active--
	return !othersInFlight && p.begun == number
}

// command sends a command in a community, or in private if community is "". It blocks until the answer,
// and returns it.
func (p *person) command(community, name, argument string) (*card, bool) {
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

// returns sends a command in a community, so that the bot sees that the person is there.
func (p *person) returns(community string) {
	_, answered := p.command(community, "help", "")
	p.w.note("%s: /help in %s, answered %t", p.name, community, answered)
	if answered && p.w.faultOf(community) == "" {
		p.mu.Lock()
		p.away[community] = false
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
	p.mu.Lock()
	c := p.cards[wallet]
	p.mu.Unlock()
	if c == nil {
		return false
	}
	address := p.wallets[wallet]
	p.mu.Lock()
	p.pressed = true
	p.saved = append(p.saved, saved{wallet: address, from: time.Now(), maybe: true})
	p.sure = false
	p.mu.Unlock()
	var answer *card
	var answered bool
	state := c.button("save", address.Hex())
	alone := p.do(func() {
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
		p.mu.Lock()
		last := len(p.saved) - 1
		if last >= 0 && p.saved[last].wallet == address {
			p.saved[last].maybe = false
			p.sure = true
		}
		p.mu.Unlock()
	}
	return isSaved
}

// forget sends /forget. Once it is answered, no wallet of theirs may be in the store.
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
		// A press may have begun since.
		p.saved = slices.DeleteFunc(p.saved, func(s saved) bool { return s.from.Before(ended) })
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
	return &p.saved[len(p.saved)-1].wallet, true
}
