package telegram

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
	"herald/internal/transport"
	"herald/internal/words"
)

const (
	// queryLasts is how long an answer to a press or an inline query is worth
	// sending. Telegram publishes no limit; this is below where answers are refused.
	queryLasts = 10 * time.Second
	// spinnerLasts is how long a pressed button shows a spinner while an answer waits
	// for its slot or is sent.
	spinnerLasts = 2 * time.Second
	// ephemeralLasts is how long Telegram takes an ephemeral answer.
	ephemeralLasts = 15 * time.Second
	// pointerLasts is how long answeredPrivately stands in a group.
	pointerLasts = 15 * time.Second
	// hintLasts is how long Telegram keeps the answer to an inline query that means
	// nothing, and failureLasts the answer to one that failed.
	hintLasts    = time.Hour
	failureLasts = 5 * time.Second
	// courtesyTimeout bounds a call that nobody waits for.
	courtesyTimeout = 2 * time.Second
)

// Telegram shows a chat action for 5 seconds,
// https://core.telegram.org/bots/api#sendchataction.
const (
	typingAfter = 1500 * time.Millisecond
	typingLasts = 4500 * time.Millisecond
)

// notice is the key of a sentence in the catalogue. It is all that a group is ever
// told about a private command: nothing here turns a chat.Reply into a notice.
type notice string

const (
	answeredPrivately notice = "telegram.answered"
	stayedAnonymous   notice = "telegram.anonymous"
	// pressStart invites a user to whom the bot may not write yet.
	pressStart notice = "telegram.press_start"
)

// task is a command that is being answered.
type task struct {
	*session
	command
	arrived time.Time
	// language is the language of what everybody in the chat can read.
	language chat.Language
	// answerPress ends the wait of who pressed the button, when it is called first.
	answerPress func(botapi.CallbackAnswer)
}

// respond handles one update: from what it asks to messages that are out. It
// returns false if the update must not be acknowledged: an answer is due, and is
// certainly not out.
func (s *session) respond(id string, u update) (done bool) {
	if u.Inline != nil {
		s.respondInline(id, u.Inline)
		return true
	}
	t := task{session: s, arrived: time.Now(), answerPress: func(botapi.CallbackAnswer) {}}
	if u.Press != nil {
		t.answerPress = s.pressAnswerer(u.Press.ID)
		defer t.answerPress(botapi.CallbackAnswer{})
	}
	var ours bool
	if t.command, ours = parse(u, s.me, s.tasks.Handler.Commands()); !ours {
		if u.Press != nil {
			old := chat.OldButton()
			old.Language = s.tasks.Handler.Language(chat.Request{Locale: u.Press.From.Language}, true)
			t.alert(old)
		}
		return true
	}
	t.request.ID = id
	t.language = s.tasks.Handler.Language(t.request, false)
	if s.withoutEphemeral.Load() {
		t.origin.ephemeral = botapi.EphemeralMessage{}
		t.request.CanReplyEphemerally = t.origin.press != nil
	}
	return s.settle(id, t.answer())
}

// answer has the command handled, and sends the answer to the chat where it was
// asked or, if it is private, where its user alone can read it.
func (t task) answer() outbox.Receipt {
	privately, to := t.private && t.origin.Silent, t.origin.Destination
	if privately && t.origin.user != 0 {
		to = botapi.Destination{Chat: t.origin.user}
	}
	var reply chat.Reply
	var content, there botapi.Content
	stop := func() {}
	if t.origin.press == nil {
		stop = t.typing(to)
	}
	t.tasks.Handle(t.request, func(r chat.Reply) {
		reply, content = r, t.render(r, to)
		if privately && t.origin.ephemeral.Arrived() {
			there = t.render(withoutQuestion(r, t.me.Username), t.origin.Destination)
		}
	})
	stop()
	m := t.message(content)
	m.To = to
	switch {
	case reply.Repeated:
		t.toast(renderAlert(reply))
		return outbox.Receipt{}
	case privately:
		return t.sendPrivately(m, reply, there)
	}
	return t.sendThere(m, reply)
}

// sendThere sends an answer to the chat where the command was asked, as the message
// with the button, or to a presser alone.
func (t task) sendThere(m outbox.Message, reply chat.Reply) outbox.Receipt {
	p := t.origin.press
	switch {
	case p == nil, reply.Ask != nil && t.request.Direct:
		// An alert would have no place to write the argument.
	case reply.Unanswered():
		t.alert(reply)
		return outbox.Receipt{}
	case p.Edit && !reply.AsOf.IsZero() && reply.AsOf.Unix() <= p.AsOf.Unix():
		t.toast(t.own("telegram.current"))
		return outbox.Receipt{}
	}
	m.Subject, m.AsOf = t.text, reply.AsOf
	if p != nil {
		defer t.tasks.AfterFunc(spinnerLasts, t.request.ID, func() { t.answerPress(botapi.CallbackAnswer{}) }).Stop()
		if receipt, edited := t.edit(m, reply); edited {
			return receipt
		}
	}
	if t.Pacing && !t.private {
		m.Key = answerKey{m.To.Chat, m.To.Thread, t.text, reply.Tone, reply.Title.Key}
		m.Shared = func(requests int) botapi.Content {
			note := chat.SayWith("telegram.shared", chat.Values{"n": chat.Count(requests)})
			reply.Notes = append(slices.Clip(reply.Notes), note)
			return t.render(reply, m.To)
		}
	}
	receipt := t.out.Send(t.tasks.Sends, m)
	switch {
	case receipt.Result == outbox.Dropped:
		t.sendBusy()
	case receipt.Result == outbox.Delivered && t.request.Direct:
		t.deleteInvitations()
	}
	return receipt
}

// answerKey is what answers have in common that may stand for each other. With tone
// and title in it, a refusal never stands for an answer.
type answerKey struct {
	chat, thread int64
	text         string
	tone         chat.Tone
	title        string // its key
}

// edit has the answer take the place of the message with the button. It returns
// false if the answer has to be a message of its own: the button says so, the edit
// is refused, a message with a picture would lose it, or an argument is asked for,
// which an edit cannot do.
func (t task) edit(m outbox.Message, reply chat.Reply) (receipt outbox.Receipt, edited bool) {
	p := t.origin.press
	losesPicture := p.message.Photo != nil && m.Picture == nil
	if !p.Edit || p.message.Date == 0 || losesPicture || reply.Ask != nil {
		return receipt, false
	}
	m.Edits = p.message.ID
	m.Key = botapi.MessageRef{Chat: m.To.Chat, MessageID: m.Edits}
	receipt = t.out.Send(t.tasks.Sends, m)
	if receipt.Result == outbox.Dropped {
		busy := chat.Busy()
		busy.Language = t.tasks.Handler.Language(t.request, true)
		t.alert(busy)
	}
	return receipt, receipt.Result != outbox.Refused && receipt.Result != outbox.Unreachable
}

// sendPrivately sends an answer to a command that was asked in a group: there, if it
// arrived as ephemeral, or else to the private chat with its user. A notice says so in
// the group.
func (t task) sendPrivately(m outbox.Message, reply chat.Reply, there botapi.Content) outbox.Receipt {
	if t.origin.user == 0 {
		return t.notify(stayedAnonymous)
	}
	if t.origin.ephemeral.Arrived() {
		receipt := t.sendEphemeral(there)
		if receipt.Result == outbox.Delivered {
			if p := t.origin.press; p != nil && p.Edit && !reply.Unanswered() {
				t.courtesy(func(ctx context.Context) error { return t.api.DeleteEphemeral(ctx, t.origin.ephemeral) })
			}
			t.deleteInvitations()
			return receipt
		}
		m.Unknown = receipt.Unknown
	}
	receipt := t.out.Send(t.tasks.Sends, m)
	switch receipt.Result {
	case outbox.Delivered:
		t.deleteInvitations()
		return t.notify(answeredPrivately)
	case outbox.Unreachable:
		t.Count("private_unreachable")
		return t.notify(pressStart)
	case outbox.Dropped:
		t.sendBusy()
	}
	return receipt
}

// withoutQuestion is r with a button in place of its question: what is written in a
// group in reply to a question may be read by all.
func withoutQuestion(r chat.Reply, bot string) chat.Reply {
	if r.Ask != nil {
		open := chat.Action{Label: chat.Say("telegram.open"), URL: deepLink(bot, r.Ask.Command)}
		r.Actions, r.Ask = append(slices.Clip(r.Actions), open), nil
	}
	return r
}

// typing shows "typing…" in a chat once an answer takes long, until stop is called.
func (t task) typing(to botapi.Destination) (stop func()) {
	ctx, cancel := context.WithCancel(t.tasks.Commands)
	timer := t.tasks.AfterFunc(typingAfter, t.request.ID, func() {
		for ctx.Err() == nil {
			_ = t.api.SendChatAction(ctx, &bot.SendChatActionParams{
				ChatID: to.Chat, MessageThreadID: int(to.Thread), Action: models.ChatActionTyping,
			})
			transport.Sleep(ctx, typingLasts)
		}
	})
	return func() {
		timer.Stop()
		cancel()
	}
}

// render shows a reply as it will stand there.
func (s *session) render(r chat.Reply, to botapi.Destination) botapi.Content {
	return render(words.Print(r), s.me.Username, !to.Silent)
}

// message is content as the answer in the chat where the command was asked.
func (t task) message(content botapi.Content) outbox.Message {
	return outbox.Message{
		To: t.origin.Destination, Content: content, User: t.origin.user, Deadline: t.arrived.Add(t.CommandTimeout),
	}
}

// sendEphemeral sends content to the user of an ephemeral message in the group.
func (t task) sendEphemeral(content botapi.Content) outbox.Receipt {
	m := t.message(content)
	m.Ephemeral, m.Deadline = t.origin.ephemeral, t.arrived.Add(ephemeralLasts)
	m.Picture = nil // Ephemeral messages are texts.
	receipt := t.out.Send(t.tasks.Sends, m)
	if botapi.ErrorOf(receipt.Err).Kind == botapi.Public {
		t.withoutEphemeral.Store(true)
	}
	return receipt
}

// sendBusy tells a chat, once a minute at most, that there is no room for an
// answer.
func (t task) sendBusy() {
	busy := chat.Busy()
	busy.Language = t.language
	m := t.message(t.render(busy, t.origin.Destination))
	m.To.ReplyTo, m.Notice, m.Deadline = 0, "busy", time.Time{}
	if t.out.Send(t.tasks.Sends, m).Result == outbox.Delivered {
		t.Count("busy_sent")
	}
}

// notify tells of a private command where it was asked, its user alone if that can
// be; whoever did not see the command is not told that it is answered. The notice
// goes when it has served: answeredPrivately after a while, pressStart when an
// answer has reached the user.
func (t task) notify(n notice) outbox.Receipt {
	delivered := outbox.Receipt{Result: outbox.Delivered}
	url := "https://t.me/" + t.me.Username
	if n == pressStart {
		payload := "start"
		if t.linkable {
			payload = t.request.Command
		}
		url = deepLink(t.me.Username, payload)
	}
	switch {
	case t.origin.press != nil && n == pressStart:
		t.answerPress(botapi.CallbackAnswer{URL: url})
		return delivered
	case t.origin.press != nil:
		t.toast(t.own(string(n)))
		return delivered
	}
	content := t.render(chat.Reply{
		Language: t.language,
		Text:     chat.Say(string(n)),
		Actions:  []chat.Action{{Label: chat.Say("telegram.open"), URL: url}},
	}, t.origin.Destination)
	if t.origin.ephemeral.Arrived() && (n == answeredPrivately || t.sendEphemeral(content).Result == outbox.Delivered) {
		return delivered
	}
	m := t.message(content)
	if n == stayedAnonymous {
		m.Notice = string(n)
	}
	receipt := t.out.Send(t.tasks.Sends, m)
	there := botapi.MessageRef{Chat: m.To.Chat, MessageID: receipt.ID}
	switch {
	case n == answeredPrivately:
		// The answer is out, whatever becomes of the notice.
		if receipt.Result == outbox.Delivered {
			t.deleteAfter(pointerLasts, there)
		}
		return delivered
	case n == stayedAnonymous && receipt.Result == outbox.Dropped:
		return delivered
	case receipt.Result == outbox.Dropped:
		t.sendBusy()
	case receipt.Result == outbox.Delivered && n == pressStart:
		t.invitations.add(t.origin.user, there)
	}
	return receipt
}

// deleteAfter deletes a message after a while, or at once at a stop. It does not
// block before that.
func (s *session) deleteAfter(d time.Duration, m botapi.MessageRef) {
	wait := func(string) {
		transport.Sleep(s.running, d)
		s.courtesy(func(ctx context.Context) error { return s.api.DeleteMessage(ctx, m) })
	}
	if !s.tasks.Go(wait) {
		wait("")
	}
}

// courtesy makes a call whose failure changes nothing.
func (s *session) courtesy(call func(context.Context) error) {
	ctx, cancel := context.WithTimeout(s.tasks.Sends, courtesyTimeout)
	defer cancel()
	_ = call(ctx)
}

// deleteInvitations deletes what invited a user to start the bot: an answer has
// reached them.
func (t task) deleteInvitations() {
	for _, m := range t.invitations.remove(t.origin.user) {
		t.courtesy(func(ctx context.Context) error { return t.api.DeleteMessage(ctx, m) })
	}
}

// settle counts what became of an answer, logs one that is not out or may not be,
// and returns whether its update is done.
func (s *session) settle(id string, r outbox.Receipt) (done bool) {
	switch r.Result {
	case outbox.None:
		return true
	case outbox.Delivered:
		s.Count("answered")
		return true
	case outbox.Dropped:
		s.Count("send_shed")
		return true
	}
	s.Count("answer_failed")
	s.Log.LogAttrs(s.tasks.Sends, slog.LevelWarn, "telegram: an answer was not delivered",
		slog.String("id", id), slog.Any("err", r.Err))
	return r.Result != outbox.NotSent
}

// pressAnswerer returns what answers a press, once.
func (s *session) pressAnswerer(query string) func(botapi.CallbackAnswer) {
	var once sync.Once
	return func(a botapi.CallbackAnswer) {
		once.Do(func() {
			a.ID = query
			s.answerQuery(time.Now(), "press_unanswered", func(ctx context.Context) error {
				return s.api.AnswerCallbackQuery(ctx, a)
			})
		})
	}
}

// toast shows a presser a text for a moment, alert until they close it.
func (t task) toast(text string) { t.answerPress(botapi.CallbackAnswer{Text: text}) }

func (t task) alert(r chat.Reply) {
	t.answerPress(botapi.CallbackAnswer{Text: renderAlert(r), Alert: true})
}

// own is a sentence in the user's language.
func (t task) own(key string) string {
	return words.Say(t.tasks.Handler.Language(t.request, true), chat.Say(key))
}

// answerQuery makes the call that answers an inline query or a press, and counts
// the event unanswered if that fails.
func (s *session) answerQuery(arrived time.Time, unanswered string, call func(context.Context) error, contents ...*botapi.Content) {
	err := s.out.Answer(s.tasks.Sends, arrived.Add(queryLasts), call, contents...)
	if err != nil {
		s.Count(unanswered)
		s.Log.LogAttrs(s.tasks.Sends, slog.LevelDebug, "telegram: a query was not answered", slog.Any("err", err))
	}
}

// respondInline answers one inline query with what was found, or with a button that
// says why nothing was.
func (s *session) respondInline(id string, q *inlineQuery) {
	arrived := time.Now()
	requests := parseInline(q.Query, s.tasks.Handler.Commands())
	replies, articles := make([]chat.Reply, len(requests)), make([]botapi.Article, len(requests))
	var answered sync.WaitGroup
	for i, req := range requests {
		req.ID, req.From, req.Locale = id, userOf(q.From.ID), q.From.Language
		// Nobody shares this chat, nor its rate limit, which alone counts letters.
		req.Chat, req.Inline = "inline "+req.From.ID, true
		answered.Go(func() {
			s.tasks.Handle(req, func(r chat.Reply) { replies[i], articles[i] = r, renderArticle(req.Command, r, s.me.Username) })
		})
	}
	answered.Wait()

	answer := botapi.InlineAnswer{ID: q.ID, Cache: hintLasts}
	var names []string
	for _, req := range parseInline("", s.tasks.Handler.Commands()) {
		names = append(names, req.Command)
	}
	hint := chat.SayWith("telegram.inline_hint", chat.Values{"commands": chat.Plain(strings.Join(names, ", "))})
	why := words.Say(s.tasks.Handler.Language(chat.Request{}, false), hint)
	if len(requests) > 0 {
		answer.Cache = math.MaxInt64
	}
	for i, r := range replies {
		if r.Unanswered() {
			why, answer.Personal = words.Say(r.Language, r.Title), true
			answer.Cache = min(answer.Cache, failureLasts)
			continue
		}
		answer.Results = append(answer.Results, articles[i])
		answer.Cache = min(answer.Cache, max(time.Until(r.FreshUntil), 0))
	}
	if len(answer.Results) == 0 {
		answer.Button = &botapi.InlineButton{Text: why, Start: "inline"}
	}
	var contents []*botapi.Content
	for i := range answer.Results {
		contents = append(contents, &answer.Results[i].Content)
	}
	s.answerQuery(arrived, "inline_unanswered", func(ctx context.Context) error {
		return s.api.AnswerInlineQuery(ctx, answer)
	}, contents...)
}
