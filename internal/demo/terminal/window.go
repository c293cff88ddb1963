// Package terminal is the chat of `bot demo`: a window on the fake Telegram. It reads lines from a keyboard or a
// pipe, and sends each line to the demo's group as a message of the asker, a person that the user chooses. It
// prints the messages of the bot, with an empty line after each.
//
// The user can act as any person without a proof, so the window must not be connected to real services. At a
// terminal, the user can edit lines; a pipe gets the same text without escape sequences. The window removes escape
// sequences from the bot's messages.
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
	// maxWait is how long the window waits for an answer before it reads the next line. The bot answers every command
	// sooner, even if a service does not answer.
	maxWait = 30 * time.Second
	// idlePoll is how often the window checks whether the bot is idle.
	idlePoll = 5 * time.Millisecond
	// maxText is the maximum length of a message in characters.
	// https://core.telegram.org/bots/api#sendmessage
	maxText = 4096
	// language is the language code of every person's app.
	language = "en"
)

// Config has the parts of a window. All fields are required, except Edit and Colour.
type Config struct {
	In        io.Reader
	Out       io.Writer
	Community *community.Community
	Services  *services.Fakes
	// Later lets six hours pass for the saved addresses. It blocks until the bot has checked all of them.
	Later func(context.Context) error
	// Idle reports whether the bot has no updates in flight.
	Idle func() bool
	// Edit turns on a prompt, and lets the user edit lines and recall earlier ones. In and Out must then be *os.Files of
	// the same terminal.
	Edit bool
	// Colour turns on bold and dim text.
	Colour bool
}

// window is a chat in the terminal. It is not safe for concurrent use.
type window struct {
	Config
	input input
	inbox *inbox
	// asker is the person that writes the next line.
	asker community.Person
	// question is the latest message that asks the asker for a reply, or nil. The next line answers it.
	question *telegram.Sent
	buttons  buttons
	request  joinRequest
	// printed is the number of texts that were printed.
	printed int
	// writeErr is the error of writing to Out, or nil.
	writeErr error
}

// Run sends the lines of In to the bot, one at a time, and prints the bot's messages. It blocks until the end of
// In, the line exit or quit, or until ctx is done. It returns an error if In or Out fails.
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
		w.input = newEditor(c.In.(*os.File), c.Out.(*os.File))
	} else {
		w.input = newPipe(c.In, c.Out)
	}
	for w.writeErr == nil {
		line, err := w.read(ctx)
		word := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(line)), "/")
		switch {
		case errors.Is(err, io.EOF), word == "exit", word == "quit":
			return nil
		case errors.Is(err, errTooLong):
			w.sayTooLong()
		case err != nil:
			return fmt.Errorf("read a line: %w", err)
		default:
			w.handle(ctx, line)
		}
	}
	return fmt.Errorf("write an answer: %w", w.writeErr)
}

// read blocks until it has read the next line. Meanwhile, it prints arriving events. It returns io.EOF if ctx is
// done, and an empty line if Out fails. In both cases it leaves a goroutine that still reads, because reading cannot be
// interrupted.
func (w *window) read(ctx context.Context) (line string, err error) {
	if err := w.input.begin(); err != nil {
		return "", err
	}
	finished := make(chan struct{})
	var typed string
	var typedErr error
	go func() {
		defer close(finished)
		typed, typedErr = w.input.readLine()
	}()
	defer func() {
		w.input.end()
		if w.Edit && err != nil {
			w.write("\n") // so that the shell's prompt begins a new line
		}
	}()
	for w.writeErr == nil {
		select {
		case <-ctx.Done():
			return "", io.EOF
		case <-finished:
			return typed, typedErr
		case <-w.inbox.arrived:
			w.printArrived()
		}
	}
	return "", nil
}

// handle executes a command of the demo, presses a button, or sends the line to the bot. It prints the answers. An
// empty line has no effect.
func (w *window) handle(ctx context.Context, line string) {
	line = strings.ToValidUTF8(strings.TrimSpace(line), "\uFFFD")
	name, argument, _ := strings.Cut(strings.ToLower(line), " ")
	command, isDemoCommand := demoCommands[name]
	switch {
	case line == "":
	case isDemoCommand:
		command(w, ctx, strings.TrimSpace(argument))
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

// send sends a line to the bot in the name of the asker, and prints the answers.
func (w *window) send(ctx context.Context, line community.Line) {
	line.By = w.asker
	line.Language = language
	w.question = nil
	w.Community.Write(line)
	if w.printAnswers(ctx) == unanswered {
		w.say("Herald does not answer that. In a group it answers commands, such as /price.")
	}
}

// answerState is the state of the bot's answer after printAnswers.
type answerState int

const (
	answered   answerState = iota
	unanswered             // The bot is idle, and nothing was printed.
	unfinished             // The bot is not idle yet.
)

// printAnswers prints arriving events until the bot has answered everything, or until ctx is done. After maxWait,
// it tells the user that there is no answer yet, and returns.
func (w *window) printAnswers(ctx context.Context) answerState {
	printedBefore := w.printed
	timeout := time.After(maxWait)
	tick := time.NewTicker(idlePoll)
	defer tick.Stop()
	for {
		// The bot sends the answer to an update before it acknowledges the update. It acknowledges a join request
		// before it answers the request.
		isIdle := len(w.Community.Telegram.Pending()) == 0 && w.Idle() && w.request.isAnswered()
		arrived := w.printArrived()
		isComplete := isIdle && !arrived
		switch {
		case isComplete && w.printed == printedBefore:
			return unanswered
		case isComplete:
			return answered
		}
		select {
		case <-ctx.Done():
			return unfinished
		case <-timeout:
			w.say(fmt.Sprintf("No answer for %d seconds. If one comes, it is printed here.", maxWait/time.Second))
			return unfinished
		case <-w.inbox.arrived:
		case <-tick.C:
		}
	}
}

// printArrived prints the events in the inbox, and reports whether there were any.
func (w *window) printArrived() bool {
	events := w.inbox.take()
	for _, e := range events {
		switch {
		case e.Message != nil:
			w.printMessage(e.Message)
		case e.Notice != nil:
			w.printNotice(e.Notice)
		case e.Join != nil && e.Join.State == telegram.JoinApproved:
			w.request.recordApproval()
			w.say(fmt.Sprintf("%s: %s is a member now.", e.Join.Chat.Title, w.nameOf(e.Join.From.ID)))
		}
	}
	return len(events) > 0
}

// printMessage prints a message of the bot, and remembers its buttons and its question. If the message was deleted, it
// forgets the buttons instead.
func (w *window) printMessage(m *telegram.Sent) {
	w.buttons.forget(m)
	if m.Deleted {
		return
	}
	w.buttons.add(m)
	if m.Chat == w.asker.TelegramID {
		w.request.recordMessage()
	}
	if m.Markup.ForceReply && isReader(m, w.asker) {
		w.question = m
	}
	w.print(rendered(m, w.readers(m), time.Now()))
}

// printNotice prints the answer to a press. If the answer is a link to the private chat, it opens the private chat.
func (w *window) printNotice(n *telegram.Notice) {
	if parameter, opensPrivate := startParameter(n.URL); opensPrivate {
		w.openPrivate(parameter)
	}
	if n.Text != "" {
		text := cellsOf("("+w.only(n.User)+")\n", dim)
		w.print(append(text, marked(body(n.Text, nil, time.Now()))...))
	}
}

// openPrivate opens the asker's private chat with the bot, as an app does for a link with this parameter.
func (w *window) openPrivate(parameter string) {
	w.Community.Write(community.Line{
		By:       w.asker,
		Language: language,
		Chat:     telegram.Private(w.asker.TelegramID),
		Text:     "/start " + parameter,
	})
}

// press presses the button that a line means, such as "[7d]", and prints the answers.
func (w *window) press(ctx context.Context, line string) {
	b, found := w.buttons.find(line, w.asker)
	parameter, opensPrivate := startParameter(b.url)
	switch {
	case !found:
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
	if w.printAnswers(ctx) == unanswered {
		w.say("Nothing has changed.")
	}
}

// readers describes who sees a message. It returns "" if the whole group does.
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

// only returns the text "only you see this" for the asker, and "only NAME sees this" for another user.
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

// say prints a text of the demo.
func (w *window) say(text string) { w.print(body(text, nil, time.Time{})) }

func (w *window) sayTooLong() {
	w.say(fmt.Sprintf("That is too long: a message has at most %d characters.", maxText))
}

// print writes a text and an empty line.
func (w *window) print(text []cell) {
	w.printed++
	w.write(draw(wrap(text, Width(w.Out)), escapes(w.Colour)) + "\n\n")
}

// write writes to Out. It has no effect after an error.
func (w *window) write(text string) {
	if w.writeErr == nil {
		_, w.writeErr = io.WriteString(w.input, text)
	}
}
