// Package terminal is the chat adapter of `bot demo`: commands are typed, or
// piped, one a line, and each answer is written as plain text followed by one
// empty line.
//
// It stands in for a private chat in which the person at the keyboard chooses
// whom to be, so it must never serve real accounts: whoever types is believed.
// It writes no colours and no escape sequences, so that a pipe reads what a
// person does.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"herald/internal/chat"
)

// Platform is the adapter's name.
const Platform chat.Platform = "terminal"

// chatName is the one chat there is.
const chatName = "terminal"

// Asker is somebody whom the person at the keyboard can be.
type Asker struct {
	// Name follows /as, in any case.
	Name string
	User chat.User
	// Moderator lets them use moderators' forms.
	Moderator bool
}

// Config is what an Adapter works with. All but Prompt and Note are required.
type Config struct {
	In      io.Reader
	Out     io.Writer
	Handler chat.Handler
	// Askers are at least one; the first asks until /as changes that.
	Askers []Asker
	// Prompt shows where to type. It is for people, not for pipes.
	Prompt bool
	// Note, if any, is small print under every answer, also under those that
	// the adapter itself gives.
	Note string
	Log  *slog.Logger
}

// Adapter implements chat.Adapter.
type Adapter struct {
	Config
	asker Asker
	ready atomic.Bool
}

// New makes an adapter that has read nothing yet.
func New(c Config) *Adapter { return &Adapter{Config: c} }

// Platform implements chat.Adapter.
func (a *Adapter) Platform() chat.Platform { return Platform }

// Ready tells whether Run is taking commands.
func (a *Adapter) Ready() bool { return a.ready.Load() }

// Run answers the lines of In in order, one at a time, and returns nil at its
// end or when ctx is done. It fails when In or Out does.
func (a *Adapter) Run(ctx context.Context) error {
	if len(a.Askers) == 0 {
		return errors.New("serve the terminal: nobody to ask as")
	}
	a.asker = a.Askers[0]
	a.ready.Store(true)
	defer a.ready.Store(false)

	reading, stop := context.WithCancel(ctx)
	defer stop()
	lines := make(chan line)
	go readLines(reading, a.In, lines)

	for ctx.Err() == nil {
		if err := a.prompt(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return a.leave()
		case next := <-lines:
			if errors.Is(next.err, io.EOF) {
				return a.leave()
			}
			if next.err != nil {
				return fmt.Errorf("read a command: %w", next.err)
			}
			if err := a.serve(ctx, next); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *Adapter) prompt() error {
	if !a.Prompt {
		return nil
	}
	return a.write("> ")
}

// leave ends the line that the last prompt began.
func (a *Adapter) leave() error {
	if !a.Prompt {
		return nil
	}
	return a.write("\n")
}

// serve answers one line.
func (a *Adapter) serve(ctx context.Context, l line) error {
	in := parse(l.text)
	if in.kind == nothing && !l.tooLong {
		return nil
	}
	id := chat.NewID()
	return a.write(a.guard(id, func() string {
		reply, private := a.answer(ctx, id, in, l.tooLong)
		reply.Notes = append(slices.Clone(reply.Notes), a.Note)
		return render(reply, private)
	}) + "\n\n")
}

func (a *Adapter) write(text string) error {
	if _, err := io.WriteString(a.Out, text); err != nil {
		return fmt.Errorf("write to the terminal: %w", err)
	}
	return nil
}

// guard turns a panic into an answer.
func (a *Adapter) guard(id string, answer func() string) (text string) {
	defer func() {
		if v := recover(); v != nil {
			a.Log.Error("panic in an answer", "id", id, "panic", v, "stack", string(debug.Stack()))
			text = render(chat.Reply{Tone: chat.Warning, Title: "Something went wrong", Text: "Reference " + id + ".",
				Notes: []string{a.Note}}, false)
		}
	}()
	return answer()
}

func (a *Adapter) answer(ctx context.Context, id string, in input, tooLong bool) (reply chat.Reply, private bool) {
	switch {
	case tooLong:
		return chat.Reply{Tone: chat.Warning, Title: "That line is too long",
			Text: fmt.Sprintf("A command has up to %d bytes.", maxLine)}, false
	case in.kind == talk:
		return chat.Reply{Title: "Commands begin with a slash", Text: "Write /help for what I can do."}, false
	case in.kind == switchTo:
		return a.switchAsker(in.words), false
	}
	ctx, cancel := drain(ctx)
	defer cancel()
	asker := a.asker
	return a.Handler.Handle(ctx, chat.Request{
		ID:        id,
		Command:   in.command,
		Words:     in.words,
		From:      asker.User,
		Chat:      chatName,
		Direct:    true,
		Moderator: func(context.Context) (bool, error) { return asker.Moderator, nil },
	}), a.isPrivate(in.command)
}

// drain is ctx for one command, which may go on for chat.DrainTime after ctx
// is done.
func drain(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(chat.DrainTime)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel()
	}
}

func (a *Adapter) isPrivate(command string) bool {
	for _, c := range a.Handler.Commands() {
		if c.Name == command || slices.Contains(c.Aliases, command) {
			return c.Visibility == chat.Private
		}
	}
	return false
}

// switchAsker answers /as.
func (a *Adapter) switchAsker(words []string) chat.Reply {
	names := make([]string, len(a.Askers))
	for i, asker := range a.Askers {
		names[i] = "/as " + asker.Name
		if len(words) == 1 && strings.EqualFold(words[0], asker.Name) {
			a.asker = asker
			return chat.Reply{Title: "You are now " + asker.Name}
		}
	}
	return chat.Reply{Tone: chat.Warning, Title: "Nobody by that name", Text: "Write one of: " + strings.Join(names, ", ") + "."}
}
