//go:build speed

// Command bare is the least bot that a client library allows: every command is
// answered with the same words. Package speed measures Herald beside it. It
// reads Herald's settings of the platforms. ANSWER holds the parameters of
// sendMessage, or the response to an interaction.
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
	// As Herald says it.
	fmt.Fprintf(os.Stderr, "msg=\"http server listens\" addr=%v\n", listener.Addr())
	server := http.Server{Handler: mux}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	err = server.Serve(listener)
	if ctx.Err() == nil {
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

// startTelegram polls, or takes deliveries on mux if there is a webhook's URL.
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
			reply.ChatID, reply.ReplyParameters = u.Message.Chat.ID, &models.ReplyParameters{MessageID: u.Message.ID}
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

// startDiscord opens the gateway, or takes interactions on mux if there is a
// public key.
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

// respond answers an interaction that came by HTTP. It reads no more of it than
// that it is no ping: discordgo has no more for this way than the signature.
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

// readAnswer reads a first response with content, an embed and buttons. The library's own
// type for one can be written, and not read.
func readAnswer(raw []byte) (answer discordgo.InteractionResponse, err error) {
	var sent struct {
		Type discordgo.InteractionResponseType `json:"type"`
		Data struct {
			Content string                    `json:"content"`
			Embeds  []*discordgo.MessageEmbed `json:"embeds"`
			Rows    []discordgo.ActionsRow    `json:"components"`
		} `json:"data"`
	}
	err = json.Unmarshal(raw, &sent)
	answer.Type = sent.Type
	answer.Data = &discordgo.InteractionResponseData{
		Content:         sent.Data.Content,
		Embeds:          sent.Data.Embeds,
		AllowedMentions: &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}},
	}
	for _, row := range sent.Data.Rows {
		answer.Data.Components = append(answer.Data.Components, row)
	}
	return answer, err
}
