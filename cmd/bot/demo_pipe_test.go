package main

import (
	"io"
	"strings"
	"syscall"
	"testing"

	"herald/internal/app/e2e/e2etest"
)

func TestDemoAnswersWhatIsPiped(t *testing.T) {
	t.Parallel()
	c := prepare(t, []string{"demo"}, "PARTNER_BASE_URL=not even a URL", "HTTP_ADDR=nowhere", "TELEGRAM_BOT_TOKEN=x", "DATA_DIR=/no/such/folder")
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.start()
	staker, idle := c.greeted()
	commands := []string{"/price", "/supply", "/staked " + staker, "/staked " + idle, "/staked 0x12", "/mylogins", "/verify " + staker,
		"/as unregistered", "/mylogins", "/exists", "/help", "/nonsense", "hello"}
	wants := []string{e2etest.Price, "987,654,321.12", "1,012,345.67", "Not staked", "40 hexadecimal", "Harbor Swap", "This wallet is yours",
		"unregistered", "Not registered", "Not registered", "/staked <wallet>", "Unknown command", "begin with a slash"}
	if _, err := io.WriteString(in, strings.Join(commands, "\n")+"\n"); err != nil {
		t.Fatal(err)
	}
	in.Close()
	c.leaves(exitOK)

	out := c.stdout.String()
	answers := strings.Split(strings.TrimSuffix(out, "\n\n"), "\n\n")
	if len(answers) != len(commands) || !strings.HasSuffix(out, "\n\n") || strings.Contains(out, "\n\n\n") {
		t.Fatalf("%d answers to %d commands:\n%s", len(answers), len(commands), out)
	}
	for i, answer := range answers {
		if !strings.Contains(answer, wants[i]) || !strings.Contains(answer, " (simulated)") {
			t.Errorf("%s: want %q in\n%s", commands[i], wants[i], answer)
		}
	}
	if strings.HasPrefix(out, "> ") || strings.Contains(out, "\n> ") || strings.Contains(out, "\x1b") {
		t.Errorf("a prompt or an escape sequence in a pipe: %q", out)
	}
}

// greeted waits for the greeting and returns the wallets that it offers: first
// one that stakes, then one that does not.
func (c *child) greeted() (staker, idle string) {
	c.Helper()
	e2etest.Eventually(c.T, "the greeting", func() bool { return strings.HasSuffix(c.stderr.String(), "\n\n") })
	var wallets []string
	for _, word := range strings.Fields(c.stderr.String()) {
		if strings.HasPrefix(word, "0x") && len(word) == 42 {
			wallets = append(wallets, word)
		}
	}
	if len(wallets) != 2 {
		c.Fatalf("%d wallets in the greeting:\n%s", len(wallets), c.stderr)
	}
	return wallets[0], wallets[1]
}

// With Ctrl-C, or told to leave, the demo ends though its input does not.
func TestDemoEndsWhenTold(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			c := prepare(t, []string{"demo"})
			in, err := c.cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			c.start()
			c.greeted()
			if _, err := io.WriteString(in, "/price\n"); err != nil {
				t.Fatal(err)
			}
			e2etest.Eventually(t, "an answer", func() bool { return strings.HasSuffix(c.stdout.String(), "\n\n") })
			c.signal(s)
			c.leaves(exitOK)
		})
	}
}
