package platform

import (
	"context"
	"errors"

	"herald/internal/chat"
)

// NoBadges implements chat.BadgeGiver for a platform without badges. The platform's adapter embeds it.
type NoBadges struct{}

var errNoBadges = errors.New("the platform has no badges")

// OneEach implements chat.BadgeGiver.
func (NoBadges) OneEach() bool { return false }

// BadgeName implements chat.BadgeGiver. It returns "": no name is known.
func (NoBadges) BadgeName(_, _ string) chat.Untrusted { return "" }

// CommunityName implements chat.BadgeGiver. It returns "": no name is known.
func (NoBadges) CommunityName(string) chat.Untrusted { return "" }

// Give implements chat.BadgeGiver. It fails.
func (NoBadges) Give(_ context.Context, _, _, _, _ string) error { return noBadges() }

// Remove implements chat.BadgeGiver. It fails.
func (NoBadges) Remove(_ context.Context, _, _, _, _ string) error { return noBadges() }

// Worn implements chat.BadgeGiver. It fails.
func (NoBadges) Worn(_ context.Context, _, _ string) ([]string, error) { return nil, noBadges() }

// Notify implements chat.BadgeGiver. It sends nothing.
func (NoBadges) Notify(context.Context, string, *chat.Reply) {}

// noBadges returns a *chat.BadgeError with the problem that this platform gives no user a badge.
func noBadges() error { return &chat.BadgeError{Problem: chat.CannotHave, Err: errNoBadges} }
