package commands_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/commands"
	"herald/internal/chat"
	"herald/internal/core"
)

var update = flag.Bool("update", false, "write the golden transcripts anew")

// answers is a client that gives what a test put there.
type answers struct {
	quote       core.Snapshot[core.Quote]
	quoteErr    error
	supply      core.Snapshot[core.Supply]
	supplyErr   error
	stake       core.Stake
	stakeErr    error
	accounts    map[core.Identity]core.Account
	accountErr  error
	logins      []core.Login
	loginsErr   error
	askedStakes int
}

func (a *answers) Quote(context.Context) (core.Snapshot[core.Quote], error) {
	return a.quote, a.quoteErr
}

func (a *answers) TokenSupply(context.Context) (core.Snapshot[core.Supply], error) {
	return a.supply, a.supplyErr
}

func (a *answers) Stake(context.Context, common.Address) (core.Snapshot[core.Stake], error) {
	a.askedStakes++
	return core.Snapshot[core.Stake]{Value: a.stake}, a.stakeErr
}

func (a *answers) Account(_ context.Context, id core.Identity) (core.Snapshot[core.Account], error) {
	return core.Snapshot[core.Account]{Value: a.accounts[id]}, a.accountErr
}

func (a *answers) Logins(_ context.Context, did string) (core.Snapshot[[]core.Login], error) {
	if did != "did:x:ann" {
		return core.Snapshot[[]core.Login]{}, errors.New("asked for somebody else")
	}
	return core.Snapshot[[]core.Login]{Value: a.logins}, a.loginsErr
}

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func known(s string) decimal.NullDecimal { return decimal.NewNullDecimal(dec(s)) }

var noon = time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC)

// healthy is a client of which every service answers.
func healthy() *answers {
	return &answers{
		quote: core.Snapshot[core.Quote]{At: noon, Value: core.Quote{
			Price: dec("0.0123456789"), Change1h: known("0.125"), Change24h: known("-3.5"), Change7d: known("0"),
			MarketCap: known("1234567.891"), Volume24h: known("999.5"), LastUpdated: noon,
		}},
		supply: core.Snapshot[core.Supply]{At: noon, Value: core.Supply{Total: dec("1000000000"), Circulating: dec("98765432.100000000000000001")}},
		stake: core.Stake{Block: 77, Checked: 21, Staked: []core.PoolAmount{
			{Pool: core.Pool{Address: common.HexToAddress("0x01"), Name: "Genesis @all"}, Amount: dec("1234567.000000000000000001")},
			{Pool: core.Pool{Address: common.HexToAddress("0x02")}, Amount: dec("0.5")},
		}},
		accounts: map[core.Identity]core.Account{
			{Platform: "Telegram", UID: "1"}:     {DID: "did:x:ann"},
			{Platform: "Discord", UID: "5"}:      {DID: "did:x:eve"},
			{Platform: "Email", UID: "a@b.c"}:    {DID: "did:x:mail"},
			{Platform: "Telegram", UID: "12345"}: {DID: "did:x:bob"},
		},
		logins: []core.Login{{Dapp: "Swap **x**", Platform: "EVM", At: noon}, {Dapp: "Game\nnight", Platform: "Telegram", At: noon.Add(-time.Hour)}},
	}
}

type freely struct{}

func (freely) Allow(context.Context, string) time.Duration { return 0 }

func router(t *testing.T, client commands.Client) *chat.Router {
	t.Helper()
	r, err := chat.NewRouter(chat.Config{
		Commands:  commands.All(client, commands.Token{Symbol: "TKN"}),
		Timeout:   time.Second,
		UserLimit: freely{}, ChatLimit: freely{},
		Explain: commands.Explain,
		Log:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// say sends a line as a moderator named by a Telegram ID.
func say(r *chat.Router, from, line string) chat.Reply {
	words := strings.Fields(line)
	return r.Handle(context.Background(), chat.Request{
		ID: "REF", Command: strings.TrimPrefix(words[0], "/"), Args: chat.Typed(words[1:]...),
		From: chat.User{Platform: "telegram", ID: from}, Role: chat.Moderator,
	})
}

func write(b *bytes.Buffer, line string, r chat.Reply) {
	fmt.Fprintf(b, "> %s\n[%d] %s\n", line, r.Tone, r.Title)
	if r.Text != "" {
		fmt.Fprintln(b, r.Text)
	}
	for _, s := range r.Sections {
		if s.Heading != "" {
			fmt.Fprintf(b, "== %s\n", s.Heading)
		}
		for _, f := range s.Fields {
			fmt.Fprintf(b, "%s | %s\n", f.Name, f.Value)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(b, "(%s)\n", n)
	}
	fmt.Fprintln(b)
}

func TestTranscripts(t *testing.T) {
	failed := func(s core.Service, r core.Reason) error {
		return &core.Error{Service: s, Reason: r, Err: errors.New("inner")}
	}
	const wallet = "0x52908400098527886E0F7030069857D2E4169EE7"
	for name, test := range map[string]struct {
		change func(*answers)
		from   string
		lines  []string
	}{
		"healthy": {func(*answers) {}, "1", []string{"/price", "/supply", "/staked " + wallet, "/mylogins", "/exists", "/help", "/start"}},
		"moderator": {func(*answers) {}, "1", []string{
			"/exists 12345", "/exists 999", "/exists discord 5", "/exists EMAIL a@b.c", "/exists evm " + wallet,
		}},
		"strangers": {func(*answers) {}, "404", []string{"/mylogins", "/exists"}},
		"quiet":     {func(a *answers) { a.logins = nil }, "1", []string{"/mylogins"}},
		"sparse": {func(a *answers) {
			a.quote.Value = core.Quote{Price: dec("64123.456")}
			a.stake = core.Stake{Checked: 21}
		}, "1", []string{"/price", "/staked " + wallet}},
		"old": {func(a *answers) { a.quote.Stale, a.supply.Stale = true, true }, "1", []string{"/price", "/supply"}},
		"partly": {func(a *answers) {
			a.quoteErr = failed(core.Price, core.Limited)
			a.stake.Failed, a.stake.Checked = make([]core.Pool, 2), 19
			a.stake.Unbonding = []core.PoolAmount{{Pool: core.Pool{Name: "Exit"}, Amount: dec("3")}}
			a.stake.UnbondingFailed = make([]core.Pool, 1)
		}, "1", []string{"/supply", "/staked " + wallet}},
		"undetermined": {func(a *answers) {
			a.stake = core.Stake{Checked: 20, Failed: make([]core.Pool, 1)}
		}, "1", []string{"/staked " + wallet}},
		"failing": {func(a *answers) {
			a.quoteErr = failed(core.Price, core.Denied)
			a.supplyErr = failed(core.TokenSupply, core.Malformed)
			a.stakeErr = failed(core.Chain, core.SlowAnswer)
			a.accountErr = failed(core.Partner, core.Paused)
		}, "1", []string{"/price", "/supply", "/staked " + wallet, "/mylogins", "/exists", "/exists 12345"}},
		"half failing": {func(a *answers) { a.loginsErr = failed(core.Partner, core.Unreachable) }, "1", []string{"/mylogins", "/exists"}},
		"badly typed": {func(*answers) {}, "1", []string{
			"/staked", "/staked a b", "/staked vitalik.eth", "/staked 0x1234", "/staked 52908400098527886E0F7030069857D2E4169EE7",
			"/staked 0x52908400098527886E0F7030069857D2E4169Ee7", "/staked 0x52908400098527886E0F7030069857D2E4169EG7",
			"/staked " + strings.Repeat("9", 4000), "/staked \u202e0x52908400098527886e0f7030069857d2e4169ee7",
			"/price now", "/exists @somebody", "/exists moon 1", "/exists Telegram ann", "/exists BTC 0x1", "/exists EVM 0x1", "/exists a b c",
		}},
		"anonymous": {func(*answers) {}, "", []string{"/mylogins", "/exists"}},
	} {
		t.Run(name, func(t *testing.T) {
			client := healthy()
			test.change(client)
			r := router(t, client)
			var got bytes.Buffer
			for _, line := range test.lines {
				write(&got, strings.ToValidUTF8(line[:min(len(line), 80)], ""), say(r, test.from, line))
			}
			file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "_")+".golden")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("%s differs; run with -update and read the diff. Got:\n%s", file, got.String())
			}
			if name == "badly typed" && client.askedStakes > 0 {
				t.Error("a service was asked about bad input")
			}
		})
	}
}

func TestNobodyStandsBehindAnAnonymousMessage(t *testing.T) {
	reply := router(t, healthy()).Handle(t.Context(), chat.Request{
		Command: "exists", From: chat.User{Platform: "telegram", ID: "1"}, Target: &chat.User{Platform: "telegram"},
		Role: chat.Moderator,
	})
	if !strings.Contains(reply.Text, "anonymously") {
		t.Errorf("got %+v", reply)
	}
}

func TestEveryFailureOfEveryServiceHasWordsWithoutItsDetail(t *testing.T) {
	for _, service := range []core.Service{core.Partner, core.Price, core.TokenSupply, core.Chain} {
		for _, reason := range []core.Reason{core.Unreachable, core.SlowAnswer, core.Limited, core.Denied, core.Rejected, core.Malformed, core.Paused} {
			got := commands.Explain(fmt.Errorf("outer: %w", &core.Error{Service: service, Reason: reason, Err: errors.New("secret detail")}))
			if !strings.HasPrefix(got, "The ") || strings.ContainsAny(got, "%!") || strings.Contains(got, "detail") {
				t.Errorf("%s %s: %q", service, reason, got)
			}
		}
	}
	if got := commands.Explain(errors.New("secret detail")); strings.Contains(got, "detail") {
		t.Errorf("an unknown error is shown: %q", got)
	}
}

func TestPriceKeepsItsDigits(t *testing.T) {
	for in, want := range map[string]string{
		"0.5": "$0.500000", "1": "$1.0000", "12.34567": "$12.3457", "999.99999": "$1,000.0000", "1234.5": "$1,234.50",
		"0.000000001234567": "$0.00000000123457", "123456789012345678": "$123,456,789,012,345,678.00", "1e-20": "$0.0000000000000000000100000",
	} {
		client := healthy()
		client.quote.Value = core.Quote{Price: dec(in)}
		got := say(router(t, client), "1", "/price").Sections[0].Fields[0].Value
		if got != want {
			t.Errorf("%s is shown as %s, want %s", in, got, want)
		}
	}
}
