package commands

import (
	"context"
	"errors"
	"strings"

	"herald/internal/chat"
	"herald/internal/core"
)

// Explain words an error of a command for the person who asked, in a sentence or
// two, without anything that they typed and without any detail of the error.
func Explain(err error) chat.Text {
	failed, is := errors.AsType[*core.Error](err)
	switch {
	case is:
		return chat.SayWith("reason."+string(failed.Reason), chat.Values{"service": serviceText(failed.Service.Name)})
	case errors.Is(err, context.DeadlineExceeded):
		return chat.Say("reason.timeout")
	default:
		return chat.Say("reason.internal")
	}
}

// serviceText is what members call a core.Service, by its name.
func serviceText(name string) chat.Text { return chat.Say("service." + name) }

// invalid turns what core finds wrong with an argument into an InputError, which is
// shown with the command's example.
func invalid(p chat.Param, err error) error {
	flawed, is := errors.AsType[*core.InvalidError](err)
	if !is {
		return err
	}
	return &chat.InputError{Title: p.Check, Problem: chat.SayWith("invalid."+string(flawed.Flaw), chat.Values{
		"platform":  chat.Plain(flawed.Platform),
		"example":   chat.Code(flawed.Example),
		"n":         chat.Count(flawed.Length),
		"platforms": chat.Plain(strings.Join(core.Platforms(), ", ")),
	})}
}
