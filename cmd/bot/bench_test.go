package main

import (
	"context"
	"encoding/binary"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/sandbox"
)

// demoBot is the whole bot behind the adapters, against stand-ins.
func demoBot(tb testing.TB) (*bot, *sandbox.Sandbox) {
	tb.Helper()
	world, err := sandbox.Start()
	if err != nil {
		tb.Fatal(err)
	}
	cfg, err := config.Load(append(demoSettings(world), "PRICE_TTL=1h"), "")
	if err != nil {
		tb.Fatal(err)
	}
	b, err := assemble(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		b.close()
		if err := world.Close(); err != nil {
			tb.Error(err)
		}
	})
	return b, world
}

func request(command string, words ...string) chat.Request {
	return chat.Request{ID: "bench", Command: command, Words: words, From: chat.User{Platform: "telegram"}, Chat: "1"}
}

// mustAnswer asks and fails unless the reply's title begins with want.
func mustAnswer(tb testing.TB, b *bot, req chat.Request, want string) {
	tb.Helper()
	if reply := b.router.Handle(context.Background(), req); !strings.HasPrefix(reply.Title, want) {
		tb.Fatalf("/%s was answered with %+v, want %q", req.Command, reply, want)
	}
}

func BenchmarkThousandColdPrices(b *testing.B) {
	var calls int64
	for b.Loop() {
		bot, world := demoBot(b)
		start := make(chan struct{})
		var askers sync.WaitGroup
		for range 1000 {
			askers.Go(func() {
				<-start
				mustAnswer(b, bot, request("price"), sandbox.Symbol+" price")
			})
		}
		close(start)
		askers.Wait()
		calls += world.Price.Requests()
	}
	b.ReportMetric(float64(calls)/float64(b.N), "calls/1000-askers")
}

func BenchmarkStakedOver21Pools(b *testing.B) {
	bot, world := demoBot(b)
	// The first answer also learns which chain the node is on.
	mustAnswer(b, bot, request("staked", world.World.Idle.Hex()), "Not staked")
	before := world.Chain.Requests()
	wallet := world.World.Idle
	for n := uint64(0); b.Loop(); n++ {
		// Another wallet each time, so that none is cached.
		binary.BigEndian.PutUint64(wallet[12:], n)
		bot.router.Handle(context.Background(), request("staked", strings.ToLower(wallet.Hex())))
	}
	b.ReportMetric(float64(world.Chain.Requests()-before)/float64(b.N), "roundtrips/answer")
}

func BenchmarkCachedPrice(b *testing.B) {
	bot, _ := demoBot(b)
	req := request("price")
	mustAnswer(b, bot, req, sandbox.Symbol+" price")
	b.ReportAllocs()
	for b.Loop() {
		bot.router.Handle(context.Background(), req)
	}
}
