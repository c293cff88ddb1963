package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/transport"
)

// FatalError is a fault of the settings: no later call or connection will
// succeed.
type FatalError string

func (e FatalError) Error() string { return string(e) }

// ErrToken is what every call fails with if Discord refuses the token.
const ErrToken FatalError = "DISCORD_BOT_TOKEN: Discord refuses it"

// Error is a response with a status other than success.
type Error struct {
	Status int `json:"-"`
	// Code is Discord's own, 0 where the body has none.
	// https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
	Code       int           `json:"code"`
	RetryAfter time.Duration `json:"-"`
}

func (e *Error) Error() string {
	return fmt.Sprintf("discord refused with status %d, code %d", e.Status, e.Code)
}

// errorOf is the Error in err, zero if there is none.
func errorOf(err error) Error {
	if refused, is := errors.AsType[*Error](err); is {
		return *refused
	}
	return Error{}
}

// Retryable reports whether another try may succeed after err, and the least
// that it has to wait.
func Retryable(err error) (again bool, atLeast time.Duration) {
	if refused := errorOf(err); refused.Status != 0 {
		return refused.Status == http.StatusTooManyRequests || refused.Status >= 500, refused.RetryAfter
	}
	return !errors.Is(err, context.Canceled) && !errors.Is(err, ErrToken) && !errors.Is(err, transport.ErrRedirect), 0
}

// Expired reports whether err says that Discord takes no answer to the
// interaction any more.
func Expired(err error) bool {
	refused := errorOf(err)
	return refused.Status == http.StatusNotFound && refused.Code != discordgo.ErrCodeUnknownMessage ||
		refused.Code == discordgo.ErrCodeInvalidWebhookTokenProvided
}

// Unacceptable reports whether err says that Discord takes answers to the
// interaction, but not this one: the message to edit may be deleted.
func Unacceptable(err error) bool {
	again, _ := Retryable(err)
	return errorOf(err).Status != 0 && !again && !Expired(err)
}
