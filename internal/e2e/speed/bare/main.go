//go:build speed

// Command bare is the smallest bot that a client library allows: it answers every command with the same message.
// Package speed compares Herald with it. It reads Herald's settings of the platforms, and the message from ANSWER:
// the parameters of sendMessage as JSON, or the response to an interaction.
package main

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
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
	// Herald logs its address in the same form, and the tests read it there.
	fmt.Fprintf(os.Stderr, "msg=\"http server listens\" addr=%v\n", listener.Addr())
	server := http.Server{Handler: mux}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	err = server.Serve(listener)
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// pooled returns a client that keeps a connection for each answer in flight. By default, net/http keeps only two idle
// connections, and the comparison would measure how long connecting takes.
func pooled() *http.Client {
	const maxConns = 512
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns = maxConns
	transport.MaxIdleConnsPerHost = maxConns
	transport.MaxConnsPerHost = maxConns
	return &http.Client{Transport: transport, Timeout: 2 * time.Minute}
}

// startTelegram starts polling. If TELEGRAM_WEBHOOK_URL is set, it handles deliveries on mux instead.
func startTelegram(ctx context.Context, mux *http.ServeMux) error {
	var answer bot.SendMessageParams
	if err := json.Unmarshal([]byte(os.Getenv("ANSWER")), &answer); err != nil {
		return err
	}
	b, err := bot.New(os.Getenv("TELEGRAM_BOT_TOKEN"),
		bot.WithServerURL(os.Getenv("TELEGRAM_API_URL")),
		bot.WithHTTPClient(time.Minute, pooled()),
		bot.WithWebhookSecretToken(os.Getenv("TELEGRAM_WEBHOOK_SECRET")),
		bot.WithAllowedUpdates(bot.AllowedUpdates{"message"}))
	if err != nil {
		return err
	}
	b.RegisterHandler(bot.HandlerTypeMessageText, "price", bot.MatchTypeCommandStartOnly,
		func(ctx context.Context, b *bot.Bot, u *models.Update) {
			reply := answer
			reply.ChatID = u.Message.Chat.ID
			reply.ReplyParameters = &models.ReplyParameters{MessageID: u.Message.ID}
			if _, err := b.SendMessage(ctx, &reply); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		})
	hook := os.Getenv("TELEGRAM_WEBHOOK_URL")
	if hook == "" {
		go b.Start(ctx)
		return nil
	}
	address, err := url.Parse(hook)
	if err != nil {
		return err
	}
	mux.Handle(address.Path, b.WebhookHandler())
	go b.StartWebhook(ctx)
	return nil
}

// startDiscord connects to the gateway. If DISCORD_PUBLIC_KEY is set, it handles interactions on mux instead.
func startDiscord(ctx context.Context, mux *http.ServeMux) error {
	answer, err := readAnswer([]byte(os.Getenv("ANSWER")))
	if err != nil {
		return err
	}
	if key := os.Getenv("DISCORD_PUBLIC_KEY"); key != "" {
		public, err := hex.DecodeString(key)
		if err != nil {
			return err
		}
		mux.HandleFunc("/discord/interactions", func(w http.ResponseWriter, r *http.Request) {
			respond(w, r, public, &answer)
		})
		return nil
	}
	discordgo.EndpointAPI = os.Getenv("DISCORD_API_URL") + "/api/v9/"
	discordgo.EndpointGateway = discordgo.EndpointAPI + "gateway/bot"
	s, err := discordgo.New("Bot " + os.Getenv("DISCORD_BOT_TOKEN"))
	if err != nil {
		return err
	}
	s.Client = pooled()
	s.Identify.Token = os.Getenv("DISCORD_BOT_TOKEN")
	s.Identify.Intents = discordgo.IntentsNone
	s.AddHandler(func(s *discordgo.Session, i *discordgo.InteractionCreate) {
		if i.ApplicationCommandData().Name != "price" {
			return
		}
		if err := s.InteractionRespond(i.Interaction, &answer); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	})
	context.AfterFunc(ctx, func() { _ = s.Close() })
	return s.Open()
}

// respond answers an interaction that came over HTTP. For this way, discordgo only verifies the signature, so
// respond reads only the type.
func respond(w http.ResponseWriter, r *http.Request, public ed25519.PublicKey, answer *discordgo.InteractionResponse) {
	var i struct {
		Type discordgo.InteractionType `json:"type"`
	}
	if !discordgo.VerifyInteraction(r, public) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&i); err != nil || i.Type != discordgo.InteractionApplicationCommand {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// readAnswer decodes a first response with content, embeds and buttons. discordgo's own type can be encoded, but not
// decoded.
func readAnswer(raw []byte) (answer discordgo.InteractionResponse, err error) {
	var response struct {
		Type discordgo.InteractionResponseType `json:"type"`
		Data struct {
			Content string                    `json:"content"`
			Embeds  []*discordgo.MessageEmbed `json:"embeds"`
			Rows    []discordgo.ActionsRow    `json:"components"`
		} `json:"data"`
	}
	err = json.Unmarshal(raw, &response)
	answer.Type = response.Type
	answer.Data = &discordgo.InteractionResponseData{
		Content:         response.Data.Content,
		Embeds:          response.Data.Embeds,
		AllowedMentions: &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}},
	}
	for _, row := range response.Data.Rows {
		answer.Data.Components = append(answer.Data.Components, row)
	}
	return answer, err
}
