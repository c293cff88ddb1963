//go:build speed

package main

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"github.com/bwmarrin/discordgo"
)

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
		mux.HandleFunc("/discord/interactions", func(w http.ResponseWriter, r *http.Request) { respond(w, r, public, &answer) })
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

// readAnswer reads a first response with an embed and buttons. The library's own
// type for one can be written, and not read.
func readAnswer(raw []byte) (answer discordgo.InteractionResponse, err error) {
	var sent struct {
		Type discordgo.InteractionResponseType `json:"type"`
		Data struct {
			Embeds []*discordgo.MessageEmbed `json:"embeds"`
			Rows   []discordgo.ActionsRow    `json:"components"`
		} `json:"data"`
	}
	err = json.Unmarshal(raw, &sent)
	answer.Type = sent.Type
	answer.Data = &discordgo.InteractionResponseData{Embeds: sent.Data.Embeds, AllowedMentions: &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}}
	for _, row := range sent.Data.Rows {
		answer.Data.Components = append(answer.Data.Components, row)
	}
	return answer, err
}
