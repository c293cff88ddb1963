// Command bot is Herald: it answers slash commands in Telegram groups and Discord
// servers. README.md shows its use and config.example.env its settings.
//
// This package is the process: flags, signals and exit codes. internal/app is the bot.
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
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
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
	// gcPercent lets the heap grow to five times the bytes in use before a garbage collection.
	// Go's default would collect often, because few bytes are in use.
	gcPercent = 400
	// memoryLimit is the number of bytes above which garbage is collected earlier. They include the stacks of simultaneous
	// commands: some 40 MiB for 5,000 at once, which then take a quarter longer. docs/proof.md has the figures.
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

// start runs the program and returns its exit code. It blocks until the program ends by
// itself or because ctx is done.
func start(ctx context.Context, args []string, p process) int {
	// net/http writes to the standard logger what a server sends unasked, which may hold a
	// token.
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
	case errors.Is(err, app.ErrCheckFailed):
		return exitFailed // its table says what failed
	}
	fmt.Fprintf(p.stderr, "bot: %v\n", err)
	return exitFailed
}

// run serves until ctx is done.
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

// demo runs the demo in the terminal or, with --web, as a page. It blocks until ctx is done or
// the input ends.
func demo(ctx context.Context, p process, o options) error {
	if o.web {
		return app.DemoWeb(ctx, p.stdout, p.stderr)
	}
	return app.Demo(ctx, p.stdin, p.stdout, p.stderr)
}

// check prints a table of what the services and platforms answered. It fails with
// app.ErrCheckFailed if one of them did not.
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

// health prints that the running bot is ready, or fails.
func health(ctx context.Context, p process, o options) error {
	return app.Health(ctx, p.environ, o.envFile, p.stdout)
}

// listMembers prints the saved rows of members. With --release it has the running bot remove the
// badges that it holds back, and prints whose they are.
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

func printVersion(_ context.Context, p process, _ options) error {
	_, err := fmt.Fprintf(p.stdout, "herald %s, commit %s, %s\n", version, builtFrom(), runtime.Version())
	return err
}

// builtFrom returns the commit that the linker set, or the one that the Go toolchain
// stamped into the binary, or "unknown".
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

// command is one of the program's commands.
type command struct {
	name  string
	flags []string // the flags that it takes
	help  string   // its first line is its entry in the list of all
	run   func(context.Context, process, options) error
}

// options are the rest of the command line.
type options struct {
	envFile string // empty: no file
	web     bool
	wallet  *string // as typed; nil: not given
	release bool
	version bool   // bot --version
	topic   string // the command that bot help explains; empty: all
}

// newFlags returns the flags of all commands, which fill o. The usage of a flag is its part of
// the help.
func newFlags(o *options) *flag.FlagSet {
	flags := flag.NewFlagSet("bot", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // Its errors repeat what was typed.
	flags.Func("env-file", `
  --env-file FILE   read settings from a file of KEY=value lines; the
                    environment wins. config.example.env lists them all
`, func(path string) error {
		if path == "" {
			return errors.New("no file is named")
		}
		o.envFile = path
		return nil
	})
	flags.BoolVar(&o.web, "web", false, `
  --web             bot demo as a page for a browser; it prints the address
`)
	flags.Func("wallet", `
  --wallet 0x...    show in bot check what this wallet is withdrawing, and from
                    which block, to find out STAKING_CLAIM_BLOCKS
`, func(text string) error {
		o.wallet = &text
		return nil
	})
	flags.BoolVar(&o.release, "release", false, `
  --release         let the running bot take the roles and tags that it holds
                    back because too many would go at once; with bot members
`)
	flags.BoolVar(&o.version, "version", false, "") // The help of the command names it.
	return flags
}

// commands returns all commands, in the order of the help.
func commands() []command {
	return []command{
		{
			name:  "run",
			flags: []string{"env-file"},
			run:   run,
			help: `serve every platform whose token is set; the same as plain bot

On SIGTERM or SIGINT it finishes commands in flight within ten seconds and exits
with 0. It exits with 1 if it cannot serve, and with 2 if a setting is wrong or
another bot run uses DATA_DIR.
`,
		},
		{name: "demo", flags: []string{"web"}, run: demo, help: `try it here, with nothing configured

It is the whole bot, in a simulated Telegram group and with simulated services.
Commands are typed in the terminal, or come from a pipe, one a line.
`},
		{
			name:  "check",
			flags: []string{"env-file", "wallet"},
			run:   check,
			help: `ask every configured service one harmless question

It exits with 0 if all is well, with 1 if not, and with 2 if a setting is wrong.
`,
		},
		{name: "health", flags: []string{"env-file"}, run: health, help: `ask the running bot whether it is ready

It asks /readyz at HTTP_ADDR, and reads no other setting. It exits with 0 if
every platform is connected, with 1 if not or if nobody answers within three
seconds, and with 2 if HTTP_ADDR is off or wrong.
`},
		{
			name:  "members",
			flags: []string{"env-file", "release"},
			run:   listMembers,
			help: `print what is saved of members, as CSV

The lines name people and their wallets: keep them to yourself. It works beside
a running bot. It exits with 1 if not all could be read.

Times are in UTC, and empty for never. Spreadsheets round long IDs: have them
read the columns as text. With --release there are only platform, user and
community.


` + columns(),
		},
		{
			name:  "version",
			flags: []string{"version"},
			run:   printVersion,
			help:  "print the version, the commit and Go's; also bot --version\n",
		},
		{name: "help", run: printHelp, help: "print this; bot help COMMAND prints more about one\n"},
	}
}

// columns explains each column of bot members.
func columns() (text string) {
	for _, column := range app.MemberColumns {
		text += fmt.Sprintf("  %-17s  %s\n", column.Name, column.Holds)
	}
	return text
}

// printHelp explains o.topic, or all commands and their flags without a topic.
func printHelp(_ context.Context, p process, o options) error {
	text := allHelp()
	if o.topic != "" {
		c, err := find(o.topic)
		if err != nil {
			return err
		}
		text = "bot " + c.name + ": " + c.help + flagHelp(c.flags)
	}
	_, err := io.WriteString(p.stdout, text)
	return err
}

// allHelp lists all commands and all flags.
func allHelp() string {
	text := "Herald answers slash commands in Telegram groups and Discord servers.\n\n"
	var flags []string
	for _, c := range commands() {
		summary, _, _ := strings.Cut(c.help, "\n")
		text += fmt.Sprintf("  bot %-8s  %s\n", c.name, summary)
		for _, name := range c.flags {
			if !slices.Contains(flags, name) {
				flags = append(flags, name)
			}
		}
	}
	return text + flagHelp(flags)
}

// flagHelp returns the help for flags by their names.
func flagHelp(names []string) (text string) {
	flags := newFlags(new(options))
	for _, name := range names {
		text += flags.Lookup(name).Usage
	}
	return text
}

// usageError returns an error for exitUsage. text must repeat nothing of the command line but a
// plainName, because anything else may be a secret.
func usageError(text string) error {
	return config.Errors{"bot: " + text, "Run `bot help` for what there is."}
}

// find returns the command with a name. It fails with a usageError.
func find(name string) (command, error) {
	var names []string
	for _, c := range commands() {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	return command{}, noSuch("command", name, names)
}

// plainName matches a word that an error may repeat: no token has its form.
var plainName = regexp.MustCompile(`^(--)?[a-z][a-z_-]{1,15}$`)

// noSuch returns the usageError of a mistyped name, with the nearest known name.
func noSuch(kind, typed string, known []string) error {
	text := "there is no such " + kind
	if plainName.MatchString(typed) {
		text = "there is no " + kind + " " + typed
	}
	if meant := config.Nearest(strings.ToLower(typed), known); meant != "" {
		text += "; did you mean " + meant + "?"
	}
	return usageError(text)
}

// parse reads a command line. Flags may stand before and after the command. --help and
// --version stand for commands, and no words at all for run. It fails with a usageError.
func parse(args []string) (command, options, error) {
	var o options
	flags := newFlags(&o)
	words, err := readFlags(flags, args)
	asksHelp := errors.Is(err, flag.ErrHelp)
	switch {
	case asksHelp:
		words = slices.Insert(words, 0, "help")
	case err != nil:
		return command{}, o, flagError(flags, err)
	case o.version:
		words = []string{"version"}
	case len(words) == 0:
		words = []string{"run"}
	}
	c, err := find(words[0])
	if err != nil {
		return c, o, err
	}
	if c.name == "help" && len(words) > 1 {
		o.topic = words[1]
		words = words[1:]
	}
	takesAll := true
	flags.Visit(func(given *flag.Flag) { takesAll = takesAll && slices.Contains(c.flags, given.Name) })
	switch {
	case len(words) > 1:
		err = usageError("bot " + c.name + " takes no further words: see bot help " + c.name)
	case !takesAll && !asksHelp:
		err = usageError("bot " + c.name + " takes no such flag: see bot help " + c.name)
	}
	return c, o, err
}

// readFlags sets the flags that args give, and returns the other words.
func readFlags(flags *flag.FlagSet, args []string) (words []string, err error) {
	err = flags.Parse(args) // stops at a word that is no flag
	for err == nil && flags.NArg() > 0 {
		words = append(words, flags.Arg(0))
		err = flags.Parse(flags.Args()[1:])
	}
	return words, err
}

// flagError returns the usageError for an error of readFlags.
func flagError(flags *flag.FlagSet, err error) error {
	typed, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: ")
	if name, empty := strings.CutPrefix(err.Error(), "flag needs an argument: -"); empty {
		return usageError("--" + name +
			" needs a value; for example bot check --env-file herald.env --wallet 0x52908400098527886E0F7030069857D2E4169EE7")
	}
	if !unknown {
		return usageError("the value of a flag is wrong or missing; for example bot run --env-file herald.env")
	}
	known := []string{"--help"}
	flags.VisitAll(func(f *flag.Flag) { known = append(known, "--"+f.Name) })
	return noSuch("flag", "-"+typed, known)
}
