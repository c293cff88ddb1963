package config

import "net/url"

// Host is all of a URL that may be shown, port included; empty if there is none.
func Host(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return u.Host
}
