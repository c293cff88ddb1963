package chat

import (
	"fmt"
	"time"
)

// What people read when a command does not come to its answer.

// SomethingWentWrong is the answer to a command at which this program failed.
// The reference is the Request's ID, which stands in the log.
func SomethingWentWrong(reference string) Reply {
	return Reply{Tone: Warning, Title: "Something went wrong", Text: "Reference " + reference + "."}
}

// Busy is the answer to a command for which there is no room.
func Busy() Reply {
	return Reply{Tone: Warning, Title: "Busy", Text: "I have too many commands to answer right now. Please try again in a minute."}
}

func unknownCommand() Reply {
	return Reply{Tone: Warning, Title: "Unknown command", Text: "See /help for what I can do."}
}

func tooManyCommands(wait time.Duration) Reply {
	text := fmt.Sprintf("Try again in %d s.", int(wait.Seconds())+1)
	return Reply{Tone: Warning, Title: "Too many commands", Text: text}
}

func moderatorsOnly() Reply {
	return Reply{Tone: Warning, Title: "For moderators only", Text: "Only moderators of this chat may ask about others."}
}

// chatNotListed is the answer to a moderator of a chat that MODERATOR_CHATS does
// not list; entry would list it. The answer may be read in another chat.
func chatNotListed(entry string) Reply {
	return Reply{Tone: Warning, Title: "Not allowed in that chat yet",
		Text: "You moderate the chat that you asked in, but its moderators may not ask about others yet. " +
			"Whoever runs this bot can allow it:",
		Sections: []Section{{Fields: []Field{{Value: "Add " + entry + " to MODERATOR_CHATS"}}}}}
}

const roleUnknown = "I could not find out whether you moderate this chat. Try again in a minute."

// couldNotBeChecked is in place of an answer, with the reason why there is
// none.
func couldNotBeChecked(reference, why string) Reply {
	return Reply{Tone: Warning, Title: "Could not be checked", Text: why, Notes: []string{"Reference " + reference}}
}

// badInput says what is wrong with the arguments, and shows the forms that the
// asker may have meant.
func badInput(problem string, c Command, forms []Form) Reply {
	var fields []Field
	for _, f := range forms {
		fields = append(fields, Field{Name: "Write", Value: c.Usage(f)})
		if len(f.Params) > 0 {
			fields = append(fields, Field{Name: "For example", Value: c.Example(f)})
		}
	}
	return Reply{Tone: Warning, Title: "That did not work", Text: problem, Sections: []Section{{Fields: fields}}}
}
