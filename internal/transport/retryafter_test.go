package transport_test

import (
	"net/http"
	"testing"
	"time"

	"herald/internal/transport"
)

func TestRetryAfterReadsSecondsAndDates(t *testing.T) {
	const month = 31 * 24 * time.Hour
	noon := time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC)
	date := func(d time.Duration) string { return noon.Add(d).Format(http.TimeFormat) }
	for value, want := range map[string]time.Duration{
		"":                     0,
		"7":                    7 * time.Second,
		"0.25":                 250 * time.Millisecond,
		"0":                    0,
		"-5":                   0,
		"Inf":                  month,
		"soon":                 0,
		date(90 * time.Second): 90 * time.Second,
		date(-time.Hour):       0,
		date(20 * month):       month,
	} {
		header := http.Header{"Retry-After": {value}, "Date": {date(0)}}
		if got := transport.RetryAfter(header); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
	until := http.Header{"Retry-After": {time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)}}
	if got := transport.RetryAfter(until); got < 59*time.Minute || got > time.Hour {
		t.Errorf("without a Date, an hour from now is %v", got)
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("12")
	f.Add("Fri, 31 Dec 9999 23:59:59 GMT")
	f.Add("-1")
	f.Fuzz(func(t *testing.T, value string) {
		after := transport.RetryAfter(http.Header{"Retry-After": {value}})
		if after < 0 || after > 31*24*time.Hour {
			t.Fatalf("%q: %v", value, after)
		}
	})
}
