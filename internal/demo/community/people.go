package community

import (
	"slices"
	"strconv"

	"herald/internal/demo/fake/services"
)

// Person is somebody in the demo, with their user ID on each platform.
type Person struct {
	Name       string `json:"name"`
	TelegramID int64  `json:"telegram,string"`
	DiscordID  string `json:"discord"`
	// Moderator marks an administrator of the group.
	Moderator bool `json:"-"`
}

// People lists everybody in the demo.
type People []Person

// newPeople returns three persons of the World. The moderator is its Newcomer.
func newPeople(w services.World) People {
	return People{
		newPerson("registered", w.Registered),
		newPerson("unregistered", w.Unregistered),
		newModerator("moderator", w.Newcomer),
	}
}

func newPerson(name string, p services.Person) Person {
	id, _ := strconv.ParseInt(p.UID("Telegram"), 10, 64) // The World has a number there.
	return Person{Name: name, TelegramID: id, DiscordID: p.UID("Discord")}
}

func newModerator(name string, p services.Person) Person {
	person := newPerson(name, p)
	person.Moderator = true
	return person
}

// Find returns the first person for whom match returns true, or an empty Person.
func (all People) Find(match func(Person) bool) Person {
	if i := slices.IndexFunc(all, match); i >= 0 {
		return all[i]
	}
	return Person{}
}

// Named returns the person with this name, or an empty Person.
func (all People) Named(name string) Person {
	return all.Find(func(p Person) bool { return p.Name == name })
}

// OnTelegram returns the person with this user ID on Telegram, or an empty Person.
func (all People) OnTelegram(id int64) Person {
	return all.Find(func(p Person) bool { return p.TelegramID == id })
}

// Mentioned returns the person whom a word such as @moderator mentions, or an empty Person.
func (all People) Mentioned(word string) Person {
	return all.Find(func(p Person) bool { return "@"+p.Name == word })
}
