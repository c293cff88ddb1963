package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-telegram/bot"

	"herald/internal/transport"
)

// Bounds on calls to the Bot API.
const (
	callTimeout = 15 * time.Second
	longPoll    = 50 * time.Second
	// pollSlack is how much longer than asked an answer to getUpdates may take.
	pollSlack = 15 * time.Second
	// maxAnswer and maxBatch bound answers in bytes; a batch is 100 updates.
	maxAnswer = 1 << 20
	maxBatch  = 16 << 20
	// maxConns is above the number of updates in hand, so that no call waits
	// for a connection and then times out without having been sent.
	maxConns = windowSize + 28
)

// kind is what a failed call means to the caller.
type kind int

const (
	// unclear is a call that may have been carried out: nobody may repeat it.
	unclear kind = iota
	// neverSent is one that did not reach the server.
	neverSent
	// unavailable is a server that says it could not do it.
	unavailable
	tooMany
	unauthorized
	conflict
	forbidden
	migrated
	// refused is a call that would be refused again.
	refused
)

var kindText = map[kind]string{
	neverSent:    "the server could not be reached",
	unavailable:  "the server is in trouble",
	tooMany:      "too many requests",
	unauthorized: "the token was refused",
	conflict:     "conflict",
	forbidden:    "forbidden",
	migrated:     "the group has become a supergroup",
	refused:      "refused",
	unclear:      "no clear answer",
}

// apiError is a failed call. It is made of this package's own words and of
// transport's: the library's errors quote foreign text, and the token with it.
type apiError struct {
	method     string
	kind       kind
	detail     string
	retryAfter time.Duration // of tooMany
	newChat    int64         // of migrated
	cause      error
}

func (e *apiError) Error() string {
	s := e.method + ": " + kindText[e.kind]
	if e.detail != "" {
		s += ": " + e.detail
	}
	if e.cause != nil {
		s += ": " + e.cause.Error()
	}
	return s
}

func (e *apiError) Unwrap() error { return e.cause }

// kindOf is unclear for errors that are not of a call.
func kindOf(err error) kind {
	var e *apiError
	if errors.As(err, &e) {
		return e.kind
	}
	return unclear
}

// details are the refusals worth telling apart in a log, by a part of
// Telegram's description.
var details = map[string]string{
	"TOPIC_CLOSED":             "the topic is closed",
	"message thread not found": "the topic is gone",
	"chat not found":           noSuchChat,
	"not enough rights":        "the bot may not write there",
	"CHAT_WRITE_FORBIDDEN":     "the bot may not write there",
	"bot was kicked":           "the bot was removed",
	"bot was blocked":          "the bot was blocked",
	"terminated by other":      "another process polls with this token",
	"webhook is active":        "a webhook is set for this token",
}

const noSuchChat = "no such chat"

// clarify turns an error of the library into an apiError.
func clarify(method string, err error) error {
	if err == nil {
		return nil
	}
	e := &apiError{method: method, kind: unclear}
	for part, detail := range details {
		if strings.Contains(err.Error(), part) {
			e.detail = detail
		}
	}
	var status *statusError
	var limit *bot.TooManyRequestsError
	var moved *bot.MigrateError
	var lost *transport.Error
	switch {
	case errors.As(err, &status):
		e.kind, e.cause = status.kind(), status
	case errors.As(err, &limit):
		e.kind, e.retryAfter = tooMany, time.Duration(limit.RetryAfter)*time.Second
	case errors.As(err, &moved):
		e.kind, e.newChat = migrated, int64(moved.MigrateToChatID)
	case errors.Is(err, bot.ErrorUnauthorized):
		e.kind = unauthorized
	case errors.Is(err, bot.ErrorConflict):
		e.kind = conflict
	case errors.Is(err, bot.ErrorForbidden):
		e.kind = forbidden
	case errors.Is(err, bot.ErrorBadRequest), errors.Is(err, bot.ErrorNotFound):
		e.kind = refused
	case errors.As(err, &lost):
		e.cause = lost
		if transport.NeverSent(lost) {
			e.kind = neverSent
		}
	case errors.Is(err, context.Canceled):
		e.cause = context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		e.cause = context.DeadlineExceeded
	}
	return e
}

// statusError is an answer of a server in trouble. What its body says does
// not matter: proxies answer with pages of their own.
type statusError struct{ code int }

func (e *statusError) Error() string { return fmt.Sprintf("status %d", e.code) }

// kind is unavailable for what a server or its proxy says when it did not
// carry out a call, as while the Bot API restarts (500, 502, 503). A gateway
// that gave up waiting (504) does not know.
func (e *statusError) kind() kind {
	if e.code == http.StatusGatewayTimeout {
		return unclear
	}
	return unavailable
}

// client is the HttpClient under the library. It buffers each body, which the
// library streams, so that net/http can repeat a request of which nothing was
// written to a connection that had been closed meanwhile.
type client struct{ http *http.Client }

func (c client) Do(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
		req = req.Clone(req.Context())
		req.ContentLength = int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, transport.Clean(err)
	}
	if resp.StatusCode >= 500 {
		resp.Body.Close()
		return nil, &statusError{resp.StatusCode}
	}
	return resp, nil
}

// updates asks for the next updates, each undecoded, so that one of a kind
// that nobody here knows spoils no other. The library's own polling
// acknowledges updates before they are handled.
func (a *Adapter) updates(ctx context.Context, offset int64, limit int, wait time.Duration) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+a.pollSlack)
	defer cancel()
	body, err := json.Marshal(map[string]any{
		"offset": offset, "limit": limit, "timeout": int(wait.Seconds()), "allowed_updates": allowedUpdates,
	})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.APIURL+"/bot"+a.Token+"/getUpdates", bytes.NewReader(body))
	if err != nil {
		return nil, &apiError{method: "getUpdates", detail: "the request cannot be made"}
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client{a.polls}.Do(req)
	if err != nil {
		return nil, clarify("getUpdates", err)
	}
	defer resp.Body.Close()
	return decodeBatch(resp.Body)
}

func decodeBatch(r io.Reader) ([]json.RawMessage, error) {
	var answer struct {
		OK          bool              `json:"ok"`
		Result      []json.RawMessage `json:"result"`
		Code        int               `json:"error_code"`
		Description string            `json:"description"`
		Parameters  struct {
			RetryAfter int `json:"retry_after"`
		} `json:"parameters"`
	}
	body, err := io.ReadAll(r)
	if err != nil {
		return nil, clarify("getUpdates", err)
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, &apiError{method: "getUpdates", detail: "the answer is not the Bot API's"}
	}
	if answer.OK {
		return answer.Result, nil
	}
	switch answer.Code {
	case http.StatusUnauthorized:
		err = bot.ErrorUnauthorized
	case http.StatusConflict:
		err = fmt.Errorf("%w, %s", bot.ErrorConflict, answer.Description)
	case http.StatusTooManyRequests:
		err = &bot.TooManyRequestsError{RetryAfter: answer.Parameters.RetryAfter}
	default:
		err = bot.ErrorBadRequest
	}
	return nil, clarify("getUpdates", err)
}
