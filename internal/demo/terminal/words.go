package terminal

import (
	"context"
	"fmt"
	"strings"

	"herald/internal/demo/community"
	"herald/internal/demo/fake/services"
)

// words are the demo's own words. They drive the fakes, and the bot does not see them. Each is called
// with what was typed after it, in lower case. If it cannot use that, it says what to type.
var words = map[string]func(w *window, ctx context.Context, argument string){
	"/as":      (*window).switchAsker,
	"/unstake": (*window).unstake,
	"/stake":   (*window).stake,
	"/later":   (*window).skipHours,
	"/join":    (*window).join,
	"/fault":   (*window).fault,
}

// switchAsker makes the person of this name write the next lines.
func (w *window) switchAsker(_ context.Context, name string) {
	p := w.Community.People.Named(name)
	if p.Name == "" {
		w.say("Type /as registered, /as unregistered or /as moderator.")
		return
	}
	w.asker = p
	w.question = nil
	w.say("Now asking as " + p.Name)
}

// unstake takes the stake out of the wallet that stakes.
func (w *window) unstake(_ context.Context, argument string) {
	if argument != "" {
		w.say("Type /unstake alone.")
		return
	}
	w.Services.Unstaked.On.Store(true)
	w.say(w.Services.World.Staker.Hex() + " stakes nothing now. /later lets six hours pass; /stake brings the stake back.")
}

// stake brings the stake back.
func (w *window) stake(_ context.Context, argument string) {
	if argument != "" {
		w.say("Type /stake alone.")
		return
	}
	w.Services.Unstaked.On.Store(false)
	w.say(w.Services.World.Staker.Hex() + " stakes again.")
}

// skipHours has six hours pass for the saved addresses, and the bot check them.
func (w *window) skipHours(ctx context.Context, argument string) {
	if argument != "" {
		w.say("Type /later alone.")
		return
	}
	if err := w.Later(ctx); err != nil {
		w.say("Six hours later, the saved addresses could not be checked: " + err.Error())
		return
	}
	w.say("Six hours later. All saved addresses were checked.")
	w.printAnswers(ctx)
}

// join has the asker ask to join the group that requires this.
func (w *window) join(ctx context.Context, required string) {
	group, ok := community.JoinGroupFor(required)
	if !ok {
		w.say("Type /join registered or /join staker.")
		return
	}
	w.say(fmt.Sprintf("%s asks to join %s, a group %s.", w.asker.Name, group.Title, group.Note))
	w.request = joinRequest{state: requested}
	w.Community.RequestJoin(w.asker, language, group)
	w.printAnswers(ctx)
	w.request = joinRequest{}
}

// fault turns a fault of the services on or off.
func (w *window) fault(_ context.Context, name string) {
	var names []string
	for _, f := range w.Services.Faults() {
		switch {
		case f == &w.Services.FreshBot: // The page has another bot for it.
		case f.Name == name:
			w.toggle(f)
			return
		default:
			names = append(names, f.Name)
		}
	}
	w.say("Type /fault and one of: " + strings.Join(names, ", ") + ".")
}

func (w *window) toggle(f *services.Fault) {
	if f.On.Load() {
		f.On.Store(false)
		w.say("The fault " + f.Name + " is over.")
		return
	}
	f.On.Store(true)
	w.say(fmt.Sprintf("The fault %s: %s. /fault %s ends it.", f.Name, f.Note, f.Name))
}

// Greeting says what there is to try. Its lines have at most 64 columns.
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
