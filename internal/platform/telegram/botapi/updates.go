package botapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"time"

	"herald/internal/transport"
)

const getUpdates = "getUpdates"

// UnreadableError is in the error of a GetUpdates whose answer is too large or
// broke off. One with fewer updates may be readable.
type UnreadableError struct {
	// TooLarge is the ID of the first update in an answer that is too large; 0
	// if it broke off.
	TooLarge int64
}

func (e *UnreadableError) Error() string {
	if e.TooLarge != 0 {
		return "the answer is too large"
	}
	return "the answer broke off"
}

// GetUpdates acknowledges all updates before offset and returns up to limit of
// the others, waiting for the first for as long as wait. They are undecoded, so
// that one of a kind that nobody here knows spoils no other.
func (c *Client) GetUpdates(ctx context.Context, offset int64, limit int, wait time.Duration, kinds []string) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+pollSlack)
	defer cancel()
	resp, err := c.post(ctx, c.polls, getUpdates, map[string]any{
		"offset": offset, "limit": limit, "timeout": int(wait.Seconds()), "allowed_updates": kinds,
	})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return decodeBatch(resp.Body)
}

func decodeBatch(r io.Reader) ([]json.RawMessage, error) {
	body, err := io.ReadAll(r)
	switch {
	case errors.Is(err, transport.ErrBodyTooLarge):
		return nil, &Error{Method: getUpdates, Kind: OutcomeUnknown, cause: &UnreadableError{TooLarge: firstID(body)}}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil, lost(getUpdates, err)
	case err != nil:
		return nil, &Error{Method: getUpdates, Kind: OutcomeUnknown, cause: &UnreadableError{}}
	}
	batch, err := decode[[]json.RawMessage](getUpdates, body)
	if err != nil && brokeOff(body) {
		err = &Error{Method: getUpdates, Kind: OutcomeUnknown, cause: &UnreadableError{}}
	}
	return batch, err
}

// brokeOff reports whether a body begins as JSON and ends too early.
func brokeOff(body []byte) bool {
	var whole json.RawMessage
	syntax, is := errors.AsType[*json.SyntaxError](json.Unmarshal(body, &whole))
	return is && len(body) > 0 && syntax.Offset >= int64(len(body))
}

// idMember cannot occur in a JSON string, where its quotes would be escaped.
var idMember = regexp.MustCompile(`"update_id"\s*:\s*([0-9]{1,18})\b`)

// firstID is the first update's ID in the beginning of an answer; 0 is none.
func firstID(body []byte) int64 {
	found := idMember.FindSubmatch(body)
	if found == nil {
		return 0
	}
	id, _ := strconv.ParseInt(string(found[1]), 10, 64)
	return id
}
