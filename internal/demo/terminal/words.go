package terminal

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"herald/internal/demo/community"
	"herald/internal/demo/fake/services"
)

// word is one of the demo's own words. It drives the fakes, and the bot does not see it.
type word struct {
	// usage says what to type.
	usage string
	// run does what the word says, and returns false if the argument is wrong. argument is in
	// lower case, and empty if nothing was typed after the word.
	run func(w *window, ctx context.Context, argument string) bool
}

var words = map[string]word{
	"/as":      {"Type /as registered, /as unregistered or /as moderator.", (*window).switchAsker},
	"/unstake": {"Type /unstake alone.", (*window).unstake},
	"/stake":   {"Type /stake alone.", (*window).stake},
	"/later":   {"Type /later alone.", (*window).skipHours},
	"/join":    {"Type /join registered or /join staker.", (*window).join},
	"/fault": {"Type /fault and one of: partner, price, supply, chain, pool, old quote, old block, rate limit.",
		(*window).fault},
}

// switchAsker makes the person of this name write the next lines.
func (w *window) switchAsker(_ context.Context, name string) bool {
	p := w.Community.People.Named(name)
	if p.Name == "" {
		return false
	}
	w.asker = p
	w.question = nil
	w.say("Now asking as " + p.Name)
	return true
}

// unstake takes the stake out of the wallet that stakes.
func (w *window) unstake(_ context.Context, argument string) bool {
	if argument != "" {
		return false
	}
	w.Services.Unstaked.On.Store(true)
	w.say(w.Services.World.Staker.Hex() + " stakes nothing now. /later lets six hours pass; /stake brings the stake back.")
	return true
}

// stake brings the stake back.
func (w *window) stake(_ context.Context, argument string) bool {
	if argument != "" {
		return false
	}
	w.Services.Unstaked.On.Store(false)
	w.say(w.Services.World.Staker.Hex() + " stakes again.")
	return true
}

// skipHours has six hours pass for the saved addresses, and the bot check them.
func (w *window) skipHours(ctx context.Context, argument string) bool {
	if argument != "" {
		return false
	}
	if err := w.Later(ctx); err != nil {
		w.say("Six hours later, the saved addresses could not be checked: " + err.Error())
		return true
	}
	w.say("Six hours later. All saved addresses were checked.")
	w.printAnswers(ctx)
	return true
}

// join has the asker ask to join the group that requires this.
func (w *window) join(ctx context.Context, required string) bool {
	group, ok := community.JoinGroupFor(required)
	if !ok {
		return false
	}
	w.say(fmt.Sprintf("%s asks to join %s, a group %s.", w.asker.Name, group.Title, group.Note))
	w.request = joinRequest{state: requested}
	w.Community.RequestJoin(w.asker, language, group)
	w.printAnswers(ctx)
	w.request = joinRequest{}
	return true
}

// fault turns a fault of the services on or off.
func (w *window) fault(_ context.Context, name string) bool {
	faults := w.Services.Faults()
	i := slices.IndexFunc(faults, func(f *services.Fault) bool { return f.Name == name })
	if i < 0 {
		return false
	}
	f := faults[i]
	if f.On.Load() {
		f.On.Store(false)
		w.say("The fault " + f.Name + " is over.")
		return true
	}
	f.On.Store(true)
	w.say(fmt.Sprintf("The fault %s: %s. /fault %s ends it.", f.Name, f.Note, f.Name))
	return true
}

// Greeting says what there is to try, for a screen of at least 64 columns.
func Greeting(world services.World) string {
	const staked = "/staked\u00a0" // The command stays whole, so that it can be copied.
	return fmt.Sprintf(strings.TrimPrefix(`
This is Herald with simulated services: nothing is real. Try
  %s (stakes)
  %s (does not)
  /price 7d, /supply, /mylogins; /help says more
You are in a Telegram group, as "registered". Switch with
  /as unregistered, or with
  /as moderator, who may ask about others: /exists %s
A button is pressed by its label, such as [7d]
Get a tag: /verify with the first wallet, then [Save]
Lose it: /unstake, then /later (six hours) twice
Be let in: /join registered, /join staker
See a service fail: /fault price
To leave: exit, quit or Ctrl-D

`, "\n"), staked+world.Staker.Hex(), staked+world.Idle.Hex(), world.Registered.UID("Telegram"))
}
