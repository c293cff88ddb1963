// Command bot is Herald: it answers slash commands in Telegram groups and Discord
// servers. README.md shows its use and config.example.env its settings.
//
// This package is the process: signals, exit codes, and one function for each command (main.go), and the command line
// (commandline.go). internal/app is the bot.
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
	exitUsage  = 2 // the command line or a setting is wrong, or another process has DATA_DIR
)

// version and commit are set by the linker.
var version, commit = "dev", ""

// process holds what the operating system gives to a run of the program.
type process struct {
	environ []string
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
}

const (
	// gcPercent lets the heap grow to five times the bytes in use before a garbage collection. Few bytes are in use, so
	// Go's default would collect often.
	gcPercent = 400
	// memoryLimit is the number of bytes above which garbage is collected earlier than gcPercent requires. It includes
	// stacks: 5,000 commands in flight have stacks of some 40 MiB. Above the limit, they take a quarter longer.
	// docs/proof.md has the figures.
	memoryLimit = 84 << 20
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

// start runs the program and returns its exit code. It blocks until the program ends by itself or because ctx is done.
func start(ctx context.Context, args []string, p process) int {
	// net/http logs a response that arrives although nothing was requested. It may contain a token.
	log.SetOutput(io.Discard)
	c, o, err := parse(args)
	if err == nil {
		err = c.run(ctx, p, o)
	}
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, new(config.Errors)): // invalid settings, or a usageError
		fmt.Fprintln(p.stderr, err)
		return exitUsage
	case errors.Is(err, app.ErrCheckFailed):
		return exitFailed // The table has said what failed.
	default:
		fmt.Fprintf(p.stderr, "bot: %v\n", err)
		return exitFailed
	}
}

// Each function below, except builtFrom, runs one command of the program.

// run serves every platform whose token is set. It blocks until ctx is done.
func run(ctx context.Context, p process, o options) error {
	cfg, err := app.Load(p.environ, o.envFile, app.ToServe)
	if err != nil {
		return err
	}
	bot, err := app.New(cfg, app.NewLogger(cfg, p.stderr))
	if err != nil {
		return err
	}
	defer bot.Close()
	bot.ReportBuild(version, builtFrom())
	return bot.Run(ctx)
}

// demo runs the demo in the terminal or, with --web, as a page. It blocks until ctx is done or the input ends.
func demo(ctx context.Context, p process, o options) error {
	if o.web {
		return app.DemoWeb(ctx, p.stdout, p.stderr)
	}
	return app.Demo(ctx, p.stdin, p.stdout, p.stderr)
}

// check prints a table of what the services and platforms answered. It fails with app.ErrCheckFailed if a row failed.
func check(ctx context.Context, p process, o options) error {
	wallet := ""
	if o.wallet != nil {
		wallet = *o.wallet
		if !app.IsWallet(wallet) {
			return usageError("the value of --wallet must be 0x and 40 hexadecimal digits, in lower case or with the right " +
				"EIP-55 checksum; for example bot check --wallet 0x52908400098527886E0F7030069857D2E4169EE7")
		}
	}
	cfg, err := app.Load(p.environ, o.envFile, app.ToLook)
	if err != nil {
		return err
	}
	bot, err := app.NewForCheck(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer bot.Close()
	return bot.Check(ctx, p.stdout, wallet)
}

// health prints that the running bot is ready. It fails if the bot is not ready.
func health(ctx context.Context, p process, o options) error {
	return app.Health(ctx, p.environ, o.envFile, p.stdout)
}

// listMembers prints the saved rows of members. With --release, it instead tells the running bot to remove the badges
// that a fuse holds, and prints who has them.
func listMembers(ctx context.Context, p process, o options) error {
	cfg, err := app.Load(p.environ, o.envFile, app.ToLook)
	if err != nil {
		return err
	}
	log := app.NewLogger(cfg, p.stderr)
	if o.release {
		return app.ReleaseBadges(ctx, cfg, log, p.stdout)
	}
	return app.ListMembers(ctx, cfg, log, p.stdout)
}

// printVersion prints the version of the program, its commit and Go's version.
func printVersion(_ context.Context, p process, _ options) error {
	_, err := fmt.Fprintf(p.stdout, "herald %s, commit %s, %s\n", version, builtFrom(), runtime.Version())
	return err
}

// builtFrom returns the commit that the linker set, or else the one that the Go toolchain stamped into the binary, or
// else "unknown".
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
