package leaks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/chat"
	"herald/internal/sandbox/fault"
	"herald/internal/telegram/telegramtest"
)

func TestWhatCannotBeReachedLeaksNothing(t *testing.T) {
	s := newStage(t)
	for name, settings := range s.Unreachable(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &stage{Stage: s.Stage, log: &e2etest.Buffer{}}
			t.Cleanup(func() { s.secrets().MustNotShow(t, "the log", s.log.String()) })
			s.serve(t, settings, false, false)
			e2etest.Eventually(t, "both platforms have failed", func() bool {
				text := s.log.String()
				return strings.Contains(text, "telegram: a call failed") && strings.Contains(text, "discord")
			})
		})
	}
}

func TestARefusedTokenIsNotShown(t *testing.T) {
	for _, redacted := range []bool{true, false} {
		s := newStage(t)
		s.Cut(&fault.Echo{Name: "401", Serve: func(w http.ResponseWriter, _ *http.Request, echo string) {
			text, _ := json.Marshal(echo)
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"ok":false,"error_code":401,"description":%s,"message":%[1]s,"code":0}`, text)
		}})
		s.serve(t, s.Settings(e2etest.Nowhere), redacted, true)
		err := s.bot.Leave()
		if err == nil {
			t.Error("the bot left in good order")
		}
		said := fmt.Sprintf("%v %+[1]v", err)
		said += s.log.String()
		if !strings.Contains(said, "TELEGRAM_BOT_TOKEN") || !strings.Contains(said, "DISCORD_BOT_TOKEN") {
			t.Errorf("the two settings are not named: %s", said)
		}
		s.secrets().MustNotShow(t, "the log", said)
	}
}

// longestLine bounds a line of the log in bytes, whatever is in it.
const longestLine = 10 << 10

// noLimit allows everything.
type noLimit struct{}

func (noLimit) Allow(context.Context, string) time.Duration { return 0 }

// panicking is a command that fails as no command should, with all it knows.
func panicking(value any) chat.Command {
	return chat.Command{Name: "panic", Summary: chat.Say("Fails."), Visibility: chat.Public, Forms: []chat.Form{{
		Run: func(context.Context, chat.Request) (chat.Reply, error) { panic(value) },
	}}}
}

func TestAPanicShowsNeitherItsValueNorMuch(t *testing.T) {
	secret := telegramtest.Token
	for name, value := range map[string]any{
		"a text": secret, "an error": fmt.Errorf("wrapped: %w", fmt.Errorf("%s", secret)), "bytes": []byte(secret),
		"a megabyte": strings.Repeat("\x00\"\n"+secret, 1<<20/len(secret)),
	} {
		for _, asJSON := range []bool{false, true} {
			log := &e2etest.Buffer{}
			router, err := chat.NewRouter(chat.Config{
				Commands: []chat.Command{panicking(value)}, Timeout: e2etest.Patience, UserLimit: noLimit{}, ChatLimit: noLimit{},
				Explain: func(error) chat.Text { return chat.Text{} }, Log: e2etest.BareLog(asJSON, log),
			})
			if err != nil {
				t.Fatal(err)
			}
			reply := router.Handle(t.Context(), chat.Request{ID: "reference", Command: "panic"})
			e2etest.Secrets{"secret": secret}.MustNotShow(t, name+": the log", log.String())
			e2etest.Secrets{"secret": secret}.MustNotShow(t, name+": the reply", fmt.Sprintf("%+v", reply))
			if n := len(log.String()); n < 100 || n > longestLine {
				t.Errorf("%s: a log line of %d bytes", name, n)
			}
		}
	}
}
