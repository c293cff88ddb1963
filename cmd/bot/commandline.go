package main

import (
	"context"
	"flag"
	"io"
	"slices"
)

// command is one of the program's commands.
type command struct {
	name string
	flag string // the one flag that it takes, or empty
	help string
	run  func(context.Context, process, options) error
}

// options are the rest of the command line.
type options struct {
	envFile string
	web     bool
	topic   string // the command that help is asked about
}

const envFileUsage = `
  --env-file FILE   read settings from a file of KEY=value lines; the
                    environment wins. config.example.env lists them all
`

const webUsage = `
  --web             bot demo as a page for a browser; it prints the address
`

const usage = `Herald answers slash commands in Telegram groups and Discord servers.

  bot run       serve every platform whose token is set; the same as bot alone
  bot demo      try it here, with nothing configured
  bot check     ask every configured service one harmless question
  bot version   print the version, the commit and Go's version
  bot help      print this; bot help COMMAND prints more about one

  -h, --help        the same as bot help; after a command, more about it
  -v, --version     the same as bot version
` + envFileUsage + webUsage

func commands() []command {
	return []command{
		{name: "run", flag: "env-file", run: run, help: `bot run [--env-file FILE]

Serve every platform whose token is set; the same as bot alone.
On SIGTERM or SIGINT it finishes the commands in flight, within ten seconds, and
exits with 0. It exits with 1 if it cannot serve, and with 2 if a setting is
wrong or missing.
` + envFileUsage},
		{name: "demo", flag: "web", run: demo, help: `bot demo [--web]

Try it here, with nothing configured.
It is the whole bot, with simulated services and a chat in the terminal. It also
takes commands from a pipe, one a line.
` + webUsage},
		{name: "check", flag: "env-file", run: check, help: `bot check [--env-file FILE]

Ask every configured service one harmless question.
It prints what it asked, where, and what was answered. It exits with 0 if all is
well, with 1 if not, and with 2 if a setting is wrong or missing.
` + envFileUsage},
		{name: "version", run: printVersion, help: "bot version\n\nPrint the version, the commit and Go's version.\n"},
		{name: "help", run: printHelp, help: usage},
	}
}

func printHelp(_ context.Context, p process, o options) error {
	c, err := find(o.topic)
	if err == nil {
		_, err = io.WriteString(p.stdout, c.help)
	}
	return err
}

// usageError is a mistake in the command line. It repeats no word of it: one may be a
// token that was pasted into the wrong place.
type usageError string

func (e usageError) Error() string { return string(e) }

func find(name string) (command, error) {
	for _, c := range commands() {
		if c.name == name {
			return c, nil
		}
	}
	return command{}, usageError("there is no such command; the commands are run, demo, check, version and help, as in bot demo")
}

// parse reads a command line. Flags may stand before and after the command.
func parse(args []string) (command, options, error) {
	o := options{topic: "help"}
	var version, help bool
	flags := flag.NewFlagSet("bot", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // its errors repeat what was typed
	flags.StringVar(&o.envFile, "env-file", "", "")
	flags.BoolVar(&o.web, "web", false, "")
	for name, value := range map[string]*bool{"version": &version, "v": &version, "help": &help, "h": &help} {
		flags.BoolVar(value, name, false, "")
	}
	var words []string
	err := flags.Parse(args)
	for err == nil && flags.NArg() > 0 {
		words = append(words, flags.Arg(0))
		err = flags.Parse(flags.Args()[1:])
	}
	switch {
	case err != nil:
		return command{}, o, usageError("there is no such flag, or its value is wrong or missing; for example bot run --env-file herald.env")
	case version:
		words = []string{"version"}
	case help:
		words = slices.Insert(words, 0, "help")
	case len(words) == 0:
		words = []string{"run"}
	}
	c, err := find(words[0])
	if c.name == "help" && len(words) > 1 {
		o.topic, words = words[1], words[1:]
	}
	if err == nil && len(words) > 1 {
		err = usageError("bot " + c.name + " takes no further words; for example bot check --env-file herald.env")
	}
	flags.Visit(func(f *flag.Flag) {
		if err == nil && !help && (f.Name == "web" || f.Name == "env-file") && f.Name != c.flag {
			err = usageError("--" + f.Name + " is not for bot " + c.name + "; for example bot demo --web, bot check --env-file herald.env")
		}
	})
	return c, o, err
}
