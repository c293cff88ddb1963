package botapi

import (
	"context"
	"encoding/json"
	"regexp"
	"strconv"
	"time"
)

// TooLargeError is in the error of a GetUpdates whose answer is too large. First is
// the ID of its first update; 0 if it names none.
type TooLargeError struct{ First int64 }

func (e *TooLargeError) Error() string { return "the answer is too large" }

// GetUpdates acknowledges all updates before offset and returns up to limit of
// the others, waiting for the first for as long as wait. They are undecoded, so
// that one of a kind that nobody here knows spoils no other.
func (c *Client) GetUpdates(ctx context.Context, offset int64, limit int, wait time.Duration, kinds []string) ([]json.RawMessage, error) {
	return read[[]json.RawMessage](ctx, c, wait+callTimeout, "getUpdates", map[string]any{
		"offset": offset, "limit": limit, "timeout": int(wait.Seconds()), "allowed_updates": kinds,
	})
}

// idMember cannot occur in a JSON string, where its quotes would be escaped.
var idMember = regexp.MustCompile(`"update_id"\s*:\s*([0-9]{1,18})\b`)

// firstID is the first update's ID in the beginning of an answer, or 0.
func firstID(body []byte) (id int64) {
	if found := idMember.FindSubmatch(body); found != nil {
		id, _ = strconv.ParseInt(string(found[1]), 10, 64)
	}
	return id
}
