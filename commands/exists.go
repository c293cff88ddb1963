package commands

import (
	"context"
	"strings"

	"herald/internal/chat"
	"herald/internal/core"
)

// existsKeys are the messages of a yes and a no.
type existsKeys struct{ yes, no string }

var (
	youExist  = existsKeys{yes: "exists.you.yes", no: "exists.you.no"}
	theyExist = existsKeys{yes: "exists.they.yes", no: "exists.they.no"}
)

var (
	platformParam = chat.Param{
		Name:    "platform",
		Summary: chat.Say("param.platform"),
		Example: "Telegram",
		Choices: core.Platforms(),
		Check:   chat.Say("check.platform"),
	}
	uidParam = chat.Param{Name: "uid", Summary: chat.Say("param.uid"), Example: "123456789", Check: chat.Say("check.uid")}
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
			{Run: c.about(sender, youExist)},
			{Params: []chat.Param{personParam}, Moderators: true, Run: c.about(target, theyExist)},
			{Params: []chat.Param{platformParam, uidParam}, Moderators: true, Run: c.about(typedIdentity, theyExist)},
		},
	}
}

// about returns a Run that answers about the person that whom returns.
func (c existsCommand) about(whom subject, keys existsKeys) chat.Run {
	return func(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
		id, err := whom(req)
		if err != nil {
			return nil, err
		}
		return c.answer(ctx, req, id, keys)
	}
}

// typedIdentity returns the platform and ID in the arguments.
func typedIdentity(req *chat.Request) (core.Identity, error) {
	id, err := core.NewIdentity(req.Args.Value(platformParam.Name), req.Args.Value(uidParam.Name))
	return id, invalid(uidParam, err)
}

// answer says whether a person is registered.
func (c existsCommand) answer(
	ctx context.Context, req *chat.Request, id core.Identity, keys existsKeys,
) (*chat.Reply, error) {
	account, err := c.Accounts.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	tone, title, text := chat.Negative, "exists.no", keys.no
	if account.Value.Registered() {
		tone, title, text = chat.Positive, "exists.yes", keys.yes
	}
	reply := &chat.Reply{
		Tone:    tone,
		Title:   chat.Say(title),
		Text:    chat.SayWith(text, chat.Values{"platform": chat.Plain(id.Platform), "service": c.service()}),
		Checked: account.At,
	}
	var unreadable error
	if keys == theyExist {
		reply.Sections = []chat.Section{{Fields: []chat.Field{personField(id, req)}}}
		reply.Notes, unreadable = c.noteForModerators(ctx, id, req.Community)
		if tone == chat.Negative && id.Platform == "Email" && strings.Contains(id.UID, "@") {
			reply.Notes = append(reply.Notes, chat.Say("exists.email"))
		}
	} else if tone == chat.Negative {
		reply.Actions = nextStep("button.register", c.RegisterURL)
	}
	return reply, partly(unreadable)
}
