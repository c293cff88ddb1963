package commands

import (
	"context"

	"herald/internal/chat"
	"herald/internal/core"
)

func exists(accounts core.Source[core.Identity, core.Account], options Options) chat.Command {
	platform := chat.Param{Name: "platform", Summary: chat.Say("param.platform"), Example: "Telegram", Choices: core.Platforms(), Check: chat.Say("check.platform")}
	uid := chat.Param{Name: "uid", Summary: chat.Say("param.uid"), Example: "123456789", Check: chat.Say("check.uid")}
	named := func(req chat.Request) (core.Identity, error) {
		id, err := core.NewIdentity(req.Args.Value(platform.Name), req.Args.Value(uid.Name))
		return id, invalid(uid, err)
	}
	// The keys of what is said begin with one of these.
	const you, they = "exists.you", "exists.they"
	about := func(whom func(chat.Request) (core.Identity, error), key string) chat.Run {
		return func(ctx context.Context, req chat.Request) (chat.Reply, error) {
			id, err := whom(req)
			if err != nil {
				return chat.Reply{}, err
			}
			account, err := accounts.Get(ctx, id)
			if err != nil {
				return chat.Reply{}, err
			}
			tone, verdict := chat.Negative, ".no"
			if account.Value.Registered() {
				tone, verdict = chat.Positive, ".yes"
			}
			reply := chat.Reply{
				Tone:    tone,
				Title:   chat.Say("exists" + verdict),
				Text:    chat.SayWith(key+verdict, chat.Values{"platform": chat.Plain(id.Platform), "service": options.service()}),
				Checked: account.At,
			}
			switch {
			case key == they:
				reply.Sections = []chat.Section{{Fields: []chat.Field{personField(id, req)}}}
			case tone == chat.Negative:
				reply.Actions = link("button.register", options.RegisterURL)
			}
			return reply, nil
		}
	}
	return chat.Command{
		Name:             "exists",
		Summary:          chat.Say("command.exists"),
		ModeratorSummary: chat.Say("command.exists.moderators"),
		PersonMenu:       chat.Say("exists.menu"),
		Visibility:       chat.Private,
		Forms: []chat.Form{
			{Run: about(sender, you)},
			{Params: []chat.Param{personParam}, Moderators: true, Run: about(target, they)},
			{Params: []chat.Param{platform, uid}, Moderators: true, Run: about(named, they)},
		},
	}
}
