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

// FatalError is an error in the settings. Until they are corrected, no call or connection can succeed.
type FatalError string

func (e FatalError) Error() string { return string(e) }

// ErrOutcomeUnknown is wrapped by the error of a failed call that Discord may nevertheless have accepted.
var ErrOutcomeUnknown = errors.New("nobody knows whether Discord has it")

// ErrToken is the error of every call while Discord refuses the token.
const ErrToken FatalError = "DISCORD_BOT_TOKEN: Discord refuses it"

// Error is a response with a status other than success.
type Error struct {
	Status int `json:"-"`
	// Code is Discord's own code for the error, or 0 if the body has none.
	// https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
	Code       int           `json:"code"`
	RetryAfter time.Duration `json:"-"`
	// Global is true if the status is 429, and Discord limits all calls of the bot, not only calls like this one.
	Global bool `json:"global"`
}

func (e *Error) Error() string {
	return fmt.Sprintf("discord refused with status %d, code %d", e.Status, e.Code)
}

// errorOf returns the Error in err, or a zero Error if there is none.
func errorOf(err error) Error {
	if refused, is := errors.AsType[*Error](err); is {
		return *refused
	}
	return Error{}
}

// Retryable reports whether another attempt may succeed after err, and returns the minimum wait before it.
func Retryable(err error) (retry bool, minWait time.Duration) {
	if refused, isAnswered := errors.AsType[*Error](err); isAnswered {
		return refused.Status == http.StatusTooManyRequests || refused.Status >= 500, refused.RetryAfter
	}
	isFinal := errors.Is(err, context.Canceled) || errors.Is(err, ErrToken) || errors.Is(err, transport.ErrRedirect)
	return !isFinal, 0
}

// Expired reports whether err means that the interaction can no longer be answered.
func Expired(err error) bool {
	refused := errorOf(err)
	if refused.Code == discordgo.ErrCodeInvalidWebhookTokenProvided {
		return true
	}
	return refused.Status == http.StatusNotFound && refused.Code != discordgo.ErrCodeUnknownMessage
}

// Unacceptable reports whether err means that Discord refuses this answer for good, but may accept another one. For
// example, the message to edit may be deleted.
func Unacceptable(err error) bool {
	_, isAnswered := errors.AsType[*Error](err)
	retry, _ := Retryable(err)
	return isAnswered && !retry && !Expired(err)
}
