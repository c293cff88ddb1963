package community

import (
	"slices"
	"strconv"

	"herald/internal/demo/fake/services"
)

// Person is a person in the demo, with their user ID on each platform.
type Person struct {
	Name       string `json:"name"`
	TelegramID int64  `json:"telegram,string"`
	DiscordID  string `json:"discord"`
	// Moderator is set if the person is an administrator of the group.
	Moderator bool `json:"-"`
}

// People lists the people in the demo.
type People []Person

// newPeople returns the people of the World. The moderator is its Newcomer.
func newPeople(w services.World) People {
	return People{
		newPerson("registered", w.Registered),
		newPerson("unregistered", w.Unregistered),
		newModerator("moderator", w.Newcomer),
	}
}

func newPerson(name string, p services.Person) Person {
	id, _ := strconv.ParseInt(p.UID("Telegram"), 10, 64) // cannot fail
	return Person{Name: name, TelegramID: id, DiscordID: p.UID("Discord")}
}

func newModerator(name string, p services.Person) Person {
	person := newPerson(name, p)
	person.Moderator = true
	return person
}

// Find returns the first person that matches, or an empty Person.
func (all People) Find(match func(Person) bool) Person {
	i := slices.IndexFunc(all, match)
	if i < 0 {
		return Person{}
	}
	return all[i]
}

// Named returns the person with this name, or an empty Person.
func (all People) Named(name string) Person {
	return all.Find(func(p Person) bool { return p.Name == name })
}

// OnTelegram returns the person with this user ID on Telegram, or an empty Person.
func (all People) OnTelegram(id int64) Person {
	return all.Find(func(p Person) bool { return p.TelegramID == id })
}

// Mentioned returns the person that a word such as "@moderator" mentions, or an empty Person.
func (all People) Mentioned(word string) Person {
	return all.Find(func(p Person) bool { return "@"+p.Name == word })
}
