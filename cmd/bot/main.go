// Command bot is Herald: it answers slash commands in Telegram groups and Discord
// servers. README.md shows its use and config.example.env its settings.
//
// This package is the process: flags, signals and exit codes. It knows nothing of
// commands, platforms or services; internal/app is the bot.
package main

import (
	"cmp"
	"context"
	"errors"
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
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2 // the command line or a setting is wrong
)

// version and commit are set by the linker.
var version, commit = "dev", ""

// process is what the operating system gives to a run of the program.
type process struct {
	environ []string
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
}

const (
	// gcPercent lets the heap grow to five times what is in use before garbage is
	// collected. Little is in use, so that Go's default would collect it often.
	gcPercent = 400
	// memoryLimit is the size, in bytes, at which garbage is collected in any case. It
	// keeps the process below 120 MiB while 5,000 commands come at once.
	memoryLimit = 90 << 20
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code := start(ctx, os.Args[1:], process{environ: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr})
	stop()
	os.Exit(code)
}

// start runs the program until it is done or ctx is, and returns its exit code.
func start(ctx context.Context, args []string, p process) int {
	// net/http writes what a server sends unasked to the standard logger. It may
	// repeat a request with its token.
	log.SetOutput(io.Discard)
	c, o, err := parse(args)
	if err == nil {
		err = c.run(ctx, p, o)
	}
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, new(config.Errors)):
		fmt.Fprintln(p.stderr, err)
		return exitUsage
	case errors.As(err, new(usageError)):
		fmt.Fprintf(p.stderr, "bot: %v\nRun `bot help` for what there is.\n", err)
		return exitUsage
	case errors.Is(err, app.ErrCheckFailed):
		return exitFailed // its table says what failed
	}
	fmt.Fprintf(p.stderr, "bot: %v\n", err)
	return exitFailed
}

func run(ctx context.Context, p process, o options) error {
	cfg, err := app.LoadToServe(p.environ, o.envFile)
	if err != nil {
		return err
	}
	bot, err := app.New(cfg, app.NewLogger(cfg, p.stderr))
	if err != nil {
		return err
	}
	defer bot.Close()
	bot.ExportBuild(version, builtFrom())
	return bot.Run(ctx)
}

func demo(ctx context.Context, p process, o options) error {
	if o.web {
		return app.DemoWeb(ctx, p.stdout, p.stderr)
	}
	return app.Demo(ctx, p.stdin, p.stdout, p.stderr)
}

func check(ctx context.Context, p process, o options) error {
	cfg, err := app.Load(p.environ, o.envFile)
	if err != nil {
		return err
	}
	cfg.Store.DataDir = "" // the running bot uses it
	bot, err := app.New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer bot.Close()
	return bot.Check(ctx, p.stdout)
}

func printVersion(_ context.Context, p process, _ options) error {
	_, err := fmt.Fprintf(p.stdout, "herald %s, commit %s, %s\n", version, builtFrom(), runtime.Version())
	return err
}

// builtFrom returns the commit that the linker was told, or the one that the Go
// toolchain stamped into the binary.
func builtFrom() string {
	stamped := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				stamped = s.Value
			}
		}
	}
	return cmp.Or(commit, stamped, "unknown")
}
