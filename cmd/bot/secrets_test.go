package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"sync"
	"testing"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/sandbox/fault"
)

// It must not run beside others: the standard log is one for the process.
func TestTheStandardLogOfLibrariesIsSilent(t *testing.T) {
	printed := &e2etest.Buffer{}
	before := log.Writer()
	log.SetOutput(printed)
	t.Cleanup(func() { log.SetOutput(before) })
	s := e2etest.NewStage(t)
	var served sync.WaitGroup
	for _, echo := range s.Echoes() {
		if echo.Name != "more than the answer" {
			continue
		}
		answer := echo.Serve
		echo.Serve = func(w http.ResponseWriter, r *http.Request, text string) {
			served.Add(1)
			defer served.Done() // by then the client has seen all and hung up
			answer(w, r, text)
		}
		s.Cut(&echo)
	}
	start(t.Context(), []string{"check"}, process{environ: s.Settings(fault.EchoingRedis(t)), stdout: io.Discard, stderr: io.Discard})
	served.Wait()
	if printed.String() != "" {
		t.Errorf("printed: %s", printed)
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
		e2etest.Secrets{"value": secret}.MustNotShow(t, fmt.Sprint(settings), stderr.String())
	}
	for _, args := range [][]string{{"--" + secret}, {"-" + secret + "=1"}, {"--=" + secret}, {secret}, {"run", secret}, {"--env-file=" + secret}} {
		var stderr bytes.Buffer
		if code := start(ctx, args, process{environ: right, stderr: &stderr}); code != exitMistaken {
			t.Errorf("%q: exit code %d", args, code)
		}
		e2etest.Secrets{"value": secret}.MustNotShow(t, fmt.Sprint(args), stderr.String())
	}
}
