// Package terminal is the chat adapter of `bot demo`: commands are typed, or
// piped, one a line, and each answer is written as text followed by one empty
// line.
//
// It stands in for a private chat in which the person at the keyboard chooses
// whom to be, so it must never serve real accounts: whoever types is believed.
// At a terminal, lines are edited and titles have the colour of their tone. A
// pipe reads the same words without any escape sequence. Only this package and
// package term write escape sequences: none in what a service or a person says
// gets through.
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
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"herald/internal/chat"
	"herald/internal/words"
)

// Platform is the adapter's name.
const Platform chat.Platform = "terminal"

// Asker is somebody whom the person at the keyboard can be.
type Asker struct {
	// Name follows /as, in any case.
	Name string
	User chat.User
	Role chat.Role
}

// Config is what an Adapter works with. In, Out, Askers and Log are required.
type Config struct {
	In  io.Reader
	Out io.Writer
	// Askers are at least one; the first asks until /as changes that.
	Askers []Asker
	// Edit shows a prompt and has lines edited, with a history. In and Out must
	// then be one terminal, as an *os.File each.
	Edit bool
	// Colour shows titles in the colour of their tone.
	Colour bool
	// Mark, if any, ends the first line of every answer, also of those that
	// the adapter itself gives.
	Mark chat.Text
	Log  *slog.Logger
}

// Adapter implements chat.Adapter.
type Adapter struct {
	Config
	asker Asker
	ready atomic.Bool
}

// New makes an adapter that has read nothing yet.
func New(c Config) *Adapter { return &Adapter{Config: c, asker: c.Askers[0]} }

// Platform implements chat.Adapter.
func (a *Adapter) Platform() chat.Platform { return Platform }

// Ready reports whether Run is taking commands.
func (a *Adapter) Ready() bool { return a.ready.Load() }

// Run answers the lines of In in order, one at a time, and returns nil at its
// end, when told to leave or when ctx is done. It fails when In or Out does.
func (a *Adapter) Run(ctx context.Context, h chat.Handler) error {
	a.ready.Store(true)
	defer a.ready.Store(false)
	if a.Edit {
		// Unless caught, these end the program with the terminal in raw mode.
		caught, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
		defer stop()
		ctx = caught
	}
	work := chat.NewTasks(ctx, h, a.Log, func(string) {})
	err := a.serve(ctx, work, a.lines(h.Commands()))
	work.Drain()
	return err
}

func (a *Adapter) lines(commands chat.Commands) lineReader {
	if !a.Edit {
		return pipe{bufio.NewReaderSize(a.In, maxLine+len("\r\n"))}
	}
	words := slices.Clone(leaving)
	for _, c := range commands {
		words = append(words, "/"+c.Name)
	}
	for _, asker := range a.Askers {
		words = append(words, "/as "+asker.Name)
	}
	return &editor{newLine(a.In, a.Out, words), a.In.(*os.File), a.Out.(*os.File)}
}

func (a *Adapter) serve(ctx context.Context, work *chat.Tasks, in lineReader) error {
	for {
		next := a.read(ctx, in)
		switch {
		case errors.Is(next.err, io.EOF):
			return nil
		case next.err != nil:
			return fmt.Errorf("read a command: %w", next.err)
		case leaves(next.text):
			return nil
		}
		written := make(chan error, 1)
		work.Go(func(id string) {
			defer close(written)
			written <- a.answer(work, id, next)
		})
		select {
		case <-ctx.Done():
			return nil
		case err := <-written:
			if err != nil {
				return err
			}
		}
	}
}

// read reads a line. When ctx is done, the input counts as ended: a read cannot be
// interrupted, so one that blocks goes on without anybody waiting for it.
func (a *Adapter) read(ctx context.Context, in lineReader) line {
	restore, err := in.begin()
	if err != nil {
		return line{err: err}
	}
	read := make(chan line, 1)
	go func() { read <- in.readLine() }()
	next := line{err: io.EOF}
	select {
	case <-ctx.Done():
	case next = <-read:
	}
	restore()
	if next.err != nil && a.Edit {
		_ = a.write("\n") // for the shell's prompt, if there still is a terminal
	}
	return next
}

// answer writes the answer to one line, if it asks for anything.
func (a *Adapter) answer(work *chat.Tasks, id string, l line) (err error) {
	command, arguments := parse(l.text)
	asked := chat.Request{
		ID:      id,
		Command: command,
		Args:    chat.Typed(arguments...),
		From:    a.asker.User,
		Role:    a.asker.Role,
		Chat:    string(Platform), // the one chat there is
		Direct:  true,
	}
	show := func(reply chat.Reply, private bool) {
		err = a.write(render(words.Print(reply), private, look{mark: a.Mark, colour: a.Colour}) + "\n\n")
	}
	// notice shows what the adapter itself has to say.
	notice := func(reply chat.Reply) {
		reply.Language = work.Handler.Language(asked, true)
		show(reply, false)
	}
	switch {
	case l.tooLong:
		notice(tooLong())
	case command == "" && len(arguments) == 0:
	case command == "":
		notice(chat.Reply{Title: chat.Say("terminal.slash.title"), Text: chat.Say("terminal.slash.text")})
	case command == "as":
		notice(a.switchAsker(arguments))
	default:
		known, _ := work.Handler.Commands().Find(command)
		work.Handle(asked, func(reply chat.Reply) { show(reply, known.Visibility == chat.Private) })
	}
	return err
}

func tooLong() chat.Reply {
	return chat.Reply{Tone: chat.Warning, Title: chat.Say("terminal.too_long.title"),
		Text: chat.SayWith("terminal.too_long.text", chat.Values{"n": chat.Count(maxLine)})}
}

func (a *Adapter) write(text string) error {
	if _, err := io.WriteString(a.Out, text); err != nil {
		return fmt.Errorf("write to the terminal: %w", err)
	}
	return nil
}

// switchAsker answers /as.
func (a *Adapter) switchAsker(arguments []string) chat.Reply {
	names := make([]string, len(a.Askers))
	for i, asker := range a.Askers {
		names[i] = "/as " + asker.Name
		if len(arguments) == 1 && strings.EqualFold(arguments[0], asker.Name) {
			a.asker = asker
			return chat.Reply{Title: chat.SayWith("terminal.as", chat.Values{"name": chat.Plain(asker.Name)})}
		}
	}
	return chat.Reply{Tone: chat.Warning, Title: chat.Say("terminal.nobody.title"),
		Text: chat.SayWith("terminal.nobody.text", chat.Values{"choices": chat.Code(strings.Join(names, ", "))})}
}
