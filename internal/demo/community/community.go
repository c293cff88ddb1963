// Package community is the community of the demo on the fake Telegram: three people, their group, and two groups
// that they may request to join. The terminal and the page show it. They call its methods, which turn the actions
// of a person into the updates that Telegram would send to the bot.
package community

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"herald/internal/chat"
	"herald/internal/demo/fake/services"
	"herald/internal/demo/fake/telegram"
)

// GroupTitle is the name of the group, and GroupID its ID.
const (
	GroupTitle = "Herald demo"
	GroupID    = -1001000000001
)

// Badge is the tag of members who stake.
const Badge = "Staker"

// StakerTags returns the setting STAKER_TAGS for the group.
func StakerTags() []chat.Badge {
	return []chat.Badge{{Community: strconv.FormatInt(GroupID, 10), ID: Badge}}
}

// Group returns the group as the Bot API shows it.
func Group() telegram.Chat {
	group := telegram.Group(GroupID)
	group.Title = GroupTitle
	return group
}

// Community has the people of the demo, and the fake Telegram with their groups.
type Community struct {
	People   People
	Telegram *telegram.Server
}

// Open makes the groups on the fake Telegram. The bot may set tags in the group, and approve requests to join the other
// two.
func Open(world services.World, fake *telegram.Server) *Community {
	c := &Community{People: newPeople(world), Telegram: fake}
	for _, p := range c.People {
		if p.Moderator {
			fake.Promote(GroupID, p.TelegramID, "administrator")
		}
	}
	fake.GrantTags(GroupID, telegram.Granted)
	fake.SetChat(telegram.ChatInfo{Chat: Group(), Permissions: &telegram.ChatPermissions{}})
	for _, g := range JoinGroups {
		fake.SetChat(telegram.ChatInfo{Chat: g.chat(), JoinByRequest: true})
		fake.GrantInvite(g.id, telegram.Granted)
	}
	return c
}

// Line is a message of a person in a chat.
type Line struct {
	By Person
	// Language is the language code of the person's app.
	Language string
	Chat     telegram.Chat
	Text     string
	// ReplyTo is the message that the line answers, in the form of the Bot API, or nil.
	ReplyTo any
	// OldApp is set if the person's app has no ephemeral commands. The group then sees every command.
	OldApp bool
}

// Write sends a line to the bot. If the line is a command that the group's menu marks as ephemeral, it becomes an
// ephemeral message, as in Telegram's apps: only the person and the bot see it.
func (c *Community) Write(l Line) {
	from := c.setUser(l.By, l.Language)
	m := telegram.Text(l.Chat, from, l.Text)
	c.addMentions(m, l.Text)
	if l.ReplyTo != nil {
		m["reply_to_message"] = l.ReplyTo
	}
	if l.Chat.ID == GroupID && !l.OldApp && c.isEphemeral(l) {
		c.Telegram.PushEphemeral(m)
	} else {
		c.Telegram.Push(m)
	}
}

// addMentions adds an entity to the message for each person that its text mentions. Telegram does the same for users
// without a username.
func (c *Community) addMentions(m telegram.Message, text string) {
	mentions := c.mentions(text)
	if len(mentions) == 0 {
		return
	}
	var entities []any
	existing, _ := m["entities"].([]telegram.Entity)
	for _, e := range existing {
		entities = append(entities, e)
	}
	m["entities"] = append(entities, mentions...)
}

// mentions returns an entity for each person that a text mentions.
func (c *Community) mentions(text string) (entities []any) {
	for _, word := range strings.Fields(text) {
		p := c.People.Mentioned(word)
		if p.Name == "" {
			continue
		}
		before, _, _ := strings.Cut(text, word)
		entities = append(entities, map[string]any{
			"type":   "text_mention",
			"offset": len(utf16.Encode([]rune(before))),
			"length": len(word), // Names of people are in ASCII.
			"user":   telegram.User{ID: p.TelegramID, FirstName: p.Name},
		})
	}
	return entities
}

// setUser sets the user as which a person appears in updates, and returns the user.
func (c *Community) setUser(by Person, language string) telegram.User {
	user := telegram.User{ID: by.TelegramID, FirstName: by.Name, Language: language}
	c.Telegram.SetUser(user)
	return user
}

// isEphemeral reports whether the menu of the group marks the line's command as ephemeral.
func (c *Community) isEphemeral(l Line) bool {
	menu := c.Menu(Group(), l.By, l.Language)
	return slices.ContainsFunc(menu, func(entry telegram.Command) bool {
		return entry.Ephemeral && strings.HasPrefix(l.Text, "/"+entry.Command)
	})
}

// Menu returns the commands that a person's app lists in a chat.
func (c *Community) Menu(chat telegram.Chat, by Person, language string) []telegram.Command {
	return c.Telegram.MenuFor(chat, by.TelegramID, language)
}

// Press presses the button with this callback_data below a message of the bot. If the message is ephemeral, by must
// be the person that sees it.
func (c *Community) Press(by Person, language string, m Message, data string) {
	c.setUser(by, language)
	if m.Ephemeral != 0 {
		c.Telegram.PressEphemeral(m.Chat, m.Ephemeral, data)
	} else {
		c.Telegram.Press(by.TelegramID, m.Chat, m.ID, data)
	}
}

// Message identifies a message of the bot. An ephemeral message has an Ephemeral and no ID; any other has only an ID.
type Message struct {
	Chat          telegram.Chat
	ID, Ephemeral int64
}
