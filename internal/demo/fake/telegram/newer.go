package telegram

// newer adds to d what came after the version of botapi.json, 10.1: the ephemeral
// messages of 10.2 and 10.3. They are taken from aiogram's and grammY's
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
