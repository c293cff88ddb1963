// Package terminal is the chat adapter of `bot demo`: commands are typed, or piped,
// one a line, and each answer is written as text with an empty line after it.
//
// It stands for a private chat in which the person at the keyboard chooses whom to be.
// Nobody checks that, so it must never serve real accounts. At a terminal, lines are
// edited and titles are coloured; a pipe gets the same text without escape sequences.
// Text of services and people never contains escape sequences.
package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/term"

	"herald/internal/chat"
	"herald/internal/platform"
	"herald/internal/words"
)

// Platform is the adapter's name.
const Platform chat.Platform = "terminal"

// User is an asker that the person at the keyboard can be.
type User struct {
	// Name follows /as, in any case.
	Name string
	User chat.User
	Role chat.Role
}

// Config is what an Adapter works with. In, Out, Users and Log are required.
type Config struct {
	In  io.Reader
	Out io.Writer
	// Users are whom /as can choose, at least one. The first asks until then.
	Users []User
	// Edit turns on a prompt, and lines that can be edited, with history. In and Out must
	// then be *os.Files of one terminal.
	Edit bool
	// Colour turns on the colours of titles.
	Colour bool
	// Mark, if any, ends the first line of every answer.
	Mark chat.Text
	Log  *slog.Logger
}

// Adapter implements platform.Adapter.
type Adapter struct {
	Config
	user User
	// asked is the command that has asked for its argument, or "". The next line without
	// a slash is that argument.
	asked string
	ready atomic.Bool
}

// New returns an adapter that has read nothing yet.
func New(c Config) *Adapter { return &Adapter{Config: c, user: c.Users[0]} }

// Platform implements platform.Adapter.
func (a *Adapter) Platform() chat.Platform { return Platform }

// Ready reports whether Run is taking commands.
func (a *Adapter) Ready() bool { return a.ready.Load() }

// Run answers the lines of In in order, one at a time. It returns nil at the end of In, on
// exit or quit, and when ctx is done. It fails if In or Out fails.
func (a *Adapter) Run(ctx context.Context, h platform.Handler) error {
	a.ready.Store(true)
	defer a.ready.Store(false)
	piped := bufio.NewReader(a.In)
	read := func(ctx context.Context) (string, error) {
		return untilDone(ctx, func() (string, error) { return piped.ReadString('\n') })
	}
	if a.Edit {
		// These signals would end the program with the terminal in raw mode.
		caught, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
		defer stop()
		ctx, read = caught, a.editor()
	}
	work := platform.NewWork(ctx, h, a.Log, func(string) {})
	defer work.Drain()
	for {
		line, err := read(ctx)
		said := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(line)), "/")
		switch {
		case line == "" && errors.Is(err, io.EOF), said == "exit", said == "quit":
			return nil
		case line == "" && err != nil:
			return fmt.Errorf("read a command: %w", err)
		}
		written := make(chan error, 1)
		work.Go(func(id string) {
			defer close(written)
			written <- a.handle(work, id, line)
		})
		select {
		case <-ctx.Done():
			return nil
		case err := <-written:
			if err != nil {
				return fmt.Errorf("write an answer: %w", err)
			}
		}
	}
}

// Width returns how many characters a line of out has: the terminal's width, or 80.
func Width(out io.Writer) int {
	if file, isFile := out.(*os.File); isFile {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// untilDone returns what read does, or io.EOF once ctx is done. A read that blocks cannot be
// interrupted, and goes on in its goroutine.
func untilDone(ctx context.Context, read func() (string, error)) (line string, err error) {
	ended := make(chan struct{})
	var late string
	var lateErr error
	go func() { defer close(ended); late, lateErr = read() }()
	select {
	case <-ctx.Done():
		return "", io.EOF
	case <-ended:
		return late, lateErr
	}
}

// handle writes the answer to one line. An empty line has none.
func (a *Adapter) handle(work *platform.Work, id, line string) (err error) {
	name, arguments, empty := a.parse(line, work.Handler.Commands())
	if empty {
		return nil
	}
	req := &chat.Request{
		ID:      id,
		Command: name,
		Args:    chat.Typed(arguments...),
		From:    a.user.User,
		Role:    a.user.Role,
		Chat:    string(Platform), // the only chat there is
		Direct:  true,
		BotName: "Herald",
	}
	private := work.Handler.Visibility(name) == chat.Private
	show := func(reply *chat.Reply) {
		if reply.Ask != nil {
			a.asked = reply.Ask.Command
		}
		look := style{mark: a.Mark, colour: a.Colour, width: Width(a.Out)}
		_, err = io.WriteString(a.Out, render(words.Print(reply), private, look)+"\n\n")
	}
	if name == "as" {
		reply := a.switchUser(arguments)
		reply.Language = work.Handler.Language(req, chat.Private)
		show(reply)
		return err
	}
	work.Answer(req, show)
	return err
}

// parse returns the command and the arguments in a line. A command may carry the bot's
// name: /price@herald. Text without a slash is the argument that was asked for; otherwise
// its command is guessed, as in any private chat.
func (a *Adapter) parse(line string, commands chat.Commands) (name string, arguments []string, empty bool) {
	arguments = strings.Fields(strings.ToValidUTF8(line, "\uFFFD"))
	asked := a.asked
	a.asked = ""
	if len(arguments) == 0 {
		return "", nil, true
	}
	name, isCommand := strings.CutPrefix(arguments[0], "/")
	switch {
	case isCommand:
		name, _, _ = strings.Cut(strings.ToLower(name), "@")
		arguments = arguments[1:]
	case asked != "":
		name = asked
	default:
		if name = commands.Guess(line); name == "start" {
			arguments = nil
		}
	}
	return name, arguments, false
}

// switchUser answers /as.
func (a *Adapter) switchUser(arguments []string) *chat.Reply {
	names := make([]string, len(a.Users))
	for i, u := range a.Users {
		names[i] = "/as " + u.Name
		if len(arguments) == 1 && strings.EqualFold(arguments[0], u.Name) {
			a.user = u
			return &chat.Reply{Title: chat.SayWith("terminal.as", chat.Values{"name": chat.Plain(u.Name)})}
		}
	}
	return &chat.Reply{
		Tone:  chat.Warning,
		Title: chat.Say("terminal.nobody.title"),
		Text:  chat.SayWith("terminal.nobody.text", chat.Values{"choices": chat.Code(strings.Join(names, ", "))}),
	}
}
