package membership

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// save has a person save a wallet, which must succeed.
func (p *person) save(wallet int) {
	p.w.Helper()
	p.verify("", wallet)
	if !p.press(wallet) {
		p.w.fail("%s could not save wallet %d", p.name, wallet)
	}
}

// allSave has everybody save their first wallet, which stakes.
func (w *world) allSave() {
	w.Helper()
	for _, p := range w.people {
		w.setStake(p.wallets[0], plenty)
	}
	for _, p := range w.people {
		p.save(0)
		w.wait(2 * time.Second) // not a rush, which has a bound of its own
	}
}

// saysSaved reports whether the bot tells a person that an address of theirs is saved.
func (p *person) saysSaved() bool {
	c, answered := p.command("", "verify", "")
	if !answered {
		p.w.fail("%s: /verify is not answered", p.name)
	}
	return c.button("forget") != ""
}

// mustHave fails unless a person has this badge in a community, or none with "".
func (p *person) mustHave(community, id string) {
	p.w.Helper()
	if has := strings.Join(p.has(community), " "); has != id {
		p.w.fail("%s has %q in %s, not %q", p.name, has, community, id)
	}
}

// consistent fails unless a person has each badge if, and only if, the bot says that an
// address of theirs is saved.
func (w *world) consistent(p *person) {
	w.Helper()
	id := ""
	if p.saysSaved() {
		id = w.settings.badges[p.home(0)][0].id
	}
	for i := range 2 {
		p.mustHave(p.home(i), id)
	}
}

func TestCommunityThatRefusesChangesNothingInOthers(t *testing.T) {
	for _, f := range []fault{lostRight, thrownOut, gone, limited} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			play(t, 1, options{people: 12, plain: true}, func(w *world) {
				w.serveAll(1)
				w.broken = serverA
				w.allSave()
				w.set(serverA, f)
				w.set(groupA, f)
				w.wait(w.settings.every)
				discord, telegram := w.people[0], w.people[1]
				w.setStake(discord.wallets[0], 0)
				w.setStake(telegram.wallets[0], 0)
				w.people[2].forget("")
				w.people[3].forget("")
				w.people[4].forget("")
				w.people[4].save(0)
				w.wait(2*w.settings.every + time.Hour + 10*minute)
				for _, p := range w.people {
					id := w.settings.badges[p.home(1)][0].id
					if p == discord || p == telegram || p == w.people[2] || p == w.people[3] {
						id = ""
					}
					p.mustHave(p.home(1), id)
				}
				if f == gone && w.storesID(w.people[2]) {
					w.fail("who is forgotten is still stored, though nothing is left to take")
				}
			})
		})
	}
}

func TestRushOnCommunityThatRefusesLeavesCallsForOthers(t *testing.T) {
	play(t, 1, options{people: 80, plain: true}, func(w *world) {
		w.serveAll(1)
		w.set(serverA, lostRight)
		for _, p := range w.people {
			w.setStake(p.wallets[0], plenty)
			p.verify("", 0)
		}
		var doing sync.WaitGroup
		for _, p := range w.people {
			doing.Go(func() { p.press(0) })
		}
		doing.Wait()
		w.wait(5 * minute)
		for _, p := range w.people {
			p.mustHave(p.home(1), w.settings.badges[p.home(1)][0].id)
		}
	})
}

func TestTwoEmptyWalletsInTurnDoNotKeepBadge(t *testing.T) {
	for i, platform := range []string{"discord", "telegram"} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			play(t, 1, options{people: 2, plain: true}, func(w *world) {
				w.serveAll(1)
				w.allSave()
				p := w.people[i]
				w.setStake(p.wallets[0], 0)
				for n := range int((time.Hour + 3*w.settings.every) / w.settings.every) {
					w.wait(w.settings.every)
					p.save((n + 1) % 2)
				}
				w.wait(minute)
				p.mustHave(p.home(0), "")
				p.mustHave(p.home(1), "")
			})
		})
	}
}

func TestFourPeopleSendingVerifyLeaveCallsForOthers(t *testing.T) {
	play(t, 1, options{people: 24, plain: true}, func(w *world) {
		w.serveAll(1)
		for _, p := range w.people {
			w.setStake(p.wallets[0], plenty)
		}
		var doing sync.WaitGroup
		for i := range 4 {
			w.people[2*i].save(0)
			doing.Go(func() {
				for range 60 { // 20 a minute, as often as one may
					doing.Go(func() { w.people[2*i].command(serverA, "verify", "") })
					time.Sleep(3 * time.Second)
				}
			})
		}
		w.wait(90 * time.Second)
		for i := 8; i < 24; i += 2 {
			w.people[i].save(0)
			w.wait(5 * time.Second)
			w.people[i].mustHave(serverA, roles[0])
		}
		doing.Wait()
	})
}

func TestPressDuringCallThatTakes(t *testing.T) {
	for i, platform := range []string{"discord", "telegram"} {
		for _, why := range []string{"lapse", "forget"} {
			t.Run(platform+" "+why, func(t *testing.T) {
				t.Parallel()
				play(t, 1, options{people: 2, plain: true}, func(w *world) {
					w.serveAll(1)
					w.allSave()
					p := w.people[i]
					p.verify("", 1)
					var doing sync.WaitGroup
					w.locked(func() {
						w.during = func() {
							w.setStake(p.wallets[0], plenty)
							w.setStake(p.wallets[1], plenty)
							doing.Go(func() { p.press(1) })
						}
					})
					if why == "lapse" {
						w.setStake(p.wallets[0], 0)
						w.wait(time.Hour + 3*w.settings.every)
					} else {
						p.forget("")
						w.wait(2*w.settings.every + minute)
					}
					doing.Wait()
					w.consistent(p)
				})
			})
		}
	}
}

func TestTwoPressesAndOneFailedCallAreConsistent(t *testing.T) {
	for i, platform := range []string{"discord", "telegram"} {
		for _, other := range []string{"press", "forget"} {
			t.Run(platform+" "+other, func(t *testing.T) {
				t.Parallel()
				play(t, 1, options{people: 2, plain: true}, func(w *world) {
					w.serveAll(1)
					p := w.people[i]
					w.setStake(p.wallets[0], plenty)
					w.setStake(p.wallets[1], plenty)
					for n := range 12 {
						p.verify("", 0)
						p.verify("", 1)
						w.set(p.home(n%2), once502)
						second := func() { p.press(1) }
						if other == "forget" {
							second = func() { p.forget("") }
						}
						p.atOnceOf(func() { p.press(0) }, second)
						w.wait(w.settings.every + minute)
						w.set(p.home(n%2), "")
						w.wait(w.settings.every + minute)
						w.consistent(p)
						p.forget("")
						w.wait(w.settings.every + minute)
						w.consistent(p)
					}
				})
			})
		}
	}
}

// atOnceOf runs functions at the same moment.
func (p *person) atOnceOf(list ...func()) {
	var doing sync.WaitGroup
	for _, f := range p.w.shuffled(list...) {
		doing.Go(f)
	}
	doing.Wait()
}

func TestChangedRoleAndTagAreExchanged(t *testing.T) {
	play(t, 1, options{people: 4, plain: true}, func(w *world) {
		w.serveAll(1)
		w.allSave()
		w.people[2].forget("")
		w.restart(func(s *settings) {
			s.badges[serverA][0].id, s.badges[groupA][0].id = roles[3], tags[3]
			delete(s.badges, serverB)
			delete(s.badges, groupB)
		})
		w.settle()
	})
}

func TestProcessWithoutDiscordLeavesItsRowsAsTheyAre(t *testing.T) {
	play(t, 1, options{people: 4, plain: true}, func(w *world) {
		w.serveAll(1)
		w.allSave()
		w.set(serverA, lostRight)
		w.people[0].forget("")
		w.restart(func(s *settings) { s.withoutDiscord = true })
		w.wait(3 * w.settings.every)
		w.set(serverA, "")
		w.restart(func(s *settings) { s.withoutDiscord = false })
		w.settle()
	})
}

func TestRoleIsNamedToWhomItIsGiven(t *testing.T) {
	play(t, 1, options{people: 2, plain: true}, func(w *world) {
		w.set(serverA, unnamed)
		w.set(serverB, unnamed)
		w.serveAll(1)
		p := w.people[0]
		w.setStake(p.wallets[0], plenty)
		p.verify(serverA, 0)
		c := p.cards[0]
		if c == nil {
			w.fail("no button to save")
			return
		}
		p.pressed = true
		answer, _ := w.pressOnDiscord(p, c, c.button("save", p.wallets[0].Hex()))
		if len(p.has(serverA)) == 0 || !strings.Contains(answer.text, "You have a role here") {
			w.fail("the role was given and not told of: %q", answer.text)
		}
	})
}

func TestSavedAddressesNeverExpireInRedis(t *testing.T) {
	play(t, 1, options{people: 2, plain: true, redis: true}, func(w *world) {
		w.serveAll(1)
		w.allSave()
		found := 0
		for _, key := range w.redis.Keys() {
			value, _ := w.redis.Get(key)
			for _, p := range w.people {
				if !holds(value+string(unpacked([]byte(value))), p.wallets[0]) {
					continue
				}
				found++
				if ttl := w.redis.TTL(key); ttl != 0 {
					w.fail("an address expires in %s", ttl)
				}
			}
		}
		if found < 2 && w.redisKinds("string") > 0 {
			w.fail("%d of 2 addresses found", found)
		}
	})
}

// redisKinds counts the keys of a type.
func (w *world) redisKinds(kind string) (n int) {
	for _, key := range w.redis.Keys() {
		if w.redis.Type(key) == kind {
			n++
		}
	}
	return n
}

func TestWalletSoldMeanwhileIsNotSaved(t *testing.T) {
	play(t, 1, options{people: 2, plain: true}, func(w *world) {
		w.serveAll(1)
		for _, p := range w.people {
			w.setStake(p.wallets[0], plenty)
			p.verify("", 0)
			p.register(0, false)
			w.wait(minute)
			if p.press(0) {
				w.fail("%s saved the wallet of somebody else", p.name)
			}
			p.mustHave(p.home(0), "")
		}
	})
}

func TestKilledByCallThatRemovesAndPressedAgain(t *testing.T) {
	for i, platform := range []string{"discord", "telegram"} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			play(t, 1, options{people: 2, plain: true}, func(w *world) {
				w.serveAll(1)
				w.allSave()
				p := w.people[i]
				w.locked(func() { w.during = func() { w.alive()[0].die() } })
				p.forget("")
				w.revive()
				p.save(0)
				w.settle()
			})
		})
	}
}

func TestForgetAfterCallWhoseOutcomeIsUnknown(t *testing.T) {
	for i, platform := range []string{"discord", "telegram"} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			play(t, 1, options{people: 2, plain: true}, func(w *world) {
				w.serveAll(1)
				p := w.people[i]
				w.setStake(p.wallets[0], plenty)
				w.set(p.home(0), once502)
				p.save(0)
				w.set(p.home(0), "")
				p.forget("")
				w.settle()
			})
		})
	}
}
