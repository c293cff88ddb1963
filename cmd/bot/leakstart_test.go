package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/telegram/telegramtest"
)

// It must not run beside others: the standard log is one for the process.
func TestTheStandardLogOfLibrariesIsSilent(t *testing.T) {
	printed := &lockedBuffer{}
	before := log.Writer()
	log.SetOutput(printed)
	t.Cleanup(func() { log.SetOutput(before) })
	s := newStage(t)
	var served sync.WaitGroup
	for _, f := range faultsOfAnswers(s.elsewhere.URL) {
		if f.name != "more than the answer" {
			continue
		}
		answer := f.serve
		f.serve = func(w http.ResponseWriter, r *http.Request, echo string) {
			served.Add(1)
			defer served.Done() // by then the client has seen all and hung up
			answer(w, r, echo)
		}
		s.cutAll(&f)
	}
	start(t.Context(), []string{"check"}, process{environ: s.settings(hostileRedis(t)), stdout: io.Discard, stderr: io.Discard})
	served.Wait()
	if printed.String() != "" {
		t.Errorf("printed: %s", printed)
	}
}

func (s *stage) cutAll(f *fault) {
	for _, front := range append(s.services, s.telegrams, s.discords) {
		front.arm(f, "")
	}
}

func TestCheckShowsNoSecretWhateverFails(t *testing.T) {
	s := newStage(t)
	settings := append(s.settings(hostileRedis(t)), "COMMAND_TIMEOUT=600ms")
	for _, f := range faultsOfAnswers(s.elsewhere.URL) {
		s.cutAll(&f)
		s.check(t, f.name, settings)
	}
	s.cutAll(nil)
	for name, settings := range s.addresses(t) {
		s.check(t, name, settings)
	}
	if n := s.strayed.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// check runs `bot check`, in which everything must be wrong.
func (s *stage) check(t *testing.T, name string, settings []string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := start(t.Context(), []string{"check"}, process{environ: settings, stdout: &stdout, stderr: &stderr})
	if code != exitFailed || strings.Count(stdout.String(), "WRONG") != 7 {
		t.Errorf("%s: exit code %d, want 7 wrong:\n%s%s", name, code, &stdout, &stderr)
	}
	s.secrets().mustNotShow(t, name+": the table", stdout.String())
	s.secrets().mustNotShow(t, name+": standard error", stderr.String())
	s.bareCheck(t, name, settings)
}

// bareCheck asks the same questions and looks at the errors themselves.
func (s *stage) bareCheck(t *testing.T, name string, settings []string) {
	t.Helper()
	cfg, err := config.Load(settings, "")
	if err != nil {
		t.Fatal(err)
	}
	b, err := assemble(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	questions, err := questionsFor(cfg, b)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), cfg.Limits.CommandTimeout)
	defer cancel()
	var asking sync.WaitGroup
	for _, q := range questions {
		asking.Go(func() { q.detail, q.err = q.ask(ctx) })
	}
	asking.Wait()
	for _, q := range questions {
		if q.err == nil {
			t.Errorf("%s: %s found nothing wrong", name, q.what)
			continue
		}
		text := fmt.Sprintf("%v\n%+v\n%#v\n%s\n%s", q.err, q.err, q.err, q.detail, q.wrong())
		for err := q.err; err != nil; err = unwrap(err) {
			text += fmt.Sprintf("\n%v %+v", err, err)
		}
		s.secrets().mustNotShow(t, name+": the error of "+q.what, text)
	}
}

func unwrap(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return nil
}

// addresses are settings with which nothing can be reached, by the reason.
func (s *stage) addresses(t *testing.T) map[string][]string {
	secured := httptest.NewUnstartedServer(http.NotFoundHandler())
	secured.Config.ErrorLog = log.New(io.Discard, "", 0)
	secured.TLS = &tls.Config{}
	secured.StartTLS()
	t.Cleanup(secured.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	all := map[string][]string{}
	for name, origin := range map[string]string{
		"unknown host":      "http://nowhere.invalid",
		"refused":           "http://" + freeAddr(t),
		"unknown authority": secured.URL,
		"no TLS":            strings.Replace(plain.URL, "http:", "https:", 1),
	} {
		_, host, _ := strings.Cut(origin, "//")
		all[name] = append(s.settings(host), "COMMAND_TIMEOUT=600ms",
			"PARTNER_BASE_URL="+origin, "PRICE_API_URL="+origin, "SUPPLY_URL="+origin, "EVM_RPC_URL="+secretURL(origin),
			"TELEGRAM_API_URL="+origin, "DISCORD_API_URL="+origin)
	}
	return all
}

func TestWhatCannotBeReachedLeaksNothing(t *testing.T) {
	s := newStage(t)
	for name, settings := range s.addresses(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &stage{world: s.world, telegram: s.telegram, discord: s.discord, log: &lockedBuffer{}}
			t.Cleanup(func() { s.secrets().mustNotShow(t, "the log", s.log.String()) })
			s.run(t, append(settings, "HTTP_ADDR=off"), false)
			eventually(t, "both platforms have failed", func() bool {
				text := s.log.String()
				return strings.Contains(text, "telegram: a call failed") && strings.Contains(text, "discord")
			})
		})
	}
}

func TestARefusedTokenIsNotShown(t *testing.T) {
	for _, redacted := range []bool{true, false} {
		s := newStage(t)
		s.cutAll(&fault{"401", func(w http.ResponseWriter, _ *http.Request, echo string) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"ok":false,"error_code":401,"description":%s,"message":%[1]s,"code":0}`, jsonOf(echo))
		}})
		settings := append(s.settings(freeAddr(t)), "HTTP_ADDR=off")
		var said string
		if redacted {
			if code := start(t.Context(), []string{"run"}, process{environ: settings, stderr: s.log}); code != exitFailed {
				t.Errorf("exit code %d", code)
			}
		} else {
			cfg, err := config.LoadToServe(settings, "")
			if err != nil {
				t.Fatal(err)
			}
			said = fmt.Sprintf("%v %+[1]v", serveBot(t.Context(), cfg, bareLog(true, s.log)))
		}
		said += s.log.String()
		if !strings.Contains(said, "TELEGRAM_BOT_TOKEN") || !strings.Contains(said, "DISCORD_BOT_TOKEN") {
			t.Errorf("the two settings are not named: %s", said)
		}
		s.secrets().mustNotShow(t, "the log", said)
	}
}

func TestMistakesInSettingsShowNoValue(t *testing.T) {
	const secret = "hidden-value-0123456789"
	right := []string{
		"PARTNER_BASE_URL=https://p.example", "PARTNER_APP_ID=a", "PARTNER_SECRET_KEY=" + secret, "SUPPLY_URL=https://s.example",
		"EVM_RPC_URL=https://c.example", "EVM_CHAIN_ID=1", "TOKEN_SYMBOL=T", "STAKING_POOLS=0x52908400098527886E0F7030069857D2E4169EE7",
		"TELEGRAM_BOT_TOKEN=1:" + secret,
	}
	// Nobody is to be contacted, should a mistake be overlooked.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, settings := range [][]string{
		{"TELEGRAM_BOT_TOKEN=" + secret}, {"TELEGRAM_BOT_TOKEN=1:" + secret + "\n2"}, {"TELEGRAM_BOT_TOKEN_FILE=" + secret},
		{"TELEGRAM_BOT_TOKEN=", "TELEGRAM_BOT_TOKEN_FILE=/" + secret},
		{"TELEGRAM_WEBHOOK_URL=https://b.example/w", "TELEGRAM_WEBHOOK_SECRET=" + secret + "!"},
		{"DISCORD_BOT_TOKEN=" + secret + " b"}, {"PARTNER_SECRET_KEY_FILE=" + secret}, {"PRICE_API_KEY=" + secret + " b"},
		{"EVM_RPC_URL=ftp://c.example/" + secret}, {"EVM_RPC_URL=https://u:" + secret + "@"}, {"EVM_RPC_URL=" + secret},
		{"EVM_RPC_URL=https://c.example:" + secret}, {"EVM_RPC_URL=https://%zz" + secret},
		{"REDIS_URL=redis://:" + secret + "@h:port"}, {"REDIS_URL=redis://h/" + secret}, {"REDIS_URL=http://:" + secret + "@h"},
		{"REDIS_URL=redis://h/0?" + secret + "=1"}, {"PRICE_API_URL=https://u:" + secret + "@h"}, {"PARTNER_BASE_URL=https://h?key=" + secret},
		{"DISCORD_API_URL=https://" + secret + "@h"}, {"TELEGRAM_API_URL=https://h/bot1:" + secret + "?"}, {"OPERATORS=" + secret},
	} {
		var stderr bytes.Buffer
		code := start(ctx, []string{"run"}, process{environ: append(right[:len(right):len(right)], settings...), stderr: &stderr})
		if code != exitMistaken || stderr.Len() == 0 {
			t.Errorf("%q: exit code %d, %s", settings, code, &stderr)
		}
		secrets{"value": secret}.mustNotShow(t, fmt.Sprint(settings), stderr.String())
	}
	for _, args := range [][]string{{"--" + secret}, {"-" + secret + "=1"}, {"--=" + secret}, {secret}, {"run", secret}, {"--env-file=" + secret}} {
		var stderr bytes.Buffer
		if code := start(ctx, args, process{environ: right, stderr: &stderr}); code != exitMistaken {
			t.Errorf("%q: exit code %d", args, code)
		}
		secrets{"value": secret}.mustNotShow(t, fmt.Sprint(args), stderr.String())
	}
}

// panicking is a command that fails as no command should, with all it knows.
func panicking(value any) chat.Command {
	return chat.Command{Name: "panic", Summary: "Fails.", Forms: []chat.Form{{}}, Visibility: chat.Public,
		Run: func(context.Context, chat.Request) (chat.Reply, error) { panic(value) }}
}

func TestAPanicShowsNeitherItsValueNorMuch(t *testing.T) {
	secret := telegramtest.Token
	for name, value := range map[string]any{
		"a text": secret, "an error": fmt.Errorf("wrapped: %w", fmt.Errorf("%s", secret)), "bytes": []byte(secret),
		"a megabyte": strings.Repeat("\x00\"\n"+secret, 1<<20/len(secret)),
	} {
		for _, json := range []bool{false, true} {
			log := &lockedBuffer{}
			router, err := chat.NewRouter(chat.Config{
				Commands: []chat.Command{panicking(value)}, Timeout: patience, UserLimit: noLimit{}, ChatLimit: noLimit{},
				Explain: func(error) string { return "" }, Log: bareLog(json, log),
			})
			if err != nil {
				t.Fatal(err)
			}
			reply := router.Handle(t.Context(), chat.Request{ID: "reference", Command: "panic"})
			secrets{"secret": secret}.mustNotShow(t, name+": the log", log.String())
			secrets{"secret": secret}.mustNotShow(t, name+": the reply", fmt.Sprintf("%+v", reply))
			if n := len(log.String()); n < 100 || n > longestLine {
				t.Errorf("%s: a log line of %d bytes", name, n)
			}
		}
	}
}
