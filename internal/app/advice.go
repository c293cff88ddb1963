package app

import (
	"errors"
	"fmt"

	"herald/internal/core"
)

// problems are the reasons in an operator's words.
var problems = map[core.Reason]string{
	core.Unreachable: "cannot be reached or is down",
	core.SlowAnswer:  "does not answer in time",
	core.Limited:     "wants to be asked less",
	core.Denied:      "refuses the credentials",
	core.Rejected:    "refuses the question",
	core.Malformed:   "answers something else than what was asked",
}

// wrong is how q failed, for an operator, with the settings to look at.
func (q *question) wrong() string {
	text, settings := q.err.Error(), q.settings
	var failed *core.Error
	if errors.As(q.err, &failed) {
		text = fmt.Sprintf("%s: %v", problems[failed.Reason], failed.Err)
		settings = failed.Service.SettingsFor(failed.Reason)
		if failed.Reason == core.SlowAnswer {
			settings += " and UPSTREAM_TIMEOUT"
		}
	}
	text += "; look at " + settings
	if q.detail != "" {
		text += "; " + q.detail
	}
	return text
}
