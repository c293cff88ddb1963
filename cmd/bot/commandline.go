package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"herald/internal/app"
	"herald/internal/config"
)

// command is one of the program's commands.
type command struct {
	name  string
	flags []string // the names of the flags that it takes
	help  string   // the first line is also shown in the list of all commands
	run   func(context.Context, process, options) error
}

// options are what a command line holds besides the command.
type options struct {
	// The values of the flags. newFlags explains them.
	envFile string // "" if the flag is not given
	web     bool
	wallet  *string // as typed; nil if the flag is not given
	release bool
	version bool

	// topic is the word after bot help: the command to explain. It is "" if there is no word.
	topic string
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
		{
			name:  "demo",
			flags: []string{"web"},
			run:   demo,
			help: `try it here, with nothing configured

It is the whole bot, in a simulated Telegram group and with simulated services.
Commands are typed in the terminal, or come from a pipe, one a line.
`,
		},
		{
			name:  "check",
			flags: []string{"env-file", "wallet"},
			run:   check,
			help: `ask every configured service one harmless question

It exits with 0 if all is well, with 1 if not, and with 2 if a setting is wrong.
`,
		},
		{
			name:  "health",
			flags: []string{"env-file"},
			run:   health,
			help: `ask the running bot whether it is ready

It asks /readyz at HTTP_ADDR, and reads no other setting. It exits with 0 if
every platform is connected, with 1 if not or if nobody answers within three
seconds, and with 2 if HTTP_ADDR is off or wrong.
`,
		},
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
		{
			name: "help",
			run:  printHelp,
			help: "print this; bot help COMMAND prints more about one\n",
		},
	}
}

// columns explains the columns of bot members, in one line each.
func columns() (text string) {
	for _, column := range app.MemberColumns {
		text += fmt.Sprintf("  %-17s  %s\n", column.Name, column.Holds)
	}
	return text
}

// newFlags returns the flags of all commands, which store their values in o. The usage of a flag is printed as part of
// the help.
func newFlags(o *options) *flag.FlagSet {
	flags := flag.NewFlagSet("bot", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // flags would print errors that repeat what was typed, which may be a secret.
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

// parse parses a command line: a command, its flags before and after it, and in bot help COMMAND a second word. It
// fails with a usageError. Some command lines are short for others:
//
//	bot                   = bot run
//	bot --version         = bot version
//	bot [COMMAND] --help  = bot help [COMMAND]
//
// If --help is given, other flags are ignored.
func parse(args []string) (command, options, error) {
	var o options
	flags := newFlags(&o)
	words, err := readFlags(flags, args)
	asksForHelp := errors.Is(err, flag.ErrHelp)
	switch {
	case asksForHelp:
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
	switch {
	case len(furtherWords) > 0:
		err = usageError("bot " + c.name + " takes no further words: see bot help " + c.name)
	case !asksForHelp && !c.takesAll(flags):
		err = usageError("bot " + c.name + " takes no such flag: see bot help " + c.name)
	}
	return c, o, err
}

// readFlags sets the flags in args, and returns the other words. It stops at the first error, and returns the words
// before it.
func readFlags(flags *flag.FlagSet, args []string) (words []string, err error) {
	err = flags.Parse(args) // Parse stops at a word that is not a flag.
	for err == nil && flags.NArg() > 0 {
		words = append(words, flags.Arg(0))
		err = flags.Parse(flags.Args()[1:])
	}
	return words, err
}

// takesAll reports whether the command takes every flag that is set in flags.
func (c command) takesAll(flags *flag.FlagSet) bool {
	takesAll := true
	flags.Visit(func(given *flag.Flag) {
		if !slices.Contains(c.flags, given.Name) {
			takesAll = false
		}
	})
	return takesAll
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

// usageError returns an error that makes the program exit with exitUsage. text may repeat a word of the command line
// only if the word matches plainName: any other may be a secret.
func usageError(text string) error {
	return config.Errors{"bot: " + text, "Run `bot help` for what there is."}
}

// flagError returns the usageError for an error of readFlags. It recognizes the error by its text, because package flag
// has no types for its errors.
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

// noSuch returns the usageError for an unknown command or flag. kind is "command" or "flag". If a known name is similar
// to the typed one, the error suggests it.
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

// plainName matches words that cannot be secrets, because no token has this form.
var plainName = regexp.MustCompile(`^(--)?[a-z][a-z_-]{1,15}$`)
