package transport

import (
	"net/http"
	"strconv"
	"time"
)

// maxRetryAfter bounds what Retry-After is taken for: no limit of a service or
// platform here outlasts its month.
const maxRetryAfter = 31 * 24 * time.Hour

// RetryAfter is how long a response asks to wait: in seconds, which Discord
// writes with a fraction, or until a date (RFC 9110, section 10.2.3). It is 0
// if the header says neither. A date is counted from the response's own Date,
// so that this machine's clock does not matter.
func RetryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if !(seconds > 0) {
			return 0
		}
		return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return min(max(until.Sub(now), 0), maxRetryAfter)
}
