package telegram

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// Link is a setting that becomes a link in messages.
type Link struct{ Setting, URL string }

// acceptsLink reports whether Telegram accepts a link. It refuses a whole message if a button of it leads
// to a host without a dot, such as localhost (LinkManager::check_link in tdlib).
func acceptsLink(link string) bool {
	u, err := url.Parse(link)
	if err != nil {
		return false
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
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
