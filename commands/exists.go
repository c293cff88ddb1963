package commands

import (
	"context"
	"errors"
	"fmt"

	"herald/internal/chat"
	"herald/internal/core"
)

// uidLength bounds an ID in an answer, in characters.
const uidLength = 100

func exists(client Client) chat.Command {
	user := chat.Param{Name: "user", Summary: "Whom to ask about (moderators)", Example: "123456789", Kind: chat.Person}
	platform := chat.Param{Name: "platform", Summary: "Where they have an account (moderators)", Example: "Telegram", Choices: core.Platforms()}
	uid := chat.Param{Name: "uid", Summary: "Their user ID or wallet there (moderators)", Example: "123456789"}
	return chat.Command{
		Name:       "exists",
		Summary:    "Whether you are registered; moderators may ask about others",
		Visibility: chat.Private,
		Forms: []chat.Form{
			{},
			{Params: []chat.Param{user}, Moderators: true},
			{Params: []chat.Param{platform, uid}, Moderators: true},
		},
		Run: func(ctx context.Context, req chat.Request) (chat.Reply, error) {
			id, whose, err := subject(req)
			if err != nil {
				return chat.Reply{}, err
			}
			account, err := client.Account(ctx, id)
			if err != nil {
				return chat.Reply{}, err
			}
			if account.Value.Registered() {
				return chat.Reply{Tone: chat.Positive, Title: "Registered", Text: whose + " is registered with the service."}, nil
			}
			return chat.Reply{Tone: chat.Negative, Title: "Not registered", Text: whose + " is not registered with the service."}, nil
		},
	}
}

// subject is who the request asks about, and how the answer names them.
func subject(req chat.Request) (id core.Identity, whose string, err error) {
	uid, byUID := req.Args["uid"]
	user, byUser := req.Args["user"]
	switch {
	case byUID:
		id, err = core.NewIdentity(req.Args["platform"], uid)
	case byUser:
		id, err = core.NewIdentity(string(req.From.Platform), user)
		if err != nil {
			err = &chat.InputError{Problem: "Name the person by a mention that I can read, by replying to a message of theirs, or by their numeric user ID."}
		}
	case req.Target != nil && req.Target.ID == "":
		err = &chat.InputError{Problem: "That message was sent anonymously or by a channel, so there is nobody to ask about."}
	case req.Target != nil:
		id, err = core.NewIdentity(string(req.Target.Platform), req.Target.ID)
	default:
		id, err = sender(req)
		return id, fmt.Sprintf("Your %s account", id.Platform), err
	}
	return id, fmt.Sprintf("The %s account %s", id.Platform, chat.Foreign(id.UID, uidLength)), asInput(err)
}

// sender is the asker's own account on the chat platform.
func sender(req chat.Request) (core.Identity, error) {
	if req.From.ID == "" {
		return core.Identity{}, &chat.InputError{Problem: "You are writing anonymously, so I do not know whose account to look up. Ask me in a private chat."}
	}
	return core.NewIdentity(string(req.From.Platform), req.From.ID)
}

// asInput makes what core finds wrong with a typed word an error that is told
// with the command's example.
func asInput(err error) error {
	var invalid *core.InvalidError
	if errors.As(err, &invalid) {
		return &chat.InputError{Problem: invalid.Problem}
	}
	return err
}
