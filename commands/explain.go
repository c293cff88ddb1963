package commands

import (
	"context"
	"errors"
	"fmt"

	"herald/internal/core"
)

var reasonWords = map[core.Reason]string{
	core.Unreachable: "%s cannot be reached. Try again in a minute.",
	core.SlowAnswer:  "%s did not answer in time. Try again in a minute.",
	core.Limited:     "%s is being asked too often. Try again in a minute.",
	core.Denied:      "%s refuses my credentials. An operator has to look at my settings.",
	core.Rejected:    "%s refused the question.",
	core.Malformed:   "%s gave an answer that makes no sense.",
	core.Behind:      "%s is behind: what it knows is too old to go by. An operator has to look at it.",
	core.Paused:      "%s has failed several times in a row, so I am not asking it right now. Try again in a minute.",
}

// Explain words an error of a command for the person who asked: one sentence
// or two, without anything that they typed and without any detail of the
// error itself.
func Explain(err error) string {
	var failed *core.Error
	switch {
	case errors.As(err, &failed):
		return upperFirst(fmt.Sprintf(reasonWords[failed.Reason], failed.Service.Phrase))
	case errors.Is(err, context.DeadlineExceeded):
		return "That took too long. Try again in a minute."
	default:
		return "Something went wrong on my side."
	}
}

func upperFirst(s string) string { return string(s[0]-'a'+'A') + s[1:] }
