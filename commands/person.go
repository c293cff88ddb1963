package commands

import (
	"strings"

	"herald/internal/chat"
	"herald/internal/core"
)

// maxPersonName is the maximum length of a user's name as it is shown, in characters.
const maxPersonName = 64

// personParam is the user whom a moderator asks about. The user has an account on the moderator's chat platform.
var personParam = chat.Param{
	Name:       "user",
	Summary:    chat.Say("param.user"),
	Example:    "123456789",
	Person:     true,
	WrongTitle: chat.Say("check.user"),
}

// sender returns the account of the user who sent the request. If the sender is anonymous, the error is an InputError.
func sender(req *chat.Request) (core.Identity, error) {
	if req.From.ID == "" {
		return core.Identity{}, &chat.InputError{Title: chat.Say("anonymous.title"), Problem: chat.Say("anonymous.text")}
	}
	return core.NewIdentity(string(req.From.Platform), req.From.ID)
}

// target returns the account of the user whom a moderator asks about: the user whom they replied to, mentioned, picked,
// or typed as an ID. If that user is anonymous, or the ID is invalid, the error is an InputError.
func target(req *chat.Request) (core.Identity, error) {
	if req.Target.ID == "" {
		return core.Identity{}, &chat.InputError{Title: personParam.WrongTitle, Problem: chat.Say("anonymous.them")}
	}
	id, err := core.NewIdentity(string(req.Target.Platform), req.Target.ID)
	if err == nil {
		return id, nil
	}
	problem := "invalid.user"
	if strings.HasPrefix(req.Target.ID, "@") {
		problem = "invalid.username"
	}
	command := chat.Values{"command": chat.Code("/" + req.Command)}
	return id, &chat.InputError{Title: personParam.WrongTitle, Problem: chat.SayWith(problem, command)}
}

// personField names the person in an answer to a moderator. A person on the moderator's own platform is mentioned by
// name and followed by the ID, or only mentioned by the ID if the name is unknown. For any other person it shows the
// platform and the ID.
func personField(id core.Identity, req *chat.Request) chat.Field {
	isElsewhere := !strings.EqualFold(id.Platform, string(req.From.Platform))
	if isElsewhere {
		name := chat.SayWith("person.id", chat.Values{"platform": chat.Plain(id.Platform)})
		return chat.Field{Name: name, Value: chat.Code(id.UID)}
	}
	mention := chat.Mention{
		User: chat.User{Platform: req.From.Platform, ID: id.UID},
		Name: chat.NewUntrusted(req.TargetName, maxPersonName),
	}
	var person chat.Value = mention
	if mention.Name != "" { // Otherwise the mention shows the ID.
		person = chat.Parts{mention, chat.Code(id.UID)}
	}
	return chat.Field{Name: chat.Say("person.member"), Value: person}
}
