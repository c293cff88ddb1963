package bounds

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"

	"herald/internal/app"
	"herald/internal/app/e2e/e2etest"
	"herald/internal/chat"
	"herald/internal/sandbox/fault"
)

// demoBot is the whole bot behind the adapters, against stand-ins.
func demoBot(tb testing.TB) (*app.Bot, *fault.Sandbox) {
	tb.Helper()
	world := e2etest.Sandbox(tb)
	return e2etest.New(tb, e2etest.Settings(world, "PRICE_TTL=1h"), slog.New(slog.DiscardHandler)), world
}

// mustAnswer asks and fails unless the message of the reply's title is want.
func mustAnswer(tb testing.TB, b *app.Bot, req chat.Request, want string) {
	tb.Helper()
	if reply := b.Router.Handle(context.Background(), req); reply.Title.Key != want {
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
				mustAnswer(b, bot, e2etest.Request("price"), "price.title")
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
	mustAnswer(b, bot, e2etest.Request("staked", world.World.Idle.Hex()), "stake.no")
	before := world.Chain.Requests()
	wallet := world.World.Idle
	for n := uint64(0); b.Loop(); n++ {
		// Another wallet each time, so that none is cached.
		binary.BigEndian.PutUint64(wallet[12:], n)
		bot.Router.Handle(context.Background(), e2etest.Request("staked", strings.ToLower(wallet.Hex())))
	}
	b.ReportMetric(float64(world.Chain.Requests()-before)/float64(b.N), "roundtrips/answer")
}

// BenchmarkCachedPrice is as in service, with a log and limits that are not
// reached.
func BenchmarkCachedPrice(b *testing.B) {
	settings := e2etest.Settings(e2etest.Sandbox(b), "PRICE_TTL=1h", "RATE_LIMIT_USER=20", "RATE_LIMIT_CHAT=120", "LOG_LEVEL=info")
	cfg, err := app.Load(settings, "")
	if err != nil {
		b.Fatal(err)
	}
	bot := e2etest.New(b, settings, app.NewLogger(cfg, io.Discard))
	req := e2etest.Request("price")
	mustAnswer(b, bot, req, "price.title")
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		req.From.ID = strconv.Itoa(n)
		req.Chat = req.From.ID
		bot.Router.Handle(context.Background(), req)
	}
}
