package telegramtest

import (
	"fmt"
	"strings"
	"testing"
)

// A message is refused just beyond each bound, and taken at it.
func TestMessagesAreTakenUpToTheirBounds(t *testing.T) {
	message := func(text, more string) string {
		if more != "" {
			more = "," + more
		}
		return fmt.Sprintf(`{"chat_id":%d,"text":%s%s}`, group, quote(text), more)
	}
	entities := func(list string) string { return message("Today 𝔸", `"entities":[`+list+`]`) }
	bold := `{"type":"bold","offset":0,"length":5}`
	for name, tt := range map[string]struct {
		params, want string
	}{
		"no text":                     {message(" \n", ""), "message text is empty"},
		"4096 units":                  {message(strings.Repeat("𝔸", 2048), ""), ""},
		"4097 units":                  {message(strings.Repeat("𝔸", 2048)+"x", ""), "message is too long"},
		"100 entities":                {entities(strings.Repeat(bold+",", 99) + bold), ""},
		"101 entities":                {entities(strings.Repeat(bold+",", 100) + bold), "entity bounds"},
		"entity past the end":         {entities(`{"type":"bold","offset":6,"length":3}`), "entity bounds"},
		"half a character":            {entities(`{"type":"bold","offset":6,"length":1}`), "entity bounds"},
		"entity of no type":           {entities(`{"type":"loud","offset":0,"length":5}`), "unsupported entity type"},
		"folded quote":                {entities(`{"type":"expandable_blockquote","offset":0,"length":5}`), ""},
		"date":                        {entities(`{"type":"date_time","offset":0,"length":5,"unix_time":1750000000,"date_time_format":"r"}`), ""},
		"date of no format":           {entities(`{"type":"date_time","offset":0,"length":5,"unix_time":1750000000,"date_time_format":"rT"}`), "the date is wrong"},
		"date without its time":       {entities(`{"type":"date_time","offset":0,"length":5}`), "the date is wrong"},
		"time in another type":        {entities(`{"type":"bold","offset":0,"length":5,"unix_time":5}`), "a member of another type"},
		"link to nowhere":             {entities(`{"type":"text_link","offset":0,"length":5,"url":"javascript:x"}`), "the URL is wrong"},
		"button to this machine":      {message("x", keyboard(`"url":"http://localhost:8080"`)), "BUTTON_URL_INVALID"},
		"64 bytes of data":            {message("x", keyboard(`"callback_data":`+quote(strings.Repeat("é", 32)))), ""},
		"65 bytes of data":            {message("x", keyboard(`"callback_data":`+quote(strings.Repeat("é", 32)+"x"))), "BUTTON_DATA_INVALID"},
		"no data":                     {message("x", keyboard(`"callback_data":""`)), "BUTTON_DATA_INVALID"},
		"256 characters to copy":      {message("x", keyboard(`"copy_text":{"text":`+quote(strings.Repeat("é", 256))+`}`)), ""},
		"257 characters to copy":      {message("x", keyboard(`"copy_text":{"text":`+quote(strings.Repeat("é", 257))+`}`)), "BUTTON_COPY_TEXT_INVALID"},
		"nothing to copy":             {message("x", keyboard(`"copy_text":{"text":""}`)), "BUTTON_COPY_TEXT_INVALID"},
		"button to nowhere":           {message("x", keyboard(`"url":"/relative"`)), "BUTTON_URL_INVALID"},
		"button of an empty query":    {message("x", keyboard(`"switch_inline_query_current_chat":""`)), ""},
		"button of no action":         {message("x", keyboard(`"style":"primary"`)), "one action"},
		"button of two actions":       {message("x", keyboard(`"callback_data":"1","url":"https://t.me"`)), "one action"},
		"button of no style":          {message("x", keyboard(`"callback_data":"1","style":"pink"`)), "unknown style"},
		"button without words":        {message("x", `"reply_markup":{"inline_keyboard":[[{"text":"","callback_data":"1"}]]}`), "the text is empty"},
		"forced reply":                {message("x", `"reply_markup":{"force_reply":true,"selective":true,"input_field_placeholder":`+quote(strings.Repeat("é", 64))+`}`), ""},
		"forced reply, long hint":     {message("x", `"reply_markup":{"force_reply":true,"input_field_placeholder":`+quote(strings.Repeat("é", 65))+`}`), "can't parse reply markup"},
		"reply to 0":                  {message("x", `"reply_parameters":{"message_id":0,"allow_sending_without_reply":true}`), "message identifier is not specified"},
		"reply to nothing":            {message("x", `"reply_parameters":{"message_id":99}`), "message to be replied not found"},
		"reply to nothing, if need":   {message("x", `"reply_parameters":{"message_id":99,"allow_sending_without_reply":true}`), ""},
		"reply to ephemeral, public":  {message("x", `"reply_parameters":{"ephemeral_message_id":1}`), "message identifier is not specified"},
		"a user who never started it": {`{"chat_id":501,"text":"x"}`, "can't initiate conversation"},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewInMemory(t)
			a := s.do(t, "sendMessage", tt.params)
			if a.OK != (tt.want == "") || !strings.Contains(a.Description, tt.want) {
				t.Errorf("answered %+v, want %q", a, tt.want)
			}
			if taken := len(s.Sent()) == 1 && len(s.Seen()) == 1; taken != a.OK {
				t.Errorf("it took %+v, and showed %+v", s.Sent(), s.Seen())
			}
		})
	}
}

func TestPicturesAreTakenUpToTheirBounds(t *testing.T) {
	params := func(units int) map[string]string {
		return map[string]string{"chat_id": fmt.Sprint(group), "caption": strings.Repeat("x", units)}
	}
	large := append(picture(10, 10), make([]byte, maxPhoto)...)
	for name, tt := range map[string]struct {
		units   int
		content []byte
		want    string
	}{
		"1024 units":      {1024, picture(800, 400), ""},
		"1025 units":      {1025, picture(800, 400), "message caption is too long"},
		"no caption":      {0, picture(800, 400), ""},
		"no picture":      {0, []byte("<svg/>"), "IMAGE_PROCESS_FAILED"},
		"more than 10 MB": {0, large, "file is too big"},
		"too long a side": {0, picture(21, 1), "PHOTO_INVALID_DIMENSIONS"},
		"too many pixels": {0, picture(9_000, 1_001), "PHOTO_INVALID_DIMENSIONS"},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewInMemory(t)
			a := s.upload(t, "sendPhoto", params(tt.units), "photo", tt.content)
			if a.OK != (tt.want == "") || !strings.Contains(a.Description, tt.want) || len(s.Sent()) == 1 != a.OK {
				t.Errorf("answered %+v, want %q", a, tt.want)
			}
		})
	}
	s := NewInMemory(t)
	if a := s.do(t, "sendPhoto", `{"chat_id":-1001,"photo":"https://example.com/a.png"}`); a.OK {
		t.Error("a picture at an address was taken")
	}
}

func TestMenusAndDescriptionsAreTakenUpToTheirBounds(t *testing.T) {
	command := func(name, description string) string {
		return fmt.Sprintf(`{"commands":[{"command":%s,"description":%s}]}`, quote(name), quote(description))
	}
	many := func(n int) string {
		return `{"commands":[` + strings.TrimSuffix(strings.Repeat(`{"command":"a","description":"b"},`, n), ",") + `]}`
	}
	for name, tt := range map[string]struct {
		method, params, want string
	}{
		"32 and 256":            {"setMyCommands", command(strings.Repeat("a", 32), strings.Repeat("é", 256)), ""},
		"a name of 33":          {"setMyCommands", command(strings.Repeat("a", 33), "x"), "BOT_COMMAND_INVALID"},
		"a name in capitals":    {"setMyCommands", command("Price", "x"), "BOT_COMMAND_INVALID"},
		"a description of 257":  {"setMyCommands", command("a", strings.Repeat("é", 257)), "BOT_COMMAND_DESCRIPTION_INVALID"},
		"no description":        {"setMyCommands", command("a", ""), "BOT_COMMAND_DESCRIPTION_INVALID"},
		"100 commands":          {"setMyCommands", many(100), ""},
		"101 commands":          {"setMyCommands", many(101), "BOT_COMMANDS_TOO_MUCH"},
		"an unknown scope":      {"setMyCommands", `{"commands":[],"scope":{"type":"friends"}}`, "unsupported type"},
		"a scope without chat":  {"setMyCommands", `{"commands":[],"scope":{"type":"chat"}}`, "chat_id"},
		"a language of three":   {"setMyCommands", `{"commands":[],"language_code":"eng"}`, "language code"},
		"512 characters":        {"setMyDescription", `{"description":` + quote(strings.Repeat("é", 512)) + `}`, ""},
		"513 characters":        {"setMyDescription", `{"description":` + quote(strings.Repeat("é", 513)) + `}`, "too long"},
		"120, short":            {"setMyShortDescription", `{"short_description":` + quote(strings.Repeat("é", 120)) + `,"language_code":"es"}`, ""},
		"121, short":            {"setMyShortDescription", `{"short_description":` + quote(strings.Repeat("é", 121)) + `}`, "too long"},
		"described, a language": {"setMyShortDescription", `{"short_description":"x","language_code":"zh-Hans"}`, "language code"},
	} {
		if a := NewInMemory(t).do(t, tt.method, tt.params); a.OK != (tt.want == "") || !strings.Contains(a.Description, tt.want) {
			t.Errorf("%s: answered %+v, want %q", name, a, tt.want)
		}
	}
}

// What the description does not know is a mistake of the program under test.
func TestCallsThatTheBotAPIDoesNotDescribeAreViolations(t *testing.T) {
	s := NewInMemory(t)
	for _, call := range []struct{ method, params string }{
		{"sendMessage", `{"chat_id":-1001,"text":"x","receiver_user_id":501}`},
		{"sendMessage", `{"chat_id":-1001,"text":"x","ephemeral_message_parameters":{}}`},
		{"sendMessage", `{"chat_id":-1001,"text":"x","reply_markup":{"inline_keyboard":[[{"text":"x","copy":"x"}]]}}`},
		{"answerInlineQuery", `{"inline_query_id":"1","results":[{"type":"article","id":"1","title":"x"}]}`},
		{"editMessageMedia", `{"media":{"type":"photo"}}`},
		{"setMyCommands", `{"commands":[{"command":"a"}]}`},
		{"sendRocket", `{}`},
	} {
		if a := s.do(t, call.method, call.params); a.OK {
			t.Errorf("taken: %+v", call)
		}
	}
	if got := s.ExpectViolations(); len(got) != 7 || len(s.Sent()) != 0 {
		t.Errorf("violations: %q", got)
	}
}
