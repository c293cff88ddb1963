package chat

import (
	"math"
	"time"
)

// What people read when a command does not come to its answer. The messages
// stand in package words.

// SomethingWentWrong is the answer to a command at which this program failed.
// The reference is the Request's ID, which stands in the log.
func SomethingWentWrong(reference string) Reply {
	return Reply{Tone: Warning, Ephemeral: true, Title: Say("wrong.title"), Text: referenceText(reference)}
}

// Busy is the answer to a command for which there is no room.
func Busy() Reply {
	return Reply{Tone: Warning, Ephemeral: true, Title: Say("busy.title"), Text: Say("busy.text")}
}

// OldButton is the answer to a press on a button of another version.
func OldButton() Reply {
	return Reply{Tone: Warning, Ephemeral: true, Title: Say("button.old.title"), Text: Say("button.old.text")}
}

func unknownCommand() Reply {
	return Reply{Tone: Warning, Ephemeral: true, Title: Say("unknown.title"), Text: Say("unknown.text")}
}

func tooManyCommands(wait time.Duration) Reply {
	seconds := Count(math.Ceil(wait.Seconds()))
	return Reply{Tone: Warning, Ephemeral: true, Title: Say("limit.title"), Text: SayWith("limit.text", Values{"n": seconds})}
}

// moderatorsOnly is the answer to who is no moderator of the chat, such as the
// private one, which has none.
func moderatorsOnly(direct bool) Reply {
	text := Say("forbidden.text")
	if direct {
		text = Say("forbidden.direct")
	}
	return Reply{Tone: Warning, Ephemeral: true, Title: Say("forbidden.title"), Text: text}
}

// anonymous is the answer to a moderators' form asked by somebody without an ID, to
// whom nothing private can be shown.
func anonymous() Reply {
	return Reply{Tone: Warning, Ephemeral: true, Title: Say("anonymous.title"), Text: Say("anonymous.you")}
}

// chatNotListed is the answer to a moderator of a chat that MODERATOR_CHATS does
// not list; entry would list it. The answer may be read in another chat.
func chatNotListed(entry string) Reply {
	return Reply{Tone: Warning, Ephemeral: true, Title: Say("unlisted.title"), Text: Say("unlisted.text"),
		Sections: []Section{{Fields: []Field{{Value: SayWith("unlisted.entry", Values{"entry": Code(entry)})}}}}}
}

// couldNotBeChecked is in place of an answer, with the reason why there is
// none.
func couldNotBeChecked(reference string, why Text) Reply {
	return Reply{Tone: Warning, Title: Say("unchecked.title"), Text: why, Notes: []Text{referenceText(reference)}}
}

// Unanswered reports whether r says why there is no answer. A platform must not
// put it in place of an answer that others see.
func (r Reply) Unanswered() bool { return r.Ephemeral || r.Title.Key == "unchecked.title" }

func referenceText(reference string) Text {
	return SayWith("reference", Values{"reference": Plain(reference)})
}

// badInput says what is wrong with the arguments, and shows the forms that the
// asker may have meant. If one argument alone makes it right, it asks for that.
func badInput(problem *InputError, c Command, forms []Form) Reply {
	reply := Reply{Tone: Warning, Ephemeral: true, Title: problem.Title, Text: problem.Problem}
	if reply.Title.Key == "" {
		reply.Title = Say("input.title")
	}
	var fields []Field
	for _, f := range forms {
		if f.Unlisted {
			continue
		}
		fields = append(fields, Field{Name: Say("input.write"), Value: Code(c.Usage(f))})
		if len(f.Params) > 0 {
			fields = append(fields, Field{Name: Say("input.example"), Value: Code(c.Example(f))})
		}
	}
	reply.Sections = []Section{{Fields: fields}}
	reply.Ask = c.ask(forms)
	return reply
}

// missing asks for what was left out.
func missing(ask Ask) Reply {
	return Reply{Ephemeral: true, Title: ask.Question, Text: SayWith("ask.text", Values{"example": Code(ask.Example)}), Ask: &ask}
}

// ask is the question for the argument of the first form that takes one alone,
// if that can be asked for.
func (c Command) ask(forms []Form) *Ask {
	for _, f := range forms {
		if len(f.Params) == 1 && f.Params[0].Question.Key != "" {
			p := f.Params[0]
			return &Ask{Command: c.Name, Param: p.Name, Question: p.Question, Example: p.Example}
		}
	}
	return nil
}
