package terminal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/demo/community"
	"herald/internal/demo/fake/services"
	"herald/internal/demo/fake/telegram"
	"herald/internal/demo/terminal"
)

// bot is a bot that is connected to a fake of Telegram.
type bot struct {
	*telegram.Server
	t *testing.T
	// answer answers an update. Each test has its own.
	answer func(update)
}

// update is an update that the bot gets: a message, a press, or a request to join a group. The fields of the other two
// are zero.
type update struct {
	ID      int64 `json:"update_id"`
	Message struct {
		ID        int64         `json:"message_id"`
		Ephemeral int64         `json:"ephemeral_message_id"`
		Text      string        `json:"text"`
		From      telegram.User `json:"from"`
		Chat      telegram.Chat `json:"chat"`
		ReplyTo   struct {
			ID int64 `json:"message_id"`
		} `json:"reply_to_message"`
	} `json:"message"`
	Press struct {
		ID   string        `json:"id"`
		From telegram.User `json:"from"`
		Data string        `json:"data"`
	} `json:"callback_query"`
	Join struct {
		From telegram.User `json:"from"`
		Chat telegram.Chat `json:"chat"`
	} `json:"chat_join_request"`
}

// call calls a method of the Bot API, and returns its result.
func (b *bot) call(method string, params map[string]any) json.RawMessage {
	return b.callUntil(b.t.Context(), method, params)
}

// callUntil is like call, but returns nil if ctx is done first.
func (b *bot) callUntil(ctx context.Context, method string, params map[string]any) json.RawMessage {
	body, err := json.Marshal(params)
	if err != nil {
		b.t.Error(err)
	}
	return b.do(ctx, method, "application/json", body)
}

// do makes a call with this body, and returns its result. It fails the test if the fake refuses the call.
func (b *bot) do(ctx context.Context, method, contentType string, body []byte) json.RawMessage {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/bot"+telegram.Token+"/"+method, bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	var answer struct {
		OK     bool
		Result json.RawMessage
	}
	err := json.Unmarshal(w.Body.Bytes(), &answer)
	isRefused := !answer.OK && ctx.Err() == nil
	if err != nil || isRefused {
		b.t.Errorf("%s: %s", method, w.Body)
	}
	return answer.Result
}

// send sends a text to a chat, and returns the message's ID. more has other parameters of sendMessage.
func (b *bot) send(chat int64, text string, more map[string]any) (id int64) {
	params := map[string]any{"chat_id": chat, "text": text}
	for name, value := range more {
		params[name] = value
	}
	var sent struct {
		ID int64 `json:"message_id"`
	}
	_ = json.Unmarshal(b.call("sendMessage", params), &sent)
	return sent.ID
}

// poll answers updates until ctx is done.
func (b *bot) poll(ctx context.Context) {
	offset := int64(0)
	for ctx.Err() == nil {
		var batch []update
		result := b.callUntil(ctx, "getUpdates", map[string]any{
			"offset":          offset,
			"timeout":         50,
			"allowed_updates": []string{"message", "callback_query", "chat_join_request"},
		})
		_ = json.Unmarshal(result, &batch)
		for _, u := range batch {
			b.answer(u)
			offset = u.ID + 1
		}
	}
}

// typeLines types text into a window while a bot answers, and returns the text that the window prints.
func typeLines(t *testing.T, text string, answer func(*bot, update)) (printed string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		if err := run(t, strings.NewReader(text), &out, answer); err != nil {
			t.Fatal(err)
		}
		printed = out.String()
	})
	return printed
}

// registeredID is the user ID of the person "registered", who is the asker at first.
const registeredID = 7000000001

// run runs a window while a bot answers, until in ends. It must be called in simulated time. In this window, later does
// not check addresses, but sends "Removed" to registered.
func run(t *testing.T, in io.Reader, out io.Writer, answer func(*bot, update)) error {
	b := &bot{Server: telegram.New(), t: t}
	b.answer = func(u update) { answer(b, u) }
	defer b.Close()
	fakes := services.New()
	group := community.Open(fakes.World, b.Server)
	ctx, stop := context.WithCancel(t.Context())
	var polling sync.WaitGroup
	polling.Go(func() { b.poll(ctx) })
	defer polling.Wait()
	defer stop()
	return terminal.Run(ctx, terminal.Config{
		In:        in,
		Out:       out,
		Community: group,
		Services:  fakes,
		Later: func(context.Context) error {
			b.send(registeredID, "Removed", nil)
			return nil
		},
		Idle: func() bool { return true },
	})
}

// echo answers each message in its chat with "SENDER: TEXT".
func echo(b *bot, u update) {
	b.send(u.Message.Chat.ID, u.Message.From.FirstName+": "+u.Message.Text, nil)
}

func TestEachLineIsAMessageToTheGroup(t *testing.T) {
	for typed, want := range map[string]string{
		"":                           "",
		"/price 7d\n":                "registered: /price 7d (simulated)\n\n",
		"/price":                     "registered: /price (simulated)\n\n",
		" hello \r\n\n \n/x\n":       "registered: hello (simulated)\n\nregistered: /x (simulated)\n\n",
		"/price\n QUIT\t\n/help\n":   "registered: /price (simulated)\n\n",
		"/exit\n/help\n":             "",
		"please quit\n":              "registered: please quit (simulated)\n\n",
		"M\xfcller \x1b[2J\x00\n":    "registered: M\uFFFDller [2J (simulated)\n\n",
		"/AS Unregistered\n/price\n": "Now asking as unregistered\n\nunregistered: /price (simulated)\n\n",
		"/as\n":                      "Type /as registered, /as unregistered or /as moderator.\n\n",
		"/join nowhere\n":            "Type /join registered or /join staker.\n\n",
		"[Nothing]\n":                "There is no such button that registered can press.\n\n",
		"[]\n":                       "There is no such button that registered can press.\n\n",
	} {
		if got := typeLines(t, typed, echo); got != want {
			t.Errorf("%q: got\n%q, want\n%q", typed, got, want)
		}
	}
}

func TestALineThatIsTooLongIsNotSent(t *testing.T) {
	const want = "That is too long: a message has at most 4096 characters.\n\nregistered: /price (simulated)\n\n"
	for _, length := range []int{4097, 20_000, 1_000_000} {
		if got := typeLines(t, strings.Repeat("a", length)+"\n/price\n", echo); got != want {
			t.Errorf("%d letters: got %.200q", length, got)
		}
	}
}

func TestMessagesThatOnePersonSeesAreMarked(t *testing.T) {
	answer := func(b *bot, u update) {
		b.send(u.Message.Chat.ID, "in the group", nil)
		b.send(u.Message.From.ID, "to the asker", nil)
		b.send(registeredID, "to registered", nil)
	}
	const want = "Now asking as unregistered\n\nin the group (simulated)\n\n" +
		"(in your private chat with the bot)\nto the asker (simulated)\n\n" +
		"(in the private chat of registered)\nto registered (simulated)\n\n"
	if got := typeLines(t, "/as unregistered\n/mylogins\n", answer); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestTheAnswerToAnEphemeralCommandIsEphemeral(t *testing.T) {
	hasMenu := false
	answer := func(b *bot, u update) {
		if !hasMenu {
			hasMenu = true
			b.call("setMyCommands", map[string]any{
				"commands": []telegram.Command{{Command: "mylogins", Description: "Logins", Ephemeral: true}},
			})
		}
		if u.Message.Ephemeral != 0 {
			b.send(u.Message.Chat.ID, "yours", map[string]any{
				"reply_parameters":             map[string]any{"ephemeral_message_id": u.Message.Ephemeral},
				"ephemeral_message_parameters": map[string]any{"receiver_user_id": u.Message.From.ID},
			})
		}
	}
	got := typeLines(t, "/start\n/mylogins\n", answer)
	if !strings.HasSuffix(got, "(only you see this)\nyours (simulated)\n\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestAChangedMessageIsPrintedAgain(t *testing.T) {
	answer := func(b *bot, u update) {
		id := b.send(u.Message.Chat.ID, "one moment", nil)
		b.call("editMessageText", map[string]any{
			"chat_id":    u.Message.Chat.ID,
			"message_id": id,
			"text":       "done",
		})
	}
	const want = "one moment (simulated)\n\n(changed)\ndone (simulated)\n\n"
	if got := typeLines(t, "/price\n", answer); got != want {
		t.Errorf("got\n%s", got)
	}
}

// buttons are parameters of sendMessage. Two of the buttons can be pressed. The others open a page, open the private
// chat with the bot, and copy a text.
var buttons = map[string]any{
	"reply_markup": map[string]any{
		"inline_keyboard": [][]map[string]any{
			{{"text": "· 7d ·", "callback_data": "week"}, {"text": "Refresh it", "callback_data": "again"}},
			{{"text": "Page", "url": "https://example.org/page"}},
			{{"text": "Private chat", "url": "https://t.me/" + telegram.Username + "?start=help"}},
			{{"text": "Copy", "copy_text": map[string]any{"text": "0x12"}}},
		},
	},
}

func TestButtonsArePressedByTheirLabels(t *testing.T) {
	answer := func(b *bot, u update) {
		if u.Press.ID != "" {
			b.call("answerCallbackQuery", map[string]any{
				"callback_query_id": u.Press.ID,
				"text":              u.Press.From.FirstName + " pressed " + u.Press.Data,
			})
		} else {
			b.send(u.Message.Chat.ID, u.Message.Text, buttons)
		}
	}
	const shown = " (simulated)\n[· 7d ·] · [Refresh it] · [Page] https://example.org/page · [Private chat]\n\n"
	for typed, want := range map[string]string{
		"[7d]":           "(only you see this)\nregistered pressed week (simulated)\n\n",
		"[refresh":       "(only you see this)\nregistered pressed again (simulated)\n\n",
		"[Page]":         "That opens https://example.org/page\n\n",
		"[Private chat]": "(in your private chat with the bot)\n/start help" + shown,
		"[Copy]":         "There is no such button that registered can press.\n\n",
	} {
		if got := typeLines(t, "/price\n"+typed, answer); got != "/price"+shown+want {
			t.Errorf("%s: got\n%s", typed, got)
		}
	}
}

// The bot answers a press with a link to its private chat.
func TestALinkInAnAnswerOpensThePrivateChat(t *testing.T) {
	answer := func(b *bot, u update) {
		switch {
		case u.Press.ID != "":
			b.call("answerCallbackQuery", map[string]any{
				"callback_query_id": u.Press.ID,
				"url":               "https://t.me/" + telegram.Username + "?start=x",
			})
		case u.Message.Chat.Type == "private":
			echo(b, u)
		default:
			b.send(u.Message.Chat.ID, "buttons", buttons)
		}
	}
	got := typeLines(t, "/price\n[7d]\n", answer)
	if !strings.HasSuffix(got, "(in your private chat with the bot)\nregistered: /start x (simulated)\n\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestOnlyTheReaderOfAMessageCanPressItsButtons(t *testing.T) {
	answer := func(b *bot, u update) { b.send(u.Message.From.ID, "yours", buttons) }
	got := typeLines(t, "/price\n/as moderator\n[7d]\n", answer)
	if !strings.HasSuffix(got, "There is no such button that moderator can press.\n\n") {
		t.Errorf("got\n%s", got)
	}
}

// The line after a question is a reply to the question, unless it is a command or of another person.
func TestALineAfterAQuestionIsAReply(t *testing.T) {
	question := map[string]any{"reply_markup": map[string]any{"force_reply": true}}
	answer := func(b *bot, u update) {
		if u.Message.Text == "/staked" {
			b.send(u.Message.Chat.ID, "Which?", question)
			return
		}
		b.send(u.Message.Chat.ID, fmt.Sprintf("%s, a reply: %t", u.Message.Text, u.Message.ReplyTo.ID != 0), nil)
	}
	const (
		asked = "Which? (simulated)\n(your next line is the answer)\n\n"
		usage = "Type /as registered, /as unregistered or /as moderator.\n\n"
	)
	for typed, want := range map[string]string{
		"0x12":             "0x12, a reply: true (simulated)\n\n",
		"/price":           "/price, a reply: false (simulated)\n\n",
		"/as\n0x12":        usage + "0x12, a reply: true (simulated)\n\n",
		"/as moderator\n0": "Now asking as moderator\n\n0, a reply: false (simulated)\n\n",
		"0x12\n0x34":       "0x12, a reply: true (simulated)\n\n0x34, a reply: false (simulated)\n\n",
	} {
		if got := typeLines(t, "/staked\n"+typed, answer); got != asked+want {
			t.Errorf("%q: got\n%s", typed, got)
		}
	}
}

func TestAMessageWithoutAnAnswerIsExplained(t *testing.T) {
	const want = "Herald does not answer that. In a group it answers commands, such as /price.\n\n"
	if got := typeLines(t, "hello\n", func(*bot, update) {}); got != want {
		t.Errorf("got %q", got)
	}
}

func TestAPressWithoutAnEffectIsExplained(t *testing.T) {
	answer := func(b *bot, u update) {
		if u.Press.ID == "" {
			b.send(u.Message.Chat.ID, "buttons", buttons)
		}
	}
	got := typeLines(t, "/price\n[7d]\n", answer)
	if !strings.HasSuffix(got, "\n\nNothing has changed.\n\n") {
		t.Errorf("got %q", got)
	}
}

func TestALateAnswerIsAnnounced(t *testing.T) {
	slow := func(b *bot, u update) {
		time.Sleep(45 * time.Second)
		echo(b, u)
	}
	const late = "No answer for 30 seconds. If one comes, it is printed here.\n\n"
	got := typeLines(t, "/price\n/help\n", slow)
	if !strings.HasPrefix(got, late+"registered: /price (simulated)\n\n") {
		t.Errorf("got %q", got)
	}
}

func TestDemoCommandsControlTheFakes(t *testing.T) {
	staker := services.New().World.Staker.Hex()
	for typed, want := range map[string]string{
		"/later": "Six hours later. All saved addresses were checked.\n\n" +
			"(in your private chat with the bot)\nRemoved (simulated)\n\n",
		"/later now": "Type /later alone.\n\n",
		"/unstake": staker + " stakes nothing now. /later lets six\n" +
			"  hours pass; /stake brings the stake back.\n\n",
		"/stake": staker + " stakes again.\n\n",
		"/fault price\n/fault PRICE": "The fault price: every call is refused. /fault price ends it.\n\n" +
			"The fault price is over.\n\n",
		"/fault old quote": "The fault old quote: the price provider's quote is three hours old. /fault old\n" +
			"  quote ends it.\n\n",
	} {
		if got := typeLines(t, typed, echo); got != want {
			t.Errorf("%s: got\n%s", typed, got)
		}
	}
}

// approveLate approves a join request after the time that a service could take.
func approveLate(b *bot, u update) {
	time.Sleep(100 * time.Millisecond)
	b.call("approveChatJoinRequest", map[string]any{"chat_id": u.Join.Chat.ID, "user_id": u.Join.From.ID})
}

// joinAnswer is a way to answer a join request, and the text that the window then prints.
type joinAnswer struct {
	answer func(*bot, update)
	want   string
}

func joinAnswers() map[string]joinAnswer {
	const (
		inPrivate = "(in your private chat with the bot"
		isMember  = "Token holders: registered is a member now.\n\n"
	)
	return map[string]joinAnswer{
		"a message that changes after the approval": {
			answer: func(b *bot, u update) {
				id := b.send(u.Join.From.ID, "Letting you in", nil)
				approveLate(b, u)
				b.call("editMessageText", map[string]any{
					"chat_id":    u.Join.From.ID,
					"message_id": id,
					"text":       "You're in",
				})
			},
			want: inPrivate + ")\nLetting you in (simulated)\n\n" +
				isMember +
				inPrivate + ", changed)\nYou're in (simulated)\n\n",
		},
		"a message after the approval": {
			answer: func(b *bot, u update) {
				approveLate(b, u)
				b.send(u.Join.From.ID, "You're in", nil)
			},
			want: isMember + inPrivate + ")\nYou're in (simulated)\n\n",
		},
		"a message without an approval": {
			answer: func(b *bot, u update) {
				time.Sleep(time.Second)
				b.send(u.Join.From.ID, "Not in yet", nil)
			},
			want: inPrivate + ")\nNot in yet (simulated)\n\n",
		},
	}
}

// The bot acknowledges a join request at once, and answers the request later.
func TestAJoinRequestIsAnsweredBeforeTheNextLine(t *testing.T) {
	const (
		first = "registered: /start (simulated)\n\n"
		asks  = "registered asks to join Token holders, a group for registered people.\n\n"
		last  = "registered: /end (simulated)\n\n"
	)
	for name, tt := range joinAnswers() {
		answer := func(b *bot, u update) {
			if u.Join.From.ID == 0 {
				echo(b, u)
			} else {
				go tt.answer(b, u)
			}
		}
		got := typeLines(t, "/start\n/join registered\n/end\n", answer)
		if got != first+asks+tt.want+last {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
}

func TestAPictureIsDescribed(t *testing.T) {
	answer := func(b *bot, u update) {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		_ = form.WriteField("chat_id", fmt.Sprint(u.Message.Chat.ID))
		_ = form.WriteField("caption", "It rose.\nBy 2 %")
		file, _ := form.CreateFormFile("photo", "chart.png")
		_, _ = file.Write(picture(t, 640, 480))
		_ = form.Close()
		b.do(b.t.Context(), "sendPhoto", form.FormDataContentType(), body.Bytes())
	}
	const want = "(picture: PNG, 640 x 480)\nIt rose. (simulated)\nBy 2 %\n\n"
	if got := typeLines(t, "/chart\n", answer); got != want {
		t.Errorf("got\n%s", got)
	}
}

var errClosed = errors.New("closed")

// closedOut is a closed Out.
type closedOut struct{}

func (closedOut) Write([]byte) (int, error) { return 0, errClosed }

func TestRunFailsIfOutFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := run(t, strings.NewReader("/price\n/help\n"), closedOut{}, echo)
		if !errors.Is(err, errClosed) {
			t.Errorf("got %v", err)
		}
	})
}

// closedIn is a closed In.
type closedIn struct{}

func (closedIn) Read([]byte) (int, error) { return 0, errClosed }

func TestRunFailsIfInFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := io.MultiReader(strings.NewReader("/price\n"), closedIn{})
		if err := run(t, in, io.Discard, echo); !errors.Is(err, errClosed) {
			t.Errorf("got %v", err)
		}
	})
}

// picture returns a PNG of this size in pixels.
func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	var drawn bytes.Buffer
	if err := png.Encode(&drawn, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return drawn.Bytes()
}
