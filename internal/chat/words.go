package chat

// SomethingWentWrong is the answer to a command at which this program failed.
// The reference is the Request's ID, which stands in the log.
func SomethingWentWrong(reference string) Reply {
	return Reply{Tone: Warning, Title: "Something went wrong", Text: "Reference " + reference + "."}
}

// Busy is the answer to a command for which there is no room.
func Busy() Reply {
	return Reply{Tone: Warning, Title: "Busy", Text: "I have too many commands to answer right now. Please try again in a minute."}
}
