package main

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// wiretap is an address that counts who connects to it.
func wiretap(t *testing.T) (url string, connections *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	connections = &atomic.Int64{}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			conn.Close()
		}
	}()
	return "http://" + listener.Addr().String(), connections
}

// Mistakes are all told at once and before anything is contacted, and none of
// them repeats a secret.
func TestMistakenSettingsEndTheProcess(t *testing.T) {
	url, connections := wiretap(t)
	host := strings.TrimPrefix(url, "http://")
	good := []string{
		"PARTNER_BASE_URL=" + url, "PARTNER_APP_ID=app", "PARTNER_SECRET_KEY=key-0123456789",
		"PRICE_API_URL=" + url, "SUPPLY_URL=" + url, "EVM_RPC_URL=" + url, "EVM_CHAIN_ID=1",
		"STAKING_POOLS=0x52908400098527886E0F7030069857D2E4169EE7", "TOKEN_SYMBOL=HRLD", "REDIS_URL=redis://" + host,
		"TELEGRAM_API_URL=" + url, "DISCORD_API_URL=" + url, "HTTP_ADDR=off",
	}
	for _, tt := range []struct {
		name    string
		args    []string
		environ []string
		told    []string // a line of standard error begins with each, and there is no other
	}{
		{"neither token", []string{"run"}, good, []string{"TELEGRAM_BOT_TOKEN, DISCORD_BOT_TOKEN: "}},
		{"nothing at all", nil, nil, []string{"TELEGRAM_BOT_TOKEN, DISCORD_BOT_TOKEN: ", "PARTNER_BASE_URL: ", "PARTNER_APP_ID: ",
			"PARTNER_SECRET_KEY: ", "SUPPLY_URL: ", "EVM_RPC_URL: ", "EVM_CHAIN_ID: ", "STAKING_POOLS: ", "TOKEN_SYMBOL: "}},
		{"many at once", nil, append(good, "TELEGRAM_BOT_TOKEN=my token-0123456789", "DISCORD_BOT_TOKEN=s3cret-0123456789",
			"TELEGRAM_WEBHOOK_URL=http://plain.example", "DISCORD_PUBLIC_KEY=abc", "COMMAND_TIMEOUT=soon",
			"STAKING_POOLS=0x52908400098527886e0F7030069857D2E4169EE7", "OPERATORS=ann", "LOG_LEVEL=loud"),
			[]string{"TELEGRAM_BOT_TOKEN: ", "TELEGRAM_WEBHOOK_URL: ", "TELEGRAM_WEBHOOK_SECRET: ", "DISCORD_PUBLIC_KEY: ",
				"STAKING_POOLS: ", "COMMAND_TIMEOUT: ", "OPERATORS: ", "HTTP_ADDR: ", "LOG_LEVEL: "}},
		{"a secret's file that is not there", nil, append(good, "DISCORD_BOT_TOKEN_FILE=/nowhere/0123456789"), []string{"DISCORD_BOT_TOKEN: "}},
		{"a file of settings that is not there", []string{"--env-file", "/nowhere/0123456789"}, append(good, "DISCORD_BOT_TOKEN=x"),
			[]string{"--env-file: "}},
		{"check, with a mistake", []string{"check"}, append(good, "EVM_CHAIN_ID=one"), []string{"EVM_CHAIN_ID: "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := prepare(t, tt.args, tt.environ...)
			c.start()
			c.leaves(exitMistaken)
			lines := strings.Split(strings.TrimSpace(c.stderr.String()), "\n")
			for _, want := range tt.told {
				if n := c.lines(want); n == 0 {
					t.Errorf("%q is not told:\n%s", want, c.stderr)
				}
			}
			if len(lines) != len(tt.told) || c.stdout.String() != "" {
				t.Errorf("%d lines, want %d; standard output %q:\n%s", len(lines), len(tt.told), c.stdout, c.stderr)
			}
			if strings.Contains(c.stderr.String(), "0123456789") {
				t.Errorf("a value is repeated:\n%s", c.stderr)
			}
			if tt.name == "neither token" && !strings.Contains(c.stderr.String(), "bot demo") {
				t.Errorf("nothing points to the demo:\n%s", c.stderr)
			}
		})
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

func TestMistakenCommandLinesEndTheProcess(t *testing.T) {
	for _, args := range [][]string{{"serve"}, {"run", "now"}, {"--verbose"}, {"--env-file"}} {
		c := prepare(t, args)
		c.start()
		c.leaves(exitMistaken)
		if c.lines("bot: ") != 1 || c.lines("--env-file FILE") != 1 || c.stdout.String() != "" {
			t.Errorf("%v: standard output %q, standard error:\n%s", args, c.stdout, c.stderr)
		}
	}
}
