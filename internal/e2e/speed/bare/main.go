//go:build speed

// Command bare is the least bot that a client library allows: every command is
// answered with the same words. Package speed measures Herald beside it. It
// reads the few settings of Herald that lead it to a platform; ANSWER is what
// it says, as the parameters of a sendMessage or as the response to an
// interaction.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	mux := http.NewServeMux()
	start := startTelegram
	if os.Getenv("DISCORD_BOT_TOKEN") != "" {
		start = startDiscord
	}
	if err := start(ctx, mux); err != nil {
		return err
	}
	mux.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	listener, err := net.Listen("tcp", os.Getenv("HTTP_ADDR"))
	if err != nil {
		return err
	}
	// As Herald says it.
	fmt.Fprintf(os.Stderr, "msg=\"http server listens\" addr=%v\n", listener.Addr())
	server := http.Server{Handler: mux}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}

// pooled keeps as many connections as there are answers on their way: with the
// two that net/http keeps by default the libraries are not worth comparing to.
func pooled() *http.Client {
	const conns = 512
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost, transport.MaxConnsPerHost = conns, conns, conns
	return &http.Client{Transport: transport, Timeout: 2 * time.Minute}
}
