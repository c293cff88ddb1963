package discord

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Post signs an interaction and posts it to the bot's address, as Discord does
// for a bot that takes interactions by HTTP. A response with status 200 is
// taken as the first response.
func (s *Server) Post(ctx context.Context, address string, i Interaction) (p *Pending, status int, err error) {
	p, body := s.Prepare(i)
	resp, err := s.PostRaw(ctx, address, body, time.Now())
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		err = p.Responded(resp.Body)
	}
	return p, resp.StatusCode, err
}

// Prepare makes an interaction for the caller to post.
func (s *Server) Prepare(i Interaction) (p *Pending, body []byte) {
	p, payload := s.create(i)
	body, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	return p, body
}

// Send begins the time that the bot has, for one that was prepared before.
func (p *Pending) Send() { p.server.Change(func() { p.sent = time.Now() }) }

// Responded takes the body with which the bot answered a post as its first
// response. It is JSON: above 150 kB Discord does not take files there.
// https://github.com/discord/discord-api-docs/issues/5250
func (p *Pending) Responded(body io.Reader) error {
	var response any
	if err := json.NewDecoder(body).Decode(&response); err != nil {
		return fmt.Errorf("the first response: %w", err)
	}
	if refused := p.server.respond(p, response, nil); refused != nil {
		return fmt.Errorf("the first response: %s", refused.message)
	}
	return nil
}

// PostRaw signs body as of a time and posts it.
func (s *Server) PostRaw(ctx context.Context, address string, body []byte, at time.Time) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = s.Sign(body, at)
	return s.Client.Do(r)
}

// Sign makes the headers of a body that was sent at a time.
func (s *Server) Sign(body []byte, at time.Time) http.Header {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	signature := ed25519.Sign(s.privateKey, append([]byte(timestamp), body...))
	return http.Header{
		"Content-Type":          {"application/json"},
		"X-Signature-Timestamp": {timestamp},
		"X-Signature-Ed25519":   {hex.EncodeToString(signature)},
	}
}
