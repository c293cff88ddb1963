package commands

import (
	"context"
	"strings"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
)

var (
	platformParam = chat.Param{
		Name:       "platform",
		Summary:    chat.Say("param.platform"),
		Example:    "Telegram",
		Choices:    core.Platforms(),
		WrongTitle: chat.Say("check.platform"),
	}
	uidParam = chat.Param{
		Name:       "uid",
		Summary:    chat.Say("param.uid"),
		Example:    "123456789",
		WrongTitle: chat.Say("check.uid"),
	}
)

// existsCommand answers /exists.
type existsCommand inputs

func exists(from Sources, options Options) chat.Command {
	c := existsCommand{from, options}
	return chat.Command{
		Name:             "exists",
		Summary:          chat.Say("command.exists"),
		ModeratorSummary: chat.Say("command.exists.moderators"),
		Topic:            chat.Say("topic.registration"),
		PersonMenu:       chat.Say("exists.menu"),
		Visibility:       chat.Private,
		Asks:             []string{"partner"},
		Forms: []chat.Form{
			{Run: c.own},
			{Params: []chat.Param{personParam}, Moderators: true, Run: c.member},
			{Params: []chat.Param{platformParam, uidParam}, Moderators: true, Run: c.typedIdentity},
		},
	}
}

// own says whether the sender is registered.
func (c existsCommand) own(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	id, err := sender(req)
	if err != nil {
		return nil, err
	}
	account, err := c.Accounts.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if account.Value.Registered() {
		return c.registered("exists.you.yes", id, account.At), nil
	}
	reply := c.unregistered("exists.you.no", id, account.At)
	reply.Actions = nextStep("button.register", c.RegisterURL)
	return reply, nil
}

// member says whether the person whom a moderator named is registered.
func (c existsCommand) member(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	id, err := target(req)
	if err != nil {
		return nil, err
	}
	return c.forModerator(ctx, req, id)
}

// typedIdentity says whether the person with the platform and the ID in the arguments is registered.
func (c existsCommand) typedIdentity(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	id, err := core.NewIdentity(req.Args.Value(platformParam.Name), req.Args.Value(uidParam.Name))
	if err != nil {
		return nil, asInputError(uidParam, err)
	}
	return c.forModerator(ctx, req, id)
}

// forModerator tells a moderator whether a person is registered, and adds noteForModerators. If the person's saved row
// cannot be read, it returns the reply and a PartialError.
func (c existsCommand) forModerator(ctx context.Context, req *chat.Request, id core.Identity) (*chat.Reply, error) {
	account, err := c.Accounts.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	isRegistered := account.Value.Registered()
	var reply *chat.Reply
	if isRegistered {
		reply = c.registered("exists.they.yes", id, account.At)
	} else {
		reply = c.unregistered("exists.they.no", id, account.At)
	}
	reply.Sections = []chat.Section{{Fields: []chat.Field{personField(id, req)}}}
	notes, notesErr := c.noteForModerators(ctx, id, req.Community)
	reply.Notes = notes
	isEmail := id.Platform == "Email" && strings.Contains(id.UID, "@")
	if isEmail && !isRegistered {
		reply.Notes = append(reply.Notes, chat.Say("exists.email"))
	}
	return reply, asPartialError(notesErr)
}

// registered says that a person is registered. textKey is the message in the reply's text, and checked the time of the
// partner's answer.
func (c existsCommand) registered(textKey string, id core.Identity, checked time.Time) *chat.Reply {
	return &chat.Reply{
		Tone:    chat.Positive,
		Title:   chat.Say("exists.yes"),
		Text:    c.aboutPlatform(textKey, id),
		Checked: checked,
	}
}

// unregistered says that a person is not registered. textKey is the message in the reply's text, and checked the time
// of the partner's answer.
func (c existsCommand) unregistered(textKey string, id core.Identity, checked time.Time) *chat.Reply {
	return &chat.Reply{
		Tone:    chat.Negative,
		Title:   chat.Say("exists.no"),
		Text:    c.aboutPlatform(textKey, id),
		Checked: checked,
	}
}

// aboutPlatform returns a message about a person's platform and the service.
func (c existsCommand) aboutPlatform(key string, id core.Identity) chat.Text {
	return chat.SayWith(key, chat.Values{"platform": chat.Plain(id.Platform), "service": c.service()})
}
