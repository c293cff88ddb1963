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

// usages returns the listed forms of a command that are for moderators, or the others, as
// people write them.
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
	var table strings.Builder
	table.WriteString("| command | what it answers | who sees that | moderators also |\n| --- | --- | --- | --- |\n")
	for _, c := range commands.All(commandstest.Healthy().Sources(), commands.Options{Symbol: "HRLD"}) {
		if c.Summary.Key == "" {
			continue // Buttons alone ask it.
		}
		readers := map[chat.Visibility]string{chat.Public: "the chat", chat.Private: "the sender"}[c.Visibility]
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", usages(c, false), words.Say(chat.English, c.Summary), readers, usages(c, true))
	}
	const path = "../README.md"
	inREADME := regexp.MustCompile(`(?m)^\| command \|.*\n(\|.*\n)*`)
	readme := configtest.Read(t, path)
	configtest.Golden(t, path, strings.Replace(readme, inREADME.FindString(readme), table.String(), 1), *update)
}
