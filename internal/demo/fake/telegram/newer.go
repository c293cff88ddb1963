package telegram

// newer is what the Bot API had after the version of botapi.json, 10.1: the
// ephemeral messages of 10.2 and 10.3. It is taken from aiogram's and grammY's
// reference (EphemeralMessageParameters, BotCommand.is_ephemeral) and
// https://github.com/tdlib/telegram-bot-api/issues/873.
func newer(d *botDescription) {
	integer, text := []string{"Integer"}, []string{"String"}
	d.Types["EphemeralMessageParameters"] = map[string]field{
		"receiver_user_id":  {Types: integer, Required: true},
		"callback_query_id": {Types: text},
	}
	for _, method := range []string{"sendMessage", "sendPhoto"} {
		d.Methods[method]["ephemeral_message_parameters"] = field{Types: []string{"EphemeralMessageParameters"}}
		d.Methods[method]["receiver_user_id"] = field{Types: integer}
		d.Methods[method]["callback_query_id"] = field{Types: text}
	}
	// A reply names one of the two; replyTo sees to that.
	d.Types["ReplyParameters"]["message_id"] = field{Types: integer}
	d.Types["ReplyParameters"]["ephemeral_message_id"] = field{Types: integer}
	d.Types["BotCommand"]["is_ephemeral"] = field{Types: []string{"Boolean"}}
}

// Older is what a server of an older version lacks.
type Older struct {
	// Ephemeral is what newer lists: parameters of that are ignored, so that a
	// message meant for one is a message for all.
	Ephemeral bool
	// DirectReceiver is 10.2: the receiver of an ephemeral message stands directly
	// among the parameters, and 10.3's form is ignored.
	DirectReceiver bool
	// DeliversEphemeral: commands arrive as ephemeral, but every message sent is for all.
	DeliversEphemeral bool
	// EphemeralMenu: a menu with an ephemeral command is refused.
	EphemeralMenu bool
	// DateTime: a text with a date_time is refused.
	DateTime bool
	// TextToMedia: a text cannot be edited into a picture.
	TextToMedia bool
}

// MakeOlder takes from the server what it should lack.
func (s *Server) MakeOlder(o Older) { s.Change(func() { s.older = o }) }
