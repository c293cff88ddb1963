package members

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// IsBySameChecks reports whether the same two checks caused both losses.
func (l Loss) IsBySameChecks(other Loss) bool {
	return l.First.Equal(other.First.Time) && l.Second.Equal(other.Second.Time) && l.Disowned == other.Disowned
}

// WhyLost says when and why a badge with this amount was lost, and what brings it back.
func WhyLost(l Loss, wallet chat.Value, amount decimal.Decimal, symbol string) chat.Text {
	values := chat.Values{"wallet": wallet, "when": WhenLost(l), "verify": chat.CommandLink("/verify")}
	switch {
	case l.Disowned:
		return chat.SayWith("lost.owner", values)
	case amount.IsZero():
		return chat.SayWith("lost.stake", values)
	}
	values["amount"] = chat.Amount{Decimal: amount, Symbol: symbol}
	return chat.SayWith("lost.amount", values)
}

// WhenLost says when the two checks were that missed the amount: on one day, or on two.
func WhenLost(l Loss) chat.Text {
	const day, timeOfDay = 24 * time.Hour, "15:04"
	key := "lost.days"
	if l.First.Truncate(day).Equal(l.Second.Truncate(day)) {
		key = "lost.day"
	}
	return chat.SayWith(key, chat.Values{
		"day": chat.Day{Time: l.First.Time}, "first": chat.Plain(l.First.Format(timeOfDay)),
		"later": chat.Day{Time: l.Second.Time}, "second": chat.Plain(l.Second.Format(timeOfDay)),
	})
}

// tellWhyLost tells a user why a badge was removed, if they have a private chat with the bot. It does nothing if the
// row does not say why, or if the settings do not name the badge any more.
func (m *Members) tellWhyLost(ctx context.Context, c *community, user chat.User, b Badge) {
	row, err := c.rows.load(ctx, user.ID)
	if err != nil || row == nil || row.Forgotten() {
		return
	}
	l := row.lost(c.id, b.ID)
	_, configured := c.tiers.find(c.id, b.ID)
	if l == nil || !configured {
		return
	}
	c.adapter.Notify(ctx, user.ID, &chat.Reply{
		Language: m.Language, Tone: chat.Negative,
		Title: chat.SayWith("lost.title", chat.Values{"badge": b.Name, "group": b.Group()}),
		Text:  WhyLost(*l, chat.Address{Hex: row.Wallet.Hex()}, b.Amount, m.Symbol),
	})
}
