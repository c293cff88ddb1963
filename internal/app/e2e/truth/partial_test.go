package truth

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/sandbox"
	"herald/internal/sandbox/fault"
	"herald/internal/telegram/telegramtest"
)

// TestWhatIsNotWholeLeavesATrace has answers that miss something. The command's
// line in the log and the metrics must say what and why, and not whose wallet it
// was.
func TestWhatIsNotWholeLeavesATrace(t *testing.T) {
	t.Parallel()
	w := sandbox.New().World
	empty, staked := w.Pools[0], w.Staked[1].Pool
	for name, test := range map[string]struct {
		service       fault.Target
		fault         string
		command, word string
		answer, log   string
		unread        string // pool
	}{
		"a staker": {fault.Chain, "a pool with a stake reverts", "staked", w.Staker.Hex(), "Checked 20 of 21 pools",
			"pool " + staked.Address.Hex() + " (" + staked.Name + "): chain: rejected: ", staked.Address.Hex()},
		"an idle wallet": {fault.Chain, "an empty pool without code", "staked", w.Idle.Hex(), "1 of 21 pools couldn't be read",
			"pool " + empty.Address.Hex() + " (" + empty.Name + "): chain: malformed: ", empty.Address.Hex()},
		"a supply": {fault.Price, "401 text/html", "supply", "", "Couldn't check what it's worth", "price: denied: ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := e2etest.Sandbox(t)
			world.At(test.service).SetFault(findFault(t, test.service, test.fault))
			platform := telegramtest.New(t)
			var log e2etest.Buffer
			settings := append(e2etest.Polling(platform), "STAKING_POOLS=@"+poolFile, "LOG_LEVEL=debug")
			bot := e2etest.Serve(t, e2etest.Settings(world, settings...), &log)
			bot.AwaitReady(t)
			question := strings.TrimSpace("/" + test.command + " " + test.word)
			platform.Push(telegramtest.Text(telegramtest.Private(1), telegramtest.Person(1), question))
			if sent := platform.WaitSent(1, e2etest.Patience); len(sent) != 1 || !strings.Contains(sent[0].Text, test.answer) {
				t.Fatalf("the answer is %+v, want %q", sent, test.answer)
			}

			lines := slices.DeleteFunc(strings.Split(log.String(), "\n"), func(line string) bool {
				return !strings.Contains(line, "command="+test.command)
			})
			for _, want := range []string{"level=WARN", "outcome=partial", test.log} {
				if len(lines) != 1 || !strings.Contains(lines[0], want) {
					t.Errorf("the log lacks %q: %q", want, lines)
				}
			}
			if test.word != "" && strings.Contains(strings.ToLower(log.String()), strings.ToLower(test.word[2:])) {
				t.Error("the log names the wallet")
			}
			series := []string{fmt.Sprintf(`herald_command_seconds_count{command=%q,outcome="partial",platform="telegram"} 1`, test.command)}
			if test.unread != "" {
				series = append(series, fmt.Sprintf(`herald_pools_unread_total{pool=%q} 1`, test.unread))
			}
			metrics := strings.Split(e2etest.Metrics(t, bot.URL), "\n")
			for _, want := range series {
				if !slices.Contains(metrics, want) {
					t.Errorf("/metrics lacks %s", want)
				}
			}
		})
	}
}

func findFault(t *testing.T, service fault.Target, name string) fault.Fault {
	t.Helper()
	all := fault.Of(service)
	i := slices.IndexFunc(all, func(f fault.Fault) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("the %s service has no fault %q", service, name)
	}
	return all[i]
}
