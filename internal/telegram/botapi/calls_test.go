package botapi

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"herald/internal/telegram/telegramtest"
)

const (
	ann   = 501
	group = -1001
)

// beside is a Client of a fake of Telegram.
func beside(t *testing.T) (*Client, *telegramtest.Server) {
	t.Helper()
	s := telegramtest.NewInMemory(t)
	return newClient(t, s.URL, s), s
}

// picture is a PNG of this width.
func picture(width int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, width))); err != nil {
		panic(err)
	}
	return b.Bytes()
}

var here = ""

// full is content of everything that the bot can say, but for markup.
var full = Content{
	Text: "Price now, docs, more",
	Entities: []Entity{
		{Type: Bold, Offset: 0, Length: 5},
		{Type: DateTime, Offset: 6, Length: 3, UnixTime: 1750000000, TimeFormat: "r"},
		{Type: TextLink, Offset: 11, Length: 4, URL: "https://example.com/"},
		{Type: ExpandableBlockquote, Offset: 17, Length: 4},
	},
	Markup: Keyboard{Rows: [][]Button{
		{{Text: "Refresh", Data: "1:price", Style: "primary"}, {Text: "Explorer", URL: "https://example.com/x"}},
		{{Text: "Copy", Copy: "0x1"}, {Text: "Here", SwitchInlineHere: &here}, {Text: "There", SwitchInline: &here}},
	}},
}

// shown fails the test unless a message says what full says.
func shown(t *testing.T, m telegramtest.Sent) {
	t.Helper()
	e := m.Entities
	if m.Text != full.Text || len(e) != 4 || e[0].Type != "bold" ||
		e[1] != (telegramtest.Entity{Type: "date_time", Offset: 6, Length: 3, UnixTime: 1750000000, TimeFormat: "r"}) ||
		e[2].URL != "https://example.com/" || e[3].Type != "expandable_blockquote" {
		t.Errorf("it says %q, %+v", m.Text, e)
	}
	rows := m.Markup.Rows
	if len(rows) != 2 || rows[0][0] != (telegramtest.Button{Text: "Refresh", Data: "1:price", Style: "primary"}) ||
		rows[0][1].URL != "https://example.com/x" || rows[1][0].Copy.Text != "0x1" || *rows[1][1].SwitchInlineHere != "" || *rows[1][2].SwitchInline != "" {
		t.Errorf("its buttons are %+v", rows)
	}
}

func TestAMessageGoesOutWithAllItHas(t *testing.T) {
	c, s := beside(t)
	_, asked := s.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/price"))
	id, err := c.SendMessage(t.Context(), Destination{Chat: group, Thread: 7, ReplyTo: asked, Silent: true}, full)
	if err != nil {
		t.Fatal(err)
	}
	m := s.Sent()[0]
	if m.ID != id || m.Chat != group || m.Thread != 7 || m.ReplyTo != asked || !m.Silent {
		t.Errorf("sent %+v under %d", m, id)
	}
	shown(t, m)
	if p := string(s.Calls("sendMessage")[0].Params["link_preview_options"]); p != `{"is_disabled":true}` {
		t.Errorf("link preview: %s", p)
	}
	if _, err := c.SendMessage(t.Context(), Destination{Chat: group, ReplyTo: asked + 99}, Content{Text: "x"}); err != nil {
		t.Errorf("a reply to a message that is gone: %v", err)
	}
	question := Content{Text: "Which wallet?", Markup: ForceReply{Placeholder: "0x…", Selective: true}}
	if _, err := c.SendMessage(t.Context(), Destination{Chat: group, ReplyTo: asked}, question); err != nil {
		t.Fatal(err)
	}
	if got := s.Sent()[2].Markup; !got.ForceReply || got.Placeholder != "0x…" || !got.Selective {
		t.Errorf("the question is %+v", got)
	}
}

func TestAMessageIsEditedAndDeleted(t *testing.T) {
	c, s := beside(t)
	id, err := c.SendMessage(t.Context(), Destination{Chat: group}, Content{Text: "old"})
	if err != nil {
		t.Fatal(err)
	}
	ref := MessageRef{Chat: group, MessageID: id}
	for range 2 { // the second changes nothing, and is no failure
		if err := c.EditMessageText(t.Context(), ref, full); err != nil {
			t.Fatal(err)
		}
	}
	if m := s.Sent()[0]; m.Edits != 1 {
		t.Errorf("edited %d times", m.Edits)
	}
	shown(t, s.Sent()[0])
	if err := c.DeleteMessage(t.Context(), group, id); err != nil || !s.Sent()[0].Deleted {
		t.Errorf("deleted: %v, %v", s.Sent()[0].Deleted, err)
	}
	for what, err := range map[string]error{
		"an edit":    c.EditMessageText(t.Context(), ref, full),
		"a deletion": c.DeleteMessage(t.Context(), group, id),
	} {
		if ErrorOf(err).Kind != Refused || !strings.HasSuffix(err.Error(), "refused: the message is gone") {
			t.Errorf("%s of what is gone: %v", what, err)
		}
	}
}

func TestAPictureGoesOutAndIsReplacedInPlace(t *testing.T) {
	c, s := beside(t)
	_, asked := s.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/price 24h"))
	id, err := c.SendPhoto(t.Context(), Destination{Chat: group, Thread: 7, ReplyTo: asked, Silent: true}, picture(20), full)
	if err != nil {
		t.Fatal(err)
	}
	m := s.Sent()[0]
	if m.ID != id || m.Thread != 7 || m.ReplyTo != asked || !m.Silent || !bytes.Equal(m.Photo, picture(20)) {
		t.Errorf("sent %+v under %d", m, id)
	}
	shown(t, m)
	ref := MessageRef{Chat: group, MessageID: id}
	for range 2 {
		if err := c.EditMessageMedia(t.Context(), ref, picture(30), Content{Text: `7 days, "quoted"`, Markup: full.Markup}); err != nil {
			t.Fatal(err)
		}
	}
	if m := s.Sent()[0]; !bytes.Equal(m.Photo, picture(30)) || m.Text != `7 days, "quoted"` || m.Edits != 1 || len(m.Markup.Rows) != 2 {
		t.Errorf("edited to %+v", m)
	}
	if _, err := c.SendPhoto(t.Context(), Destination{Chat: group}, []byte("no picture"), Content{}); ErrorOf(err).Kind != Refused {
		t.Errorf("no picture: %v", err)
	}
}

func TestAPressIsAnswered(t *testing.T) {
	c, s := beside(t)
	press := s.Press(ann, telegramtest.Group(group), 7, "1:price")
	want := telegramtest.Notice{CallbackID: press, User: ann, Text: "That is the newest.", Alert: true, URL: "https://t.me/herald_bot?start=x", CacheTime: 5}
	if err := c.AnswerCallbackQuery(t.Context(), CallbackAnswer{press, want.Text, want.Alert, want.URL, want.CacheTime}); err != nil {
		t.Fatal(err)
	}
	if n := s.Notices(); len(n) != 1 || n[0] != want {
		t.Errorf("the presser was told %+v", n)
	}
	err := c.AnswerCallbackQuery(t.Context(), CallbackAnswer{ID: press})
	if ErrorOf(err).Kind != Refused || !strings.HasSuffix(err.Error(), "refused: the query is too old") {
		t.Errorf("a second answer: %v", err)
	}
}

func TestAnInlineQueryIsAnswered(t *testing.T) {
	c, s := beside(t)
	query := s.Inline(ann, "price", "")
	err := c.AnswerInlineQuery(t.Context(), InlineAnswer{
		ID: query, Results: []Article{{ID: "price", Title: "Price", Description: "$1", Content: full}},
		Cache: 30 * time.Second, Personal: true, Button: &InlineButton{Text: "Open", Start: "inline"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if a := s.InlineAnswers()[0]; a.CacheTime != 30 || !a.Personal || a.Button != "Open" || a.Start != "inline" || a.Results[0].Description != "$1" {
		t.Errorf("answered %+v", a)
	}
	m, ok := s.Choose(query, "price", telegramtest.Group(group))
	if !ok {
		t.Fatal("the result is not there")
	}
	shown(t, m)
	if err := c.EditMessageText(t.Context(), MessageRef{Inline: m.Inline}, Content{Text: "$2"}); err != nil || s.InlineMessage(m.Inline).Text != "$2" {
		t.Errorf("edited to %+v, %v", s.InlineMessage(m.Inline), err)
	}
	if err := c.AnswerInlineQuery(t.Context(), InlineAnswer{ID: s.Inline(ann, "x", "")}); err != nil {
		t.Errorf("no results: %v", err)
	}
}

func TestMenusAndDescriptionsAreSetAndRead(t *testing.T) {
	c, s := beside(t)
	ctx := t.Context()
	menu := Menu{Scope: Groups, Language: "es"}
	commands := []MenuCommand{{"price", "Precio", false}, {"logins", "Accesos", true}}
	if err := c.SetMyCommands(ctx, menu, commands); err != nil {
		t.Fatal(err)
	}
	if got, err := c.GetMyCommands(ctx, menu); err != nil || !reflect.DeepEqual(got, commands) {
		t.Errorf("the menu is %+v, %v", got, err)
	}
	for _, scope := range []Scope{Everybody, PrivateChats, Groups, Administrators, {Type: "chat", Chat: group}} {
		if err := c.SetMyCommands(ctx, Menu{Scope: scope}, nil); err != nil {
			t.Errorf("%+v: %v", scope, err)
		}
	}
	if len(s.MenuOf(telegramtest.MenuKey{Scope: "all_group_chats", Language: "es"})) != 2 {
		t.Error("another scope's menu took its place")
	}
	if err := c.SetMyDescription(ctx, "es", "Hola"); err != nil {
		t.Error(err)
	}
	if err := c.SetMyShortDescription(ctx, "", "Hello"); err != nil {
		t.Error(err)
	}
	long, err := c.GetMyDescription(ctx, "es")
	short, err2 := c.GetMyShortDescription(ctx, "")
	if long != "Hola" || short != "Hello" || err != nil || err2 != nil {
		t.Errorf("described as %q and %q, %v, %v", long, short, err, err2)
	}
	s.MakeOlder(telegramtest.Older{Ephemeral: true, EphemeralMenu: true})
	if err := c.SetMyCommands(ctx, menu, commands); ErrorOf(err).Kind != Refused {
		t.Errorf("a server before ephemeral commands: %v", err)
	}
}

// ephemeralCommand is a private command that arrived as its sender alone sees it.
func ephemeralCommand(t *testing.T, s *telegramtest.Server) EphemeralMessage {
	t.Helper()
	_, id := s.PushEphemeral(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/logins"))
	m, ok := NewEphemeralMessage(group, ann, id)
	if !ok {
		t.Fatalf("%d is none", id)
	}
	return m
}

func TestAnEphemeralMessageIsAnsweredForItsSenderAlone(t *testing.T) {
	c, s := beside(t)
	answer, err := c.SendEphemeral(t.Context(), ephemeralCommand(t, s), "", full)
	if err != nil {
		t.Fatal(err)
	}
	shown(t, s.Sent()[0])
	press := s.PressEphemeral(telegramtest.Group(group), s.Sent()[0].Ephemeral, "1:logins:2")
	second, err := c.SendEphemeral(t.Context(), answer, press, Content{Text: "page 2"})
	if err != nil {
		t.Fatal(err)
	}
	if m := s.Sent(); len(m) != 2 || m[0].Deleted || m[1].Text != "page 2" || m[1].Reader != ann {
		t.Errorf("sent %+v", m)
	}
	for i, m := range []EphemeralMessage{answer, second} {
		if err := c.DeleteEphemeral(t.Context(), m); err != nil || !s.Sent()[i].Deleted {
			t.Errorf("deleted: %v", err)
		}
	}
	if others := s.SeenByOthers(ann); len(others) != 0 {
		t.Errorf("others saw %+v", others)
	}
}

// A server that does not know ephemeral messages would make them public.
func TestNothingEphemeralGoesOutUnasked(t *testing.T) {
	for name, from := range map[string][3]int64{
		"an ordinary message": {group, ann, 0},
		"a negative ID":       {group, ann, -1},
		"a private chat":      {ann, ann, 5},
		"nobody":              {group, 0, 5},
	} {
		c, s := beside(t)
		s.MakeOlder(telegramtest.Older{Ephemeral: true})
		m, ok := NewEphemeralMessage(from[0], from[1], from[2])
		if ok {
			t.Errorf("%s counts as ephemeral", name)
		}
		_, send := c.SendEphemeral(t.Context(), m, "", full)
		_, press := c.SendEphemeral(t.Context(), m, "1", full)
		for _, err := range []error{send, press, c.DeleteEphemeral(t.Context(), m)} {
			if ErrorOf(err).Kind != NotSent || len(s.Seen()) != 0 {
				t.Errorf("%s: %v; people saw %+v", name, err, s.Seen())
			}
		}
	}
}

func TestAnEphemeralAnswerThatBecamePublicIsDeleted(t *testing.T) {
	c, s := beside(t)
	m := ephemeralCommand(t, s)
	s.MakeOlder(telegramtest.Older{Ephemeral: true})
	answer, err := c.SendEphemeral(t.Context(), m, "", full)
	if ErrorOf(err).Kind != Refused || answer != (EphemeralMessage{}) {
		t.Errorf("got %+v, %v", answer, err)
	}
	if sent := s.Sent(); len(sent) != 1 || sent[0].Reader != 0 || !sent[0].Deleted {
		t.Errorf("sent %+v", sent)
	}
}

// counted counts the requests that it carries.
type counted struct {
	http.RoundTripper
	bodies [][]byte
}

func (c *counted) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	replay, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	again, err := io.ReadAll(replay)
	if err != nil || !bytes.Equal(body, again) {
		return nil, fmt.Errorf("the body cannot be replayed: %w", err)
	}
	c.bodies = append(c.bodies, body)
	req = req.Clone(req.Context())
	req.Body = io.NopCloser(bytes.NewReader(body))
	return c.RoundTripper.RoundTrip(req)
}

// Every call fails as SendMessage does, and can be transmitted again by net/http
// if the server never looked at it.
func TestEveryCallFailsByKindAndCanBeReplayed(t *testing.T) {
	ephemeral, _ := NewEphemeralMessage(group, ann, 5)
	to, ref := Destination{Chat: group}, MessageRef{Chat: group, MessageID: 5}
	for name, call := range map[string]func(context.Context, *Client) error{
		"sendMessage": func(ctx context.Context, c *Client) error { _, err := c.SendMessage(ctx, to, full); return err },
		"sendPhoto": func(ctx context.Context, c *Client) error {
			_, err := c.SendPhoto(ctx, to, picture(5), full)
			return err
		},
		"editMessageText":     func(ctx context.Context, c *Client) error { return c.EditMessageText(ctx, ref, full) },
		"editMessageMedia":    func(ctx context.Context, c *Client) error { return c.EditMessageMedia(ctx, ref, picture(5), full) },
		"deleteMessage":       func(ctx context.Context, c *Client) error { return c.DeleteMessage(ctx, group, 5) },
		"answerCallbackQuery": func(ctx context.Context, c *Client) error { return c.AnswerCallbackQuery(ctx, CallbackAnswer{ID: "5"}) },
		"answerInlineQuery":   func(ctx context.Context, c *Client) error { return c.AnswerInlineQuery(ctx, InlineAnswer{ID: "5"}) },
		"setMyCommands": func(ctx context.Context, c *Client) error {
			return c.SetMyCommands(ctx, Menu{Scope: Everybody}, []MenuCommand{})
		},
		"getMyCommands": func(ctx context.Context, c *Client) error {
			_, err := c.GetMyCommands(ctx, Menu{Scope: Everybody})
			return err
		},
		"setMyDescription":       func(ctx context.Context, c *Client) error { return c.SetMyDescription(ctx, "", "x") },
		"getMyDescription":       func(ctx context.Context, c *Client) error { _, err := c.GetMyDescription(ctx, ""); return err },
		"setMyShortDescription":  func(ctx context.Context, c *Client) error { return c.SetMyShortDescription(ctx, "", "x") },
		"getMyShortDescription":  func(ctx context.Context, c *Client) error { _, err := c.GetMyShortDescription(ctx, ""); return err },
		"deleteEphemeralMessage": func(ctx context.Context, c *Client) error { return c.DeleteEphemeral(ctx, ephemeral) },
	} {
		t.Run(name, func(t *testing.T) {
			s := telegramtest.NewInMemory(t)
			wire := &counted{RoundTripper: s}
			c := newClient(t, s.URL, wire)
			s.Fail(name, telegramtest.TooMany(7*time.Second), telegramtest.Status(403), telegramtest.Page(502), telegramtest.ResetBefore())
			for i, want := range []Kind{TooManyRequests, Forbidden, OutcomeUnknown, OutcomeUnknown} {
				err := call(t.Context(), c)
				if e := ErrorOf(err); e.Kind != want || e.Method != name || want == TooManyRequests && e.RetryAfter != 7*time.Second {
					t.Errorf("failure %d: %v", i, err)
				}
			}
			s.Revoke()
			if err := call(t.Context(), c); ErrorOf(err).Kind != Unauthorized {
				t.Errorf("a refused token: %v", err)
			}
			if len(wire.bodies) != 5 {
				t.Errorf("%d requests, want 5", len(wire.bodies))
			}
		})
	}
}
