package e2e

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/redact/logtest"
	"herald/internal/sandbox/fault"
	"herald/internal/telegram/telegramtest"
)

var leaksAll = flag.Bool("leaks.all", false, "have every way in meet every fault of a wire, not every other one")

const (
	// typed stands for whatever people write beside a command.
	typed   = "zebra-quagga-zorilla"
	groupID = -1009876543210
)

// stage is a bot in a world where every wire can be cut. Its log redacts
// nothing, so that only what never held a secret passes.
type stage struct {
	*e2etest.Stage
	bot *e2etest.Bot
	log *logtest.Buffer
	// byHTTP means that updates are delivered rather than fetched.
	byHTTP bool
	// answers are those in Discord, tokens those of its interactions.
	answers strings.Builder
	tokens  []string
}

func newStage(t *testing.T) *stage {
	s := &stage{Stage: e2etest.NewStage(t), log: &logtest.Buffer{}}
	s.Telegram.Start(e2etest.TelegramID(s.World.World.Registered))
	return s
}

func (s *stage) secrets() e2etest.Secrets {
	all := s.Secrets()
	for i, token := range s.tokens {
		all[fmt.Sprint("interaction token ", i)] = token
	}
	return all
}

// personal is what may be in answers but in no log and no metric.
func (s *stage) personal() e2etest.Secrets {
	w := s.World.World
	all := e2etest.Secrets{
		"DID": w.Registered.DID, "wallet": w.Staker.Hex(), "wallet in lower case": strings.ToLower(w.Staker.Hex()),
		"Telegram user": w.Registered.UID("Telegram"), "Discord user": w.Registered.UID("Discord"),
		"chat": strconv.Itoa(groupID)[1:], "text": typed, "first name": "Somebody", "user name": "somebody",
	}
	for _, login := range w.Logins {
		all["dapp "+login.Dapp] = login.Dapp
	}
	return all
}

func TestNothingLeaksWhateverFails(t *testing.T) {
	t.Parallel()
	for first, byHTTP := range []bool{false, true} {
		t.Run(fmt.Sprintf("by HTTP %v", byHTTP), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			settings := s.Settings(fault.EchoingRedis(t))
			if s.byHTTP = byHTTP; byHTTP {
				settings = append(settings, "TELEGRAM_WEBHOOK_URL=https://bot.example"+e2etest.WebhookPath,
					"TELEGRAM_WEBHOOK_SECRET="+e2etest.WebhookSecret, "DISCORD_PUBLIC_KEY="+hex.EncodeToString(s.Discord.PublicKey))
			}
			// Runs after the bot has left, so that its last words are there too.
			t.Cleanup(func() { s.mustBeClean(t) })
			s.bot = e2etest.ServeBare(t, settings, e2etest.BareLog(byHTTP, s.log))
			s.bot.AwaitReady(t)
			for i, f := range s.Echoes() {
				if *leaksAll || i%2 == first {
					s.cutServices(t, &f)
					s.cutPlatforms(t, &f)
				}
			}
			// The values are floats, in whose digits any number can be found.
			names := regexp.MustCompile(`(?m) \S+$`).ReplaceAllString(e2etest.Metrics(t, s.bot.URL), "")
			s.secrets().MustNotShow(t, "/metrics", names)
			s.personal().MustNotShow(t, "/metrics", names)
		})
	}
}

// mustBeClean searches all that the bot has said.
func (s *stage) mustBeClean(t *testing.T) {
	t.Helper()
	text := s.log.String()
	if !strings.Contains(text, "WARN") {
		t.Errorf("the log tells of no failure, so that nothing was searched:\n%s", text)
	}
	s.secrets().MustNotShow(t, "the log", text)
	s.personal().MustNotShow(t, "the log", text)
	var calls strings.Builder
	for _, method := range []string{"sendMessage", "setMyCommands"} {
		for _, call := range s.Telegram.Calls(method) {
			fmt.Fprintf(&calls, "%s\n", call.Params)
		}
	}
	s.secrets().MustNotShow(t, "an answer in Telegram", calls.String())
	s.secrets().MustNotShow(t, "an answer in Discord", s.answers.String())
	if n := s.Strayed.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// cutServices asks everything while every service fails, on both platforms,
// and waits for each answer.
func (s *stage) cutServices(t *testing.T, f *fault.Echo) {
	t.Helper()
	for _, service := range s.Services {
		service.Arm(f, "")
		defer service.Arm(nil, "")
	}
	wallet := s.World.World.Staker.Hex()
	before := len(s.Telegram.Sent())
	for _, text := range []string{"/price", "/supply", "/staked " + wallet, "/status", "/mylogins", "/exists " + typed} {
		s.tell(t, text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), e2etest.Patience)
	defer cancel()
	var asked []*discordtest.Pending
	for _, i := range []discordtest.Interaction{
		{Command: "price"}, {Command: "supply"}, {Command: "status"}, {Command: "mylogins"}, {Command: "exists"},
		{Command: "staked", Options: map[string]string{"wallet": wallet}},
		{Command: "staked", Options: map[string]string{"wallet": typed}},
	} {
		asked = append(asked, s.interact(ctx, t, i))
	}
	for _, pending := range asked {
		got, err := pending.Wait(ctx)
		if err != nil {
			t.Errorf("%s: not answered in Discord: %v", f.Name, err)
		}
		fmt.Fprintf(&s.answers, "%+v\n%s\n", got, got.Text())
	}
	// Each private one has a pointer in the group.
	const messages = 4 + 2*2
	if sent := s.Telegram.WaitSent(before+messages, e2etest.Patience); len(sent) < before+messages {
		t.Errorf("%s: %d messages in Telegram, want %d", f.Name, len(sent)-before, messages)
	}
}

// cutPlatforms asks while the platforms fail, until each has failed once.
func (s *stage) cutPlatforms(t *testing.T, f *fault.Echo) {
	t.Helper()
	// Updates still arrive, so that there is something to answer.
	s.Telegrams.Arm(f, "sendMessage")
	s.Discords.Arm(f, "")
	s.tell(t, "/price "+typed)
	e2etest.Eventually(t, f.Name+": Telegram is answered", func() bool { return s.Telegrams.HasMet("sendMessage") })
	if !s.byHTTP {
		ctx, cancel := context.WithTimeout(t.Context(), e2etest.Patience)
		defer cancel()
		s.interact(ctx, t, discordtest.Interaction{Command: "price"})
		e2etest.Eventually(t, f.Name+": Discord is answered", func() bool { return s.Discords.HasMet("callback") })
		s.Telegrams.Arm(f, "")
		s.tell(t, "/price") // ends a poll that is under way
		e2etest.Eventually(t, f.Name+": Telegram is asked for updates", func() bool { return s.Telegrams.HasMet("getUpdates") })
	}
	s.Telegrams.Arm(nil, "")
	s.Discords.Arm(nil, "")
}

// tell writes a text in a group of Telegram as the registered person.
func (s *stage) tell(t *testing.T, text string) {
	t.Helper()
	m := telegramtest.Text(telegramtest.Group(groupID), telegramtest.Person(e2etest.TelegramID(s.World.World.Registered)), text)
	if !s.byHTTP {
		s.Telegram.Push(m)
		return
	}
	body := s.Telegram.Update(m)
	go func() { // a delivery lasts until the answer is out
		if got, err := s.Telegram.Deliver(t.Context(), s.bot.URL+e2etest.WebhookPath, body); err == nil && got != http.StatusOK && got != http.StatusServiceUnavailable {
			t.Errorf("a delivery is answered with %d", got)
		}
	}()
}

// interact uses a command in Discord as the registered person.
func (s *stage) interact(ctx context.Context, t *testing.T, i discordtest.Interaction) *discordtest.Pending {
	t.Helper()
	i.UserID, i.GuildID, i.ChannelID = s.World.World.Registered.UID("Discord"), "9988776655443322", "1122334455667788"
	var pending *discordtest.Pending
	var err error
	if !s.byHTTP {
		pending, err = s.Discord.Push(i)
	} else {
		pending, _, err = s.Discord.Post(ctx, s.bot.URL+e2etest.InteractionsPath, i)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.tokens = append(s.tokens, pending.Token)
	return pending
}

func TestWhatCannotBeReachedLeaksNothing(t *testing.T) {
	t.Parallel()
	all := newStage(t)
	for name, settings := range all.Unreachable(t) {
		t.Run(name, func(t *testing.T) {
			log := &logtest.Buffer{}
			t.Cleanup(func() { all.Secrets().MustNotShow(t, "the log", log.String()) })
			e2etest.ServeBare(t, settings, e2etest.BareLog(false, log))
			e2etest.Eventually(t, "both platforms have failed", func() bool {
				return log.Lines("telegram: a call failed") > 0 && log.Lines("discord") > 0
			})
		})
	}
}

func TestARefusedTokenIsNotShown(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Cut(&fault.Echo{Name: "401", Serve: func(w http.ResponseWriter, _ *http.Request, echo string) {
		text, _ := json.Marshal(echo)
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"ok":false,"error_code":401,"description":%s,"message":%[1]s,"code":0}`, text)
	}})
	s.bot = e2etest.ServeBare(t, s.Settings(e2etest.Nowhere), e2etest.BareLog(true, s.log))
	err := s.bot.Leave()
	if err == nil {
		t.Error("the bot left in good order")
	}
	said := fmt.Sprintf("%v %+[1]v", err) + s.log.String()
	if !strings.Contains(said, "TELEGRAM_BOT_TOKEN") || !strings.Contains(said, "DISCORD_BOT_TOKEN") {
		t.Errorf("the two settings are not named: %s", said)
	}
	s.secrets().MustNotShow(t, "the log", said)
}
