package botapi

import (
	"context"
	"encoding/json"
	"time"
)

// GetUpdates acknowledges all updates before offset and returns up to limit of the
// others. It waits for the first one for up to wait, in whole seconds. The updates are
// undecoded, so that one of an unknown form spoils no other.
func (c *Client) GetUpdates(ctx context.Context, offset int64, limit int, wait time.Duration, kinds []string) ([]json.RawMessage, error) {
	request := jsonCall("getUpdates", map[string]any{
		"offset": offset, "limit": limit, "timeout": int(wait.Seconds()), "allowed_updates": kinds,
	})
	request.timeout += wait
	return exchange[[]json.RawMessage](ctx, c, request)
}
