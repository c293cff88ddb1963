package web

import (
	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
)

// state is what there is to choose from now.
func (d *Demo) state() State {
	s := State{Chats: []string{Group, Private}, BotName: faketelegram.Username}
	for _, a := range d.people {
		s.Askers = append(s.Askers, Asker{a.name, map[string]string{Telegram: idText(a.telegramID), Discord: a.discordID}})
	}
	for _, l := range chat.Languages() {
		s.Languages = append(s.Languages, string(l))
	}
	for _, service := range d.Sandbox.Services() {
		one := Service{Name: service.Name, Fault: string(service.Fault())}
		for _, f := range service.Faults() {
			one.Faults = append(one.Faults, string(f))
		}
		s.Services = append(s.Services, one)
	}
	w := d.Sandbox.World
	s.Examples = []Example{
		{"/staked " + w.Staker.Hex(), "a wallet that stakes"},
		{"/staked " + w.Idle.Hex(), "one that does not"},
		{"/price", "the price"},
		{"/price 7d", "as a picture"},
		{"/supply", "the supply"},
		{"/mylogins", "your logins"},
		{"/exists", "whether you are registered"},
		{"/verify " + w.Staker.Hex(), "whether a wallet is yours"},
		{"/exists @unregistered", "about somebody, as a moderator"},
		{"/exists GitHub " + w.Registered.UID("GitHub"), "the same by another platform's ID"},
		{"/help", "all commands"},
	}
	return s
}
