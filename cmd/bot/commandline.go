package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"herald/internal/config"
)

// The command line is read here rather than by a library, as those that there
// are repeat a word that they do not know. It may be a token that was pasted into
// the wrong place.

// command is one of the program's.
type command struct {
	name, summary string
	about         string // what its help says beyond the summary; empty: nothing
	flags         []commandFlag
	run           func(context.Context, process, options) error
}

// commandFlag is a flag that some commands take.
type commandFlag struct {
	name, summary string
	value         string // what follows it, as in "--env-file FILE"; empty: nothing
	set           func(*options, string)
}

// options are what stands after a command.
type options struct {
	envFile string
	web     bool
	topic   string // the command that help is asked about; empty: all of them
}

var envFile = commandFlag{
	name: "env-file", value: "FILE", set: func(o *options, file string) { o.envFile = file },
	summary: "read settings from a file of KEY=value lines; the\nenvironment wins. config.example.env lists them all",
}

// commands are all there are, in the order of their help. The first is run where
// none is named.
func commands() []command {
	return []command{
		{name: "run", summary: "serve every platform whose token is set; the same as bot alone", flags: []commandFlag{envFile}, run: run,
			about: `On SIGTERM or SIGINT it finishes the commands in hand, within ten seconds, and
exits with 0. It exits with 1 if it cannot serve, and with 2 if a setting is
wrong or missing.`},
		{name: "demo", summary: "try it here, with nothing configured", run: demo,
			flags: []commandFlag{{name: "web", summary: "bot demo as a page for a browser; it prints the address",
				set: func(o *options, _ string) { o.web = true }}},
			about: `It is the whole bot, with simulated services and a chat in the terminal. It also
takes commands from a pipe, one a line.`},
		{name: "check", summary: "ask every configured service one harmless question", flags: []commandFlag{envFile}, run: check,
			about: `It prints what it asked, where, and what was answered. It exits with 0 if all is
well, with 1 if not, and with 2 if a setting is wrong or missing.`},
		{name: "version", summary: "print the version, the commit and Go's version", run: printVersion},
		{name: "help", summary: "print this; bot help COMMAND prints more about one", run: help},
	}
}

// standIns are flags that stand for a command.
var standIns = map[string]string{"help": "help", "h": "help", "version": "version", "v": "version"}

func help(_ context.Context, p process, o options) error {
	text := usage()
	if c, found := find(o.topic); found {
		text = c.usage()
	}
	_, err := io.WriteString(p.stdout, text)
	return err
}

func usage() string {
	text := "Herald answers slash commands in Telegram groups and Discord servers.\n\n"
	for _, c := range commands() {
		text += fmt.Sprintf("  bot %-8s  %s\n", c.name, c.summary)
	}
	text += `
  -h, --help        the same as bot help; after a command, more about it
  -v, --version     the same as bot version
`
	var listed []string
	for _, c := range commands() {
		for _, f := range c.flags {
			if !slices.Contains(listed, f.name) {
				text += f.usage()
				listed = append(listed, f.name)
			}
		}
	}
	return text
}

func (c command) usage() string {
	title, flags := "bot "+c.name, ""
	for _, f := range c.flags {
		title += " [" + f.title() + "]"
		flags += "\n" + f.usage()
	}
	text := title + "\n\n" + strings.ToUpper(c.summary[:1]) + c.summary[1:] + ".\n"
	if c.about != "" {
		text += c.about + "\n"
	}
	return text + flags
}

func (f commandFlag) title() string { return strings.TrimSpace("--" + f.name + " " + f.value) }

func (f commandFlag) usage() string {
	const width = len("  --env-file FILE   ")
	indented := strings.ReplaceAll(f.summary, "\n", "\n"+strings.Repeat(" ", width))
	return fmt.Sprintf("%-*s%s\n", width, "  "+f.title(), indented)
}

func find(name string) (command, bool) {
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		return command{}, false
	}
	return all[i], true
}

// usageError is a mistake in the command line. It repeats a word only if that
// cannot be a secret.
type usageError string

func (e usageError) Error() string { return string(e) }

func mistaken(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

// parse reads a command line.
func parse(args []string) (c command, o options, err error) {
	words, given, err := splitFlags(args)
	if err != nil {
		return c, o, err
	}
	if len(words) == 0 {
		words = []string{commands()[0].name}
	}
	if words[0] == "help" && len(words) > 1 {
		o.topic = words[1]
		if _, found := find(o.topic); !found {
			return c, o, noSuchCommand(o.topic)
		}
		words = slices.Delete(words, 1, 2)
	}
	c, found := find(words[0])
	if !found {
		return c, o, noSuchCommand(words[0])
	}
	if len(words) > 1 {
		hint := ""
		if len(c.flags) > 0 {
			hint = ", only " + c.flags[0].title()
		}
		return c, o, mistaken("%s takes no further words%s", c.name, hint)
	}
	takes := c.flags
	if topic, found := find(o.topic); found {
		takes = topic.flags // --help was added to a whole command line
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.IndexFunc(takes, func(f commandFlag) bool { return f.name == name })
		if i < 0 {
			return c, o, mistaken("--%s is for %s, not for bot %s", name, strings.Join(takers(name), " and "), c.name)
		}
		takes[i].set(&o, given[name])
	}
	return c, o, nil
}

// takers are the commands that take a flag.
func takers(flag string) (all []string) {
	for _, c := range commands() {
		if slices.ContainsFunc(c.flags, func(f commandFlag) bool { return f.name == flag }) {
			all = append(all, "bot "+c.name)
		}
	}
	return all
}

// splitFlags separates the flags, and their values, from the words that they
// stand before, between or behind. A flag that stands for a command becomes the
// first word.
func splitFlags(args []string) (words []string, given map[string]string, err error) {
	flags := map[string]commandFlag{}
	for _, c := range commands() {
		for _, f := range c.flags {
			flags[f.name] = f
		}
	}
	given = map[string]string{}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if !strings.HasPrefix(arg, "-") {
			words = append(words, arg)
			continue
		}
		typed, value, hasValue := strings.Cut(arg, "=")
		name := strings.TrimPrefix(typed[1:], "-")
		f, known := flags[name]
		takesValue := f.value != ""
		if takesValue && !hasValue && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
			value, args = args[0], args[1:]
		}
		_, repeated := given[name]
		switch {
		case !known && standIns[name] == "":
			return nil, nil, noSuch("flag", typed, "--", append(slices.Sorted(maps.Keys(flags)), "help", "version"))
		case hasValue && !takesValue:
			return nil, nil, mistaken("%s takes no value", typed)
		case !known:
			words = slices.Insert(words, 0, standIns[name])
		case takesValue && value == "":
			return nil, nil, mistaken("%s needs a %s; for example %[1]s herald.env", typed, strings.ToLower(f.value))
		case repeated:
			return nil, nil, mistaken("%s is given twice; keep one of them", typed)
		default:
			given[name] = value
		}
	}
	return words, given, nil
}

func noSuchCommand(word string) error {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return noSuch("command", word, "", names)
}

var plainWord = regexp.MustCompile(`^([a-z-]{1,20}|[A-Za-z-]{1,10})$`)

// noSuch says that what was typed is none of the known ones, which begin with the
// prefix, and which one may have been meant.
func noSuch(kind, typed, prefix string, known []string) error {
	word, what := strings.TrimLeft(typed, "-"), "such "+kind
	if plainWord.MatchString(word) {
		what = fmt.Sprintf("%s %q", kind, typed)
	}
	if meant := config.Nearest(strings.ToLower(word), known); meant != "" {
		return mistaken("there is no %s; did you mean %q?", what, prefix+meant)
	}
	return mistaken("there is no %s; the %ss are %s", what, kind, prefix+strings.Join(known, ", "+prefix))
}
