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

// TooLargeError is in the error of a GetUpdates whose answer is too large. First is
// the ID of its first update; 0 if it names none.
type TooLargeError struct{ First int64 }

func (e *TooLargeError) Error() string { return "the answer is too large" }

// GetUpdates acknowledges all updates before offset and returns up to limit of
// the others, waiting for the first for as long as wait. They are undecoded, so
// that one of a kind that nobody here knows spoils no other.
func (c *Client) GetUpdates(ctx context.Context, offset int64, limit int, wait time.Duration, kinds []string) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+pollSlack)
	defer cancel()
	body, _ := json.Marshal(map[string]any{
		"offset": offset, "limit": limit, "timeout": int(wait.Seconds()), "allowed_updates": kinds,
	})
	resp, err := c.post(ctx, c.polls, getUpdates, "application/json", body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return decodeBatch(resp.Body)
}

func decodeBatch(r io.Reader) ([]json.RawMessage, error) {
	body, err := io.ReadAll(r)
	if errors.Is(err, transport.ErrBodyTooLarge) {
		return nil, &Error{Method: getUpdates, Kind: OutcomeUnknown, cause: &TooLargeError{First: firstID(body)}}
	}
	if err != nil {
		return nil, lost(getUpdates, err)
	}
	return decode[[]json.RawMessage](getUpdates, body)
}

// idMember cannot occur in a JSON string, where its quotes would be escaped.
var idMember = regexp.MustCompile(`"update_id"\s*:\s*([0-9]{1,18})\b`)

// firstID is the first update's ID in the beginning of an answer, or 0.
func firstID(body []byte) int64 {
	found := idMember.FindSubmatch(body)
	if found == nil {
		return 0
	}
	id, _ := strconv.ParseInt(string(found[1]), 10, 64)
	return id
}
