// Package delivery is that a command is answered once, in every way in which it
// can reach the bot, whatever platforms and replicas do.
package delivery

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/sandbox/fault"
	"herald/internal/telegram/telegramtest"
)

// answer is what an asker was told, and where.
type answer struct {
	text    string
	private bool
}

// wayIn is one way in which a command can reach the bot: it asks as the
// registered person of the sandbox, in a group.
type wayIn func(t *testing.T, command, argument string) answer

func TestEveryCommandIsAnsweredRightlyInEveryWayIn(t *testing.T) {
	for name, open := range map[string]func(*testing.T, *fault.Sandbox) wayIn{
		"telegram polling":  telegramPolling,
		"telegram webhook":  telegramWebhook,
		"discord gateway":   discordGateway,
		"discord over http": discordHTTP,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := e2etest.Sandbox(t)
			ask := open(t, world)
			for _, want := range []struct {
				command, argument, text string
				private                 bool
			}{
				{command: "price", text: e2etest.Price},
				{command: "supply", text: "987,654,321.123456789012345678 HRLD"},
				{command: "staked", argument: world.World.Staker.Hex(), text: "1,012,345.678901234567890124 HRLD"},
				{command: "staked", argument: world.World.Idle.Hex(), text: "Not staked"},
				{command: "staked", argument: "0x12", text: "40 hexadecimal digits", private: name == "discord gateway" || name == "discord over http"},
				{command: "mylogins", text: "Harbor Swap", private: true},
				{command: "exists", text: "is registered", private: true},
				{command: "verify", argument: world.World.Staker.Hex(), text: "This wallet is yours", private: true},
				{command: "help", text: "/staked"},
			} {
				got := ask(t, want.command, want.argument)
				if !strings.Contains(e2etest.Plain(got.text), want.text) || got.private != want.private {
					t.Errorf("/%s %s: %+v, want %q, private %v", want.command, want.argument, got, want.text, want.private)
				}
			}
		})
	}
}

func telegramPolling(t *testing.T, world *fault.Sandbox) wayIn {
	fake := telegramtest.New(t)
	e2etest.ServeReady(t, world, e2etest.Polling(fake)...)
	return telegramAsk(world, fake, func(m telegramtest.Message) { fake.Push(m) })
}

func telegramWebhook(t *testing.T, world *fault.Sandbox) wayIn {
	fake := telegramtest.New(t)
	hook := e2etest.ServeReady(t, world, e2etest.Webhook(fake)...).URL + e2etest.WebhookPath
	return telegramAsk(world, fake, func(m telegramtest.Message) {
		status, err := fake.Deliver(t.Context(), hook, fake.Update(m))
		if err != nil || status != http.StatusOK {
			t.Errorf("delivery: %d, %v", status, err)
		}
	})
}

// telegramAsk asks in a group. A private answer is one in the asker's private
// chat, with a pointer in the group that tells nothing of it.
func telegramAsk(world *fault.Sandbox, fake *telegramtest.Server, send func(telegramtest.Message)) wayIn {
	user := e2etest.TelegramID(world.World.Registered)
	fake.Start(user)
	return func(t *testing.T, command, argument string) answer {
		t.Helper()
		before := len(fake.Sent())
		text := strings.TrimSpace(fmt.Sprintf("/%s@%s %s", command, strings.ToUpper(telegramtest.Username), argument))
		send(telegramtest.Text(telegramtest.Group(e2etest.GroupID), telegramtest.Person(user), text))
		first := fake.WaitSent(before+1, e2etest.Patience)[before:]
		if len(first) == 0 {
			t.Fatalf("/%s is not answered", command)
		}
		if first[0].Chat == e2etest.GroupID {
			return answer{text: first[0].Text}
		}
		both := fake.WaitSent(before+2, e2etest.Patience)[before:]
		if len(both) != 2 || both[0].Chat != user || both[1].Chat != e2etest.GroupID || strings.Contains(both[1].Text, "egistered") {
			t.Errorf("/%s: the private answer and its pointer are %+v", command, both)
		}
		return answer{text: both[0].Text, private: true}
	}
}

func discordGateway(t *testing.T, world *fault.Sandbox) wayIn {
	fake := e2etest.Discord(t)
	e2etest.ServeReady(t, world, e2etest.Gateway(fake)...)
	return discordAsk(world, fake, func(_ context.Context, i discordtest.Interaction) (*discordtest.Pending, error) {
		return fake.Push(i)
	})
}

func discordHTTP(t *testing.T, world *fault.Sandbox) wayIn {
	fake := e2etest.Discord(t)
	url := e2etest.ServeReady(t, world, e2etest.Interactions(fake)...).URL + e2etest.InteractionsPath
	return discordAsk(world, fake, func(ctx context.Context, i discordtest.Interaction) (*discordtest.Pending, error) {
		pending, status, err := fake.Post(ctx, url, i)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d", status)
		}
		return pending, err
	})
}

func discordAsk(world *fault.Sandbox, fake *discordtest.Server, send func(context.Context, discordtest.Interaction) (*discordtest.Pending, error)) wayIn {
	return func(t *testing.T, command, argument string) answer {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), e2etest.Patience)
		defer cancel()
		i := discordtest.Interaction{Command: command, UserID: world.World.Registered.UID("Discord"), GuildID: e2etest.GuildID}
		if argument != "" {
			i.Options = map[string]string{"wallet": argument}
		}
		pending, err := send(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		got, err := pending.Wait(ctx)
		if err != nil {
			t.Fatalf("/%s: %v", command, err)
		}
		if problems := fake.Problems(); len(problems) > 0 {
			t.Errorf("/%s: Discord refuses %v", command, problems)
		}
		return answer{text: got.Text(), private: got.Ephemeral}
	}
}
