package app_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/app"
	"herald/internal/config/configtest"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/demo/fake/transporttest"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/secret/logtest"
	"herald/internal/service/rest/resttest"
)

// check returns the table of a check with these settings, and ErrCheckFailed or nil.
func check(t *testing.T, e *e2etest.Everything, settings ...string) (table string, err error) {
	t.Helper()
	return checkWallet(t, e, "", settings...)
}

func checkWallet(t *testing.T, e *e2etest.Everything, wallet string, settings ...string) (table string, err error) {
	t.Helper()
	bot := e2etest.New(t, append(e.Settings, settings...), slog.New(slog.DiscardHandler))
	var out bytes.Buffer
	err = bot.Check(t.Context(), &out, wallet)
	if err != nil && !errors.Is(err, app.ErrCheckFailed) {
		t.Fatal(err)
	}
	e.Secrets.MustNotShow(t, "the table", out.String())
	return out.String(), err
}

// changing matches what differs from run to run: ports, times, the newest block, and so
// the widths of columns.
var changing = []struct {
	is *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:12345"},
	{regexp.MustCompile(`\d+ ms(  |\n)`), "12 ms$1"},
	{regexp.MustCompile(`just now|\b\d+ (s|min) ago`), "40 s ago"},
	{regexp.MustCompile(`block 1,000,\d\d\d`), "block 1,000,000"},
	{regexp.MustCompile(`in \d+\.\d days`), "in 12.3 days"},
	{regexp.MustCompile(`(\S) {2,}`), "$1  "},
	{regexp.MustCompile(`(?m)^ {10,}`), "          "},
}

// TestCheckPrints compares the whole table, written with -update.
func TestCheckPrints(t *testing.T) {
	for name, cause := range map[string]func(*e2etest.Everything){
		"sound":       func(*e2etest.Everything) {},
		"no_platform": func(e *e2etest.Everything) { e.Settings = e2etest.Settings(e.World) },
		"several_wrong": func(e *e2etest.Everything) {
			e.World.Supply.SetFault(fault.Named(t, fault.Supply, "circulating above total"))
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
			configtest.Golden(t, golden, table, flag.Lookup("update").Value.String() == "true")
		})
	}
}

// One thing is wrong, and all other rows are ok.
func TestCheckNamesWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		settings []string
		cause    func(*testing.T, *e2etest.Everything)
		wants    string
	}{
		"a clock that is off": {[]string{"PARTNER_SECRET_KEY=another-secret-key"},
			func(t *testing.T, e *e2etest.Everything) {
				e.World.Partner.SetFault(fault.Named(t, fault.Partner, "clock an hour fast"))
			},
			"its clock is (59m5[0-9]s|1h0m[0-9]+s) ahead of this machine's\n +refuses the credentials.*\n" +
				" +asked: POST /api/v1/partner/user/exists\n +look at PARTNER_APP_ID and PARTNER_SECRET_KEY"},
		"a code that may mean no": {nil, func(_ *testing.T, e *e2etest.Everything) {
			e.World.Partner.SetFault(fault.Answer(200, "application/json", `{"code":10004,"data":null,"message":"no such user"}`))
		}, "code 10004.*\n +asked: POST /api/v1/partner/user/exists\n +look at .*PARTNER_NOT_FOUND_CODES if it means"},
		"a pool without code": {[]string{"STAKING_POOLS=0x00000000000000000000000000000000DeaDBeef"}, nil,
			"pools with code: 0, without: 1\n(.*\n)*.*no contract at 0x00000000000000000000000000000000DeaDBeef\n +look at STAKING_POOLS"},
		"version 1 of the quotes gone and version 3 down": {nil, func(t *testing.T, e *e2etest.Everything) {
			url := resttest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				status := http.StatusInternalServerError
				if strings.HasPrefix(r.URL.Path, "/v1/") {
					status = http.StatusNotFound
				}
				w.WriteHeader(status)
			})
			e.Settings = append(e.Settings, "PRICE_API_URL="+url)
		}, "/v1/cryptocurrency/quotes/latest is gone, and /v3/cryptocurrency/quotes/latest fails: .*status 500\n" +
			" +asked: GET /v3/cryptocurrency/quotes/latest\\?convert=USD&id=31415\n +look at PRICE_API_URL"},
		"Discord's token":            {[]string{"DISCORD_BOT_TOKEN=another.bot.token"}, nil, "refuses it\n +look at DISCORD_BOT_TOKEN"},
		"plain HTTP on the Internet": {[]string{"PARTNER_BASE_URL=http://herald.invalid"}, nil, "PARTNER_BASE_URL is not https://.*forge the answers\n"},
		"chats of CHAT_LANGUAGE without the bot": {[]string{"CHAT_LANGUAGE=telegram:-1007:tr,discord:9:es"},
			func(_ *testing.T, e *e2etest.Everything) {
				e.Telegram.SetChat(faketelegram.ChatInfo{Chat: faketelegram.Group(-1007), Unknown: true})
			},
			"CHAT_LANGUAGE, group -1007: .*is the ID right, and the bot in the group\\?\n(.*\n)*" +
				".*CHAT_LANGUAGE, server 9: the bot is not there: is the ID right\\?"},
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
			if err == nil || strings.Count(table, "FAIL  ") != 1 || !strings.Contains(table, "\n1 of ") {
				t.Errorf("%v, and %d rows are wrong, want 1", err, strings.Count(table, "FAIL  "))
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

// Telegram accepts no link to a host without a dot.
func TestCheckNamesLinksThatTelegramRefuses(t *testing.T) {
	links := []string{"EXPLORER_URL", "REGISTER_URL", "STAKE_URL"}
	e := e2etest.NewEverything(t)
	for host, refused := range map[string]bool{"localhost": true, "example.org": false} {
		var settings []string
		for _, name := range links {
			settings = append(settings, name+"=https://"+host)
		}
		table, err := check(t, e, settings...)
		for _, name := range links {
			if named := strings.Contains(table, name+": Telegram accepts no link to "+host); named != refused || err != nil {
				t.Errorf("%s is named: %t, %v\n%s", name, named, err, table)
			}
		}
	}
}

func TestCheckTellsWhereNamesOfPoolsComeFrom(t *testing.T) {
	e := e2etest.NewEverything(t)
	var file strings.Builder
	pools := e.World.World.Pools
	for i, pool := range pools {
		if i == 8 || i == 17 {
			pool.Name = ""
		}
		fmt.Fprintf(&file, "%s %s\n", pool.Address.Hex(), pool.Name)
	}
	const none = "no pool has a name, so addresses are shown; STAKING_POOLS=@FILE can name them\n"
	const some = "pools with a name: %d of %d; shown by address: %s\n"
	two := pools[8].Address.Hex() + ", " + pools[17].Address.Hex()
	for name, test := range map[string]struct{ pools, want string }{
		"no name":    {pools[0].Address.Hex() + "," + pools[1].Address.Hex(), none},
		"some names": {"@" + configtest.File(t, file.String()), fmt.Sprintf(some, 19, 21, two)},
		"one name of five": {"@" + configtest.File(t, pools[0].Address.Hex()+" First\n"+pools[1].Address.Hex()+"\n"+pools[2].Address.Hex()+"\n"+
			pools[3].Address.Hex()+"\n"+pools[4].Address.Hex()), fmt.Sprintf(some, 1, 5, ".*, and 1 more")},
		"an invisible name": {"@" + configtest.File(t, pools[0].Address.Hex()+" \u200b\u2060\n"+pools[1].Address.Hex()+" Pool 02"),
			fmt.Sprintf(some, 1, 2, pools[0].Address.Hex())},
	} {
		table, err := check(t, e, "STAKING_POOLS="+test.pools)
		if err != nil || !regexp.MustCompile(test.want).MatchString(table) {
			t.Errorf("%s: %v, want %q in\n%s", name, err, test.want, table)
		}
	}
	named := configtest.File(t, pools[8].Address.Hex()+" Pool 09")
	if table, err := check(t, e, "STAKING_POOLS=@"+named); err != nil || strings.Contains(table, "name") {
		t.Errorf("every pool has a name: %v\n%s", err, table)
	}
}

// The stand-in's last withdrawal began a day ago.
func TestCheckShowsAWithdrawalOfAWallet(t *testing.T) {
	e := e2etest.NewEverything(t)
	staker, idle := e.World.World.Staker.Hex(), e.World.World.Idle.Hex()
	for _, test := range []struct{ wallet, unset, want string }{
		{staker, "", `pending of the wallet: 86\.42 HRLD, block 956,800; newest block 1,000,\d\d\d\n`},
		{idle, "", `pending of the wallet: nothing\n`},
		{idle, "STAKING_PENDING_METHOD=", `pending of the wallet: unknown without STAKING_PENDING_METHOD\n`},
		{"", "", `in one call\n`},
	} {
		e.Settings = slices.DeleteFunc(e.Settings, func(s string) bool {
			return test.unset != "" && (strings.HasPrefix(s, test.unset) || strings.HasPrefix(s, "STAKING_CLAIM_BLOCKS="))
		})
		table, err := checkWallet(t, e, test.wallet)
		if err != nil || !regexp.MustCompile(test.want).MatchString(table) || strings.Contains(table, "pending") != (test.wallet != "") {
			t.Errorf("%v, want %s in\n%s", err, test.want, table)
		}
		if lower := strings.ToLower(table); strings.Contains(lower, strings.ToLower(staker[2:])) || strings.Contains(lower, strings.ToLower(idle[2:])) {
			t.Errorf("it prints the wallet:\n%s", table)
		}
	}
}

// An operator compares the withdrawal's block with the newest one, which contracts count.
func TestCheckComparesBlocksAsContractsCountThem(t *testing.T) {
	for _, multicall := range []string{services.MulticallAddress.Hex(), "off"} {
		e := e2etest.NewEverything(t)
		rollup := services.New().Chain.Handler.(services.Node)
		rollup.Height = func(block uint64) uint64 { return block - 40_000 }
		node := httptest.NewServer(rollup)
		t.Cleanup(node.Close)
		table, err := checkWallet(t, e, e.World.World.Staker.Hex(), "EVM_RPC_URL="+node.URL, "MULTICALL_ADDRESS="+multicall)
		for _, want := range []string{
			`newest block 1,000,\d\d\d,`,
			`contracts read the number 960,\d\d\d in that block`,
			`block 956,800; newest block 960,\d\d\d\n`,
		} {
			if err != nil || !regexp.MustCompile(want).MatchString(table) {
				t.Errorf("Multicall3 %s: %v, want %s in\n%s", multicall, err, want, table)
			}
		}
	}
}

func TestCheckEndsWithACommandsTime(t *testing.T) {
	e := e2etest.NewEverything(t)
	e.Telegram.Fail("getMe", telegramtest.Hang())
	start := time.Now()
	_, err := check(t, e, "COMMAND_TIMEOUT=100ms")
	if took := time.Since(start); !errors.Is(err, app.ErrCheckFailed) || took > 5*time.Second {
		t.Errorf("%v after %v", err, took)
	}
}

// Redis on loopback does not prove that there is a network.
func TestCheckAsksForANetwork(t *testing.T) {
	e := e2etest.NewEverything(t)
	names := []string{"TELEGRAM_API_URL", "DISCORD_API_URL"}
	for _, service := range e.World.Services() {
		names = append(names, service.Setting)
	}
	var settings []string
	for i, name := range names {
		settings = append(settings, name+"="+transporttest.RefusedURL)
		table, err := check(t, e, settings...)
		want := fmt.Sprintf("\n\n%d of %d checks failed: ", i+1, len(names)+1)
		if i == len(names)-1 {
			want = "\n\nNothing can be reached. Does this machine have a network?\n"
		}
		if !strings.Contains(table, want) || err == nil {
			t.Errorf("with %q out of reach: %v\n%s", names[:i+1], err, table)
		}
	}
}

func TestPlainHTTPToThePartnerIsAWarning(t *testing.T) {
	e := e2etest.NewEverything(t)
	var log logtest.Buffer
	bot := e2etest.New(t, append(e.Settings, "HTTP_ADDR=off", "PARTNER_BASE_URL=http://herald.invalid"), slog.New(slog.NewTextHandler(&log, nil)))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_ = bot.Run(ctx)
	if log.Lines("forge the answers") != 1 {
		t.Errorf("plain HTTP to the partner is no warning:\n%s", log.String())
	}
}

// TestRunEndsWithItsPlatforms also while saved addresses are checked.
func TestRunEndsWithItsPlatforms(t *testing.T) {
	telegram := telegramtest.New(t)
	telegram.Revoke()
	settings := slices.Concat(app.DemoSettings(fault.Start(t).Fakes), e2etest.Polling(telegram), []string{"HTTP_ADDR=off", "DATA_DIR=" + t.TempDir()})
	bot := e2etest.New(t, settings, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if err := bot.Run(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("Run returned %v; it waited for its context: %t", err, ctx.Err() != nil)
	}
}

// The stand-in of Redis tells nothing about its disk.
func TestRedisThatMayLoseSavedAddressesIsAWarning(t *testing.T) {
	e := e2etest.NewEverything(t)
	table, _ := check(t, e)
	if !regexp.MustCompile(`Redis .* ok .*\n? *.*set appendonly yes`).MatchString(table) {
		t.Errorf("bot check does not warn:\n%s", table)
	}
	var log logtest.Buffer
	bot := e2etest.New(t, append(e.Settings, "HTTP_ADDR=off"), slog.New(slog.NewTextHandler(&log, nil)))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- bot.Run(ctx) }()
	e2etest.Eventually(t, "the bot is connected", func() bool { return log.Lines("connected") > 0 })
	stop()
	<-ended
	if log.Lines("redis may lose saved addresses") == 0 {
		t.Errorf("bot run does not warn:\n%s", &log)
	}
}
