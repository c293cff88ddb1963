// Command bot is Herald: it answers slash commands in Telegram groups and
// Discord servers. See README.md for its use and config.example.env for its
// settings.
//
// This package is the process: flags, signals and exit codes. internal/app is
// the bot.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"herald/internal/app"
	"herald/internal/config"
)

// The exit codes.
const (
	exitOK       = 0
	exitFailed   = 1
	exitMistaken = 2 // in the command line or the settings
)

// spareHeap lets the heap grow by as many bytes before it is collected.
const spareHeap = 8 << 20

// version and commit are set by the linker.
var version, commit = "dev", ""

const usage = `Herald answers slash commands in Telegram groups and Discord servers.

  bot [run]     serve every platform whose token is set
  bot demo      try it here, with nothing configured
  bot check     ask every configured service one harmless question
  bot version   version, commit and Go version

  --env-file FILE   read settings from a file of KEY=value lines; the
                    environment wins. config.example.env lists them all.
`

// process is what the operating system gives to a run of the program.
type process struct {
	environ []string
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code := start(ctx, os.Args[1:], process{os.Environ(), os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// start runs the program until it is done or ctx is, and returns its exit code.
func start(ctx context.Context, args []string, p process) int {
	// net/http writes what a server sends unasked to the standard logger. It
	// may repeat a request with its token.
	log.SetOutput(io.Discard)
	name, envFile, err := parseArgs(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(p.stdout, usage)
		return exitOK
	}
	if err == nil {
		err = command(ctx, name, envFile, p)
	}
	var mistakes config.Mistakes
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &mistakes):
		fmt.Fprintln(p.stderr, err)
		return exitMistaken
	case errors.As(err, new(usageError)):
		fmt.Fprintf(p.stderr, "bot: %v\n\n%s", err, usage)
		return exitMistaken
	default:
		fmt.Fprintf(p.stderr, "bot: %v\n", err)
		return exitFailed
	}
}

type usageError string

func (e usageError) Error() string { return string(e) }

func command(ctx context.Context, name, envFile string, p process) error {
	switch name {
	case "run":
		cfg, err := app.LoadToServe(p.environ, envFile)
		if err != nil {
			return err
		}
		bot, err := app.New(cfg, app.NewLogger(cfg, p.stderr))
		if err != nil {
			return err
		}
		defer bot.Close()
		// Never touched, so not resident: it only makes the heap large enough
		// for the garbage collector that a burst is not collected every few
		// milliseconds. A larger heap outgrows its effect.
		spare := make([]byte, spareHeap)
		defer runtime.KeepAlive(&spare)
		return bot.Run(ctx)
	case "demo":
		return app.Demo(ctx, p.stdin, p.stdout, p.stderr)
	case "check":
		cfg, err := app.Load(p.environ, envFile)
		if err != nil {
			return err
		}
		cfg.History.Dir = "" // which the bot that runs may have open
		bot, err := app.New(cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		defer bot.Close()
		return bot.Check(ctx, p.stdout)
	case "version":
		return printVersion(p.stdout)
	default:
		return usageError("there is no such command; the commands are run, demo, check and version")
	}
}

// parseArgs accepts flags before and after the command's name.
func parseArgs(args []string) (name, envFile string, err error) {
	flags := flag.NewFlagSet("bot", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&envFile, "env-file", "", "")
	name = "run"
	if err := flags.Parse(args); err != nil {
		return "", "", asUsage(err)
	}
	if flags.NArg() > 0 {
		name = flags.Arg(0)
		if err := flags.Parse(flags.Args()[1:]); err != nil {
			return "", "", asUsage(err)
		}
	}
	if name == "help" {
		return "", "", flag.ErrHelp
	}
	if flags.NArg() > 0 {
		return "", "", usageError("the words after the command mean nothing")
	}
	return name, envFile, nil
}

func asUsage(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	// An error of package flag repeats the word, which may hold a token.
	return usageError("the one flag is --env-file, and needs a file")
}

// printVersion takes the commit from the linker, or else from what the Go
// toolchain stamped into the binary.
func printVersion(w io.Writer) error {
	stamped := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				stamped = s.Value
			}
		}
	}
	_, err := fmt.Fprintf(w, "herald %s, commit %s, %s\n", version, cmp.Or(commit, stamped), runtime.Version())
	return err
}
