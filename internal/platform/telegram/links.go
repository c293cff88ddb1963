package telegram

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// Link is a setting that becomes a link in messages.
type Link struct {
	// Setting is the setting's name.
	Setting string
	URL     string
}

// acceptsLink reports whether Telegram accepts a link. The host must be an IP address or have a dot. If a button has a
// link to another host, such as localhost, Telegram refuses the whole message (LinkManager::check_link in tdlib).
func acceptsLink(link string) bool {
	u, err := url.Parse(link)
	if err != nil {
		return false
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil { // An IPv6 address has no dot.
		return true
	}
	return strings.Contains(u.Hostname(), ".")
}

// aboutLinks returns a sentence for an operator about each link that Telegram does not accept.
func (a *Adapter) aboutLinks() (details []string) {
	for _, l := range a.Links {
		if l.URL != "" && !acceptsLink(l.URL) {
			const note = "%s: Telegram accepts no link to %s, which has no dot in it, so messages go out without that link"
			details = append(details, fmt.Sprintf(note, l.Setting, host(l.URL)))
		}
	}
	return details
}
