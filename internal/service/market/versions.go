package market

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"herald/internal/core"
	"herald/internal/query"
)

// The endpoints of the provider's quotes. Version 1 is deprecated. It is called until the provider answers with the
// status 404 or 410, which means that it is gone. Then version 3 is called instead.
const (
	pathV1 = "/v1/cryptocurrency/quotes/latest"
	pathV3 = "/v3/cryptocurrency/quotes/latest"
)

// retryV1 is how long only version 3 is called after version 1 was gone. Then version 1 is called again. If version 3
// goes away or cannot be reached, version 1 is called again at once: it may be back.
const retryV1 = time.Hour

// callQuotes calls version 1 of the quotes or, if that is gone, version 3. It returns the last call.
func (c *Client) callQuotes(ctx context.Context) call {
	if c.isV1Gone() {
		v3 := c.callVersion(ctx, pathV3)
		if v3.isGone() || core.ReasonOf(v3.err) == core.Unreachable {
			c.v1GoneAt.Store(0)
		}
		return v3
	}
	v1 := c.callVersion(ctx, pathV1)
	if !v1.isGone() {
		return v1
	}
	v3 := c.callVersion(ctx, pathV3)
	if !v3.isGone() {
		c.logV1Gone(ctx)
	}
	if v3.err == nil {
		c.v1GoneAt.Store(time.Now().UnixNano())
	}
	return v3
}

// logV1Gone logs once that version 1 is gone.
func (c *Client) logV1Gone(ctx context.Context) {
	wasLogged := c.isV1GoneLogged.Swap(true)
	if !wasLogged {
		c.log.WarnContext(ctx, "the price provider has ended version 1 of its quotes; version 3 is asked", "path", pathV1)
	}
}

// callVersion calls the version of the quotes that has this path.
func (c *Client) callVersion(ctx context.Context, path string) call {
	return c.get(ctx, "quote", path, c.parameters)
}

// isV1Gone reports whether version 1 was gone within retryV1.
func (c *Client) isV1Gone() bool {
	goneAt := c.v1GoneAt.Load()
	return goneAt != 0 && time.Since(time.Unix(0, goneAt)) < retryV1
}

// V1GoneError means that the provider has ended version 1 of its quotes, and that version 3 fails, too.
type V1GoneError struct {
	// State is how version 3 fails: ReplacementRefuses or ReplacementBroken.
	State query.ReplacementState
	// Status is the HTTP status of version 3 if State is ReplacementRefuses, and otherwise 0.
	Status int
	// Err is the error of version 3.
	Err error
}

func (e *V1GoneError) Error() string {
	return fmt.Sprintf("%s is gone, and %s fails: %v", pathV1, pathV3, e.Err)
}

func (e *V1GoneError) Unwrap() error { return e.Err }

// withV1Gone returns a copy of err that wraps a V1GoneError. err is an error of version 3, and status its HTTP status
// or noResponse. If err is nil, withV1Gone returns nil.
func withV1Gone(err error, status int) error {
	failed, is := errors.AsType[*core.Error](err)
	if !is {
		return err
	}
	gone := &V1GoneError{State: query.ReplacementBroken, Err: failed.Err}
	isRefused := status != noResponse && status != http.StatusOK
	if isRefused {
		gone.State = query.ReplacementRefuses
		gone.Status = status
	}
	wrapped := *failed
	wrapped.Err = gone
	return &wrapped
}

// IsV1Gone reports whether the quote is from version 3, because version 1 is gone.
func (l Listing) IsV1Gone() bool { return l.Quote.Endpoint == pathV3 }

// EndedEndpoints is a query.FindEnded. It returns version 1 of the quotes if answer is a quote from version 3, or if
// err wraps a V1GoneError.
func EndedEndpoints(answer any, err error) (ended []query.EndedEndpoint) {
	if quote, is := answer.(*core.Quote); is && quote != nil && quote.Endpoint == pathV3 {
		ended = append(ended, query.EndedEndpoint{Path: pathV1, Replacement: pathV3, State: query.ReplacementWorks})
	}
	if gone, is := errors.AsType[*V1GoneError](err); is {
		ended = append(ended, query.EndedEndpoint{
			Path:        pathV1,
			Replacement: pathV3,
			State:       gone.State,
			Status:      gone.Status,
		})
	}
	return ended
}
