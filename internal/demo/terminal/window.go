// Package terminal is the chat of `bot demo`: a window on the fake Telegram. Each line that is
// typed, or comes from a pipe, goes to the demo's group as a message of whoever the person at the
// keyboard has chosen to be. Each message of the bot's is printed, with an empty line after it.
//
// Nobody checks who is at the keyboard, so real accounts must never be behind the window. At a
// terminal, lines are edited; a pipe gets the same text without escape sequences. Text of the bot
// never contains escape sequences.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"herald/internal/demo/community"
	"herald/internal/demo/fake/services"
	"herald/internal/demo/fake/telegram"
)

const (
	// patience is how long the window waits for an answer before it takes the next line. The bot
	// answers any command sooner, even if a service does not.
	patience = 30 * time.Second
	// idlePoll is the time between two questions whether the bot is idle.
	idlePoll = 5 * time.Millisecond
	// maxText is the maximum length of a message, in characters,
	// https://core.telegram.org/bots/api#sendmessage.
	maxText = 4096
	// language is the language of everybody's app.
	language = "en"
)

// Config is what a window works with. All fields but the flags are required.
type Config struct {
	In        io.Reader
	Out       io.Writer
	Community *community.Community
	Services  *services.Fakes
	// Later has six hours pass for the saved addresses. It blocks until the bot has checked all.
	Later func(context.Context) error
	// Idle reports whether the bot has nothing in flight.
	Idle func() bool
	// Edit turns on a prompt, and lines that can be edited, with history. In and Out must then be
	// *os.Files of one terminal.
	Edit bool
	// Colour turns on bold and dim text.
	Colour bool
}

// window is a chat in the terminal. One goroutine uses it.
type window struct {
	Config
	keys  input
	inbox *inbox
	// asker writes the next line.
	asker community.Person
	// question is the newest message that asks the asker for a reply; nil after their next line.
	question *telegram.Sent
	buttons  buttons
	request  joinRequest
	// printed counts the messages that were printed.
	printed int
	// failed is why Out cannot be written to; nil if it can.
	failed error
}

// Run passes the lines of In to the bot, one at a time, and prints what the bot sends, until the
// end of In, exit or quit, or until ctx is done. It returns an error if In or Out fails.
func Run(ctx context.Context, c Config) error {
	w := &window{Config: c, inbox: newInbox(), asker: c.Community.People[0]}
	for _, p := range c.Community.People {
		c.Community.Telegram.Start(p.TelegramID) // so that the bot may write to them
	}
	c.Community.Telegram.Watch(w.inbox.put)
	if c.Edit {
		// These signals would end the program with the terminal in raw mode.
		caught, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
		defer stop()
		ctx = caught
		w.keys = newEditor(c.In.(*os.File), c.Out.(*os.File))
	} else {
		w.keys = newPipe(c.In, c.Out)
	}
	for w.failed == nil {
		line, err := w.read(ctx)
		said := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(line)), "/")
		switch {
		case errors.Is(err, io.EOF), said == "exit", said == "quit":
			return nil
		case errors.Is(err, errTooLong):
			w.sayTooLong()
		case err != nil:
			return fmt.Errorf("read a line: %w", err)
		default:
			w.obey(ctx, line)
		}
	}
	return fmt.Errorf("write an answer: %w", w.failed)
}

// read returns the next line. Meanwhile it prints what arrives. It returns io.EOF once ctx is
// done, and an empty line if Out fails; a read that blocks cannot be interrupted, and goes on in its
// goroutine.
func (w *window) read(ctx context.Context) (line string, err error) {
	if err := w.keys.begin(); err != nil {
		return "", err
	}
	ended := make(chan struct{})
	var typed string
	var typedErr error
	go func() {
		defer close(ended)
		typed, typedErr = w.keys.readLine()
	}()
	defer func() {
		w.keys.end()
		if w.Edit && err != nil {
			w.write("\n") // The shell's prompt begins a line.
		}
	}()
	for w.failed == nil {
		select {
		case <-ctx.Done():
			return "", io.EOF
		case <-ended:
			return typed, typedErr
		case <-w.inbox.arrived:
			w.printArrived()
		}
	}
	return "", nil
}

// obey does what a line says, and prints the answers. An empty line does nothing.
func (w *window) obey(ctx context.Context, line string) {
	line = strings.ToValidUTF8(strings.TrimSpace(line), "\uFFFD")
	name, argument, _ := strings.Cut(strings.ToLower(line), " ")
	obeyWord, isOwn := words[name]
	switch {
	case line == "":
	case isOwn:
		obeyWord(w, ctx, strings.TrimSpace(argument))
	case strings.HasPrefix(line, "["):
		w.press(ctx, line)
	case len([]rune(line)) > maxText:
		w.sayTooLong()
	case w.question != nil && !strings.HasPrefix(line, "/"):
		w.send(ctx, community.Line{Chat: chatOf(w.question), Text: line, ReplyTo: w.question.Message()})
	default:
		w.send(ctx, community.Line{Chat: community.Group(), Text: line})
	}
}

// send sends a line of the asker's to the bot, and prints the answers.
func (w *window) send(ctx context.Context, line community.Line) {
	line.By = w.asker
	line.Language = language
	w.question = nil
	w.Community.Write(line)
	if w.printAnswers(ctx) == silence {
		w.say("Herald does not answer that. In a group it answers commands, such as /price.")
	}
}

// outcome is how printAnswers ended.
type outcome int

const (
	answered outcome = iota
	silence          // The bot is idle and has said nothing.
	pending          // The bot is not idle yet.
)

// printAnswers prints what arrives until the bot has answered everything, or ctx is done. It gives
// up after patience, and says so.
func (w *window) printAnswers(ctx context.Context) outcome {
	printed := w.printed
	over := time.After(patience)
	tick := time.NewTicker(idlePoll)
	defer tick.Stop()
	for {
		// The bot sends an answer before it acknowledges the update. It acknowledges a request to join
		// before it answers that.
		idle := len(w.Community.Telegram.Pending()) == 0 && w.Idle() && w.request.isAnswered()
		arrived := w.printArrived()
		switch {
		case idle && !arrived && w.printed == printed:
			return silence
		case idle && !arrived:
			return answered
		}
		select {
		case <-ctx.Done():
			return pending
		case <-over:
			w.say(fmt.Sprintf("No answer for %d seconds. If one comes, it is printed here.", patience/time.Second))
			return pending
		case <-w.inbox.arrived:
		case <-tick.C:
		}
	}
}

// printArrived prints what has arrived. It returns false if that is nothing.
func (w *window) printArrived() bool {
	events := w.inbox.take()
	for _, e := range events {
		switch {
		case e.Message != nil:
			w.printMessage(e.Message)
		case e.Notice != nil:
			w.printNotice(e.Notice)
		case e.Join != nil && e.Join.State == telegram.JoinApproved:
			w.request.approve()
			w.say(fmt.Sprintf("%s: %s is a member now.", e.Join.Chat.Title, w.nameOf(e.Join.From.ID)))
		}
	}
	return len(events) > 0
}

// printMessage prints a message of the bot's, and remembers its buttons and its question. Of a
// message that was deleted, it forgets the buttons.
func (w *window) printMessage(m *telegram.Sent) {
	w.buttons.forget(m)
	if m.Deleted {
		return
	}
	w.buttons.add(m)
	if m.Chat == w.asker.TelegramID {
		w.request.tell()
	}
	if m.Markup.ForceReply && isReader(m, w.asker) {
		w.question = m
	}
	w.print(rendered(m, w.readers(m), time.Now()))
}

// printNotice prints the answer to a press, or opens the private chat if it is a link there.
func (w *window) printNotice(n *telegram.Notice) {
	if parameter, ok := startParameter(n.URL); ok {
		w.openPrivate(parameter)
	}
	if n.Text != "" {
		text := plain("("+w.only(n.User)+")\n", dim)
		w.print(append(text, marked(body(n.Text, nil, time.Now()))...))
	}
}

// openPrivate opens the asker's private chat with the bot by a link, as an app does.
func (w *window) openPrivate(parameter string) {
	w.Community.Write(community.Line{
		By:       w.asker,
		Language: language,
		Chat:     telegram.Private(w.asker.TelegramID),
		Text:     "/start " + parameter,
	})
}

// press presses the button whose label a line begins with, such as "[7d]".
func (w *window) press(ctx context.Context, line string) {
	b, ok := w.buttons.find(line, w.asker)
	parameter, opensPrivate := startParameter(b.url)
	switch {
	case !ok:
		w.say("There is no such button that " + w.asker.Name + " can press.")
		return
	case opensPrivate:
		w.openPrivate(parameter)
	case b.url != "":
		w.say("That opens " + b.url)
		return
	default:
		w.Community.Press(w.asker, language, b.message, b.data)
	}
	if w.printAnswers(ctx) == silence {
		w.say("Nothing has changed.")
	}
}

// readers returns who sees a message, or "" if the whole group does.
func (w *window) readers(m *telegram.Sent) string {
	switch {
	case m.Ephemeral != 0:
		return w.only(m.Reader)
	case m.Chat == w.asker.TelegramID:
		return "in your private chat with the bot"
	case m.Chat > 0:
		return "in the private chat of " + w.nameOf(m.Chat)
	}
	return ""
}

// only returns that a user alone sees something.
func (w *window) only(user int64) string {
	if user == w.asker.TelegramID {
		return "only you see this"
	}
	return "only " + w.nameOf(user) + " sees this"
}

func (w *window) nameOf(user int64) string { return w.Community.People.OnTelegram(user).Name }

// isReader reports whether a person sees a message.
func isReader(m *telegram.Sent, p community.Person) bool {
	return m.Reader == 0 || m.Reader == p.TelegramID
}

// chatOf returns the chat of a message.
func chatOf(m *telegram.Sent) telegram.Chat {
	if m.Chat == community.GroupID {
		return community.Group()
	}
	return telegram.ChatOf(m.Chat)
}

// say prints a line of the window's own.
func (w *window) say(text string) { w.print(body(text, nil, time.Time{})) }

func (w *window) sayTooLong() {
	w.say(fmt.Sprintf("That is too long: a message has at most %d characters.", maxText))
}

// print writes a text with an empty line after it.
func (w *window) print(text []cell) {
	w.printed++
	w.write(draw(wrap(text, Width(w.Out)), w.Colour) + "\n\n")
}

// write writes to Out. After a failure it does nothing.
func (w *window) write(text string) {
	if w.failed == nil {
		_, w.failed = io.WriteString(w.keys, text)
	}
}
