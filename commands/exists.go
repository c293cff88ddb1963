package commands

import (
	"context"
	"errors"

	"herald/internal/chat"
	"herald/internal/core"
)

// uidLength bounds an ID in an answer, in characters.
const uidLength = 100

func exists(accounts core.Source[core.Identity, core.Account]) chat.Command {
	user := chat.Param{Name: "user", Summary: "Whom to ask about (moderators)", Example: "123456789", Kind: chat.Person}
	platform := chat.Param{Name: "platform", Summary: "Where they have an account (moderators)", Example: "Telegram", Choices: core.Platforms()}
	uid := chat.Param{Name: "uid", Summary: "Their user ID or wallet there (moderators)", Example: "123456789"}
	run := func(subject func(chat.Request) (core.Identity, error), whose func(core.Identity) string) chat.Run {
		return func(ctx context.Context, req chat.Request) (chat.Reply, error) {
			id, err := subject(req)
			if err != nil {
				return chat.Reply{}, asInput(err)
			}
			account, err := accounts.Get(ctx, id)
			if err != nil {
				return chat.Reply{}, err
			}
			if account.Value.Registered() {
				return chat.Reply{Tone: chat.Positive, Title: "Registered", Text: whose(id) + " is registered with the service."}, nil
			}
			return chat.Reply{Tone: chat.Negative, Title: "Not registered", Text: whose(id) + " is not registered with the service."}, nil
		}
	}
	return chat.Command{
		Name:       "exists",
		Summary:    "Whether you are registered; moderators may ask about others",
		Visibility: chat.Private,
		Forms: []chat.Form{
			{Run: run(sender, yours)},
			{Params: []chat.Param{user}, Moderators: true, Run: run(target, theirs)},
			{Params: []chat.Param{platform, uid}, Moderators: true, Run: run(named, theirs)},
		},
	}
}

func yours(id core.Identity) string { return "Your " + id.Platform + " account" }

func theirs(id core.Identity) string {
	return "The " + id.Platform + " account " + chat.Foreign(id.UID, uidLength)
}

// target is the person replied to, mentioned, picked, or typed as an ID.
func target(req chat.Request) (core.Identity, error) {
	if req.Target.ID == "" {
		return core.Identity{}, &chat.InputError{Problem: "That message was sent anonymously or by a channel, so there is nobody to ask about."}
	}
	id, err := core.NewIdentity(string(req.Target.Platform), req.Target.ID)
	if err != nil {
		return id, &chat.InputError{Problem: "Name the person by a mention that I can read, by replying to a message of theirs, or by their numeric user ID."}
	}
	return id, nil
}

// named is the account with the ID and platform that were given.
func named(req chat.Request) (core.Identity, error) {
	return core.NewIdentity(req.Args.Value("platform"), req.Args.Value("uid"))
}

// sender is the asker's own account on the chat platform.
func sender(req chat.Request) (core.Identity, error) {
	if req.From.ID == "" {
		return core.Identity{}, &chat.InputError{Problem: "You are writing anonymously, so I do not know whose account to look up. Ask me in a private chat."}
	}
	return core.NewIdentity(string(req.From.Platform), req.From.ID)
}

// asInput turns what core finds wrong with a typed word into an error that the
// asker gets with the command's example.
func asInput(err error) error {
	var invalid *core.InvalidError
	if errors.As(err, &invalid) {
		return &chat.InputError{Problem: invalid.Problem}
	}
	return err
}
