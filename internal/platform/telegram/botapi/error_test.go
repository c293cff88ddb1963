package botapi

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-telegram/bot"

	"herald/internal/secret"
	"herald/internal/transport"
)

const token = "123456789:TEST-token_0123456789abcdefghijklm"

// sentJSON is an answer to sendMessage.
const sentJSON = `{"ok":true,"result":{"message_id":1,"date":1,"chat":{"id":5,"type":"private"},"text":"x"}}`

// newClient returns a Client of the Bot API at a URL. rt carries its calls. If rt is nil, the Client's own transport
// does.
func newClient(t testing.TB, url string, rt http.RoundTripper) *Client {
	t.Helper()
	return New(Config{Token: secret.New(token), URL: url, MaxConns: 4, Transport: rt})
}

// send sends a message, and returns the error. failure drops the result of a call.
func (c *Client) send(ctx context.Context) error {
	return failure(Change(ctx, c, (*bot.Bot).SendMessage, &bot.SendMessageParams{ChatID: 5, Text: "x"}))
}

// answer is a RoundTripper that gives every request the same answer, or fails with err.
type answer struct {
	status int
	body   string
	err    error
}

func (a answer) RoundTrip(req *http.Request) (*http.Response, error) {
	if a.err != nil {
		return nil, &transport.Error{Host: "h", Err: a.err}
	}
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.body)), Request: req}, nil
}

// refusing returns an answer by which the Bot API refuses a call. parameters are the JSON members of "parameters".
func refusing(code int, description, parameters string) answer {
	const format = `{"ok":false,"error_code":%d,"description":%q,"parameters":{%s}}`
	return answer{status: code, body: fmt.Sprintf(format, code, description, parameters)}
}

// failedCall is an answer to a call, and what the call's error must say.
type failedCall struct {
	answer answer
	kind   Kind
	detail string // printed after the kind; "" if nothing is
	traits string // as traitsOf returns them
}

// checkFailedCalls makes two calls in each of the cases: sendMessage by the library, and getUpdates by the Client
// itself.
func checkFailedCalls(t *testing.T, cases map[string]failedCall) {
	t.Helper()
	for name, tt := range cases {
		c := newClient(t, "http://bot.invalid", tt.answer)
		_, pollErr := c.GetUpdates(t.Context(), 1, 100, 0, nil)
		for method, err := range map[string]error{"sendMessage": c.send(t.Context()), "getUpdates": pollErr} {
			want := method + ": " + string(tt.kind)
			if tt.detail != "" {
				want += ": " + tt.detail
			}
			if err.Error() != want {
				t.Errorf("%s: got %q, want %q", name, err, want)
			}
			e := ErrorOf(err)
			if e.Kind != tt.kind {
				t.Errorf("%s: got kind %q, want %q", name, e.Kind, tt.kind)
			}
			if got := traitsOf(e); got != tt.traits {
				t.Errorf("%s: got traits %q, want %q", name, got, tt.traits)
			}
		}
	}
}

// traitsOf returns what an error reports about itself apart from its kind.
func traitsOf(e *Error) string {
	var traits []string
	if e.Unreachable() {
		traits = append(traits, "unreachable")
	}
	if e.Unexplained() {
		traits = append(traits, "unexplained")
	}
	if e.RetryAfter != 0 {
		traits = append(traits, fmt.Sprint("retry after ", e.RetryAfter))
	}
	if e.NewChat != 0 {
		traits = append(traits, fmt.Sprint("new chat ", e.NewChat))
	}
	return strings.Join(traits, ", ")
}

func TestACallWithoutAnAnswerOfTheBotAPI(t *testing.T) {
	checkFailedCalls(t, map[string]failedCall{
		"refused connection": {
			answer: answer{err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}},
			kind:   NotSent,
			detail: "h: dial: connection refused",
		},
		"broken connection": {
			answer: answer{err: io.ErrUnexpectedEOF},
			kind:   OutcomeUnknown,
			detail: "h: the answer broke off",
		},
		"time out": {
			answer: answer{err: context.DeadlineExceeded},
			kind:   OutcomeUnknown,
			detail: "h: the time ran out",
		},
		"502 of a proxy": {
			answer: answer{status: 502, body: "<html>"},
			kind:   OutcomeUnknown,
			detail: "status 502",
		},
		"200 with a page": {
			answer: answer{status: 200, body: "<html>"},
			kind:   OutcomeUnknown,
			detail: "the answer is not the Bot API's",
		},
	})
}

func TestACallThatTheBotAPIFails(t *testing.T) {
	checkFailedCalls(t, map[string]failedCall{
		"500": {
			answer: refusing(500, "Internal Server Error: can't parse entities", ""),
			kind:   OutcomeUnknown,
			detail: "status 500",
		},
		"an unknown code": {
			answer: refusing(418, "what is this", ""),
			kind:   OutcomeUnknown,
		},
		"429": {
			answer: refusing(429, "retry after 7", `"retry_after":7`),
			kind:   TooManyRequests,
			traits: "retry after 7s",
		},
		"401": {
			answer: refusing(401, "Unauthorized", ""),
			kind:   Unauthorized,
		},
		"409 of a webhook": {
			answer: refusing(409, "webhook is active", ""),
			kind:   Conflict,
			detail: "a webhook is set for this token",
		},
		"a group that moved": {
			answer: refusing(400, "upgraded", `"migrate_to_chat_id":-1005`),
			kind:   Migrated,
			traits: "new chat -1005",
		},
	})
}

func TestACallThatTheBotAPIRefuses(t *testing.T) {
	checkFailedCalls(t, map[string]failedCall{
		"403": {
			answer: refusing(403, "Forbidden: bot was blocked by the user", ""),
			kind:   Forbidden,
			detail: "the bot was blocked",
			traits: "unreachable",
		},
		"an unknown chat": {
			answer: refusing(400, "Bad Request: chat not found", ""),
			kind:   Refused,
			detail: "no such chat",
			traits: "unreachable",
		},
		"a closed topic": {
			answer: refusing(400, "Bad Request: TOPIC_CLOSED", ""),
			kind:   Refused,
			detail: "the topic is closed",
		},
		"no text": {
			answer: refusing(400, "there is no text in the message to edit", ""),
			kind:   Refused,
			detail: "the message has no text",
		},
		"a button": {
			answer: refusing(400, "Bad Request: BUTTON_DATA_INVALID", ""),
			kind:   Refused,
			traits: "unexplained",
		},
		"an unknown method": {
			answer: refusing(404, "Not Found", ""),
			kind:   Refused,
			traits: "unexplained",
		},
		"too large": {
			answer: refusing(413, "Request Entity Too Large", ""),
			kind:   Refused,
			traits: "unexplained",
		},
	})
}

// These are Telegram's descriptions as they were seen in reports.
func TestARefusedPartIsRecognized(t *testing.T) {
	for part, descriptions := range map[string][]string{
		"topic": {
			"message thread not found",
			"invalid message thread ID specified",
			"TOPIC_CLOSED",
			"TOPIC_DELETED",
			"TOPIC_ID_INVALID",
			"the chat is not a forum",
		},
		"reply": {
			"message to be replied not found",
			"message to reply not found",
			"replied message not found",
			"REPLY_MESSAGE_ID_INVALID",
		},
		"link": {
			"BUTTON_URL_INVALID",
			"inline keyboard button URL 'x' is invalid: Wrong HTTP URL",
			"inline keyboard button URL 'x' is invalid: Unsupported URL protocol",
			"entity URL 'x' is invalid: Unallowed characters in URL host",
			"wrong HTTP URL",
			"URL_INVALID",
		},
		"picture": {
			"IMAGE_PROCESS_FAILED",
			"PHOTO_INVALID_DIMENSIONS",
			"PHOTO_SAVE_FILE_INVALID",
			"not enough rights to send photos to the chat",
			"CHAT_SEND_PHOTOS_FORBIDDEN",
			"MEDIA_CAPTION_TOO_LONG",
			"message caption is too long",
		},
		"unexplained": {
			"REPLY_MARKUP_INVALID",
		},
		"": {
			"not enough rights to send text messages to the chat",
			"message is not modified",
		},
	} {
		for _, description := range descriptions {
			c := newClient(t, "http://bot.invalid", refusing(400, "Bad Request: "+description, ""))
			if got := refusedPart(ErrorOf(c.send(t.Context()))); got != part {
				t.Errorf("%s: got %q, want %q", description, got, part)
			}
		}
	}
}

// refusedPart returns which part of a message an error refuses, "unexplained" or "".
func refusedPart(e *Error) string {
	switch {
	case e.RefusesTopic():
		return "topic"
	case e.RefusesReply():
		return "reply"
	case e.RefusesLink():
		return "link"
	case e.RefusesPicture():
		return "picture"
	case e.Unexplained():
		return "unexplained"
	}
	return ""
}

// The error code decides the Kind, whatever the parameters are and whichever HTTP status below 500 the answer has. A
// page of a proxy does not tell whether the call was carried out.
func TestAnErrorCodeMeansTheSameInEveryForm(t *testing.T) {
	kindOf := map[int]Kind{
		400: Refused,
		401: Unauthorized,
		403: Forbidden,
		404: Refused,
		409: Conflict,
		413: Refused,
		418: OutcomeUnknown,
		429: TooManyRequests,
		500: OutcomeUnknown,
		502: OutcomeUnknown,
	}
	for code, kind := range kindOf {
		for _, parameters := range []string{
			``,
			`,"parameters":{}`,
			`,"parameters":null`,
			`,"parameters":[]`,
			`,"parameters":{"retry_after":"x"}`,
			`,"parameters":{"retry_after":-1}`,
		} {
			body := fmt.Sprintf(`{"ok":false,"error_code":%d,"description":"no"%s}`, code, parameters)
			for _, status := range []int{code, http.StatusOK} {
				err := newClient(t, "http://bot.invalid", answer{status: status, body: body}).send(t.Context())
				if e := ErrorOf(err); e.Kind != kind || e.RetryAfter != 0 {
					t.Errorf("status %d, %s: %v", status, body, err)
				}
			}
		}
		err := newClient(t, "http://bot.invalid", answer{status: code, body: "<html>no</html>"}).send(t.Context())
		if ErrorOf(err).Kind != OutcomeUnknown {
			t.Errorf("a page with status %d: %v", code, err)
		}
	}
}

func TestAHugeRetryAfterIsLimited(t *testing.T) {
	tooMany := refusing(429, "retry later", `"retry_after":9000000000000000`)
	err := newClient(t, "http://bot.invalid", tooMany).send(t.Context())
	if e := ErrorOf(err); e.RetryAfter != maxRetryAfter*time.Second {
		t.Errorf("a wait of %v: %v", e.RetryAfter, err)
	}
}

// A message must not be sent or edited twice because its result cannot be read.
func TestUnreadableResultOfAChangeIsSuccess(t *testing.T) {
	changes := everyCall()
	for _, method := range []string{
		"sendMessage",
		"sendPhoto",
		"editMessageText",
		"editMessageMedia",
		"deleteMessage",
		"answerCallbackQuery",
		"answerInlineQuery",
		"setChatMemberTag",
		"approveChatJoinRequest",
		"answerChatJoinRequestQuery",
		"setMyCommands",
	} {
		for _, result := range []string{`true`, `{}`, `null`, `[]`, `{"message_id":"7"}`, `{"message_id":7,"chat":[]}`} {
			c := newClient(t, "http://bot.invalid", answer{status: 200, body: `{"ok":true,"result":` + result + `}`})
			if err := changes[method].do(t.Context(), c); err != nil {
				t.Errorf("%s with the result %s: %v", method, result, err)
			}
		}
	}
}

// reads are calls that only read, by method.
var reads = map[string]func(context.Context, *Client) error{
	"getMe": func(ctx context.Context, c *Client) error {
		return failure(c.GetMe(ctx))
	},
	"getWebhookInfo": func(ctx context.Context, c *Client) error {
		return failure(c.GetWebhookInfo(ctx))
	},
	"getChat": func(ctx context.Context, c *Client) error {
		return failure(c.GetChat(ctx, group))
	},
	"getUpdates": func(ctx context.Context, c *Client) error {
		return failure(c.GetUpdates(ctx, 1, 100, 0, nil))
	},
	"getChatMember": func(ctx context.Context, c *Client) error {
		params := &bot.GetChatMemberParams{ChatID: group, UserID: ann}
		return failure(Call(ctx, c, (*bot.Bot).GetChatMember, params))
	},
	"getMyCommands": func(ctx context.Context, c *Client) error {
		return failure(Call(ctx, c, (*bot.Bot).GetMyCommands, &bot.GetMyCommandsParams{}))
	},
}

func TestUnreadableResultOfAReadFails(t *testing.T) {
	for method, read := range reads {
		for _, result := range []string{`,"result":true`, `,"result":"x"`, `,"result":null`, `,"result": null`, ``} {
			c := newClient(t, "http://bot.invalid", answer{status: 200, body: `{"ok":true` + result + `}`})
			e := ErrorOf(read(t.Context(), c))
			if e.Kind != Unreadable || e.Method != method {
				t.Errorf("%s%s: %v", method, result, e)
			}
		}
	}
}

func TestARequestThatCannotBeBuiltIsNotRepeated(t *testing.T) {
	c := newClient(t, "http://127.0.0.1:%zz", nil)
	for method, call := range everyCall() {
		if err := call.do(t.Context(), c); err == nil || ErrorOf(err).Temporary() {
			t.Errorf("%s: %v", method, err)
		}
	}
}

func FuzzDecodeBatch(f *testing.F) {
	f.Add([]byte(`{"ok":true,"result":[{"update_id":1},7,null]}`))
	f.Add([]byte(`{"ok":false,"error_code":429,"parameters":{"retry_after":-1}}`))
	f.Add([]byte(`<html></html>`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := newClient(t, "http://bot.invalid", answer{status: 200, body: string(raw)})
		if _, err := c.GetUpdates(t.Context(), 1, 100, 0, nil); err != nil && ErrorOf(err).Kind == NotSent {
			t.Errorf("an answer counts as never sent: %v", err)
		}
	})
}

// For the methods of join requests and tags, Telegram describes a missing right as if it were another one, or not at
// all. The detail names the right. If a description contains several known parts, the longest one decides.
func TestARefusedCallNamesItsRight(t *testing.T) {
	const (
		invite = "the bot lacks the right to invite users"
		tags   = "the bot lacks the right to manage member tags"
	)
	for _, tt := range []struct {
		method      string
		code        int
		description string
		want        string
	}{
		{"deleteMessage", 400, "Bad Request: not enough rights", noRight},
		{"setChatMemberTag", 400, "Bad Request: not enough rights", tags},
		{"approveChatJoinRequest", 400, "Bad Request: not enough rights to send", invite},
		{"approveChatJoinRequest", 400, "Bad Request: not enough rights to manage chat join requests", invite},
		{"approveChatJoinRequest", 400, "Bad Request: CHAT_ADMIN_REQUIRED", invite},
		{"approveChatJoinRequest", 403, "Forbidden: CHAT_WRITE_FORBIDDEN", invite},
		{"answerChatJoinRequestQuery", 403, "Forbidden: bot is not a member of the supergroup chat", invite},
		{"answerChatJoinRequestQuery", 400, "Bad Request: CHAT_ADMIN_REQUIRED", invite},
	} {
		for range 50 { // The order of a map is random.
			e := ErrorOf(refused(tt.method, &refusal{Code: tt.code, Description: tt.description}))
			if e.detail != tt.want || !e.NotAllowed() {
				t.Fatalf("%+v: %v, not allowed: %t", tt, e, e.NotAllowed())
			}
		}
	}
}

func TestARefusalForAnotherReasonNamesNoRight(t *testing.T) {
	for _, tt := range []struct {
		method      string
		description string
		want        string
	}{
		{"sendMessage", "Bad Request: not enough rights to send text messages to the chat", mayNotWrite},
		{"approveChatJoinRequest", "Bad Request: HIDE_REQUESTER_MISSING", noJoinRequest},
	} {
		for range 50 { // The order of a map is random.
			e := ErrorOf(refused(tt.method, &refusal{Code: 400, Description: tt.description}))
			if e.detail != tt.want || e.NotAllowed() {
				t.Fatalf("%+v: %v, not allowed: %t", tt, e, e.NotAllowed())
			}
		}
	}
}

// userTraits returns what an error says about the user of a join request.
func userTraits(e *Error) string {
	var traits []string
	for _, trait := range []struct {
		name  string
		holds bool
	}{
		{"in too many chats", e.InTooManyChats()},
		{"banned", e.Banned()},
		{"deleted", e.AccountDeleted()},
		{"a member", e.AlreadyMember()},
		{"no request", e.NoJoinRequest()},
	} {
		if trait.holds {
			traits = append(traits, trait.name)
		}
	}
	return strings.Join(traits, ", ")
}

func TestARefusedApprovalSaysWhatIsWrongWithTheUser(t *testing.T) {
	for _, tt := range []struct {
		code        int
		description string
		want        string
	}{
		{400, "Bad Request: USER_CHANNELS_TOO_MUCH", "in too many chats"},
		{400, "Bad Request: CHANNELS_TOO_MUCH", "in too many chats"},
		{400, "Bad Request: USER_KICKED", "banned"},
		{400, "Bad Request: USER_BANNED_IN_CHANNEL", "banned"},
		{400, "Bad Request: INPUT_USER_DEACTIVATED", "deleted"},
		{403, "Forbidden: user is deactivated", "deleted"},
		{400, "Bad Request: USER_ALREADY_PARTICIPANT", "a member"},
		{400, "Bad Request: HIDE_REQUESTER_MISSING", "no request"},
		{400, "Bad Request: CHAT_ADMIN_REQUIRED", ""},
		{403, "Forbidden: bot is not a member of the supergroup chat", ""},
		{400, "Bad Request: CHANNEL_PRIVATE", ""},
	} {
		for _, method := range []string{"approveChatJoinRequest", "answerChatJoinRequestQuery"} {
			e := ErrorOf(refused(method, &refusal{Code: tt.code, Description: tt.description}))
			if got := userTraits(e); got != tt.want {
				t.Errorf("%s, %s: the user is %q, want %q", method, tt.description, got, tt.want)
			}
		}
	}
}
