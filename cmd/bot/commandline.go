package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
)

// command is one of the program's.
type command struct {
	name  string
	flags []string // those that it takes
	about string   // its help
	run   func(context.Context, process, options) error
}

// options are what stands beside a command.
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

// commands are all there are. The first is run where none is named.
func commands() []command {
	return []command{
		{name: "run", flags: []string{"env-file"}, run: run, about: `bot run [--env-file FILE]

Serve every platform whose token is set; the same as bot alone.
On SIGTERM or SIGINT it finishes the commands in flight, within ten seconds, and
exits with 0. It exits with 1 if it cannot serve, and with 2 if a setting is
wrong or missing.
` + envFileUsage},
		{name: "demo", flags: []string{"web"}, run: demo, about: `bot demo [--web]

Try it here, with nothing configured.
It is the whole bot, with simulated services and a chat in the terminal. It also
takes commands from a pipe, one a line.
` + webUsage},
		{name: "check", flags: []string{"env-file"}, run: check, about: `bot check [--env-file FILE]

Ask every configured service one harmless question.
It prints what it asked, where, and what was answered. It exits with 0 if all is
well, with 1 if not, and with 2 if a setting is wrong or missing.
` + envFileUsage},
		{name: "version", run: printVersion, about: "bot version\n\nPrint the version, the commit and Go's version.\n"},
		{name: "help", flags: []string{"web", "env-file"}, run: help, about: usage},
	}
}

const usage = `Herald answers slash commands in Telegram groups and Discord servers.

  bot run       serve every platform whose token is set; the same as bot alone
  bot demo      try it here, with nothing configured
  bot check     ask every configured service one harmless question
  bot version   print the version, the commit and Go's version
  bot help      print this; bot help COMMAND prints more about one

  -h, --help        the same as bot help; after a command, more about it
  -v, --version     the same as bot version
` + envFileUsage + webUsage

func help(_ context.Context, p process, o options) error {
	c, err := find(o.topic)
	if err == nil {
		_, err = io.WriteString(p.stdout, c.about)
	}
	return err
}

// usageError is a mistake in the command line. It repeats no word of it: one may be
// a token that was pasted into the wrong place.
type usageError string

func (e usageError) Error() string { return string(e) }

func find(name string) (command, error) {
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		return command{}, usageError("there is no such command; the commands are run, demo, check, version and help, as in bot demo")
	}
	return all[i], nil
}

// parse reads a command line. Flags may stand before and after the command.
func parse(args []string) (command, options, error) {
	o := options{topic: "help"}
	flags := flag.NewFlagSet("bot", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // its errors repeat what was typed
	flags.BoolVar(&o.web, "web", false, "")
	flags.Func("env-file", "", func(file string) error {
		if file == "" || o.envFile != "" {
			return errors.New("empty, or given twice")
		}
		o.envFile = file
		return nil
	})
	var version, helped bool
	flags.BoolVar(&version, "version", false, "")
	flags.BoolVar(&version, "v", false, "")
	flags.BoolVar(&helped, "help", false, "")
	flags.BoolVar(&helped, "h", false, "")
	err := flags.Parse(args)
	words := flags.Args()
	if err == nil && len(words) > 0 {
		err = flags.Parse(words[1:])
		words = append(words[:1:1], flags.Args()...)
	}
	switch {
	case err != nil:
		return command{}, o, usageError("there is no such flag, it is given twice, or its value is wrong or missing; " +
			"for example bot run --env-file herald.env")
	case version:
		words = []string{"version"}
	case helped:
		words = append([]string{"help"}, words...)
	case len(words) == 0:
		words = []string{"run"}
	}
	c, err := find(words[0])
	if c.name == "help" && len(words) > 1 {
		o.topic, words = words[1], words[1:]
		_, err = find(o.topic)
	}
	if err == nil && len(words) > 1 {
		err = usageError(fmt.Sprintf("bot %s takes no further words; for example bot check --env-file herald.env", c.name))
	}
	flags.Visit(func(f *flag.Flag) {
		if (f.Name == "web" || f.Name == "env-file") && !slices.Contains(c.flags, f.Name) && err == nil {
			err = usageError(fmt.Sprintf("--%s is not for bot %s; for example bot demo --web, bot check --env-file herald.env", f.Name, c.name))
		}
	})
	return c, o, err
}
