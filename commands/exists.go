package commands

import (
	"context"

	"herald/internal/chat"
	"herald/internal/core"
)

func exists(accounts core.Source[core.Identity, core.Account], look Look) chat.Command {
	platform := chat.Param{Name: "platform", Summary: chat.Say("param.platform"), Example: "Telegram", Choices: core.Platforms(), Check: chat.Say("check.platform")}
	uid := chat.Param{Name: "uid", Summary: chat.Say("param.uid"), Example: "123456789", Check: chat.Say("check.uid")}
	named := func(req chat.Request) (core.Identity, error) {
		id, err := core.NewIdentity(req.Args.Value(platform.Name), req.Args.Value(uid.Name))
		return id, invalid(uid, err)
	}
	answer := func(ctx context.Context, id core.Identity, yes, no string, person []chat.Field) (chat.Reply, error) {
		account, err := accounts.Get(ctx, id)
		if err != nil {
			return chat.Reply{}, err
		}
		tone, title, text := chat.Negative, "exists.no", no
		if account.Value.Registered() {
			tone, title, text = chat.Positive, "exists.yes", yes
		}
		reply := chat.Reply{
			Tone: tone, Title: chat.Say(title),
			Text:  chat.SayWith(text, chat.Values{"platform": chat.Plain(id.Platform), "service": look.service()}),
			Notes: []chat.Text{checked(account.At)},
		}
		if len(person) > 0 {
			reply.Sections = []chat.Section{{Fields: person}}
		}
		return reply, nil
	}
	own := func(ctx context.Context, req chat.Request) (chat.Reply, error) {
		id, err := sender(req)
		if err != nil {
			return chat.Reply{}, err
		}
		return answer(ctx, id, "exists.you.yes", "exists.you.no", nil)
	}
	other := func(whom func(chat.Request) (core.Identity, error)) chat.Run {
		return func(ctx context.Context, req chat.Request) (chat.Reply, error) {
			id, err := whom(req)
			if err != nil {
				return chat.Reply{}, err
			}
			return answer(ctx, id, "exists.they.yes", "exists.they.no", personFields(id, req))
		}
	}
	return chat.Command{
		Name:             "exists",
		Summary:          chat.Say("command.exists"),
		ModeratorSummary: chat.Say("command.exists.moderators"),
		PersonMenu:       chat.Say("exists.menu"),
		Visibility:       chat.Private,
		Forms: []chat.Form{
			{Run: own},
			{Params: []chat.Param{personParam}, Moderators: true, Run: other(target)},
			{Params: []chat.Param{platform, uid}, Moderators: true, Run: other(named)},
		},
	}
}
