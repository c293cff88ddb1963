package app_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"herald/internal/app"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// check is the table of a check with these settings, and whether all is well.
func check(t *testing.T, e *e2etest.Everything, settings ...string) (table string, err error) {
	t.Helper()
	bot := e2etest.New(t, append(e.Settings, settings...), slog.New(slog.DiscardHandler))
	var out bytes.Buffer
	err = bot.Check(t.Context(), &out)
	if err != nil && !errors.Is(err, app.ErrCheckFailed) {
		t.Fatal(err)
	}
	e.Secrets.MustNotShow(t, "the table", out.String())
	return out.String(), err
}

// put puts one of a service's listed faults on it.
func put(t *testing.T, e *e2etest.Everything, target fault.Target, name string) {
	t.Helper()
	for _, f := range fault.Of(target) {
		if f.Name == name {
			e.World.At(target).SetFault(f)
			return
		}
	}
	t.Fatalf("there is no fault called %q", name)
}

// changing is what differs from run to run: ports, times, the newest block, and
// so the widths of columns.
var changing = []struct {
	is *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:12345"},
	{regexp.MustCompile(`\d+ ms(  |\n)`), "12 ms$1"},
	{regexp.MustCompile(`just now|\b\d+ (s|min) ago`), "40 s ago"},
	{regexp.MustCompile(`block 1,000,\d\d\d`), "block 1,000,000"},
	{regexp.MustCompile(`(\S) {2,}`), "$1  "},
	{regexp.MustCompile(`(?m)^ {10,}`), "          "},
}

// TestCheckPrints compares the whole table, written with -update.
func TestCheckPrints(t *testing.T) {
	for name, cause := range map[string]func(*e2etest.Everything){
		"sound":       func(*e2etest.Everything) {},
		"no_platform": func(e *e2etest.Everything) { e.Settings = e2etest.Settings(e.World) },
		"several_wrong": func(e *e2etest.Everything) {
			put(t, e, fault.Supply, "circulating above total")
			e.Settings = append(e.Settings, "PRICE_API_KEY=another-price-key")
			e.Telegram.Revoke()
			e.Redis.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := e2etest.NewEverything(t)
			cause(e)
			table, err := check(t, e)
			if (name == "sound") != (err == nil) {
				t.Error(err)
			}
			for _, c := range changing {
				table = c.is.ReplaceAllString(table, c.by)
			}
			golden := filepath.Join("testdata", "check", name+".golden")
			if flag.Lookup("update").Value.String() == "true" {
				if err := os.WriteFile(golden, []byte(table), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(golden); err != nil || string(want) != table {
				t.Errorf("%v; the table is not %s, which go test ./internal/app -update writes:\n%s", err, golden, table)
			}
		})
	}
}

// One thing is amiss, and the rows of all others are ok.
func TestCheckNamesWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		settings []string
		cause    func(*testing.T, *e2etest.Everything)
		wants    string
	}{
		"unreachable": {nil, func(_ *testing.T, e *e2etest.Everything) { e.World.Partner.SetFault(fault.Refuse()) },
			"FAIL .*cannot be reached or is down: .*connection refused\n +look at PARTNER_BASE_URL"},
		"a clock that is off": {[]string{"PARTNER_SECRET_KEY=another-secret-key"},
			func(t *testing.T, e *e2etest.Everything) { put(t, e, fault.Partner, "clock an hour fast") },
			"its clock is (59m5[0-9]s|1h0m[0-9]+s) ahead of this machine's\n +refuses the credentials.*\n" +
				" +look at this machine's clock first, then at PARTNER_APP_ID and PARTNER_SECRET_KEY"},
		"a code that may mean no": {nil, func(_ *testing.T, e *e2etest.Everything) {
			e.World.Partner.SetFault(fault.Answer(200, "application/json", `{"code":10004,"data":null,"message":"no such user"}`))
		}, "code 10004.*\n +look at .*PARTNER_NOT_FOUND_CODES if it means"},
		"the plan's limit": {nil, func(t *testing.T, e *e2etest.Everything) { put(t, e, fault.Price, "200 with error code 1009") },
			"answers no more: the plan's limit is used up: .*1009\n +look at .*PRICE_MONTHLY_CREDITS"},
		"another chain": {[]string{"EVM_CHAIN_ID=1"}, nil,
			"the node is of chain 424242, but chain 1 is configured\n +look at EVM_CHAIN_ID and EVM_RPC_URL"},
		"a frozen node": {nil, func(t *testing.T, e *e2etest.Everything) { put(t, e, fault.Chain, "frozen an hour ago") },
			"is behind or frozen: .*\n +look at .*MAX_BLOCK_AGE"},
		"a pool without code": {[]string{"STAKING_POOLS=0x00000000000000000000000000000000DeaDBeef"}, nil,
			"pools with code: 0, without: 1\n(.*\n)*.*no contract at 0x00000000000000000000000000000000DeaDBeef\n +look at STAKING_POOLS"},
		"Telegram down": {nil, func(_ *testing.T, e *e2etest.Everything) { e.Telegram.Fail("getMe", faketelegram.Page(502)) },
			"502.*\n +look at TELEGRAM_BOT_TOKEN and TELEGRAM_API_URL"},
		"Discord's token": {[]string{"DISCORD_BOT_TOKEN=another.bot.token"}, nil, "refuses it\n +look at DISCORD_BOT_TOKEN"},
		"Redis' password": {nil, func(_ *testing.T, e *e2etest.Everything) { e.Redis.RequireAuth("another password") },
			"WRONGPASS.*\n +look at REDIS_URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := e2etest.NewEverything(t)
			if test.cause != nil {
				test.cause(t, e)
			}
			table, err := check(t, e, test.settings...)
			if err == nil || strings.Count(table, "FAIL  ") != 1 || !strings.Contains(table, "\n1 of 7 checks failed.") {
				t.Errorf("%v, not one of seven is wrong", err)
			}
			if !regexp.MustCompile(test.wants).MatchString(table) {
				t.Errorf("it does not tell %q", test.wants)
			}
			if t.Failed() {
				t.Log("\n" + table)
			}
		})
	}
}

func TestCheckEndsWhenInterruptedAndWithACommandsTime(t *testing.T) {
	for name, limit := range map[string]time.Duration{"interrupted": 10 * time.Minute, "COMMAND_TIMEOUT": 100 * time.Millisecond} {
		e := e2etest.NewEverything(t)
		e.Telegram.Fail("getMe", faketelegram.Hang())
		ctx, stop := context.WithCancel(t.Context())
		if name == "interrupted" {
			stop()
		}
		start := time.Now()
		var table bytes.Buffer
		err := e2etest.New(t, append(e.Settings, "COMMAND_TIMEOUT="+limit.String()), slog.New(slog.DiscardHandler)).Check(ctx, &table)
		if took := time.Since(start); !errors.Is(err, app.ErrCheckFailed) || took > 5*time.Second {
			t.Errorf("%s: %v after %v:\n%s", name, err, took, &table)
		}
		stop()
	}
}

// A proxy before several replicas turns to another one then.
func TestAServerThatPlatformsCallRefusesForASecond(t *testing.T) {
	e := e2etest.NewEverything(t)
	bot := e2etest.Serve(t, append(e.Settings, e2etest.Webhook(e.Telegram)...), io.Discard)
	bot.AwaitReady(t)
	bot.Stop()
	told := time.Now()
	e2etest.Eventually(t, "it refuses", func() bool { status, _ := bot.Readyz(); return status == http.StatusServiceUnavailable })
	if err := bot.Leave(); err != nil || time.Since(told) < 900*time.Millisecond {
		t.Errorf("it left after %v: %v", time.Since(told), err)
	}
}
