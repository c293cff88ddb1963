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
	"herald/internal/core"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/demo/fake/transporttest"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/secret/logtest"
	"herald/internal/service/rest/resttest"
)

// check runs bot check with the settings of e, changed by settings. It returns the table, and ErrCheckFailed or nil.
func check(t *testing.T, e *e2etest.Everything, settings ...string) (string, error) {
	t.Helper()
	return checkWallet(t, e, "", settings...)
}

// checkWallet is like check, with a wallet for --wallet.
func checkWallet(t *testing.T, e *e2etest.Everything, wallet string, settings ...string) (string, error) {
	t.Helper()
	bot := e2etest.New(t, slices.Concat(e.Settings, settings), slog.New(slog.DiscardHandler))
	var out bytes.Buffer
	err := bot.Check(t.Context(), &out, wallet)
	if err != nil && !errors.Is(err, app.ErrCheckFailed) {
		t.Fatal(err)
	}
	e.Secrets.CheckHides(t, "the table", out.String())
	return out.String(), err
}

// requireMatch fails the test unless the table matches the regular expression.
func requireMatch(t *testing.T, table, expression string) {
	t.Helper()
	if !regexp.MustCompile(expression).MatchString(table) {
		t.Errorf("the table does not match %q:\n%s", expression, table)
	}
}

// volatile lists what differs from run to run: ports, times, the latest block, and therefore the widths of columns. A
// golden file has the replacement instead.
var volatile = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:12345"},
	{regexp.MustCompile(`\d+ ms(  |\n)`), "12 ms$1"},
	{regexp.MustCompile(`just now|\b\d+ (s|min) ago`), "40 s ago"},
	{regexp.MustCompile(`block 1,000,\d\d\d`), "block 1,000,000"},
	{regexp.MustCompile(`in \d+\.\d days`), "in 12.3 days"},
	{regexp.MustCompile(`(\S) {2,}`), "$1  "},
	{regexp.MustCompile(`(?m)^ {10,}`), "          "},
}

// requireGolden compares the whole table with a golden file, or writes the file if -update is set.
func requireGolden(t *testing.T, name, table string) {
	t.Helper()
	for _, v := range volatile {
		table = v.pattern.ReplaceAllString(table, v.replacement)
	}
	golden := filepath.Join("testdata", "check", name+".golden")
	configtest.Golden(t, golden, table, flag.Lookup("update").Value.String() == "true")
}

func TestCheckPrintsAWorkingBot(t *testing.T) {
	table, err := check(t, e2etest.NewEverything(t))
	if err != nil {
		t.Error(err)
	}
	requireGolden(t, "sound", table)
}

func TestCheckPrintsABotOnNoPlatform(t *testing.T) {
	e := e2etest.NewEverything(t)
	e.Settings = e2etest.Settings(e.World)
	table, err := check(t, e)
	if err == nil {
		t.Error("a check without a platform passes")
	}
	requireGolden(t, "no_platform", table)
}

func TestCheckPrintsSeveralFailures(t *testing.T) {
	e := e2etest.NewEverything(t)
	e.World.Supply.SetFault(fault.Named(t, fault.Supply, "circulating above total"))
	e.Telegram.Revoke()
	e.Redis.Close()
	table, err := check(t, e, "PRICE_API_KEY=another-price-key")
	if err == nil {
		t.Error("a check of failing services passes")
	}
	requireGolden(t, "several_wrong", table)
}

// serveV1GoneAndV3Down is a price provider that has ended version 1 of its quotes, and fails calls of any other
// version.
func serveV1GoneAndV3Down(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusInternalServerError)
}

// unknownCode is an answer of the partner with a code that it does not document.
const unknownCode = `{"code":10004,"data":null,"message":"no such user"}`

// checkFailures lists what makes exactly one row of the table fail.
var checkFailures = map[string]struct {
	settings []string
	spoil    func(*testing.T, *e2etest.Everything) // changes the fakes; may be nil
	want     string                                // a regular expression that the table matches
}{
	"a clock that is off": {
		settings: []string{"PARTNER_SECRET_KEY=another-secret-key"},
		spoil: func(t *testing.T, e *e2etest.Everything) {
			e.World.Partner.SetFault(fault.Named(t, fault.Partner, "clock an hour fast"))
		},
		want: "its clock is (59m5[0-9]s|1h0m[0-9]+s) ahead of this machine's\n" +
			" +refuses the credentials.*\n +asked: POST /api/v1/partner/user/exists\n" +
			" +look at PARTNER_APP_ID and PARTNER_SECRET_KEY",
	},
	"a code that may mean no": {
		spoil: func(_ *testing.T, e *e2etest.Everything) {
			e.World.Partner.SetFault(fault.Answer(http.StatusOK, "application/json", unknownCode))
		},
		want: "code 10004.*\n +asked: POST /api/v1/partner/user/exists\n" +
			" +look at .*PARTNER_NOT_FOUND_CODES if it means",
	},
	"a pool without code": {
		settings: []string{"STAKING_POOLS=0x00000000000000000000000000000000DeaDBeef"},
		want: "pools with code: 0, without: 1\n(.*\n)*.*" +
			"no contract at 0x00000000000000000000000000000000DeaDBeef\n +look at STAKING_POOLS",
	},
	"version 1 of the quotes gone and version 3 down": {
		spoil: func(t *testing.T, e *e2etest.Everything) {
			e.Settings = append(e.Settings, "PRICE_API_URL="+resttest.Serve(t, serveV1GoneAndV3Down))
		},
		want: "/v1/cryptocurrency/quotes/latest is gone, and /v3/cryptocurrency/quotes/latest fails: " +
			".*status 500\n +asked: GET /v3/cryptocurrency/quotes/latest\\?convert=USD&id=31415\n" +
			" +look at PRICE_API_URL",
	},
	"Discord's token": {
		settings: []string{"DISCORD_BOT_TOKEN=another.bot.token"},
		want:     "refuses it\n +look at DISCORD_BOT_TOKEN",
	},
	"plain HTTP on the Internet": {
		settings: []string{"PARTNER_BASE_URL=http://herald.invalid"},
		want:     "PARTNER_BASE_URL is not https://.*forge the answers\n",
	},
	"chats of CHAT_LANGUAGE without the bot": {
		settings: []string{"CHAT_LANGUAGE=telegram:-1007:tr,discord:9:es"},
		spoil: func(_ *testing.T, e *e2etest.Everything) {
			e.Telegram.SetChat(faketelegram.ChatInfo{Chat: faketelegram.Group(-1007), Unknown: true})
		},
		want: "CHAT_LANGUAGE, group -1007: .*is the ID right, and the bot in the group\\?\n(.*\n)*" +
			".*CHAT_LANGUAGE, server 9: the bot is not there: is the ID right\\?",
	},
	"Redis' password": {
		spoil: func(_ *testing.T, e *e2etest.Everything) { e.Redis.RequireAuth("another password") },
		want:  "WRONGPASS.*\n +look at REDIS_URL",
	},
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	for name, test := range checkFailures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := e2etest.NewEverything(t)
			if test.spoil != nil {
				test.spoil(t, e)
			}
			table, err := check(t, e, test.settings...)
			failures := strings.Count(table, "FAIL  ")
			if err == nil || failures != 1 || !strings.Contains(table, "\n1 of ") {
				t.Errorf("%v, and %d rows fail, want 1:\n%s", err, failures, table)
			}
			requireMatch(t, table, test.want)
		})
	}
}

// Telegram does not accept links to a host without a dot.
func TestCheckNamesLinksThatTelegramRefuses(t *testing.T) {
	linkSettings := []string{"EXPLORER_URL", "REGISTER_URL", "STAKE_URL"}
	e := e2etest.NewEverything(t)
	for host, refused := range map[string]bool{"localhost": true, "example.org": false} {
		var settings []string
		for _, name := range linkSettings {
			settings = append(settings, name+"=https://"+host)
		}
		table, err := check(t, e, settings...)
		if err != nil {
			t.Errorf("links to %s: %v", host, err)
		}
		for _, name := range linkSettings {
			isNamed := strings.Contains(table, name+": Telegram accepts no link to "+host)
			if isNamed != refused {
				t.Errorf("%s to %s is named: %t, want %t\n%s", name, host, isNamed, refused, table)
			}
		}
	}
}

// poolsFile returns the content of a file for STAKING_POOLS: a line for each pool, with its address and name. The pools
// with the indices unnamed have no name.
func poolsFile(pools []core.Pool, unnamed ...int) string {
	var file strings.Builder
	for i, pool := range pools {
		if slices.Contains(unnamed, i) {
			pool.Name = ""
		}
		fmt.Fprintf(&file, "%s %s\n", pool.Address.Hex(), pool.Name)
	}
	return file.String()
}

func TestCheckCountsPoolsWithoutAName(t *testing.T) {
	e := e2etest.NewEverything(t)
	pools := e.World.World.Pools
	address := func(i int) string { return pools[i].Address.Hex() }
	const invisible = " \u200b\u2060\n"
	for name, test := range map[string]struct{ pools, want string }{
		"no name": {
			pools: address(0) + "," + address(1),
			want:  "no pool has a name, so addresses are shown; STAKING_POOLS=@FILE can name them\n",
		},
		"two without a name": {
			pools: "@" + configtest.File(t, poolsFile(pools, 8, 17)),
			want:  "pools with a name: 19 of 21; shown by address: " + address(8) + ", " + address(17) + "\n",
		},
		"one name of five": {
			pools: "@" + configtest.File(t, poolsFile(pools[:5], 1, 2, 3, 4)),
			want:  "pools with a name: 1 of 5; shown by address: .*, and 1 more\n",
		},
		"an invisible name": {
			pools: "@" + configtest.File(t, address(0)+invisible+address(1)+" Pool 02"),
			want:  "pools with a name: 1 of 2; shown by address: " + address(0) + "\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			table, err := check(t, e, "STAKING_POOLS="+test.pools)
			if err != nil {
				t.Error(err)
			}
			requireMatch(t, table, test.want)
		})
	}
}

func TestCheckSaysNothingAboutNamesIfEveryPoolHasOne(t *testing.T) {
	e := e2etest.NewEverything(t)
	file := configtest.File(t, poolsFile(e.World.World.Pools[8:9]))
	table, err := check(t, e, "STAKING_POOLS=@"+file)
	if err != nil || strings.Contains(table, "name") {
		t.Errorf("%v, and the table is\n%s", err, table)
	}
}

// requireNoWallet fails the test if the table shows a wallet of the fakes.
func requireNoWallet(t *testing.T, e *e2etest.Everything, table string) {
	t.Helper()
	lower := strings.ToLower(table)
	for _, wallet := range []string{e.World.World.Staker.Hex(), e.World.World.Idle.Hex()} {
		if strings.Contains(lower, strings.ToLower(wallet[2:])) {
			t.Errorf("the table shows the wallet %s:\n%s", wallet, table)
		}
	}
}

// The staker's last withdrawal began a day ago, some 43,200 blocks before the newest one.
func TestCheckShowsAWalletsWithdrawal(t *testing.T) {
	e := e2etest.NewEverything(t)
	for wallet, want := range map[string]string{
		e.World.World.Staker.Hex(): `pending of the wallet: 86\.42 HRLD, block 956,800; newest block 1,000,\d\d\d\n`,
		e.World.World.Idle.Hex():   `pending of the wallet: nothing\n`,
	} {
		table, err := checkWallet(t, e, wallet)
		if err != nil {
			t.Error(err)
		}
		requireMatch(t, table, want)
		requireNoWallet(t, e, table)
	}
}

func TestCheckNeedsTheMethodToShowAWithdrawal(t *testing.T) {
	e := e2etest.NewEverything(t)
	e.Settings = slices.DeleteFunc(e.Settings, func(s string) bool {
		return strings.HasPrefix(s, "STAKING_PENDING_METHOD=") || strings.HasPrefix(s, "STAKING_CLAIM_BLOCKS=")
	})
	table, err := checkWallet(t, e, e.World.World.Idle.Hex())
	if err != nil {
		t.Error(err)
	}
	requireMatch(t, table, `pending of the wallet: unknown without STAKING_PENDING_METHOD\n`)
	requireNoWallet(t, e, table)
}

func TestCheckOfNoWalletShowsNoWithdrawal(t *testing.T) {
	table, err := check(t, e2etest.NewEverything(t))
	if err != nil || strings.Contains(table, "pending") {
		t.Errorf("%v, and the table is\n%s", err, table)
	}
	requireMatch(t, table, `in one call\n`)
}

// An operator compares the withdrawal's block with the newest block. Both must be numbers as contracts read them. On a
// rollup, such a number is the number of a block of the chain below: here, 40,000 less than the node's.
func TestCheckComparesBlocksAsContractsCountThem(t *testing.T) {
	for _, multicall := range []string{services.MulticallAddress.Hex(), "off"} {
		t.Run("Multicall3 "+multicall, func(t *testing.T) {
			e := e2etest.NewEverything(t)
			rollup := services.New().Chain.Handler.(services.Node)
			rollup.Height = func(block uint64) uint64 { return block - 40_000 }
			node := httptest.NewServer(rollup)
			t.Cleanup(node.Close)
			table, err := checkWallet(t, e, e.World.World.Staker.Hex(),
				"EVM_RPC_URL="+node.URL, "MULTICALL_ADDRESS="+multicall)
			if err != nil {
				t.Error(err)
			}
			requireMatch(t, table, `newest block 1,000,\d\d\d,`)
			requireMatch(t, table, `contracts read the number 960,\d\d\d in that block`)
			requireMatch(t, table, `block 956,800; newest block 960,\d\d\d\n`)
		})
	}
}

func TestCheckEndsWithinCommandTimeout(t *testing.T) {
	e := e2etest.NewEverything(t)
	e.Telegram.Fail("getMe", telegramtest.Hang())
	start := time.Now()
	_, err := check(t, e, "COMMAND_TIMEOUT=100ms")
	if took := time.Since(start); !errors.Is(err, app.ErrCheckFailed) || took > 5*time.Second {
		t.Errorf("the check ended with %v after %v", err, took)
	}
}

// An answer from Redis on loopback does not prove that the machine has a network.
func TestCheckAsksForANetworkIfNothingIsReached(t *testing.T) {
	e := e2etest.NewEverything(t)
	urls := []string{"TELEGRAM_API_URL", "DISCORD_API_URL"}
	for _, service := range e.World.Services() {
		urls = append(urls, service.Setting)
	}
	var settings []string
	for i, name := range urls {
		settings = append(settings, name+"="+transporttest.RefusedURL)
		table, err := check(t, e, settings...)
		want := fmt.Sprintf("\n\n%d of %d checks failed: ", i+1, len(urls)+1)
		if i == len(urls)-1 {
			want = "\n\nNothing can be reached. Does this machine have a network?\n"
		}
		if err == nil || !strings.Contains(table, want) {
			t.Errorf("with %q unreachable: %v, want %q in\n%s", urls[:i+1], err, want, table)
		}
	}
}

func TestRunWarnsOfPlainHTTPToThePartner(t *testing.T) {
	e := e2etest.NewEverything(t)
	var log logtest.Buffer
	settings := append(e.Settings, "HTTP_ADDR=off", "PARTNER_BASE_URL=http://herald.invalid")
	bot := e2etest.New(t, settings, slog.New(slog.NewTextHandler(&log, nil)))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_ = bot.Run(ctx)
	if log.Lines("forge the answers") != 1 {
		t.Errorf("plain HTTP to the partner is not a warning:\n%s", log.String())
	}
}

// Run also checks saved addresses, because DATA_DIR is set. That must not keep it from ending.
func TestRunEndsWithItsPlatforms(t *testing.T) {
	telegram := telegramtest.New(t)
	telegram.Revoke()
	settings := slices.Concat(
		app.DemoSettings(fault.Start(t).Fakes),
		e2etest.Polling(telegram),
		[]string{"HTTP_ADDR=off", "DATA_DIR=" + t.TempDir()},
	)
	bot := e2etest.New(t, settings, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	err := bot.Run(ctx)
	if err == nil || ctx.Err() != nil {
		t.Errorf("Run returned %v; it waited for its context: %t", err, ctx.Err() != nil)
	}
}

// The fake of Redis does not report how it writes to disk.
func TestCheckWarnsOfARedisThatMayLoseAddresses(t *testing.T) {
	table, _ := check(t, e2etest.NewEverything(t))
	requireMatch(t, table, `Redis .* ok .*\n? *.*set appendonly yes`)
}

func TestRunWarnsOfARedisThatMayLoseAddresses(t *testing.T) {
	e := e2etest.NewEverything(t)
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
