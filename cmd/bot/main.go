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
	// gcPercent lets the heap grow to five times the bytes in use before a garbage collection. Few bytes are in use, so
	// Go's default would collect often.
	gcPercent = 400
	// memoryLimit is the number of bytes above which garbage is collected earlier. Stacks count too: 5,000 commands at
	// once need some 40 MiB, and take a quarter longer above the limit. docs/proof.md has the figures.
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
	// net/http logs what a server sends without a request, and that may contain a token.
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
		return exitFailed // The table has said what failed.
	default:
		fmt.Fprintf(p.stderr, "bot: %v\n", err)
		return exitFailed
	}
}

// Each of the following functions runs one command of the program.

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

// command is one of the program's commands.
type command struct {
	name  string
	flags []string // the names of the flags that it takes
	help  string   // its first line is also its entry in the list of all commands
	run   func(context.Context, process, options) error
}

// options are the rest of the command line: the values of flags, and the word after bot help.
type options struct {
	envFile string // "" if there is no file
	web     bool
	wallet  *string // as typed; nil if the flag is not given
	release bool
	version bool   // whether --version stands for the command
	topic   string // the command that bot help explains; "" for all
}

// newFlags returns the flags of all commands. Parsing them fills o. The usage of a flag is its part of the help.
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
	flags.BoolVar(&o.version, "version", false, "") // The help of the command version explains it.
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

// columns explains the columns of bot members, in one line each.
func columns() (text string) {
	for _, column := range app.MemberColumns {
		text += fmt.Sprintf("  %-17s  %s\n", column.Name, column.Holds)
	}
	return text
}

// printHelp explains the command o.topic, or lists all commands and flags if there is no topic.
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

// usageError returns an error that makes the program exit with exitUsage. text must not repeat words of the command
// line, except those that match plainName: others may be secrets.
func usageError(text string) error {
	return config.Errors{"bot: " + text, "Run `bot help` for what there is."}
}

// find returns the command with this name. It fails with a usageError.
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

// plainName matches words that cannot be secrets, because no token has this form.
var plainName = regexp.MustCompile(`^(--)?[a-z][a-z_-]{1,15}$`)

// noSuch returns the usageError for an unknown name of a command or flag. If a known name is similar, it suggests that.
func noSuch(kind, typed string, known []string) error {
	text := "there is no such " + kind
	if plainName.MatchString(typed) {
		text = "there is no " + kind + " " + typed
	}
	if nearest := config.Nearest(strings.ToLower(typed), known); nearest != "" {
		text += "; did you mean " + nearest + "?"
	}
	return usageError(text)
}

// parse parses a command line: a command, its flags before and after it, and for help a further word. It fails with a
// usageError. Some command lines stand for others:
//
//	bot                     is bot run
//	bot --version           is bot version
//	bot [COMMAND] --help    is bot help [COMMAND]
//
// With --help, other flags are ignored.
func parse(args []string) (command, options, error) {
	var o options
	flags := newFlags(&o)
	words, err := readFlags(flags, args)
	hasHelpFlag := errors.Is(err, flag.ErrHelp)
	switch {
	case hasHelpFlag:
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
	furtherWords := words[1:]
	if c.name == "help" && len(furtherWords) > 0 {
		o.topic = furtherWords[0]
		furtherWords = furtherWords[1:]
	}
	takesAllFlags := true
	flags.Visit(func(given *flag.Flag) {
		if !slices.Contains(c.flags, given.Name) {
			takesAllFlags = false
		}
	})
	switch {
	case len(furtherWords) > 0:
		err = usageError("bot " + c.name + " takes no further words: see bot help " + c.name)
	case !takesAllFlags && !hasHelpFlag:
		err = usageError("bot " + c.name + " takes no such flag: see bot help " + c.name)
	}
	return c, o, err
}

// readFlags sets the flags that args give, and returns the other words. After an error, words has those before it.
func readFlags(flags *flag.FlagSet, args []string) (words []string, err error) {
	err = flags.Parse(args) // Parse stops at a word that is not a flag.
	for err == nil && flags.NArg() > 0 {
		words = append(words, flags.Arg(0))
		err = flags.Parse(flags.Args()[1:])
	}
	return words, err
}

// flagError returns the usageError for an error of readFlags. Package flag tells its errors apart only by their texts.
func flagError(flags *flag.FlagSet, err error) error {
	if name, lacksValue := strings.CutPrefix(err.Error(), "flag needs an argument: -"); lacksValue {
		return usageError("--" + name +
			" needs a value; for example bot check --env-file herald.env --wallet 0x52908400098527886E0F7030069857D2E4169EE7")
	}
	typed, isUnknown := strings.CutPrefix(err.Error(), "flag provided but not defined: ")
	if !isUnknown {
		return usageError("the value of a flag is wrong or missing; for example bot run --env-file herald.env")
	}
	known := []string{"--help"}
	flags.VisitAll(func(f *flag.Flag) { known = append(known, "--"+f.Name) })
	return noSuch("flag", "-"+typed, known)
}
