package bounds

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/telegram/telegramtest"
)

// TestAFloodIsRefusedInOneMessage floods with a command that exists and with one
// that does not.
func TestAFloodIsRefusedInOneMessage(t *testing.T) {
	for _, command := range []string{"/price", "/moon"} {
		t.Run(command, func(t *testing.T) {
			fake := telegramtest.New(t)
			hook := e2etest.ServeReady(t, e2etest.Sandbox(t), append(e2etest.Webhook(fake), "RATE_LIMIT_USER=1")...).URL + e2etest.WebhookPath
			deliver := func(user int64) {
				update := fake.Update(telegramtest.Text(telegramtest.Private(user), telegramtest.Person(user), command))
				status, err := fake.Deliver(t.Context(), hook, update)
				if err != nil || status != http.StatusOK {
					t.Errorf("a delivery is answered with %d, %v", status, err)
				}
			}
			for range 60 {
				deliver(flooder)
			}
			deliver(flooder + 1)
			sent := fake.Sent()
			if len(sent) != 3 || !strings.Contains(sent[1].Text, "Too many commands") || sent[1].Chat != flooder || sent[2].Chat == flooder {
				t.Errorf("%d messages, want one answer, one refusal, and the other's answer: %+v", len(sent), sent)
			}
		})
	}
}

// TestEachInteractionOfAFloodIsAnswered is because Discord shows one without an
// answer as failed.
func TestEachInteractionOfAFloodIsAnswered(t *testing.T) {
	fake := e2etest.Discord(t)
	e2etest.ServeReady(t, e2etest.Sandbox(t), append(e2etest.Gateway(fake), "RATE_LIMIT_USER=1")...)
	ctx, cancel := context.WithTimeout(t.Context(), e2etest.Patience)
	defer cancel()
	for i := range 20 {
		pending, err := fake.Push(discordtest.Interaction{Command: "price", UserID: "1"})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := pending.Wait(ctx)
		if refused := strings.Contains(answer.Text(), "Too many commands"); err != nil || refused != (i > 0) {
			t.Errorf("interaction %d: %v %+v", i, err, answer)
		}
	}
}
