package commands

import (
	"context"
	"fmt"
	"slices"

	"herald/internal/chat"
	"herald/internal/core"
)

const (
	// loginsShown bounds the logins of one answer; the newest are shown.
	loginsShown = 30
	// loginTextLength bounds a dapp's and a platform's name in characters.
	loginTextLength = 60
)

func myLogins(accounts core.Source[core.Identity, core.Account], logins core.Source[string, []core.Login]) chat.Command {
	return chat.Command{
		Name:       "mylogins",
		Summary:    "Your logins of the past 30 days, for your eyes only",
		Visibility: chat.Private,
		Forms: []chat.Form{{Run: func(ctx context.Context, req chat.Request) (chat.Reply, error) {
			self, err := sender(req)
			if err != nil {
				return chat.Reply{}, err
			}
			account, err := accounts.Get(ctx, self)
			if err != nil {
				return chat.Reply{}, err
			}
			if !account.Value.Registered() {
				return chat.Reply{Tone: chat.Negative, Title: "Not registered",
					Text: "Your " + self.Platform + " account is not registered with the service, so there are no logins to show."}, nil
			}
			history, err := logins.Get(ctx, account.Value.DID)
			if err != nil {
				return chat.Reply{}, err
			}
			return loginsReply(history.Value), nil
		}}},
	}
}

func loginsReply(logins []core.Login) chat.Reply {
	if len(logins) == 0 {
		return chat.Reply{Title: "No logins", Text: "You are registered and have not logged in to any dapp in the past 30 days."}
	}
	reply := chat.Reply{
		Title: "Your logins",
		Text:  fmt.Sprintf("%d in the past 30 days, newest first.", len(logins)),
	}
	shown := logins[:min(len(logins), loginsShown)]
	fields := make([]chat.Field, len(shown))
	for i, l := range shown {
		fields[i] = chat.Field{
			Name:         chat.Foreign(l.Dapp, loginTextLength),
			ForeignName:  true,
			Value:        chat.Foreign(l.Platform, loginTextLength) + ", " + moment(l.At),
			ForeignValue: !slices.Contains(core.Platforms(), l.Platform),
		}
	}
	reply.Sections = []chat.Section{{Fields: fields}}
	if more := len(logins) - len(shown); more > 0 {
		reply.Notes = []string{fmt.Sprintf("%d older ones are not shown.", more)}
	}
	return reply
}
