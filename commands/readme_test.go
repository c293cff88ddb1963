package commands_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/config/configtest"
	"herald/internal/words"
)

// usages returns how to type the listed forms of a command: those for moderators only, or those for everybody.
func usages(c chat.Command, moderators bool) string {
	var all []string
	for _, form := range c.Forms {
		if form.Unlisted || form.Moderators != moderators {
			continue
		}
		usage := "/" + c.Name
		for _, param := range form.Params {
			usage += " <" + param.Name + ">"
		}
		all = append(all, "`"+usage+"`")
	}
	return strings.Join(all, ", ")
}

func TestREADMEListsEveryCommand(t *testing.T) {
	readers := map[chat.Visibility]string{
		chat.Public:  "the chat",
		chat.Private: "the sender",
	}
	var table strings.Builder
	table.WriteString("| command | what it answers | who sees that | moderators also |\n")
	table.WriteString("| --- | --- | --- | --- |\n")
	for _, c := range commands.All(commandstest.Healthy().Sources(), commands.Options{Symbol: "HRLD"}) {
		onlyFromButtons := c.Summary.Key == ""
		if onlyFromButtons {
			continue
		}
		answers := words.Say(chat.English, c.Summary)
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n",
			usages(c, false), answers, readers[c.Visibility], usages(c, true))
	}

	const path = "../README.md"
	inREADME := regexp.MustCompile(`(?m)^\| command \|.*\n(\|.*\n)*`)
	readme := configtest.Read(t, path)
	want := strings.Replace(readme, inREADME.FindString(readme), table.String(), 1)
	configtest.Golden(t, path, want, *update)
}
