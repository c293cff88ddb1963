package terminal

import (
	"context"
	"fmt"
	"strings"

	"herald/internal/demo/community"
	"herald/internal/demo/fake/services"
)

// demoCommands are commands of the demo. They control the fakes, and the bot does not receive them. argument is the
// rest of the line in lower case. If a command cannot use the argument, it prints what to type.
var demoCommands = map[string]func(w *window, ctx context.Context, argument string){
	"/as":      (*window).switchAsker,
	"/unstake": (*window).unstake,
	"/stake":   (*window).stake,
	"/later":   (*window).skipHours,
	"/join":    (*window).join,
	"/fault":   (*window).fault,
}

// switchAsker makes the person with this name the asker.
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

// unstake removes the stake of the wallet Staker.
func (w *window) unstake(_ context.Context, argument string) {
	if argument != "" {
		w.say("Type /unstake alone.")
		return
	}
	w.Services.Unstaked.On.Store(true)
	w.say(w.Services.World.Staker.Hex() + " stakes nothing now. /later lets six hours pass; /stake brings the stake back.")
}

// stake restores the stake of the wallet Staker.
func (w *window) stake(_ context.Context, argument string) {
	if argument != "" {
		w.say("Type /stake alone.")
		return
	}
	w.Services.Unstaked.On.Store(false)
	w.say(w.Services.World.Staker.Hex() + " stakes again.")
}

// skipHours lets six hours pass for the saved addresses, and blocks until the bot has checked them.
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

// join makes the asker's request to join the group with this requirement.
func (w *window) join(ctx context.Context, required string) {
	group, found := community.JoinGroupFor(required)
	if !found {
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
		case f == &w.Services.FreshBot: // has an effect only on the page
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

// Greeting lists what the user can try. Its lines have at most 64 columns.
func Greeting(world services.World) string {
	const staked = "/staked\u00a0" // A line does not wrap within the command, so that it can be copied.
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
