package commands

import (
	"strings"

	"herald/internal/chat"
	"herald/internal/core"
)

// What users call a chat and themselves is bounded, in characters.
const (
	maxChatTitle  = 60
	maxPersonName = 64
)

// personParam is somebody on the chat platform where the command is asked.
var personParam = chat.Param{
	Name: "user", Summary: chat.Say("param.user"), Example: "123456789", Kind: chat.Person, Check: chat.Say("check.user"),
}

// sender returns the sender's own account on the chat platform.
func sender(req chat.Request) (core.Identity, error) {
	if req.From.ID == "" {
		return core.Identity{}, &chat.InputError{Title: chat.Say("anonymous.title"), Problem: chat.Say("anonymous.text")}
	}
	return core.NewIdentity(string(req.From.Platform), req.From.ID)
}

// target returns the person replied to, mentioned, picked, or typed as an ID.
func target(req chat.Request) (core.Identity, error) {
	if req.Target.ID == "" {
		return core.Identity{}, &chat.InputError{Title: personParam.Check, Problem: chat.Say("anonymous.them")}
	}
	id, err := core.NewIdentity(string(req.Target.Platform), req.Target.ID)
	if err == nil {
		return id, nil
	}
	problem := "invalid.user"
	if strings.HasPrefix(req.Target.ID, "@") {
		problem = "invalid.username"
	}
	return id, &chat.InputError{Title: personParam.Check, Problem: chat.SayWith(problem, chat.Values{"command": chat.Code("/" + req.Command)})}
}

// personFields say whom an answer to a moderator is about, and where they asked.
func personFields(id core.Identity, req chat.Request) []chat.Field {
	var fields []chat.Field
	if strings.EqualFold(id.Platform, string(req.From.Platform)) {
		fields = append(fields, chat.Field{Name: chat.Say("person"), Value: chat.Mention{
			User: chat.User{Platform: req.From.Platform, ID: id.UID},
			Name: chat.NewUntrusted(req.TargetName, maxPersonName),
		}})
	}
	fields = append(fields, chat.Field{
		Name: chat.SayWith("person.id", chat.Values{"platform": chat.Plain(id.Platform)}), Value: chat.Code(id.UID),
	})
	if !req.Direct && req.Chat != "" {
		fields = append(fields, chat.Field{
			Name: chat.Say("person.asked_in"), Value: chat.Channel{ID: req.Chat, Title: chat.NewUntrusted(req.ChatTitle, maxChatTitle)},
		})
	}
	return fields
}
