package chat

// What people read when a command does not come to its answer. Package words has
// the messages.

// warning is for nobody but the sender. The key names its title and its text.
func warning(key string) Reply {
	return Reply{Tone: Warning, Ephemeral: true, Title: Say(key + ".title"), Text: Say(key + ".text")}
}

// Busy is the reply to a command for which there is no room.
func Busy() Reply { return warning("busy") }

// OldButton is the reply to a press on a button of another version.
func OldButton() Reply { return warning("button.old") }

// SomethingWentWrong is the reply when this program failed. The reference is the
// Request's ID, which the log has too.
func SomethingWentWrong(reference string) Reply {
	r := warning("wrong")
	r.Text = referenceText(reference)
	return r
}

// chatNotListed tells a moderator of a chat that is not in MODERATOR_CHATS which
// entry would add it. It may be read in another chat.
func chatNotListed(entry string) Reply {
	r := warning("unlisted")
	r.Sections = []Section{{Fields: []Field{{Value: SayWith("unlisted.entry", Values{"entry": Code(entry)})}}}}
	return r
}

// couldNotBeChecked says why there is no answer.
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
// sender may have meant. Where one more argument makes it right, it asks for that,
// but not about a target: whoever answers the question points at nobody any more.
func badInput(problem *InputError, c Command, forms []Form, target *User) Reply {
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
		if len(f.Params) == 0 {
			continue
		}
		fields = append(fields, Field{Name: Say("input.example"), Value: Code(c.Example(f))})
		if p := f.Params[0]; len(f.Params) == 1 && p.Question.Key != "" && target == nil && reply.Ask == nil {
			reply.Ask = &Ask{Command: c.Name, Param: p.Name, Question: p.Question, Example: p.Example}
		}
	}
	if ask := reply.Ask; ask != nil && problem.Problem.Key == missing {
		text := SayWith("ask.text", Values{"example": Code(ask.Example)})
		return Reply{Ephemeral: true, Title: ask.Question, Text: text, Ask: ask}
	}
	reply.Sections = []Section{{Fields: fields}}
	return reply
}
